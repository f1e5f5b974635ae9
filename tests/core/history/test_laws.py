"""Whatever was changed, in whatever order it is undone: the first tree, or a refusal, and no byte is lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from readroom.core import errors
from readroom.core.caller import Caller
from readroom.core.deadline import Deadline
from readroom.core.stores.memory import MemoryStore
from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    MoveRequest,
    TrashRequest,
    WriteRequest,
)
from readroom.core.values.history import UndoRequest
from tests.core.history.pasts import Past, tree
from tests.each import each
from tests.laws.places import BUCKETS, over_bucket, over_shell
from tests.laws.test_history import tree as stored
from tests.suites import whole

SEEDS = range(12)
STEPS = 14
NAMES = ("a", "b", "d/a", "d/b", "d/e/a", "f", "n/e/w", "link")
BYTES = (
    b"",
    b"one\n",
    b"one\r\ntwo\r\n",
    bytes(range(256)),
    "äö€\n".encode("utf-16"),
    b"x" * 5000,
    b"no end",
)


def plant(root: Path) -> None:
    """The tree that changes begin with."""
    (root / "d/e").mkdir(parents=True)
    for number, name in enumerate(("a", "d/a", "d/b", "d/e/a")):
        (root / name).write_bytes(BYTES[number + 1])
        os.chmod(root / name, (0o644, 0o600, 0o755, 0o640)[number])
    os.chmod(root / "d/e", 0o750)
    (root / "link").symlink_to("d/a")
    (root / "d/broken").symlink_to("nowhere")


def in_memory() -> MemoryStore:
    store = MemoryStore({"a": BYTES[1], "d/a": BYTES[2], "d/b": BYTES[3], "d/e/a": BYTES[4]})
    store.link("link", "d/a")
    store.link("d/broken", "nowhere")
    return store


def act(past: Past, chance: random.Random, session: str) -> None:
    """One change of any kind; many of them are refused."""
    name, other = chance.choice(NAMES), chance.choice(NAMES)
    data, caller = chance.choice(BYTES), Caller(session=session)
    folder = name.rpartition("/")[0] or "g"
    requests: list[Callable[[], Any]] = [
        lambda: past.do(WriteRequest(name, "", None, data=data), caller),
        lambda: past.do(WriteRequest(name, f"{chance.random()}\n", None), caller),
        lambda: past.do(DeleteRequest(name), caller),
        lambda: past.do(DeleteRequest(folder, recursive=True), caller),
        lambda: past.do(MoveRequest(name, other, overwrite=chance.random() < 0.5), caller),
        lambda: past.do(MoveRequest(folder, f"m/{chance.randrange(9)}"), caller),
        lambda: past.do(MakeFolderRequest(f"{folder}/made"), caller),
        lambda: past.do(TrashRequest(name), caller),
        lambda: past.workspace.change(
            [
                {"action": "mkdir", "path": f"k/{chance.randrange(9)}"},
                {"action": "copy", "path": folder, "to": f"c{chance.randrange(9)}", "entries": 2},
            ]
        ),
    ]
    try:
        chance.choice(requests)()
    except errors.ReadroomError:
        return


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


def places(tmp_path: Path, seed: int) -> tuple[Path, Path]:
    """A planted root and a folder for its history, for one of several cases."""
    root = tmp_path / f"work{seed}"
    root.mkdir()
    plant(root)
    return root, tmp_path / f"history{seed}"


@each("seed", SEEDS)
@pytest.mark.parametrize("memory", [False, True])
def test_in_reverse_it_gives_the_first_tree(seed: int, memory: bool, tmp_path: Path) -> None:
    root, folder = places(tmp_path, seed)
    if memory:
        store = in_memory()
        reversed_to_the_first(Past(store, folder), lambda: stored(store), seed)
    else:
        reversed_to_the_first(Past(root, folder), lambda: tree(root), seed)


@whole
@pytest.mark.parametrize("seed", range(3))
def test_in_reverse_it_gives_the_first_tree_in_a_sandbox(seed: int, tmp_path: Path) -> None:
    root, folder = places(tmp_path, seed)
    reversed_to_the_first(Past(over_shell(root), folder), lambda: tree(root), seed)


@whole
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=needs) for kind, needs in BUCKETS.items()])
def test_in_reverse_it_gives_the_first_files_in_a_bucket(kind: str, seed: int, tmp_path: Path) -> None:
    """A folder is what keys have in common, so an empty one is no state there."""
    files = {"a": BYTES[1], "d/a": BYTES[2], "d/b": BYTES[3], "d/e/a": BYTES[4]}

    def look() -> Mapping[str, Any]:
        return {path: what for path, what in stored(store).items() if isinstance(what[-1], bytes)}

    with over_bucket(files, kind=kind) as store:
        reversed_to_the_first(Past(store, tmp_path / "history"), look, seed)


def reversed_to_the_first(past: Past, look: Callable[[], Mapping[str, Any]], seed: int) -> None:
    """Change at random, and take back one change after the other."""
    chance, trees = random.Random(seed), [look()]
    for _ in range(STEPS):
        before = len(past.changes(maximum=200))
        act(past, chance, "s")
        if len(past.changes(maximum=200)) > before:
            trees.append(look())
        else:
            assert look() == trees[-1], "a change without its past"
    changes = past.changes(maximum=200)
    assert len(changes) == len(trees) - 1
    for change, then in zip(changes, reversed(trees[:-1]), strict=True):
        past.undo(change=change.id)
        assert look() == then, change
    for change in past.changes(maximum=200):
        if change.undoes is not None:
            past.undo(change=change.id)
    assert look() == trees[-1], "taking back what took back"
    past.close()


def without_modes(found: dict[str, Any]) -> dict[str, Any]:
    """A tree without the modes of folders: one that was made anew meanwhile keeps its own."""
    return {name: ("folder",) if what[0] == "folder" else what for name, what in found.items()}


@each("seed", SEEDS)
def test_a_session_at_once_gives_the_first_tree(seed: int, tmp_path: Path) -> None:
    root, folder = places(tmp_path, seed)
    past = Past(root, folder)
    first, chance = tree(root), random.Random(seed)
    for _ in range(STEPS):
        act(past, chance, "s")
    last = tree(root)
    planned = past.undo(session="s", dry_run=True)
    assert tree(root) == last
    result = past.undo(session="s")
    assert without_modes(tree(root)) == without_modes(first)
    assert result.changes == planned.changes
    past.close()


def contents(root: Path) -> set[bytes]:
    return {what[2] for what in tree(root).values() if what[0] == "file"}


@each("seed", SEEDS)
@pytest.mark.parametrize("parts", [False, True])
def test_in_any_order_nothing_that_a_person_wrote_is_lost(seed: int, parts: bool, tmp_path: Path) -> None:
    root, folder = places(tmp_path, seed)
    past = Past(root, folder)
    chance = random.Random(seed)
    written = set[bytes]()
    for number in range(STEPS):
        act(past, chance, f"s{number % 3}")
        files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
        if files and chance.random() < 0.4:
            data = f"a person's {number}\n".encode()
            chance.choice(files).write_bytes(data)
            written.add(data)
    known = contents(root)
    changes = [change.id for change in past.changes(maximum=200)]
    chance.shuffle(changes)
    for change in changes:
        before = tree(root)
        planned = past.undo(change=change, dry_run=True, parts=parts)
        assert tree(root) == before
        try:
            result = past.undo(change=change, parts=parts)
        except errors.ChangedSince:
            assert planned.conflicts
            assert tree(root) == before
        except errors.ReadroomError:
            assert tree(root) == before
        else:
            assert [one.path for one in result.undone] == [one.path for one in planned.undone]
    # What a person wrote is in the tree, or was taken from it by a change of readroom, whose past has it.
    there = contents(root)
    kept = set[bytes]()
    book = past.workspace.engine.services.history.book()  # type: ignore[union-attr]
    for one in past.changes(maximum=200):
        for row in book.names_of(one.id):
            for content, state in ((row.before, row.name.before), (row.after, row.name.after)):
                kept.add(book.content(content, state) or b"")
    assert {data for data in written & known if not any(data in one for one in there | kept)} == set()
    past.close()


class Person(Deadline):
    """A deadline that is asked between the steps of a call: a person saves a file at one of them."""

    def __init__(self, path: Path, at: int) -> None:
        super().__init__()
        self._path = path
        self._left = at
        self.saved = False

    def check(self) -> None:
        self._left -= 1
        if not self._left:
            self._path.write_bytes(b"a person's\n")
            self.saved = True
        super().check()


def test_a_person_who_saves_in_the_middle_of_an_undo_loses_nothing(root: Path, tmp_path: Path) -> None:
    past = Past(root, tmp_path / "history")
    for at in range(1, 12):
        past.write("a.txt", "one\n")
        past.write("a.txt", "two\n")
        change = past.changes()[0].id
        deadline = Person(root / "a.txt", at)
        try:
            past.workspace.engine.perform(UndoRequest(change=change), past.cap, deadline)
        except (errors.ChangedSince, errors.Changed):
            assert deadline.saved
        expected = b"a person's\n" if deadline.saved else b"one\n"
        assert (root / "a.txt").read_bytes() == expected, at
    past.close()


def swapped(root: Path, tmp_path: Path) -> Iterator[str]:
    """A folder on the way becomes a link, out of the root and inside it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("two\n")
    yield str(outside)
    (root / "other").mkdir()
    (root / "other/a.txt").write_text("two\n")
    yield "other"


def test_an_undo_does_not_go_through_a_link_that_came_since(root: Path, tmp_path: Path) -> None:
    past = Past(root, tmp_path / "history")
    past.write("d/a.txt", "one\n")
    past.write("d/a.txt", "two\n")
    past.do(DeleteRequest("d/a.txt"))
    changes = [change.id for change in past.changes()]
    (root / "d").rmdir()
    for target in swapped(root, tmp_path):
        (root / "d").symlink_to(target)
        for change in changes:
            with pytest.raises(errors.ReadroomError) as refused:
                past.undo(change=change)
            assert isinstance(refused.value, errors.ChangedSince | errors.OutsideRoot)
        (root / "d").unlink()
    assert (tmp_path / "outside/a.txt").read_text() == "two\n"
    assert (root / "other/a.txt").read_text() == "two\n"
    past.close()
