"""Attacks on the confinement of commands: bubblewrap and Landlock, root and an ordinary user, 0 escapes.

Every attack that says so was seen to work without confinement, by the same checks.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from typing import TypeAlias

import pytest

from readroom.core.policy.commands import PATH
from readroom.core.values.commands import Confinement
from tests.core.sandbox import inmate
from tests.core.sandbox.attacks import ATTACKS, Attack
from tests.core.sandbox.cells import (
    CANARY,
    USERS,
    Cell,
    Warder,
    cell,
    hidden,
    in_each_confinement,
    leaked,
    raised,
    state,
)
from tests.suites import whole

pytestmark = pytest.mark.long


_PYTHON = shutil.which("python3", path=PATH) is not None
"""Whether commands see one."""

_NEEDS_PYTHON = pytest.mark.skipif(
    not _PYTHON,
    reason="NOT TESTED: this attack is a Python program, and there is no Python that commands see",
)

Prison: TypeAlias = "tuple[Cell, Warder]"


@pytest.fixture(params=USERS)
def user(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def held() -> Iterator[Callable[[str], Prison]]:
    """A cell of each user, and who runs commands there: whatever comes after what, each is made once."""
    with ExitStack() as stack:

        @cache
        def prison_of(user: str) -> Prison:
            found = stack.enter_context(cell(user))
            return found, stack.enter_context(closing(Warder(user, found)))

        yield prison_of


@pytest.fixture
def prison(held: Callable[[str], Prison], user: str) -> Prison:
    return ready(held, user)


def ready(held: Callable[[str], Prison], user: str) -> Prison:
    """A cell as if nothing had been tried there."""
    found, warder = held(user)
    found.plant()
    if warder.spent:
        warder.renew()
    return found, warder


def escapes(prison: Prison, attack: Attack, confinement: str) -> list[str]:
    """What an attack came to."""
    found, warder = prison
    before = state(found)
    names = {
        "outside": found.outside,
        "base": found.base,
        "root": found.root,
        "canary": "can[a]ry7f3a",
        "inodes": hidden(found),
        **warder.here,
    }
    commands = [command.format(**names) for command in attack.commands]
    policy = {"confinement": confinement}
    answer = warder.run(found.root, commands, policy)
    came = []
    for reply in answer["replies"]:
        if "error" in reply["facts"]:
            came.append(reply["text"])
            continue
        assert reply["facts"]["confinement"] == confinement
        came += [reply["text"]] if CANARY in reply["text"] else []
    after = state(found)
    came += [f"changed: {path}" for path in before if before[path] != after.get(path)]
    came += [f"made: {path}" for path in after if path not in before]
    came += [f"leaked: {path}" for path in leaked(found)]
    came += [f"raised: {path}" for path in raised(found)]
    came += [f"reached: {door}" for door in answer["reached"]]
    came += ["the victim was ended"] if answer["victim_ended"] else []
    came += ["something was typed"] if answer["typed"] else []
    warder.spent = bool(came)
    return came


@in_each_confinement
def test_an_honest_command_works(prison: Prison, confinement: Confinement) -> None:
    """Where nothing runs no attack escapes."""
    found, warder = prison
    command = "echo new > open/new && cat src/a.txt open/new && chmod 600 open/new && [ -r /dev/null ]"
    [reply] = warder.run(found.root, [command], {"confinement": confinement})["replies"]
    assert reply["facts"]["exit_code"] == 0, reply["text"]
    assert "1\thello\n2\tnew\n" in reply["text"]


@in_each_confinement
def test_modes_that_raise_nobody_can_be_set(prison: Prison, confinement: Confinement) -> None:
    """Sticky bits among them, and a folder is copied whose group it hands on to what is made in it."""
    found, warder = prison
    shared = found.root / "open" / "shared"
    (shared / "below").mkdir(parents=True)
    for path in (shared, shared / "below"):
        shutil.chown(path, *((inmate.NOBODY, inmate.NOBODY) if found.user == "nobody" else (os.geteuid(),)))
        path.chmod(0o2755)
    names = "tmp d/e b.txt n t copy/below"
    command = (
        "cd open && mkdir -m 1777 tmp && mkdir -p -m 700 d/e && chmod 755 b.txt && touch n && "
        "chmod 1640 n && install -m 751 /bin/true t && cp -pr d d2 && "
        "cp -r shared copy && chmod -R g-s shared && "
        f"chmod -R go-w . && stat -c '%a' {names}"
    )
    [reply] = warder.run(found.root, [command], {"confinement": confinement})["replies"]
    assert reply["facts"]["exit_code"] == 0, reply["text"]
    shown = [line.partition("\t")[2] for line in reply["text"].split("\n")[1:-1]]
    assert shown == ["1755", "700", "755", "1640", "751", "755"]
    assert raised(found) == []


_OWN = """\
import ctypes, os, resource, struct, subprocess, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
child = subprocess.Popen(["sleep", "100"])
for own in (0, os.getpid(), threading.get_native_id(), child.pid):
    os.sched_setaffinity(own, os.sched_getaffinity(own))
    os.sched_setscheduler(own, os.SCHED_BATCH, os.sched_param(0))
    resource.prlimit(own, resource.RLIMIT_NOFILE, (64, 64))
    os.setpriority(os.PRIO_PROCESS, own, 19)
