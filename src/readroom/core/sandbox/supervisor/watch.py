"""Start a command between readroom and it, watch it, and end whatever it leaves behind.

A separate program, started by `__main__`: it imports nothing from readroom except the two files next to it,
which are parts of this program, and from the standard library only what imports fast, because every command
waits for it.  Forking is safe here, with only one thread.  Every process that a command starts is found below
this one and ended (`processes`); changes that a command cannot make itself, though it should be able to, are
made here for it (`attributes`).

    order    standard input: the size of an `Order`, then the order by `marshal`
    control  standard input after it: "t" asks the command to end, end of file (readroom is gone) kills it
    report   a descriptor: one JSON object {"code", "ended", "alive", "many", "started"} or {"error"}

The command never has a descriptor of this process except its own three.
"""

from __future__ import annotations

import _json
import _socket
import ctypes
import marshal
import os
import select
import struct
import sys
import time

TYPE_CHECKING = False  # importing `typing` takes a third as long as starting Python
if TYPE_CHECKING:
    import signal
    from collections.abc import Sequence
    from typing import NoReturn, TypedDict

    from readroom.core.sandbox.supervisor import attributes, processes

    class Order(TypedDict):
        """What to start. Descriptors are numbers in this process; texts may contain surrogate escapes.

        `folder` None leaves the choice to the program; `rules` is a Landlock ruleset; `filter` a seccomp
        program; `keep` are descriptors that the program needs to start; `spare` excepts the program itself
        when its processes are asked to end (it would take them with it); `unprivileged` drops capabilities.
        """

        arguments: list[str]
        environment: dict[str, str]
        output: int
        messages: int
        folder: int | None
        rules: int | None
        filter: bytes
        keep: list[int]
        started: int | None
        spare: bool
        unprivileged: bool
        calls: dict[int, Sequence[str | int]]
        places: list[str]
        watched: list[tuple[str, bool]]
        seccomp: int
        maximum: int
        grace_s: float
        drain_s: float

else:
    import _signal as signal  # without its enumerations, which take as long

    import attributes
    import processes

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_CAPBSET_DROP = 24
_PR_SET_SECUREBITS = 28
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_FILTER = 2
_SECCOMP_SET_FILTER, _SECCOMP_LISTENER = 1, 8
_LANDLOCK_RESTRICT_SELF = 446

_NO_ROOT_LOCKED = 0b1111
"""SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and their locks: user 0 gets no capabilities for being user 0."""

_CAPABILITIES_VERSION = 0x20080522

_LOOK_S = 0.05
"""Time between two checks of the number of tasks, in which a fork bomb adds a few hundred."""

_LOOKS = 20
"""One of so many checks counts the command's own processes, however few tasks the system has: other tasks
that ended since the command began must not make room for more of its own."""

_LINUX = sys.platform == "linux"


def main() -> int:
    """Carry out one order."""
    report = int(sys.argv[1])
    order: Order = marshal.loads(_announced())
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for fd in (
        report,
        order["output"],
        order["messages"],
        order["folder"],
        order["rules"],
        order["started"],
        *order["keep"],
    ):
        if fd is not None:
            os.set_inheritable(fd, False)
    if _LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        _prctl(_PR_SET_DUMPABLE, 0)
    problem, trouble = os.pipe()
    ours, theirs = _socket.socketpair()
    pid = os.fork()
    if pid == 0:
        _become(order, trouble, theirs)
    theirs.close()
    for fd in (trouble, order["output"], order["messages"], *order["keep"]):
        os.close(fd)
    if order["calls"]:
        _give_up_capabilities()
    message = os.read(problem, 4096)
    if message:
        os.waitpid(pid, 0)
        _say(report, {"error": message.decode("utf-8", "replace")})
        return 0
    requests = None
    if order["calls"]:
        listener = _received(ours)
        requests = attributes.AttributeRequests(listener, order["calls"], order["places"], order["watched"])
    ending = _watched(pid, order, requests)
    _say(report, {**ending, "started": _was_started(order["started"], ending)})
    return 0


def _was_started(status: int | None, ending: dict[str, object]) -> bool:
    """Whether the command was started, as far as this can be told."""
    if status is None or ending["code"] != 1:
        return True
    os.set_blocking(status, False)
    try:
        return b"exit-code" in os.read(status, 4096)
    except BlockingIOError:
        return False


def _received(door: _socket.socket) -> int:
    """Receive the descriptor that the child sends."""
    _, sent, _, _ = door.recvmsg(1, _socket.CMSG_LEN(4))
    return int(struct.unpack("=i", sent[0][2])[0])


def _announced() -> bytes:
    """Read the message on standard input after its size in twelve digits, and not a byte more."""
    received = bytearray()
    size = int(os.read(0, 12))
    while len(received) < size:
        piece = os.read(0, size - len(received))
        if not piece:
            sys.exit(1)
        received += piece
    return bytes(received)


def _say(report: int, what: dict[str, object]) -> None:
    """Write JSON by hand: importing the `json` module takes as long as starting Python."""
    words = ", ".join(f'"{name}": {_word(value)}' for name, value in what.items())
    os.write(report, f"{{{words}}}".encode())


def _word(value: object) -> str:
    if isinstance(value, str):
        return str(_json.encode_basestring_ascii(value))
    return "null" if value is None else str(value).lower()


# --- the command -------------------------------------------------------------------------------


