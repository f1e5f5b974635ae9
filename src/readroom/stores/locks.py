"""One writer at a time in a folder, and the removal of what crashed writers left there.

The lock is `flock` on the folder itself: it needs no file, ends with its process
whatever happens to it, and holds between threads, processes and containers that
share the folder.  On network file systems it may hold on one machine only.

Whoever holds it is the only writer at work there, so temporary files of readroom
in the folder are left over; each is locked by its writer all the same, for
writers that this lock did not reach.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
import time

from readroom.deadline import Deadline
from readroom.errors import TimedOut
from readroom.limits import LOCK_WAIT_S

_TEMPORARY = re.compile(r"\.readroom-[0-9a-f]{16}\.tmp")

_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EINVAL)
"""File systems without locks. Writing goes on: what is replaced is still looked at just before."""

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05


def temporary_name() -> str:
    """A name that nobody else has, and that is known as ours if it is left over."""
    return f".readroom-{secrets.token_hex(8)}.tmp"


def is_temporary(name: str) -> bool:
    """Whether a name is kept for temporary files."""
    return _TEMPORARY.fullmatch(name.lower()) is not None


def lock(folder: int, deadline: Deadline) -> None:
    """Wait until no other writer is at work in the folder.

    Raises:
        TimedOut: One is, and does not end.
        Cancelled: The caller no longer waits.
    """
    within = deadline.within(LOCK_WAIT_S)
    wait = _FIRST_WAIT_S
    while not try_lock(folder):
        if within.expired and not deadline.expired:
            raise TimedOut(LOCK_WAIT_S, "Another program holds the folder; send the call again in a moment.")
        deadline.check()
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT_S)


def try_lock(descriptor: int) -> bool:
    """Lock a folder or file if no one else has; True also where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        return error.errno in _UNLOCKABLE
    return True


def unlock(descriptor: int) -> None:
    """Let the next one in now, even when a forked process still has the descriptor."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def sweep(folder: int) -> None:
    """Remove temporary files that no one is writing."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.name for entry in entries if is_temporary(entry.name)]
    except OSError:
        return  # tidying is no reason to fail
    for name in left:
        with contextlib.suppress(OSError):
            _remove(folder, name)


def _remove(folder: int, name: str) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode) and try_lock(descriptor):
            os.unlink(name, dir_fd=folder)
    finally:
        os.close(descriptor)
