"""The guide's table of what each confinement leaves possible is what happens."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from readroom.core.values.commands import Confinement
from tests.core.sandbox.attacks import python, shell
from tests.core.sandbox.cells import CANARY, ROOT, USERS, Warder, cell, hidden, in_each_confinement
from tests.suites import daily

pytestmark = pytest.mark.long

PAGE = ROOT / "docs" / "how-to" / "run-commands.md"

HEAD = "| a command can | bubblewrap | Landlock |\n| --- | --- | --- |\n"


def _call(x86: int, other: int, arguments: str) -> str:
    return f"libc.syscall({x86} if os.uname().machine == 'x86_64' else {other}, {arguments})"


def _any_of(*tries: str) -> str:
    """A program that reports when one of some expressions raises nothing and is not false."""
    each = ", ".join(f"lambda: {one}" for one in tries)
    return f"for one in ({each}):\n try: one() and print(WIN)\n except OSError: pass"


_PROBES = {
    "open, list or run what is denied or outside": shell(
        "files", "cat .env {outside}/secret.txt private/known.txt; ls private {outside}; {outside}/program"
    ),
    "ask for the size and dates of what is outside": shell(
        "stat", 'stat {outside}/secret.txt && echo can""ary7f3a'
    ),
    "read extended attributes of what is denied or outside": python(
        "attributes",
        _any_of(
            "os.listxattr('{outside}/secret.txt') == []",
            "os.stat('.env').st_ino in {inodes} and os.listxattr('.env') == []",
        ),
    ),
    "watch what is denied or outside (inotify)": python(
        "watch",
        "fd = libc.inotify_init1(0)\n"
        "for n in ('{outside}', 'private', '.env'):\n"
        " libc.inotify_add_watch(fd, n.encode(), 4) >= 0 and os.stat(n).st_ino in {inodes} and print(WIN)",
    ),
    "watch what it may list": python(
        "watch its own", "libc.inotify_add_watch(libc.inotify_init1(0), b'open', 0xFFF) >= 0 and print(WIN)"
    ),
    "signal, trace, limit or schedule other processes": python(
        "others",
        _any_of(
            "not os.kill({victim}, 0)",
            "not os.sched_setaffinity({victim}, {{0}})",
            "resource.prlimit({victim}, 7)",
            "os.readlink('/proc/{victim}/cwd')",
        ),
    ),
    "find out which numbers of processes are taken": python(
        "numbers", "libc.kill({victim}, 0) and ctypes.get_errno() == 1 and print(WIN)"
    ),
    "limit and schedule its own processes": python(
        "own", "os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0)); print(WIN)"
    ),
    "use shared memory, semaphores and queues of System V among its own processes": python(
        "system v", f"{_call(29, 194, '0, 4096, 0o600')} >= 0 and print(WIN)"
    ),
    "use those of POSIX, as locks and pools of Python's `multiprocessing` do": python(
        "posix", "import multiprocessing; multiprocessing.Lock(); print(WIN)"
    ),
    "reach servers of its own on 127.0.0.1, without `network`": python(
        "servers",
        "s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print(WIN)",
    ),
    "make Unix sockets other than pairs": python(
        "sockets", "socket.socket(socket.AF_UNIX).bind(os.environ['TMPDIR'] + '/s'); print(WIN)"
    ),
    "connect to Unix sockets of programs outside": python(
        "sockets outside",
        _any_of(
            *(
                f"not socket.socket(socket.AF_UNIX).connect({n})"
                for n in ("chr(0) + '{abstract}'", "'{socket}'")
            )
        ),
    ),
    "use key rings, io_uring, bpf, counters and messages of the kernel": python(
        "kernel",
        "b = ctypes.create_string_buffer(128)\n"
        + _any_of(
            f"{_call(250, 219, '0, -4, 1')} >= 0",
            f"{_call(425, 425, '4, b')} >= 0",
            f"{_call(298, 241, 'b, 0, -1, -1, 0')} >= 0",
            f"{_call(103, 116, '10, 0, 0')} >= 0",
        ),
    ),
}
"""For each row a command that prints the canary where it is possible."""


def _table() -> dict[str, dict[Confinement, bool]]:
    rows = PAGE.read_text(encoding="utf-8").partition(HEAD)[2].partition("\n\n")[0]
    cells = (re.fullmatch(r"\| (.+) \| (yes|no) \| (yes|no) \|", row) for row in rows.splitlines())
    return {cell[1]: {"bwrap": cell[2] == "yes", "landlock": cell[3] == "yes"} for cell in cells if cell}


def test_every_row_of_the_table_is_tried() -> None:
    assert list(_table()) == list(_PROBES)


@in_each_confinement
@daily(1, "user", USERS)
def test_what_the_table_says_is_what_happens(user: str, confinement: Confinement) -> None:
    with cell(user) as found, closing(Warder(user, found)) as warder:
        names = {"outside": found.outside, "inodes": hidden(found), **warder.here}
        commands = [probe.commands[0].format(**names) for probe in _PROBES.values()]
        replies = warder.run(found.root, commands, {"confinement": confinement})["replies"]
    possible = [CANARY in reply["text"] for reply in replies]
    assert dict(zip(_PROBES, possible, strict=True)) == {
        row: said[confinement] for row, said in _table().items()
    }
