"""Build seccomp filters for system calls that neither bubblewrap nor Landlock can restrict.

A Unix socket, in a file or in the abstract namespace, connects to the program that listens on it: the user's
bus and systemd, docker, an SSH agent, all of which could run or sign something outside the sandbox.  So a
command may open network sockets, if it has network access, and no others; pairs of sockets that stay
connected to each other are allowed.  io_uring would bypass the filter, and key rings belong to the user.
Counters, tracing programs and messages of the kernel tell about the whole machine, where its settings allow
it.

Landlock has no access right for modes, owners, times, attributes and flags of files, for watching them, or
for limits and scheduling of other processes.  The kernel passes to the supervisor what programs often need:
changes of the first three are made where the command may write, watches are added where it may list, and the
command's own processes may be limited and scheduled.  The others are refused.  Shared memory, semaphores and
message queues of System V and POSIX belong to all programs of the user, and Landlock does not know them;
mounts are listed by calls that open nothing.

The filter is classic BPF, assembled here instruction by instruction.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _ASK = 0x7FFF0000, 0x00050000, 0x7FC00000
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
"""Offsets in struct seccomp_data."""

_SET_SECCOMP, _MODE_FILTER = 22, 2
"""Arguments of prctl."""

_X32 = 0x40000000
"""On 64-bit x86: the second set of numbers for the same calls begins here."""

_IO_URING_SETUP = 425
"""The same on all machines, like all recent calls."""

_OPENAT2, _FCHMODAT2, _SETXATTRAT, _REMOVEXATTRAT, _FILE_SETATTR = 437, 452, 463, 466, 469
_STATMOUNT, _LISTMOUNT, _GETXATTRAT, _LISTXATTRAT, _FILE_GETATTR = 457, 458, 464, 465, 468

_RAISING = 0o6000
"""The set-user-id and set-group-id bits of a mode. The sticky bit is harmless."""

_CREATING = 0o100 | 0o20000000
"""O_CREAT and O_TMPFILE, the same on all machines here: without them a mode is ignored."""

_SET_FLAGS = (0x40086602, 0x401C5820, 0x40087602, 0x40086604, 0x40806685)
"""ioctl requests that set a file's flags or generation, or end all writing to it: FS_IOC_SETFLAGS,
FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, its like of ext4, FS_IOC_ENABLE_VERITY."""

_SUBVOLUMES = (
    *(0x50009401, 0x5000940E, 0x5000940F, 0x50009417, 0x50009418, 0x4008941A, 0x5000943F, 0xC0C89425),
    *(0x4020BC10, 0x4020BC11),
)
"""ioctl requests of btrfs and bcachefs that make, change and remove subvolumes.

A snapshot shows denied files under new names, and none of these asks Landlock.
"""

Change: TypeAlias = tuple[str, str, int]
"""The change that a call makes (mode, owner, times in a unit, or a watch), the form in which its arguments
name the file (path, link, fd, or "at": a folder and a path), and the argument with flags; -1 for none.

For calls about a task the third is the argument that holds its number.
"""

_DATAGRAMS = 2
"""A bit of the types SOCK_DGRAM and SOCK_RAW, and not of SOCK_STREAM and SOCK_SEQPACKET."""

_UNIX = 1

_NETWORK_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6, and AF_NETLINK, which lists addresses."""


class _Machine(Struct, frozen=True):
    """Numbers of system calls.

    `machine_wide` are calls about the whole machine; `shared` those that reach what all programs of the user
    share and Landlock does not see.  `attributes_read` name a file by its path: those that take a descriptor
    need one of a file that could be opened.

    `tasks` maps calls that can change another process to the index of its number, and to the value of the
    first argument with which that is the number of a process: with others it is a group or a user; -1 if the
    call has no such argument.

    `making` maps calls that create a file to the indices of its mode and of the flags that decide whether the
    mode counts, -1 if it always does.  mkdir is not among them: it ignores both bits, and programs that copy
    folders pass them.
    """

    architecture: int
    socket: int
    socketpair: int
    ioctl: int
    seccomp: int
    keys: tuple[int, ...]
    machine_wide: tuple[int, ...]
    shared: tuple[int, ...]
    attributes_set: tuple[int, ...]
    attributes_removed: tuple[int, ...]
    attributes_read: tuple[int, ...]
    tasks: Mapping[int, tuple[int, int]]
    making: Mapping[int, tuple[int, int]]
    changes: Mapping[int, Change]

    @property
    def modes(self) -> Mapping[int, tuple[int, int]]:
        """All calls that take a mode, in the form of `making`."""
        changed = {
            number: (2 if where == "at" else 1, -1)
            for number, (what, where, _) in self.changes.items()
            if what == "mode"
        }
        return {**self.making, **changed}


