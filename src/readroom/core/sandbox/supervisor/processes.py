"""Find, signal and end all descendants of this process, whatever session they moved to.

Part of the supervisor's program: imports nothing from readroom.  The process is the parent of all orphans
below it (PR_SET_CHILD_SUBREAPER), so if it has no children, it has no descendants, and need not search for
them.  Without such a mechanism (macOS), only a process group can be ended.
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
"""Time between two checks whether all processes have ended."""

_ROUNDS = 200
"""Rounds of stopping processes that keep forking, before the kill; each round leaves fewer that can fork."""

_LINUX = sys.platform == "linux"


def below(maximum: int | None = None) -> list[int]:
    """The living processes below this one; one that is started meanwhile may be missing.

    The search stops after more than `maximum`.
    """
    living: list[int] = []
    pending = [os.getpid()] if _LINUX else []
    while pending and (maximum is None or len(living) <= maximum):
        for child in _children(pending.pop()):
            pending.append(child)
            if parent(child) is not None:
                living.append(child)
    return living


def holds(task: int) -> bool:
    """Whether a process or thread is below this process."""
    own, above = os.getpid(), parent(task)
    while above is not None and above != own:
        above = parent(above) if above > 0 else None
    return above == own


def tasks() -> int:
    """The number of processes and threads in the whole system; fast, however many there are."""
    try:
        with open("/proc/loadavg", "rb") as file:
            return int(file.read().split()[3].partition(b"/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def any_left(awaited: int) -> tuple[bool, int | None]:
    """Reap ended children; returns whether any is left, and the exit status of `awaited` if it was reaped."""
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


def emptied(patience_s: float, maximum: int | None = None) -> bool:
    """Wait until everything below has ended; False if time is up, or the system has over `maximum` tasks."""
    until = time.monotonic() + patience_s
    while any_left(0)[0]:
        if time.monotonic() >= until or (maximum is not None and tasks() > maximum):
            return False
        time.sleep(_TICK_S / 4)
    return True


def ask(spared: int) -> None:
    """Ask all processes below to end, except one."""
    living = below()
    others = [pid for pid in living if pid != spared]
    _send(others, living, signal.SIGTERM)
    _send(others, living, signal.SIGCONT)  # a stopped process handles no other signal


def kill(*, top: bool) -> None:
    """Kill everything below. `top`: the child is the first process of its namespace, and takes all with it.

    Stopped processes cannot fork, so all are stopped first.
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
    """Kill until nothing is left, or until the time is up."""
    until = time.monotonic() + patience_s
    while any_left(0)[0] and time.monotonic() < until:
        kill(top=top)
        emptied(_TICK_S)


def _send(pids: Sequence[int], known: Sequence[int], number: int) -> None:
    """Send a signal to processes below. A reused number is recognised by its parent, and skipped."""
    parents = {*known, os.getpid()}
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except (OSError, AttributeError):
            continue
        try:
            # The new parent of an orphan is this process, or a descendant that is a subreaper.
            if parent(pid) in parents:
                signal.pidfd_send_signal(descriptor, number)
        except OSError:
            pass
        finally:
            os.close(descriptor)


def send_group(pid: int, number: int) -> None:
    """Signal the whole group of a child at once, so that no fork is missed. Only before it is reaped."""
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def parent(pid: int) -> int | None:
    """The parent of a living process; None if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, number = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(number)


def _children(pid: int) -> list[int]:
    """The children of all its threads, as the kernel lists them; a zombie may have some too."""
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
    """The children from a search of /proc, for kernels without such lists (CONFIG_PROC_CHILDREN)."""
    if os.path.exists(f"/proc/self/task/{os.getpid()}/children"):
        return []
    names = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [one for one in names if parent(one) == pid]
