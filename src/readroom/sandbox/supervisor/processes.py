"""Find, signal and end all descendants of a process, whatever session they moved to.

Part of the supervisor's program: imports nothing of readroom.  The process has been
made the parent of all orphans below it (PR_SET_CHILD_SUBREAPER), so one without
children has no descendants left, which nothing has to be searched to know.  Where
there is no such thing (macOS), only a process group can be ended.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
else:
    import _signal as signal

_TICK_S = 0.02
"""Between two looks at whether all processes have ended."""

_ROUNDS = 200
"""How often what forks all the time is stopped before it is killed; each round leaves fewer that can."""

_LINUX = sys.platform == "linux"


def below(most: int | None = None) -> list[int]:
    """The living processes below this one; one that is started meanwhile may be missing.

    More than `most` are not looked for.
    """
    living: list[int] = []
    pending = [os.getpid()] if _LINUX else []
    while pending and (most is None or len(living) <= most):
        for child in _children(pending.pop()):
            pending.append(child)
            if parent(child) is not None:
                living.append(child)
    return living


def tasks() -> int:
    """Processes and threads of the whole system: told at once, however many they are."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def any_left(awaited: int) -> tuple[bool, int | None]:
    """Bury what has ended: whether anything is left, and the exit status of one process if it is among it."""
    status_of_awaited = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status_of_awaited
        if ended == 0:
            return True, status_of_awaited
        if ended == awaited:
            status_of_awaited = os.waitstatus_to_exitcode(status)


def emptied(patience_s: float, most: int | None = None) -> bool:
    """Whether everything below ended in time. That `most` tasks are there in the system ends the patience."""
    until = time.monotonic() + patience_s
    while any_left(0)[0]:
        if time.monotonic() >= until or (most is not None and tasks() > most):
            return False
        time.sleep(_TICK_S / 4)
    return True


def ask(spared: int) -> None:
    """Ask everything to end, except one process."""
    living = below()
    others = [pid for pid in living if pid != spared]
    _send(others, living, signal.SIGTERM)
    _send(others, living, signal.SIGCONT)  # one that was stopped hears of nothing else


def kill(*, top: bool) -> None:
    """End everything. `top`: what is at the top is the first of its name space and takes all others with it.

    What is stopped forks no more, so all are stopped first.
    """
    if top:
        living = [pid for pid in _children(os.getpid()) if parent(pid) is not None]
        _send(living, living, signal.SIGKILL)
        return
    stopped: set[int] = set()
    for _ in range(_ROUNDS):
        living = below()
        running = [pid for pid in living if pid not in stopped]
        if not running:
            break
        _send(running, living, signal.SIGSTOP)
        stopped.update(running)
    living = below()
    _send(living, living, signal.SIGKILL)


def end(patience_s: float, *, top: bool) -> None:
    """Go on killing until nothing is left, or patience is."""
    until = time.monotonic() + patience_s
    while any_left(0)[0] and time.monotonic() < until:
        kill(top=top)
        emptied(_TICK_S)


def _send(pids: Sequence[int], known: Sequence[int], number: int) -> None:
    """Send a signal to processes below. A number may mean another by now: one that has another parent."""
    parents = {*known, os.getpid()}
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except (OSError, AttributeError):
            continue
        try:
            # An orphan comes to this process, or to a descendant that asked for them.
            if parent(pid) in parents:
                signal.pidfd_send_signal(descriptor, number)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def send_group(pid: int, number: int) -> None:
    """All of the group of a child at once, so that no fork is missed. Only while the child is not buried."""
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def parent(pid: int) -> int | None:
    """The parent of a living process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, number = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(number)


def _children(pid: int) -> list[int]:
    """What each of its threads has started, as the kernel lists it; a zombie may have some, too."""
    children: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    children += map(int, file.read().split())
            except (FileNotFoundError, ProcessLookupError):
                continue
    except OSError:
        return []
    return children or _searched(pid)


def _searched(pid: int) -> list[int]:
    """The same in all of /proc, for kernels without such lists (CONFIG_PROC_CHILDREN)."""
    if os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return []
    names = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [one for one in names if parent(one) == pid]