def _generic(architecture: int) -> _Machine:
    return _Machine(
        architecture,
        socket=198,
        socketpair=199,
        ioctl=29,
        seccomp=277,
        keys=(217, 218, 219),
        machine_wide=(116, 241, 280),  # syslog, perf_event_open, bpf
        # msg*, sem*, shm*, mq_open, mq_unlink, fanotify_init
        shared=(*range(186, 198), 180, 181, 262, _STATMOUNT, _LISTMOUNT),
        attributes_set=(5, 6, 7, _SETXATTRAT),
        attributes_removed=(14, 15, 16, _REMOVEXATTRAT),
        attributes_read=(8, 9, 11, 12, _GETXATTRAT, _LISTXATTRAT, _FILE_GETATTR),
        tasks={
            261: (0, -1),  # prlimit64
            140: (1, 0),  # setpriority
            30: (1, 1),  # ioprio_set
            118: (0, -1),  # sched_setparam
            119: (0, -1),  # sched_setscheduler
            122: (0, -1),  # sched_setaffinity
            274: (0, -1),  # sched_setattr
        },
        making={56: (3, 2), 33: (2, -1)},  # openat, mknodat
        changes={
            52: ("mode", "fd", -1),
            53: ("mode", "at", -1),
            54: ("owner", "at", 4),
            55: ("owner", "fd", -1),
            88: ("nanoseconds", "at", 3),
            27: ("watch", "path", 2),
            _FCHMODAT2: ("mode", "at", 3),
        },
    )


_X86_64 = _Machine(
    0xC000003E,
    socket=41,
    socketpair=53,
    ioctl=16,
    seccomp=317,
    keys=(248, 249, 250),
    machine_wide=(103, 298, 321),
    shared=(29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241, 300, _STATMOUNT, _LISTMOUNT),
    attributes_set=(188, 189, 190, _SETXATTRAT),
    attributes_removed=(197, 198, 199, _REMOVEXATTRAT),
    attributes_read=(191, 192, 194, 195, _GETXATTRAT, _LISTXATTRAT, _FILE_GETATTR),
    tasks={
        302: (0, -1),
        141: (1, 0),
        251: (1, 1),
        142: (0, -1),
        144: (0, -1),
        203: (0, -1),
        314: (0, -1),
    },
    making={
        257: (3, 2),  # openat
        2: (2, 1),  # open
        85: (1, -1),  # creat
        133: (1, -1),  # mknod
        259: (2, -1),  # mknodat
    },
    changes={
        90: ("mode", "path", -1),
        91: ("mode", "fd", -1),
        92: ("owner", "path", -1),
        93: ("owner", "fd", -1),
        94: ("owner", "link", -1),
        132: ("seconds", "path", -1),
        235: ("microseconds", "path", -1),
        260: ("owner", "at", 4),
        261: ("microseconds", "at", -1),
        268: ("mode", "at", -1),
        280: ("nanoseconds", "at", 3),
        254: ("watch", "path", 2),
        _FCHMODAT2: ("mode", "at", 3),
    },
)
_MACHINES = {"x86_64": _X86_64, "aarch64": _generic(0xC00000B7), "riscv64": _generic(0xC00000F3)}


def known_machine() -> bool:
    """Whether the numbers of this machine's system calls are known here."""
    return os.uname().machine in _MACHINES


def changes() -> Mapping[int, Change]:
    """By number, the calls that `landlock_filter` passes to the supervisor."""
    machine = _MACHINES[os.uname().machine]
    tasks: dict[int, Change] = {number: ("task", "", at) for number, (at, _) in machine.tasks.items()}
    return {**machine.changes, **tasks}


def call_number() -> int:
    """The number of the call that installs a filter."""
    return _MACHINES[os.uname().machine].seccomp


def landlock_filter(*, network: bool) -> bytes:
    """The filter that complements Landlock; without network access it allows no sockets at all."""
    machine = _MACHINES[os.uname().machine]
    instructions = _for_commands(machine)
    refused = (*machine.attributes_removed, *machine.attributes_read, _FILE_SETATTR)
    instructions += _answered(refused, _ERRNO | errno.EOPNOTSUPP)
    instructions += _answered(machine.shared, _ERRNO | errno.ENOSYS)
    instructions += _answered(machine.changes, _ASK)
    instructions += _own_tasks(machine, _ASK)
    instructions += _unless(machine.ioctl, 1, _SET_FLAGS, _ERRNO | errno.EOPNOTSUPP, _ALLOW)
    return _program([*instructions, *_sockets(machine, _NETWORK_FAMILIES if network else ())])


def bubblewrap_filter(*, network: bool) -> bytes:
    """The filter inside bubblewrap; its own network namespace leaves only sockets in files in reach.

    Sockets to the host of a virtual machine and some others heed no namespace.
    """
    machine = _MACHINES[os.uname().machine]
    apart = _unless(machine.socket, 0, (_UNIX, *_NETWORK_FAMILIES), _ALLOW, _ERRNO | errno.EAFNOSUPPORT)
    return _program([*_for_commands(machine), *(_sockets(machine, _NETWORK_FAMILIES) if network else apart)])


