"""A batch in two roots whose process is killed; who looks next at either of them finds all of it or nothing.

Run as a program, as `killed_batches`.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path

from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Change, MakeEntry, PutFile, RemoveEntry, RenameEntry, WriteTarget
from readroom.core.stores.local import LocalStore
from readroom.core.stores.roots.joined import JoinedStore, RootStore
from readroom.core.stores.roots.names import Place
from tests.core.stores.worlds import Way
from tests.races.killed_batches import LONG, Case, notes, run

B = WorkPath("B")


def before(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("A/src", "B/old/deep"):
        (root / folder).mkdir(parents=True)
    (root / "A/src/a").write_bytes(b"old\n" + LONG)
    (root / "B/b").write_bytes(b"b before\n")
    (root / "A/src/moved").write_bytes(b"moved\n")
    (root / "B/gone").write_bytes(b"gone\n")
    (root / "B/old/deep/y").write_bytes(b"y\n")


def change(root: Path, way: Way) -> None:
    """A file replaced in each root, one moved to the other, a folder the other way, and new and gone ones."""
    first, second = (LocalStore(root / name, way, notes(root)) for name in "AB")
    store = JoinedStore(first, {"B": RootStore(Place(B), second)})
    with ExitStack() as stack:

        def at(path: str) -> WriteTarget:
            return stack.enter_context(store.place(WorkPath(path)))

        a, b, gone, made = at("src/a"), at("B/b"), at("B/gone"), at("B/made")
        moved, to, old, back, new = at("src/moved"), at("B/new/moved"), at("B/old"), at("old"), at("c/d")
        places = (a, b, gone, made, moved, to, old, back, new)
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
            RenameEntry(old, back, stats[old]),  # type: ignore[arg-type]
            MakeEntry(made),
        ]
        store.commit(changes, lambda: None)
    store.close()


_ONE = cycle("AB")


def look(root: Path, way: Way) -> None:
    """A call in one of the roots alone, in turns."""
    store = LocalStore(root / next(_ONE), way, notes(root))
    left = store.recover()
    assert not left, left
    store.close()


if __name__ == "__main__":
    case = Case(before, change, look)
    made = {"A/c/d", "B/made", "B/new/moved", "A/old/deep/y"}
    run(Path(sys.argv[1]), sys.argv[2], sys.argv[3], case, made)  # type: ignore[arg-type]  # one of the ways
