"""The answers of the filters of system calls, for every machine, without making the calls."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from readroom.core.kernel import seccomp

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "riscv64": 0xC00000F3}

ALLOWED, ASKED = 0x7FFF0000, 0x7FC00000

PAIRS: dict[str, tuple[int, int]] = {
    "msgget": (68, 186), "msgctl": (71, 187), "msgrcv": (70, 188), "msgsnd": (69, 189),
    "semget": (64, 190), "semctl": (66, 191), "semtimedop": (220, 192), "semop": (65, 193),
    "shmget": (29, 194), "shmctl": (31, 195), "shmat": (30, 196), "shmdt": (67, 197),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "fanotify_init": (300, 262),
    "statmount": (457, 457), "listmount": (458, 458),
    "getxattr": (191, 8), "lgetxattr": (192, 9), "listxattr": (194, 11), "llistxattr": (195, 12),
    "getxattrat": (464, 464), "listxattrat": (465, 465), "file_getattr": (468, 468),
    "syslog": (103, 116), "perf_event_open": (298, 241), "bpf": (321, 280), "io_uring_setup": (425, 425),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "prlimit64": (302, 261), "sched_setparam": (142, 118), "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122), "sched_setattr": (314, 274),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "inotify_add_watch": (254, 27),
    "fgetxattr": (193, 10), "flistxattr": (196, 13), "sched_getaffinity": (204, 123),
    "inotify_init1": (294, 26), "getpriority": (140, 141), "read": (0, 63), "socketpair": (53, 199),
    "socket": (41, 198), "ioctl": (16, 29),
}  # fmt: skip
"""Numbers on 64-bit x86, and on the machines that came after it."""

TASKS = ("prlimit64", "sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")

SHARED = (*(name for name in PAIRS if name[:3] in ("msg", "sem", "shm", "mq_")), "fanotify_init",
          "statmount", "listmount")  # fmt: skip
READ_BY_PATH = (
    "getxattr",
    "lgetxattr",
    "listxattr",
    "llistxattr",
    "getxattrat",
    "listxattrat",
    "file_getattr",
)
EVERYWHERE = ("syslog", "perf_event_open", "bpf", "io_uring_setup", "add_key", "request_key", "keyctl")

_FILTERS: dict[str, Callable[[], bytes]] = {
    "landlock": lambda: seccomp.landlock_filter(network=False),
    "landlock, network": lambda: seccomp.landlock_filter(network=True),
    "bwrap": lambda: seccomp.bubblewrap_filter(network=False),
    "bwrap, network": lambda: seccomp.bubblewrap_filter(network=True),
    "reading": seccomp.reading_filter,
}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A machine whose filters are made here; nothing runs on it."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine=request.param))
    return str(request.param)


def answer(machine: str, filter_: str, call: str, *arguments: int) -> int:
    """The answer of a filter, computed as the kernel does."""
    number = PAIRS[call][machine != "x86_64"]
    padded = [argument & (1 << 64) - 1 for argument in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, MACHINES[machine], 0, *padded)
    program = list(struct.iter_unpack("=HBBI", _FILTERS[filter_]()))
    at = held = 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == 0x20:
            [held] = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return int(value)
        else:
            met = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += yes if met else no


def refused(machine: str, filter_: str, call: str, *arguments: int) -> bool:
    return answer(machine, filter_, call, *arguments) >> 16 == 5


@pytest.mark.parametrize("network", ["", ", network"])
def test_landlock_refuses_what_other_programs_of_the_user_share(machine: str, network: str) -> None:
    for call in SHARED:
        assert answer(machine, f"landlock{network}", call, 1, 2, 3) == 0x50000 | errno.ENOSYS, call


def test_landlock_reads_no_attributes_of_what_could_not_be_opened(machine: str) -> None:
    for call in READ_BY_PATH:
        assert answer(machine, "landlock", call, 1, 2, 3) == 0x50000 | errno.EOPNOTSUPP, call
    for call in ("fgetxattr", "flistxattr"):
        assert answer(machine, "landlock", call, 1, 2, 3) == ALLOWED, call


@pytest.mark.parametrize("filter_", _FILTERS)
def test_calls_about_the_whole_machine_are_refused_everywhere(machine: str, filter_: str) -> None:
    for call in EVERYWHERE:
        assert answer(machine, filter_, call, 1, 2, 3) == 0x50000 | errno.ENOSYS, call


@pytest.mark.parametrize(("filter_", "others"), [("landlock", ASKED), ("reading", 0x50000 | errno.EPERM)])
def test_a_task_changes_itself_and_is_asked_about_others(machine: str, filter_: str, others: int) -> None:
    """The upper half of an argument does not matter: the kernel does not look at it."""
    for more in (0, 0x5A << 40):
        for call in TASKS:
            assert answer(machine, filter_, call, more, 8, 8) == ALLOWED, call
            assert answer(machine, filter_, call, 77 | more, 8, 8) == others, call
            assert answer(machine, filter_, call, -1, 8, 8) == others, call
        for call, process in (("setpriority", 0), ("ioprio_set", 1)):
            assert answer(machine, filter_, call, process | more, 0, 19) == ALLOWED, call
            assert answer(machine, filter_, call, process | more, 77, 19) == others, call
            for group_or_user in (process + 1, process + 2):
                for who in (0, 77, -1):
                    assert refused(machine, filter_, call, group_or_user | more, who, 19), (call, who)


def test_watches_are_asked_about(machine: str) -> None:
    assert answer(machine, "landlock", "inotify_add_watch", 3, 4, 5) == ASKED
    assert answer(machine, "landlock", "inotify_init1", 0) == ALLOWED
    assert refused(machine, "reading", "inotify_add_watch", 3, 4, 5)


def test_what_landlock_asks_about_the_supervisor_can_answer(machine: str) -> None:
    """Every call that is passed on has its row, and the row says where its arguments are."""
    rows = seccomp.changes()
    for call in PAIRS:
        if answer(machine, "landlock", call, 1, 77, 3) == ASKED:
            assert PAIRS[call][machine != "x86_64"] in rows, call


def test_asking_is_allowed(machine: str) -> None:
    for call in ("sched_getaffinity", "getpriority", "read"):
        assert answer(machine, "landlock", call, 77, 77) == ALLOWED, call


@pytest.mark.parametrize("filter_", ["landlock", "landlock, network", "bwrap, network", "reading"])
def test_pairs_of_sockets_cannot_be_connected_anew(machine: str, filter_: str) -> None:
    """Datagrams (2, and 3 means the same) can; streams (1) and packets in order (5) cannot."""
    for more in (0, 0x800, 0x80000, 0x80800, 0x5A << 40):
        for kind, allowed in ((1, True), (2, False), (3, False), (5, True)):
            assert (answer(machine, filter_, "socketpair", 1, kind | more) == ALLOWED) is allowed, kind


@pytest.mark.parametrize("filter_", _FILTERS)
def test_no_sockets_but_those_of_the_network_and_its_namespace(machine: str, filter_: str) -> None:
    """AF_VSOCK (40) reaches the host of a virtual machine from every network namespace."""
    network = {2, 10, 16} if "network" in filter_ else {1, 2, 10, 16} if filter_ == "bwrap" else set()
    allowed = {family for family in range(64) if answer(machine, filter_, "socket", family, 2, 0) == ALLOWED}
    assert allowed == network


def _request(direction: int, kind: int, number: int, size: int) -> int:
    """An ioctl request as the kernel's headers compose it."""
    return direction << 30 | size << 16 | kind << 8 | number


