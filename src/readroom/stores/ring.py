"""The last bytes of a stream of any length, in a file of fixed size without a name."""

from __future__ import annotations

import os
from typing import final


@final
class Ring:
    """Holds the last `most` bytes written to it. Used by one thread."""

    def __init__(self, path: str, most: int) -> None:
        """`path` is a free name, used for a moment only."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._fd = os.open(path, flags, 0o600)
        os.unlink(path)
        self._most = most
        self.written = 0

    @property
    def held(self) -> int:
        """How many bytes it holds."""
        return min(self.written, self._most)

    def write(self, data: bytes) -> None:
        """Add bytes; what was first leaves."""
        passed, data = data[: -self._most], data[-self._most :]
        self.written += len(passed)
        place = self.written % self._most
        before_wrap = data[: self._most - place]
        write_all(self._fd, before_wrap, place)
        write_all(self._fd, data[len(before_wrap) :], 0)
        self.written += len(data)

    def read(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` of what is held; fewer where the file wraps or ends."""
        size = min(size, self.held - offset)
        place = (max(0, self.written - self._most) + offset) % self._most
        return os.pread(self._fd, min(size, self._most - place), place) if size > 0 else b""

    def close(self) -> None:
        """Release it; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def write_all(fd: int, data: bytes, at: int) -> None:
    """Write all bytes at a place, however little the system takes at once."""
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, at)
        view = view[done:]
        at += done
