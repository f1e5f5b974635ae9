"""A script of changes that is killed by force: all of it is made, or nothing, after the next call."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.deadline import Deadline
from readroom.core.errors import StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    MakeLink,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    TreeEntry,
)
from readroom.core.stores.environment import EnvironmentStore, Ran
from readroom.core.stores.environment.base import failed
from readroom.core.stores.environment.place import EnvironmentPlace
from readroom.core.values import EntryKind, Stat
from tests.core.stores.environment.machines import ShellMachine
from tests.suites import daily

FIRST, SECOND = "export READROOM_CHANGE", "/proc/[0-9]*/cmdline"
"""What only the script of a change has, and the one that ends it."""

ALL, SHELL = "kill -9 0", "{ kill -9 $$ || :; }"
"""Ends all processes of a command, or its shell alone, whose children go on: also past the same place again,
where there is nothing left to kill.
"""


class Killed(ShellMachine):
    """Kills scripts one after the other, each in one of its places.

    Attributes:
        kills: What the next of them has, and in which of its places that ends.
        counted: How many places the scripts have that were seen.
    """

    def __init__(self, root: Path, *kills: tuple[str, int], how: str = ALL) -> None:
        super().__init__(root)
        self.kills = [*kills]
        self.counted: dict[str, int] = {}
        self.gone = False
        self._how = how

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        if self.gone:
            raise failed(self.name, "it is gone")
        script = command[2]
        for which in (FIRST, SECOND):
            if which in script:
                self.counted[which] = len(places(script))
        if self.kills and self.kills[0][0] in script:
            return self.killed(script, command, places(script)[self.kills.pop(0)[1]])
        return super().run(command, seconds)

    def killed(self, script: str, command: Sequence[str], place: tuple[int, str]) -> Ran:
        at, then = place
        started = subprocess.Popen(
            [*command[:2], f"{script[:at]}{self._how}{then}{script[at:]}", *command[3:]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            start_new_session=True,
            cwd="/",
        )
        out, _ = started.communicate()
        return Ran(started.returncode, out.decode())


def places(script: str) -> list[tuple[int, str]]:
    """Where a script can be killed, and what follows there: between any two commands of its work."""
    lines = script[: script.rindex("return $why\n")]
    made = lines.index("; then\nnote made\n" if FIRST in script else '"$n" = made ]; then\n')
    return [(one.end(), " && ") for one in re.finditer(r" && (?:\\\n)?", lines)] + [
        (one.end(), "\n")
        for one in re.finditer(r"\n(?=note|rm|rmdir|:|return|if )", lines)
        if one.end() > made
    ]


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def plant(root: Path) -> None:
    for path in root.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    for name, data in {"a": b"old a", "d/b": b"old b", "gone": b"gone", "c": b"c", "t/x/y": b"y"}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    os.chmod(root / "a", 0o640)


def look(root: Path) -> dict[str, object]:
    """Everything below a folder, by name."""
    found: dict[str, object] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = None if path.is_dir() else (path.read_bytes(), path.stat().st_mode)
    return found


def change(store: EnvironmentStore) -> None:
    """One of each kind of change in one commit."""
    with ExitStack() as held:

        def place(path: str) -> EnvironmentPlace:
            return held.enter_context(store.place(WorkPath(path)))

        def seen(at: EnvironmentPlace) -> Stat:
            found = at.look()
            assert found is not None
            return found

        a, b, gone, c, tree = (place(path) for path in ("a", "d/b", "gone", "c", "t"))
        entries = [
            TreeEntry("", EntryKind.FOLDER, 0o755),
            TreeEntry("in", EntryKind.FOLDER, 0o755),
            TreeEntry("in/f", EntryKind.FILE, 0o644, 10**18, b"f"),
            TreeEntry("l", EntryKind.LINK, target="in"),
        ]
        changes: list[Change] = [
            PutFile(a, [b"new a"], held.enter_context(a.open())),
            PutFile(place("n/m/new"), [b"new"]),
            PutFile(b, [b"new b"], held.enter_context(b.open())),
            RemoveEntry(gone, seen(gone)),
            RenameEntry(c, place("k/c"), seen(c)),
            RemoveEntry(tree, seen(tree)),
            MakeEntry(place("d/made")),
            MakeLink(place("d/link"), "b"),
            PutTree(place("tree"), entries),
        ]
        a.hold(Deadline())
        store.commit(changes, lambda: None)


def tried(store: EnvironmentStore) -> str:
    """What is said of a change; "" if it was made."""
    try:
        change(store)
    except StoreFailed as error:
        return error.problem
    return ""


def before_and_after(root: Path) -> tuple[dict[str, object], dict[str, object]]:
    plant(root)
    before = look(root)
    assert tried(EnvironmentStore(ShellMachine(root))) == ""
    after = look(root)
    assert "n/m/new" in after
    assert "t" not in after
    assert "tree/in/f" in after
    return before, after


PARTS = 8


@daily(1, "part", range(PARTS))
@pytest.mark.parametrize("how", [ALL, SHELL], ids=["all", "shell"])
def test_a_script_that_is_killed_anywhere_makes_all_or_nothing(part: int, how: str, root: Path) -> None:
    before, after = before_and_after(root)
    plant(root)
    machine = Killed(root)
    tried(EnvironmentStore(machine))
    assert machine.counted[FIRST] > 60
    for at in range(part, machine.counted[FIRST], PARTS):
        plant(root)
        machine = Killed(root, (FIRST, at), how=how)
        store = EnvironmentStore(machine)
        said = tried(store)
        assert machine.kills == []
        found = look(root)
        if "not known" in said:
            store.at(WorkPath("a"))  # what did not answer in time is ended before anything else is asked
            assert look(root) in (before, after), at
        elif said:
            assert "taken back" in said
            assert found == before, at
        else:
            assert found == after, at


@daily(1, "part", range(PARTS))
def test_what_takes_back_may_be_killed_as_well(part: int, root: Path) -> None:
    """The next call goes on with it."""
    before, after = before_and_after(root)
    plant(root)
    machine = Killed(root, (FIRST, 50))
    tried(EnvironmentStore(machine))
    places_of_second = machine.counted[SECOND]
    assert places_of_second > 20
    for first in (50, machine.counted[FIRST] - 8):
        for at in range(part, places_of_second, PARTS):
            plant(root)
            machine = Killed(root, (FIRST, first), (SECOND, at))
            store = EnvironmentStore(machine)
            said = tried(store)
            store.stat(WorkPath("."))
            found = look(root)
            assert found in (before, after), (first, at, said)
            assert said == "" or "not known" in said or found == before, (first, at, said)


def test_a_sandbox_that_comes_back_is_put_in_order_first(root: Path) -> None:
    before, _ = before_and_after(root)
    plant(root)

    class Lost(Killed):
        def killed(self, script: str, command: Sequence[str], place: tuple[int, str]) -> Ran:
            ran = super().killed(script, command, place)
            self.gone = True
            return ran

    machine = Lost(root, (FIRST, 60))
    store = EnvironmentStore(machine)
    assert "not known" in tried(store)
    torn = look(root)
    assert torn != before
    with pytest.raises(StoreFailed):
        store.stat(WorkPath("a"))
    machine.gone = False
    with store.open(WorkPath("a")) as source:
        assert source.read_at(0, 9) == b"old a"
    assert look(root) == before


def test_what_another_program_wrote_since_is_kept_and_told(root: Path) -> None:
    plant(root)

    class Written(Killed):
        def killed(self, script: str, command: Sequence[str], place: tuple[int, str]) -> Ran:
            ran = super().killed(script, command, place)
            (root / "a").write_bytes(b"a person's")
            return ran

    store = EnvironmentStore(Written(root, (FIRST, 60)))
    with pytest.raises(StoreFailed) as caught:
        change(store)
    assert "made in part" in caught.value.problem
    assert (root / "a").read_bytes() == b"a person's"
    former = caught.value.advice.rpartition(" ")[2].removesuffix(".")
    assert [path.read_bytes() for path in root.glob(f"{former}*.old")] == [b"old a"]
    assert (root / "d/b").read_bytes() == b"old b"


def test_a_change_that_was_cut_off_with_its_process_is_told_by_the_next_one(root: Path) -> None:
    """Nobody knows any more what it was to make: what is left of it is named."""
    plant(root)

    class Died(BaseException):
        pass

    class Lost(Killed):
        def killed(self, script: str, command: Sequence[str], place: tuple[int, str]) -> Ran:
            super().killed(script, command, place)
            raise Died

    with pytest.raises(Died):
        change(EnvironmentStore(Lost(root, (FIRST, 60))))
    assert [*root.glob(".readroom-*.run")]
    with Workspace(EnvironmentStore(ShellMachine(root))) as workspace:
        assert not workspace.call(
            "write_file", {"path": "w", "content": "w", "expected_hash": "absent"}
        ).is_error
        reply = workspace.call("read_file", {"path": "w"})
        facts: Any = reply.facts
        (note,) = [one for one in facts["warnings"] if ".readroom-" in one["detail"]]
        assert "cut off" in note["detail"]
        assert ".readroom-" not in str(workspace.call("read_file", {"path": "w"}).facts)
