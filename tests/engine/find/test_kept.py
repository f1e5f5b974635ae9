"""Which texts a workspace keeps between ranked searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.engine.find.kept import KeptTexts
from readroom.paths import WorkPath
from readroom.stores.local import LocalStore

ROOM = 10_000
TEXT = "x" * 1000
TREE = Path(__file__).parents[2]
"""Files that were not written a moment ago: those of the tests themselves."""


@pytest.mark.parametrize(("files", "kept"), [(3, 3), (12, 9), (40, 0)])
def test_of_a_tree_twice_as_large_as_there_is_room_nothing_is_kept(files: int, kept: int) -> None:
    """What is kept of a little too large a tree is still of use; of a large one it would only take memory."""
    store, texts = LocalStore(TREE), KeptTexts(ROOM)
    names = [path.relative_to(TREE).as_posix() for path in sorted(TREE.rglob("*.py"))][:files]
    for _ in range(2):
        texts.begin()
        for name in names:
            with store.open(WorkPath(name)) as source:
                texts.put(name, source, TEXT)
        assert sum(map(texts.has, names)) == kept
