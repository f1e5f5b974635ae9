"""The kernel, the walk and the store in memory give the same answer, and the real one."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import ReadroomError
from readroom.core.paths import WorkPath, normalize
from tests.core.stores.cases import outcome
from tests.core.stores.worlds import WAYS, LocalWorld, MemoryWorld, World

_parts = st.sampled_from(["a", "b", "c"])
_places = st.lists(_parts, min_size=1, max_size=3).map("/".join)
_targets = st.lists(_parts | st.sampled_from(["..", ".", "..", "root", "outside", "file"]), max_size=6)
_link_texts = st.tuples(
    st.sampled_from(["", "", "", "", "/", "../"]), _targets, st.sampled_from(["", "", "/", "/."])
).map(lambda text: (text[0] + "/".join(text[1]) + text[2]) or ".")

Tree: TypeAlias = dict[str, str | None]
"""Links by place, with their targets; None for a file that holds its own place."""

_trees: st.SearchStrategy[Tree] = st.dictionaries(_places, st.none() | _link_texts, min_size=1, max_size=7)
_questions = st.lists(_places | _targets.map("/".join), min_size=1, max_size=6)


def _fill(world: World, tree: Tree) -> None:
    for place, target in tree.items():
        try:
            if target is None:
                world.file(place, place.encode())
            else:
                world.link(place, target)
        except (OSError, ReadroomError):
            continue  # something else stands there, or on the way: in every world the same


def _clean(tree: Tree) -> Tree:
    """Without names below names that are no folders: what is made does not depend on the store."""
    return {
        place: target
        for place, target in tree.items()
        if not any(other != place and place.startswith(f"{other}/") for other in tree)
    }


def _asked(questions: list[str]) -> list[WorkPath]:
    found = []
    for question in questions:
        try:
            found.append(normalize(question))
        except ReadroomError:
            continue
    return found


@given(_trees, _questions)
def test_all_stores_give_the_same_answer(tree: Tree, questions: list[str]) -> None:
    tree = _clean(tree)
    memory = MemoryWorld()
    _fill(memory, tree)
    with TemporaryDirectory() as base:
        worlds: list[World] = [memory]
        for way in WAYS:
            (Path(base) / way).mkdir()
            worlds.append(LocalWorld(Path(base) / way, way))
            _fill(worlds[-1], tree)
        for path in _asked(questions):
            first, *others = [outcome(world, path) for world in worlds]
            assert others == [first] * len(others), path


@given(_trees, _questions)
def test_what_is_opened_is_what_the_system_finds_inside(tree: Tree, questions: list[str]) -> None:
    tree = _clean(tree)
    with TemporaryDirectory() as base:
        for way in WAYS:
            (Path(base) / way).mkdir()
            world = LocalWorld(Path(base) / way, way)
            _fill(world, tree)
            top = os.path.realpath(world.root)
            for path in _asked(questions):
                opened = _opened(world, path)
                if opened == "outside_root":
                    continue  # it may lead out and back in: refused all the same
                assert opened == _really(top, path), path


def _really(top: str, path: WorkPath) -> str | None:
    """The name of the file that the system finds, relative to the root; None when it is no file."""
    name = os.path.join(top, path)
    # The system refuses "file/..", which `realpath` takes for the folder that holds the file.
    return os.path.relpath(os.path.realpath(name), top) if os.path.isfile(name) else None


def _opened(world: World, path: WorkPath) -> str | None:
    """The real name of a file, which it also holds; "outside_root"; or None for any other refusal."""
    try:
        with world.store.open(path) as source:
            assert source.read_at(0, 99) == source.real.encode()
            return source.real
    except ReadroomError as refusal:
        return refusal.code if refusal.code == "outside_root" else None
