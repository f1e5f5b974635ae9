"""One writer at a time in a folder.

The lock is `flock` on the folder itself: it needs no file, ends with its process
whatever happens to it, and holds between threads, processes and containers that
share the folder.  On network file systems it may hold on one machine only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import time

from readroom.deadline import Deadline
from readroom.errors import TimedOut
from readroom.limits import LOCK_WAIT_S

_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EINVAL)
"""File systems without locks. Writing goes on: what is replaced is still looked at just before."""

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05


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
