"""Standard input and output for the protocol alone, and lines in what is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def own_streams() -> Iterator[tuple[int, int]]:
    """Private descriptors for input and output; 0 and 1 lead to nothing and to standard error."""
    sys.stdout.flush()
    # `dup` makes descriptors that no child inherits.
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        os.dup2(nothing, 0)
        try:
            os.dup2(2, 1)
        except OSError:  # started without standard error
            os.dup2(nothing, 1)
        # Some parents pass on ends that do not block; ours wait in threads, or ask before they write.
        for private in (incoming, outgoing):
            os.set_blocking(private, True)
        yield incoming, outgoing
    finally:
        os.close(nothing)
        # The private ones stay open: a thread may be blocked on one, and would meet what got its number.
        os.dup2(incoming, 0)
        os.dup2(outgoing, 1)


class Lines:
    """Cuts chunks into lines. One over the limit comes as its beginning, a byte over; the rest is dropped."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = bytearray()
        self._dropping = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that `data` ends."""
        *ended, rest = data.split(b"\n")
        for piece in ended:
            yield from self._add(piece)
            if not self._dropping:
                yield bytes(self._held)
            self._held.clear()
            self._dropping = False
        yield from self._add(rest)

    def rest(self) -> Iterator[bytes]:
        """What stands after the last line end, once."""
        if self._held and not self._dropping:
            yield bytes(self._held)
        self._held.clear()

    def _add(self, piece: bytes) -> Iterator[bytes]:
        if self._dropping:
            return
        self._held += piece
        if len(self._held) > self._limit:
            yield bytes(self._held[: self._limit + 1])
            self._held.clear()
            self._dropping = True
