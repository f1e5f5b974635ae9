"""The values of a read of bytes as they are: for programs, which receive them piece by piece.

Whoever holds a `Stream` holds an open file that was allowed when it was opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final


class Held(Protocol):
    """An opened file."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""

    def close(self) -> None:
        """Release it; a second call does nothing."""


@final
class Stream:
    """Bytes of one opened file, in order. For one thread at a time; its holder closes it."""

    def __init__(self, held: Held, first: int, count: int) -> None:
        """`count` bytes from `first`; the file is closed with this."""
        self._held = held
        self._at = first
        self.left = count

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; empty at the end, or when the file has become shorter."""
        piece = self._held.read_at(self._at, min(size, self.left)) if self.left else b""
        self._at += len(piece)
        self.left -= len(piece)
        return piece

    def close(self) -> None:
        """Release the file; a second call does nothing."""
        self._held.close()

    def __del__(self) -> None:
        # A reply that nobody took must not keep a file open.
        self.close()


@dataclass(frozen=True, slots=True)
class BytesRequest:
    """Bytes of one file: `count` from `first`, which counts from 0; None for all that follow."""

    path: str
    first: int = 0
    count: int | None = None


@dataclass(frozen=True, slots=True)
class BytesResult:
    """An opened file, and which of its bytes are handed out."""

    path: str
    size_bytes: int
    first: int
    count: int
    stream: Stream
