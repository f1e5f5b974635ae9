"""The last bytes of a stream of any length, in an unnamed file of fixed size."""

from __future__ import annotations

import os
from typing import final

from readroom.core.limits import BLOCK_BYTES


@final
class Ring:
    """A ring buffer in a file that has the last `maximum` bytes written. Used by one thread."""

    def __init__(self, path: str, maximum: int) -> None:
        """`path` is an unused name, needed for a moment only."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        os.unlink(path)
        self._maximum = maximum
        self.written = 0

    @property
    def filled(self) -> int:
        """How many bytes it has."""
        return min(self.written, self._maximum)

    def write(self, data: bytes) -> None:
        """Write bytes; the oldest are overwritten."""
        passed, data = data[: -self._maximum], data[-self._maximum :]
        self.written += len(passed)
        place = self.written % self._maximum
        before_wrap = data[: self._maximum - place]
        write_all(self._fd, before_wrap, place)
        write_all(self._fd, data[len(before_wrap) :], 0)
        self.written += len(data)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; fewer where the file wraps or ends."""
        size = min(size, self.filled - offset)
        place = (max(0, self.written - self._maximum) + offset) % self._maximum
        return os.pread(self._fd, min(size, self._maximum - place), place) if size > 0 else b""

    def close(self) -> None:
        """Release it; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def write_all(fd: int, data: bytes | memoryview, at: int) -> None:
    """Write all bytes at an offset, in as many writes as needed."""
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, at)
        view = view[done:]
        at += done


def lines_of(fd: int, size: int) -> int:
    """The number of line feeds in the first bytes of a file."""
    count = at = 0
    while at < size and (block := os.pread(fd, min(BLOCK_BYTES, size - at), at)):
        count += block.count(b"\n")
        at += len(block)
    return count
