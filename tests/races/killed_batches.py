"""A batch of every kind of change whose process is killed, at one line of its code after the other.

Run as a program, so that it can fork without threads: `killed_batches.py ROOT WAY MODE`.
Prints, in JSON, what was found after each death and the next look at the workspace.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple

from readroom.core.deadline import Deadline
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
    WriteTarget,
)
from readroom.core.stores.local import (
    LocalStore,
    across,
    batch,
    journal,
    place,
    rename,
    trees,
    undo,
    unfinished,
)
from readroom.core.values import EntryKind
from tests.core.stores.worlds import Way
from tests.races.killed import Moments, Trace

KILLS = 60
STRIDES = {"kernel": 1, "walk": 3}
"""Each line is died at, and each third in the other way, which only comes to a folder by other lines."""

TRACED = {module.__file__ for module in (across, batch, journal, place, rename, trees, undo, unfinished)}

BACK = [
    TreeEntry("", EntryKind.FOLDER, 0o755, 10**18),
    TreeEntry("deep", EntryKind.FOLDER, 0o700, 10**18),
    TreeEntry("deep/file", EntryKind.FILE, 0o640, 10**18, b"back\n"),
    TreeEntry("link", EntryKind.LINK, target="deep"),
]
"""A folder that comes back."""

LONG = b"unchanged\n" * 30_000
"""Large enough that it takes several pieces."""


def before(root: Path) -> None:
    """The tree that every batch begins with."""
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("src", "old/deep"):
        (root / folder).mkdir(parents=True)
    (root / "src/a").write_bytes(b"old\n" + LONG)
    (root / "src/b").write_bytes(b"b before\n")
    (root / "src/gone").write_bytes(b"gone\n")
    (root / "src/moved").write_bytes(b"moved\n")
    (root / "old/x").write_bytes(b"x\n")
    (root / "old/deep/y").write_bytes(b"y\n")
    (root / "old/link").symlink_to("x")


def tree(root: Path) -> dict[str, bytes | str | None]:
    """Every name below a folder with what it is; links and folders without content."""
    found: dict[str, bytes | str | None] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = None if path.is_dir() else path.read_bytes()
    return found


def change(root: Path, way: Way) -> None:
    """Two files replaced, one made below missing folders, one removed, one moved, and a folder of each."""
    store = LocalStore(root, way, notes(root))
    with ExitStack() as stack:

        def at(path: str) -> WriteTarget:
            return stack.enter_context(store.place(WorkPath(path)))

        a, b, new, gone = at("src/a"), at("src/b"), at("new/deep/c"), at("src/gone")
        moved, to, old, made = at("src/moved"), at("new/moved"), at("old"), at("made")
        link, back, link_over = at("new/link"), at("new/back"), at("src/link")
        places = (a, b, new, gone, moved, to, old, made, link, back, link_over)
        for _, target in sorted({target.lock: target for target in places}.items()):
            target.hold(Deadline())
        sources = [stack.enter_context(target.open()) for target in (a, b)]
        stats = {target: target.look() for target in (gone, moved, old)}
        assert all(stats.values())
        changes: list[Change] = [
            PutFile(a, [b"new\n", LONG], sources[0]),
            PutFile(b, [b"b after\n"], sources[1]),
            PutFile(new, [b"c\n", LONG]),
            RemoveEntry(gone, stats[gone]),  # type: ignore[arg-type]  # all of them are there
            RenameEntry(moved, to, stats[moved]),  # type: ignore[arg-type]
            RemoveEntry(old, stats[old]),  # type: ignore[arg-type]
            MakeEntry(made),
            MakeLink(link, "moved", 10**18),
            MakeLink(link_over, "b"),
            PutTree(back, BACK),
        ]
        store.commit(changes, lambda: None)
    store.close()


def notes(root: Path) -> str:
    return f"{root}-notes"


def died(root: Path, way: Way, act: Callable[[Path, Way], None], *, delay_s: float, line: int | None) -> bool:
    """Act in a child that is killed after a time, or at a line; whether it died of that."""
    child = os.fork()
    if not child:
        sys.settrace(None if line is None else Trace(line, TRACED))
        try:
            act(root, way)
        finally:
            os._exit(0)
    if line is None:
        select.select([], [], [], delay_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def look(root: Path, way: Way) -> None:
    """What the next call does first."""
    store = LocalStore(root, way, notes(root))
    left = store.recover()
    assert not left, left
    store.close()


class Case(NamedTuple):
    """A batch: the tree before it, the change, and what the next call does first."""

    before: Callable[[Path], None]
    change: Callable[[Path, Way], None]
    look: Callable[[Path, Way], None]


def attempts(root: Path, way: Way, mode: str, case: Case) -> Iterator[bool]:
    """Whether each of the batches died, each on the tree before it."""
    if mode == "random":
        moments = Moments()
        for _ in range(KILLS):
            case.before(root)
            dead = died(root, way, case.change, delay_s=moments.next(), line=None)
            moments.saw(dead)
            yield dead
        return
    for line in count(1, STRIDES[way]):
        case.before(root)
        dead = died(root, way, case.change, delay_s=0, line=line)
        if mode == "twice" and dead:
            # Who looks after it dies as well, somewhere else each time.
            died(root, way, case.look, delay_s=0, line=1 + line * 7 % 150)
        yield dead
        if not dead:
            return


def main(root: Path, way: Way, mode: str) -> None:
    run(root, way, mode, Case(before, change, look), {"new/deep/c", "made", "new/moved"})


def run(root: Path, way: Way, mode: str, case: Case, made: Set[str]) -> None:
    """Kill a batch and count what is found; `made` are names that it makes."""
    case.before(root)
    old = tree(root)
    case.change(root, way)
    new = tree(root)
    assert set(new) - set(old) >= made
    assert set(old) - set(new)
    seen: Counter[str] = Counter()
    for dead in attempts(root, way, mode, case):
        seen["died" if dead else "finished"] += 1
        seen["half done"] += tree(root) not in (old, new)
        case.look(root, way)
        _sweep(root, way)
        found = tree(root)
        kind = "old" if found == old else "new" if found == new else "torn"
        seen[kind] += 1
        if kind == "torn":
            names = {name for name in {*found, *old} if found.get(name, 0) != old.get(name, 0)}
            print("torn", sum(seen.values()), sorted(names), file=sys.stderr)
        # One that was never begun is looked at again when it is old.
        seen["journals"] += sum("." in name for name in os.listdir(f"{notes(root)}/batches"))
    print(json.dumps(seen))


def _sweep(root: Path, way: Way) -> None:
    """Clean up what was only staged, as the next change in each folder does."""
    store = LocalStore(root, way, notes(root))
    for folder in (".", *(str(path.relative_to(root)) for path in root.rglob("*") if path.is_dir())):
        with store.place(WorkPath(f"{folder}/any" if folder != "." else "any")) as target:
            target.hold(Deadline())
    store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])  # type: ignore[arg-type]  # one of the ways
