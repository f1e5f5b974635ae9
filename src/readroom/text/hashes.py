"""Content hashes as callers write them: `sha256:` and 64 hex digits, or a prefix of at least 12."""

from __future__ import annotations

import hashlib
import re

from readroom.deadline import Deadline
from readroom.errors import BadValue
from readroom.limits import BLOCK_BYTES
from readroom.text.line_index import Shrunk
from readroom.values import Bytes

PREFIX = "sha256:"
MIN_DIGITS = 12
"""48 bits: enough to tell the versions of one file apart, which is all a prefix is compared with."""

_FORM = rf"(?:{PREFIX})?([0-9a-f]{{{MIN_DIGITS},64}})"


def parse_hash(argument: str, value: str, otherwise: str = "") -> str:
    """The hex digits of a hash or of its prefix; `otherwise` says what else could be sent.

    Raises:
        BadValue: It has another form.
    """
    match = re.fullmatch(_FORM, value.strip().lower())
    if match is None:
        raise BadValue(
            argument,
            value[:100],
            "is not a content hash",
            f"Send the hash that a reply showed: {PREFIX} and {MIN_DIGITS} to 64 hex digits{otherwise}.",
        )
    return match[1]


def full(digits: str) -> str:
    """The hash as facts carry it."""
    return PREFIX + digits


# -----------------------------------------------------------------------------
# The hash and the number of bytes that pass by.
# -----------------------------------------------------------------------------


class Hashing:
    """Bytes that are hashed and counted as they pass."""

    __slots__ = ("_digest", "size")

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.size = 0

    def add(self, data: bytes | memoryview) -> None:
        """Take the next bytes."""
        self._digest.update(data)
        self.size += len(data)

    @property
    def digits(self) -> str:
        """The hash of what was added so far, in hex."""
        return self._digest.hexdigest()


def digits_of(data: Bytes, deadline: Deadline) -> str:
    """The hash of all of a file, in hex.

    Raises:
        Shrunk: It is shorter than it was when it was opened.
        TimedOut, Cancelled: From the deadline.
    """
    hashing = Hashing()
    while hashing.size < data.size:
        deadline.check()
        block = data.read_at(hashing.size, min(BLOCK_BYTES, data.size - hashing.size))
        if not block:
            raise Shrunk
        hashing.add(block)
    return hashing.digits
