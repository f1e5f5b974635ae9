"""Tails of objects whose end is one long line: their lines are counted, as the end does not show them."""

from __future__ import annotations

import pytest

from readroom.core.stores.memory import MemoryStore
from tests.core.stores.bucket.worlds import BucketWorld
from tests.laws.driving import Driver, fact, shown

MIB = 1024 * 1024
TEXTS = {
    "a short line above a long one": "short\n" + "long " * (MIB // 5 + 20),
    "a long line above short ones": "long " * (MIB // 5 + 20) + "\n" + "short\n" * 7,
    "a last line that is longer than what is read of the end": "short\n" * 50 + "x" * (5 * MIB),
    "one line and no end": "y" * (2 * MIB),
    "many lines above a long one": "line\n" * (MIB // 4) + "z" * (5 * MIB) + "\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("offset", [-40, -2, -1])
@pytest.mark.parametrize("limit", [None, 1, -3])
def test_a_tail_shows_what_it_shows_of_the_same_file_here(
    world: BucketWorld, text: str, offset: int, limit: int | None
) -> None:
    """Its numbers may count from the end, where they do here from the beginning."""
    arguments = {"path": "a.txt", "offset": offset, "limit": limit}
    world.file("a.txt", text.encode())
    there = Driver(world.store).call("read_file", **arguments)
    here = Driver(MemoryStore({"a.txt": text})).call("read_file", **arguments)
    assert not there.is_error, there.text
    assert list(shown(there).values()) == list(shown(here).values())
    assert (fact(there, "next") is None) == (fact(here, "next") is None)
