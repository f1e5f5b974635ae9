"""The process of a change that is being made, and whether it lives.

Each process that changes something holds a lock on a file of its own.  A change that has begun and whose
file nobody holds is what a killed process left.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import final

from readroom.core.closeable import Closeable
from readroom.core.stores.local.unfinished import try_lock

_PREFIX, _UNFINISHED = "run-", "new-"


@final
class Run(Closeable):
    """This process, as long as it lives."""

    def __init__(self, folder: str | None) -> None:
        """Note it in the folder of the history. Raises OSError."""
        self.name = os.urandom(8).hex()
        self.pid = os.getpid()
        self._fd, self._path = -1, ""
        if folder is None:
            return
        first = os.path.join(folder, _UNFINISHED + self.name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._fd = os.open(first, flags, 0o600)
        try_lock(self._fd)
        # It gets the name by which others look for it only once it is locked.
        self._path = os.path.join(folder, _PREFIX + self.name)
        os.rename(first, self._path)

    def close(self) -> None:
        """Forget it; a second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            if self.pid == os.getpid():
                with contextlib.suppress(OSError):
                    os.unlink(self._path)
            os.close(fd)


def lives(folder: str | None, name: str) -> bool:
    """Whether the process of that name lives."""
    if folder is None:
        return False
    try:
        fd = os.open(os.path.join(folder, _PREFIX + name), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def sweep(folder: str, is_needed: Callable[[str], bool]) -> None:
    """Remove the files of processes that died, unless a change still names them."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith(_PREFIX):
                run = name.removeprefix(_PREFIX)
                if not is_needed(run) and not lives(folder, run):
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, name))
