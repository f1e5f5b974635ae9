"""Content hashes as callers write them: `sha256:` and 64 hex digits, or a prefix of at least 12."""

from __future__ import annotations

import re

from readroom.errors import BadValue

PREFIX = "sha256:"
MIN_DIGITS = 12
"""48 bits: enough to tell the versions of one file apart, which is all a prefix is compared with."""

_FORM = re.compile(rf"(?:{PREFIX})?([0-9a-f]{{{MIN_DIGITS},64}})")


def parse_hash(argument: str, value: str) -> str:
    """The hex digits of a hash or of its prefix.

    Raises:
        BadValue: It has another form.
    """
    found = _FORM.fullmatch(value.strip().lower())
    if found is None:
        raise BadValue(
            argument,
            value[:100],
            "is not a content hash",
            f"Send the hash that a reply showed: {PREFIX} and {MIN_DIGITS} to 64 hex digits.",
        )
    return found[1]


def full(digits: str) -> str:
    """The hash as facts carry it."""
    return PREFIX + digits