def reading_filter() -> bytes:
    """The filter that complements Landlock for a process that only reads what it was given."""
    machine = _MACHINES[os.uname().machine]
    instructions = _common(machine)
    attributes = (*machine.attributes_set, *machine.attributes_removed, *machine.attributes_read)
    refused = (*attributes, _FILE_SETATTR, *machine.shared, *machine.changes)
    instructions += _answered(refused, _ERRNO | errno.EPERM)
    instructions += _own_tasks(machine, _ERRNO | errno.EPERM)
    return _program([*instructions, *_sockets(machine, ())])


_Instruction: TypeAlias = tuple[int, int, int, int]


def _common(machine: _Machine) -> list[_Instruction]:
    refused = _ERRNO | errno.EPERM
    instructions: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, refused),  # programs for another architecture use other numbers
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32),
        (_RETURN, 0, 0, refused),
    ]
    missing = (*machine.keys, *machine.machine_wide, _IO_URING_SETUP)
    return [*instructions, *_answered(missing, _ERRNO | errno.ENOSYS)]


def _for_commands(machine: _Machine) -> list[_Instruction]:
    """Instructions against calls that no command may make, whatever else confines it."""
    instructions = _common(machine)
    for number, (mode, flags) in machine.modes.items():
        instructions += _unraised(number, mode, flags)
    instructions += _answered((_OPENAT2,), _ERRNO | errno.ENOSYS)
    requests = [(_LOAD, 0, 0, _FIRST_ARGUMENT + 8), *_answered(_SUBVOLUMES, _ERRNO | errno.ENOTTY)]
    instructions += [(_EQUAL, 0, len(requests) + 1, machine.ioctl), *requests, (_LOAD, 0, 0, _NUMBER)]
    return [*instructions, *_answered(machine.attributes_set, _ERRNO | errno.EOPNOTSUPP)]


def _answered(numbers: Iterable[int], answer: int) -> Iterator[_Instruction]:
    """Instructions that give the same answer to some calls."""
    for number in numbers:
        yield from ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer))


def _unraised(number: int, mode: int, flags: int) -> list[_Instruction]:
    """Instructions that refuse one call if it would set one of two bits; otherwise the filter continues."""
    body: list[_Instruction] = [
        (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * mode),
        (_ANY_BIT, 0, 1, _RAISING),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
    ]
    if flags >= 0:
        body = [(_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * flags), (_ANY_BIT, 0, 3, _CREATING), *body]
    return [(_EQUAL, 0, len(body), number), *body]


def _own_tasks(machine: _Machine, other: int) -> Iterator[_Instruction]:
    """Instructions that allow a thread to limit and schedule itself, and give one answer for other tasks."""
    for number, (task, process) in machine.tasks.items():
        body: list[_Instruction] = [
            (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * task),
            (_EQUAL, 0, 1, 0),
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, other),
        ]
        if process >= 0:
            whole = [(_LOAD, 0, 0, _FIRST_ARGUMENT), (_EQUAL, 1, 0, process)]
            body = [*whole, (_RETURN, 0, 0, _ERRNO | errno.EPERM), *body]
        yield from ((_EQUAL, 0, len(body), number), *body)


def _unless(number: int, argument: int, values: Sequence[int], then: int, other: int) -> list[_Instruction]:
    """Instructions that answer one call with `then` if an argument has one of the values, else `other`."""
    instructions: list[_Instruction] = [
        (_EQUAL, 0, len(values) + 3, number),
        (_LOAD, 0, 0, _FIRST_ARGUMENT + 8 * argument),
    ]
    for left, value in zip(range(len(values), 0, -1), values, strict=True):
        instructions.append((_EQUAL, left, 0, value))
    return [*instructions, (_RETURN, 0, 0, other), (_RETURN, 0, 0, then)]


def _sockets(machine: _Machine, families: Sequence[int]) -> list[_Instruction]:
    """Instructions that allow sockets of some families, and pairs of streams and of packets in order.

    Either end of a pair of datagrams can be connected again, to any Unix socket of the machine.
    """
    refused = _ERRNO | errno.EAFNOSUPPORT
    pairs: list[_Instruction] = [
        (_EQUAL, 0, 4, machine.socketpair),
        (_LOAD, 0, 0, _FIRST_ARGUMENT + 8),
        (_ANY_BIT, 0, 1, _DATAGRAMS),
        (_RETURN, 0, 0, refused),
        (_RETURN, 0, 0, _ALLOW),
    ]
    return [*pairs, *_unless(machine.socket, 0, families, _ALLOW, refused)]


def _program(instructions: Sequence[_Instruction]) -> bytes:
    whole = (*instructions, (_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in whole)


class _Filter(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def install(instructions: bytes) -> None:
    """Filter the system calls of this process permanently; it must have set no_new_privs before.

    Raises:
        OSError: The kernel refuses.
    """
    program = _Filter(len(instructions) // struct.calcsize("=HBBI"), instructions)
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
