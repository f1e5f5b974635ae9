"""Content hashes: `sha256:` and 64 hex digits, which callers may shorten to 12 or more digits."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from readroom.core.deadline import Deadline
from readroom.core.errors import BadValue
from readroom.core.limits import BLOCK_BYTES
from readroom.core.text.line_index import Shrunk
from readroom.core.values import Bytes, Version

PREFIX = "sha256:"
MIN_DIGITS = 12
"""48 bits: enough to distinguish the versions of one file, all that a prefix is compared with."""

_FORM = rf"(?:{PREFIX})?([0-9a-f]{{{MIN_DIGITS},64}})"


def parse_hash(argument: str, value: str, otherwise: str = "") -> str:
    """The hex digits of a hash or hash prefix; `otherwise` says what else could be sent. Raises BadValue."""
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
    """The hash with its prefix, as in facts."""
    return PREFIX + digits


_OF_STATE = "state:"


def of_state(version: Version) -> str:
    """An identity in place of the digits of a file that is never read as a whole."""
    return _OF_STATE + hashlib.sha256(repr(version).encode()).hexdigest()


def shown(digits: str) -> str | None:
    """The hash with its prefix; None if these are no digits of a hash."""
    return None if not digits or digits.startswith(_OF_STATE) else full(digits)


# -----------------------------------------------------------------------------
# The hash and the number of bytes of a stream.
# -----------------------------------------------------------------------------


class Hashing:
    """Hashes and counts bytes that pass through."""

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


def blocks(data: Bytes, deadline: Deadline, start: int = 0, end: int | None = None) -> Iterator[bytes]:
    """The bytes of a file from `start` to `end`, or to its end, block by block.

    Raises:
        Shrunk: It is shorter than it was when it was opened.
        TimedOut, Cancelled: From the deadline.
    """
    end = data.size if end is None else end
    while start < end:
        deadline.check()
        block = data.read_at(start, min(BLOCK_BYTES, end - start))
        if not block:
            raise Shrunk
        yield block
        start += len(block)


def digits_of(data: Bytes, deadline: Deadline) -> str:
    """The hash of a whole file, in hex. Raises as `blocks` does."""
    hashing = Hashing()
    for block in blocks(data, deadline):
        hashing.add(block)
    return hashing.digits