assert os.getpriority(os.PRIO_PROCESS, child.pid) == 19
child.kill()
def narrowed(): os.sched_setaffinity(threading.get_native_id(), {min(os.sched_getaffinity(0))})
second = threading.Thread(target=narrowed)
second.start(); second.join()
fd = libc.inotify_init1(0)
held = b"/proc/self/fd/%d" % os.open("open", os.O_PATH)
names = [b"open", b"src", os.environb[b"HOME"], os.environb[b"TMPDIR"], b"/usr/bin", held]
watches = [libc.inotify_add_watch(fd, name, 0x100) for name in names]
assert len(set(watches)) == 5 and watches[0] == watches[-1] > 0, watches
assert libc.inotify_add_watch(fd, b"open/nothing", 0x100) < 0 and ctypes.get_errno() == 2
assert libc.inotify_add_watch(77, b"open", 0x100) < 0 and ctypes.get_errno() == 9
open("open/watched", "w").close()
assert struct.unpack_from("iI", os.read(fd, 999))[0] == watches[0]
assert libc.inotify_rm_watch(fd, watches[0]) == 0
"""


@_NEEDS_PYTHON
@in_each_confinement
def test_a_command_schedules_and_watches_what_is_its_own(prison: Prison, confinement: Confinement) -> None:
    """Calls of programs on their threads and children, and in folders that they may list."""
    found, warder = prison
    (found.root / "open" / "own.py").write_text(_OWN, encoding="utf-8")
    commands = [
        "python3 open/own.py",
        "sleep 9 & renice 19 -p $! && taskset -p -c 0 $! && nice -n 3 ionice -c 3 true && kill $!",
        "cd open && mkdir copy && cp -a b.txt copy && ls -lR .",
        "sleep 0.3 & tail -n 1 -f --pid=$! open/b.txt",
    ]
    replies = warder.run(found.root, commands, {"confinement": confinement})["replies"]
    for reply in replies:
        assert reply["text"].startswith("exit 0 "), reply["text"]
        assert "stderr" not in reply["text"]


def _kinds(attacks: Iterable[Attack]) -> pytest.MarkDecorator:
    """Attacks that commands carry out, and those that are Python programs."""
    every = list(attacks)
    shell, python = ([one for one in every if one.python is wanted] for wanted in (False, True))
    programs = pytest.param(python, marks=_NEEDS_PYTHON, id="python")
    return pytest.mark.parametrize("attacks", [pytest.param(shell, id="shell"), programs])


@in_each_confinement
@_kinds(ATTACKS)
def test_no_attack_escapes(
    held: Callable[[str], Prison], user: str, attacks: list[Attack], confinement: Confinement
) -> None:
    came = {one.name: escapes(ready(held, user), one, confinement) for one in attacks}
    assert {name: found for name, found in came.items() if found} == {}


@whole
@_kinds(one for one in ATTACKS if one.real)
def test_without_confinement_the_attack_works(held: Callable[[str], Prison], attacks: list[Attack]) -> None:
    """The control: the checks would notice."""
    assert [one.name for one in attacks if not escapes(ready(held, "self"), one, "none")] == []