def _become(order: Order, trouble: int, door: _socket.socket) -> NoReturn:
    """Become the command, in the child process."""
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
        _first_to_go()
        # Python ignores SIGPIPE, but a program that writes to a closed pipe has to end.
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        _restrict(order, door)
        arguments = [os.fsencode(word) for word in order["arguments"]]
        environment = {os.fsencode(k): os.fsencode(v) for k, v in order["environment"].items()}
        os.execve(arguments[0], arguments, environment)
    except BaseException as error:
        os.write(trouble, (getattr(error, "strerror", None) or repr(error)).encode())
    os._exit(127)


def _no_core_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _first_to_go() -> None:
    """When memory runs out, the system should end the command, not the process that started it."""
    if _LINUX:
        # A process that is not dumpable cannot write its own score either, except as user 0.
        _prctl(_PR_SET_DUMPABLE, 1)
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("1000")
    except OSError:
        pass


def _restrict(order: Order, door: _socket.socket) -> None:
    """Drop permanently what the command must not have; the order of the steps matters."""
    if order["unprivileged"]:
        _drop_capabilities()
    if order["rules"] is not None or order["filter"]:
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if order["rules"] is not None:
        _checked(_libc().syscall(_LANDLOCK_RESTRICT_SELF, order["rules"], 0))
    if order["filter"]:
        listener = _install(order["filter"], order["seccomp"] if order["calls"] else None)
        if listener is not None:
            rights = (_socket.SOL_SOCKET, _socket.SCM_RIGHTS, struct.pack("=i", listener))
            door.sendmsg([b"x"], [rights])


def _drop_capabilities() -> None:
    """Make user 0 lose its capabilities on exec, since it could undo the rest with them."""
    if os.geteuid() != 0:
        return
    number = 0
    while _libc().prctl(_PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1
    _libc().prctl(_PR_SET_SECUREBITS, _NO_ROOT_LOCKED, 0, 0, 0)


def _give_up_capabilities() -> None:
    """Drop this process's capabilities: it acts for the command, and must not be able to do more."""
    header = struct.pack("=Ii", _CAPABILITIES_VERSION, 0)
    _checked(_libc().capset(header, bytes(24)))


class _Program(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(instructions: bytes, seccomp: int | None) -> int | None:
    """Install a filter; with the number of the `seccomp` call, one that notifies, returning its listener."""
    program = ctypes.byref(_Program(len(instructions) // 8, instructions))
    if seccomp is None:
        _checked(_libc().prctl(_PR_SET_SECCOMP, _SECCOMP_FILTER, program, 0, 0))
        return None
    listener: int = _libc().syscall(seccomp, _SECCOMP_SET_FILTER, _SECCOMP_LISTENER, program)
    _checked(listener)
    return listener


# --- its end -----------------------------------------------------------------------------------


def _watched(pid: int, order: Order, requests: attributes.AttributeRequests | None) -> dict[str, object]:
    """Wait for the command, then end the processes that it leaves behind."""
    waiting = select.poll()
    woken = _woken_by_children()
    for fd in (0, woken, *([requests.listener] if requests else [])):
        waiting.register(fd, select.POLLIN)
    code: int | None = None
    hurry = asked_to_end = many = False
    deadline = float("inf")
    look, looks = time.monotonic() + _LOOK_S, 0
    crowd = processes.tasks() + order["maximum"]
    while (code := processes.any_left(pid)[1]) is None:
        patience = min(look, deadline) - time.monotonic()
        for fd, event in waiting.poll(max(0.0, patience) * 1000):
            if fd == woken:
                os.read(woken, 512)
            elif fd != 0 and requests is not None:
                if event & select.POLLIN:
                    requests.answer()
                else:
                    waiting.unregister(fd)
            elif not os.read(0, 1):
                waiting.unregister(0)
                hurry = True
            elif not asked_to_end:
                asked_to_end = True
                _ask(pid, order["spare"])
                deadline = time.monotonic() + order["grace_s"]
        if time.monotonic() >= look:
            look, looks = time.monotonic() + _LOOK_S, looks + 1
            # That number includes threads and processes of others, so the command's own are counted then.
            crowded = processes.tasks() > crowd or looks % _LOOKS == 0
            many = many or (crowded and len(processes.below(order["maximum"])) > order["maximum"])
        if hurry or many or time.monotonic() >= deadline:
            processes.send_group(pid, signal.SIGKILL)
            processes.kill(top=order["spare"])
            deadline = float("inf")
    ended = _end_rest(pid, order, crowd, hurry=hurry or asked_to_end or many)
    return {"code": code, "ended": ended, "alive": len(processes.below()), "many": many}


def _woken_by_children() -> int:
    """A descriptor that becomes readable whenever a child ends."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    return woken


def _ask(pid: int, spare: bool) -> None:
    """Ask all processes of the command to end."""
    if not spare:
        processes.send_group(pid, signal.SIGTERM)
    processes.ask(spared=pid if spare else 0)


def _end_rest(pid: int, order: Order, crowd: int, *, hurry: bool) -> int | None:
    """End the processes that the command left behind; returns their number, or None if unknown."""
    if not _LINUX:
        processes.send_group(pid, signal.SIGTERM)
        time.sleep(_LOOK_S / 10)
        processes.send_group(pid, signal.SIGKILL)
        return None
    if not processes.any_left(0)[0]:
        return 0
    # With `spare`, one process is the program's own, and ends with the last of the others.
    count = max(0, len(processes.below()) - order["spare"])
    if count and not hurry:
        processes.ask(spared=0)
        processes.emptied(order["grace_s"], crowd)
    processes.end(order["drain_s"], top=order["spare"])
    return count


# --- the system ----------------------------------------------------------------------------------


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _prctl(option: int, value: int) -> None:
    _checked(_libc().prctl(option, ctypes.c_ulong(value), 0, 0, 0))


def _checked(result: int) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
