"""Bytes in a temporary file that has no name: it is gone when nobody holds it, whatever happens."""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from typing import final

_PLACES = ("/var/tmp",)
"""Before the usual place, which on many systems is memory."""


@final
class Spool:
    """A file of this process alone; written by one thread, read by any."""

    def __init__(self) -> None:
        """Make one. Raises OSError."""
        self._fd = _nameless()
        self.size = 0
        # Whoever still reads it when the cache has let go of it keeps it open.
        weakref.finalize(self, os.close, self._fd)

    def append(self, data: bytes | memoryview) -> None:
        """Add bytes at the end. Raises OSError, such as for a full disk, with nothing added."""
        done = 0
        while done < len(data):
            done += os.pwrite(self._fd, data[done:], self.size + done)
        self.size += done

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`; shorter only at the end."""
        return os.pread(self._fd, max(0, min(size, self.size - offset)), offset)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return os.preadv(self._fd, [buffer], offset)

    def descriptor(self) -> int:
        """A descriptor with a position of its own where the system has such; the caller closes it."""
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                return os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
        return os.dup(self._fd)


def _nameless() -> int:
    import tempfile  # most reads need none

    places = [*(place for place in _PLACES if os.access(place, os.W_OK | os.X_OK)), tempfile.gettempdir()]
    if hasattr(os, "O_TMPFILE"):
        for place in places:
            with contextlib.suppress(OSError):
                return os.open(place, os.O_RDWR | os.O_TMPFILE | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fd, name = tempfile.mkstemp(prefix="readroom-", dir=places[-1])
    os.unlink(name)
    return fd