BTRFS, BCACHEFS = 0x94, 0xBC

SUBVOLUMES = (
    *(_request(1, BTRFS, number, 4096) for number in (1, 14, 15, 23, 24, 63)),
    _request(1, BTRFS, 26, 8),
    _request(3, BTRFS, 37, 200),
    *(_request(1, BCACHEFS, number, 32) for number in (16, 17)),
)
"""Make, remove and change subvolumes: a snapshot has all that is in a folder, denied or not."""

CLONES = (_request(1, BTRFS, 9, 4), _request(1, BTRFS, 13, 32), 0x5413)
"""Copies between open files, and a question to a terminal."""


@pytest.mark.parametrize("filter_", ["landlock", "landlock, network", "bwrap", "bwrap, network"])
def test_commands_make_no_snapshots(machine: str, filter_: str) -> None:
    for more in (0, 0x5A << 40):
        for request in SUBVOLUMES:
            assert answer(machine, filter_, "ioctl", 3, request | more, 4) == 0x50000 | errno.ENOTTY
        for request in CLONES:
            assert answer(machine, filter_, "ioctl", 3, request | more, 4) == ALLOWED


def test_landlock_sets_no_flags_of_files(machine: str) -> None:
    """FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION, the same of ext4, FS_IOC_ENABLE_VERITY."""
    for kind, number, size in (("f", 2, 8), ("X", 32, 28), ("v", 2, 8), ("f", 4, 8), ("f", 133, 128)):
        request = _request(1, ord(kind), number, size)
        assert answer(machine, "landlock", "ioctl", 3, request, 4) == 0x50000 | errno.EOPNOTSUPP
