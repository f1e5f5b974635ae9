"""Frames between the two ends: one letter, the length, the bytes.

near to far                            far to near
q  the request, once                   o  standard output
i  standard input                      e  standard error
z  the end of it                       x  the exit code, last
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

REQUEST, INPUT, INPUT_END = b"q", b"i", b"z"
OUTPUT, ERRORS, EXIT = b"o", b"e", b"x"

MARK: Final = b"\0readroom remote 1 "
"""The far end says it first, before facts about itself; a login shell may print before it."""

PIECE_BYTES: Final = 64 * 1024
"""Bytes in a frame of a stream, at most: the capacity of a pipe."""

_MOST_BYTES = 16 * 1024 * 1024
"""A request can have arguments of megabytes."""


class BadFrame(Exception):
    """Bytes that no end sends."""


def frame(kind: bytes, data: bytes = b"") -> bytes:
    """One frame."""
    return kind + len(data).to_bytes(4, "big") + data


class Frames:
    """Cuts a stream of bytes into frames."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Kind and bytes of each frame that `data` completes. Raises BadFrame."""
        self._held += data
        while len(self._held) >= 5:
            length = int.from_bytes(self._held[1:5], "big")
            if self._held[:1] not in b"qizoex" or length > _MOST_BYTES:
                raise BadFrame
            if len(self._held) < 5 + length:
                return
            kind, payload = bytes(self._held[:1]), bytes(self._held[5 : 5 + length])
            del self._held[: 5 + length]
            yield kind, payload


def request(words: Sequence[str], terminal: Sequence[str]) -> bytes:
    """The bytes of a request: what the terminal is, then the words of the command line."""
    parts = [str(len(terminal)), *terminal, *words]
    return b"\0".join(part.encode("utf-8", "surrogateescape") for part in parts)


def requested(data: bytes) -> tuple[list[str], list[str]]:
    """Words and terminal of a request. Raises BadFrame."""
    count, *parts = [part.decode("utf-8", "surrogateescape") for part in data.split(b"\0")]
    if not count.isdecimal() or int(count) > len(parts):
        raise BadFrame
    return parts[int(count) :], parts[: int(count)]
