"""Which texts a workspace keeps between ranked searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.engine.find.kept import KeptTexts
from readroom.core.paths import WorkPath
from readroom.core.stores.local import LocalStore

ROOM = 10_000
TEXT = "x" * 1000
TREE = Path(__file__).parents[3]
"""Files that were not written a moment ago: those of the tests themselves."""


def _search(texts: KeptTexts, store: LocalStore, names: list[str]) -> None:
    """Read files as a search does, those that are not kept."""
    texts.begin("tree")
    for name in names:
        with store.open(WorkPath(name)) as source:
            if texts.get(name, source.stat) is None:
                texts.put(name, source, TEXT)


NAMES = [path.relative_to(TREE).as_posix() for path in sorted(TREE.rglob("*.py"))]


@pytest.mark.parametrize(("files", "kept"), [(3, 3), (12, 9), (40, 0)])
def test_of_a_tree_twice_as_large_as_there_is_room_nothing_is_kept(files: int, kept: int) -> None:
    """What is kept of a little too large a tree is still of use; of a large one it would only take memory."""
    store, texts = LocalStore(TREE), KeptTexts(ROOM)
    for _ in range(3):
        _search(texts, store, NAMES[:files])
        assert sum(map(texts.has, NAMES[:files])) == kept


def test_of_a_tree_that_was_too_large_nothing_is_kept_until_it_is_smaller() -> None:
    """Not even at the beginning of a search."""
    store, texts = LocalStore(TREE), KeptTexts(ROOM)
    _search(texts, store, NAMES[:40])
    _search(texts, store, NAMES[:3])
    assert not any(map(texts.has, NAMES[:3]))
    _search(texts, store, NAMES[:3])
    assert all(map(texts.has, NAMES[:3]))
