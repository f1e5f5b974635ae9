"""The process between readroom and a command: it starts the command and sees that nothing of it stays.

A program of its own, run by its path with `python -I -S`: it imports nothing of
readroom.  Forking is safe here, where there is one thread, and a process can be
made the parent of all orphans below it (PR_SET_CHILD_SUBREAPER): whatever a
command starts, in whatever session, and however often it forks, is then found
below this process and ended.  Where there is no such thing (macOS), only the
process group is.

    order    standard input: one JSON object, see `Order`
    control  standard input after it: "t" asks the command to end, its end (readroom is gone) ends it at once
    report   a descriptor: one JSON object {"code", "ended", "alive"} or {"error"}

The command never has a descriptor of this process beside its own three.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import sys
import time
from typing import NoReturn, TypedDict

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_FILTER = 2
_LANDLOCK_RESTRICT_SELF = 446

_NO_ROOT_LOCKED = 0b1111
"""SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and their locks: user 0 gets nothing for being that."""

_TICK_S = 0.02
"""Between two looks at whether all processes have ended."""

_LINUX = sys.platform == "linux"


class Order(TypedDict):
    """What is to be started. Descriptors are numbers in this process; texts may hold surrogate escapes.

    `folder` None leaves the choice to the program; `rules` is a Landlock ruleset;
    `filter` a seccomp program as hex; `keep` are descriptors that the program needs
    to start with; `spare` leaves out the program itself when its processes are
    asked to end (it would take them with it); `unprivileged` drops capabilities.
    """

    arguments: list[str]
    environment: dict[str, str]
    output: int
    messages: int
    folder: int | None
    rules: int | None
    filter: str
    keep: list[int]
    spare: bool
    unprivileged: bool
    grace_s: float
    drain_s: float


def main() -> int:
    """Carry out one order."""
    report = int(sys.argv[1])
    order: Order = json.loads(_announced(0))
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for fd in (report, order["output"], order["messages"], order["folder"], order["rules"], *order["keep"]):
        if fd is not None:
            os.set_inheritable(fd, False)
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_DUMPABLE, 0)
    problem, trouble = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, trouble)
    for fd in (trouble, order["output"], order["messages"], *order["keep"]):
        os.close(fd)
    found = os.read(problem, 4096)
    if found:
        os.waitpid(pid, 0)
        _say(report, {"error": found.decode("utf-8", "replace")})
        return 0
    _say(report, _watched(pid, order))
    return 0


def _announced(fd: int) -> bytes:
    """What is announced by its size in twelve digits, and not a byte behind it."""
    found = bytearray()
    size = int(os.read(fd, 12))
    while len(found) < size:
        piece = os.read(fd, size - len(found))
        if not piece:
            sys.exit(1)
        found += piece
    return bytes(found)


def _say(report: int, what: dict[str, object]) -> None:
    os.write(report, json.dumps(what).encode())


# --- the command -------------------------------------------------------------------------------


def _become(order: Order, trouble: int) -> NoReturn:
    """In the child: turn into the command."""
    try:
        os.setsid()
        if _LINUX:
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for fd, place in ((nothing, 0), (order["output"], 1), (order["messages"], 2)):
            os.dup2(fd, place)
        for fd in order["keep"]:
            os.set_inheritable(fd, True)
        if order["folder"] is not None:
            os.fchdir(order["folder"])
        _no_core_files()
        # Python ignores it; a program that writes to a closed pipe has to end.
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _restrict(order)
        arguments = [os.fsencode(word) for word in order["arguments"]]
        environment = {os.fsencode(k): os.fsencode(v) for k, v in order["environment"].items()}
        os.execve(arguments[0], arguments, environment)
    except BaseException as error:
        os.write(trouble, (getattr(error, "strerror", None) or repr(error)).encode())
    os._exit(127)


def _no_core_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _restrict(order: Order) -> None:
    """Give up, for good, what the command must not have; the order of the steps matters."""
    if order["unprivileged"]:
        _drop_capabilities()
    if order["rules"] is not None or order["filter"]:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if order["rules"] is not None:
        _checked(_libc().syscall(_LANDLOCK_RESTRICT_SELF, order["rules"], 0))
    if order["filter"]:
        _install(bytes.fromhex(order["filter"]))


def _drop_capabilities() -> None:
    """What user 0 may do beyond others ends here: it could undo the rest."""
    if os.geteuid() != 0:
        return
    number = 0
    while _libc().prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    _libc().prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(instructions: bytes) -> None:
    program = _Program(len(instructions) // 8, instructions)
    _checked(_libc().prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, ctypes.byref(program), 0, 0))


# --- its end -----------------------------------------------------------------------------------


def _watched(pid: int, order: Order) -> dict[str, object]:
    """Wait for the command, then end what it has left behind."""
    control = select.poll()
    control.register(0, select.POLLIN)
    # A child that ends wakes the poll, whenever it happens.
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    control.register(woken, select.POLLIN)
    code: int | None = None
    hurry = asked = False
    deadline = float("inf")
    while code is None:
        code = _reaped(pid)
        if code is not None:
            break
        left = max(0.0, deadline - time.monotonic())
        for fd, _ in control.poll(None if left == float("inf") else left * 1000):
            if fd == woken:
                os.read(woken, 512)
                continue
            word = os.read(0, 1)
            if not word:
                control.unregister(0)
                hurry = True
            elif not asked:
                asked = True
                _ask(pid, order["spare"])
                deadline = time.monotonic() + order["grace_s"]
        if hurry or time.monotonic() >= deadline:
            _kill(pid)
            deadline = float("inf")
    ended = _end_rest(pid, order, hurry=hurry or asked)
    return {"code": code, "ended": ended, "alive": len(_below())}


def _reaped(pid: int) -> int | None:
    """The exit status of the command if it has ended; orphans that end are buried on the way."""
    found = None
    while True:
        try:
            ended, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if ended == 0:
            return found
        if ended == pid:
            found = os.waitstatus_to_exitcode(status)


def _ask(pid: int, spare: bool) -> None:
    """Ask everything to end."""
    if not spare:
        _signal_group(pid, signal.SIGTERM)
    for other in _below():
        if not (spare and other == pid):
            _signal(other, signal.SIGTERM)


def _kill(pid: int) -> None:
    _signal_group(pid, signal.SIGKILL)
    for other in _below():
        _signal(other, signal.SIGKILL)


def _end_rest(pid: int, order: Order, *, hurry: bool) -> int | None:
    """End what the command has left behind; how many processes that were, as far as can be told."""
    if not _LINUX:
        _signal_group(pid, signal.SIGTERM)
        time.sleep(_TICK_S)
        _signal_group(pid, signal.SIGKILL)
        return None
    left = _below()
    # What started the command there is a process of its own, which ends with the last of the others.
    count = max(0, len(left) - order["spare"])
    if count and not hurry:
        for other in left:
            _signal(other, signal.SIGTERM)
        _emptied(order["grace_s"])
    until = time.monotonic() + order["drain_s"]
    while _below() and time.monotonic() < until:
        _kill(pid)
        _emptied(_TICK_S)
    return count


def _emptied(patience_s: float) -> bool:
    """Whether everything below ended in time."""
    until = time.monotonic() + patience_s
    while _below():
        _reaped(-1)
        if time.monotonic() >= until:
            return False
        time.sleep(_TICK_S / 4)
    return True


def _below() -> list[int]:
    """The living processes below this one."""
    if not _LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent(int(name))
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    pending = [os.getpid()]
    while pending:
        mine = children.get(pending.pop(), [])
        found += mine
        pending += mine
    return found


def _descends(pid: int) -> bool:
    parent = _parent(pid)
    while parent is not None and parent > 1 and parent != os.getpid():
        parent = _parent(parent)
    return parent == os.getpid()


def _parent(pid: int) -> int | None:
    """The parent of a living process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in (b"Z", b"X") else int(parent)


def _signal(pid: int, number: int) -> None:
    """Send a signal to a process below; its number may mean another by now, so it is looked at again."""
    try:
        held = os.pidfd_open(pid)
    except (OSError, AttributeError):
        return
    try:
        if _descends(pid):
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(held, number)
    finally:
        os.close(held)


def _signal_group(pid: int, number: int) -> None:
    """All of a group at once, so that no fork is missed. One without members may be another's by now."""
    if _LINUX and not any(_group(other) == pid for other in _below()):
        return
    with contextlib.suppress(OSError):
        os.killpg(pid, number)


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


# --- the system ----------------------------------------------------------------------------------


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def _checked(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    sys.exit(main())
