"""Names like a missing one are looked for with bounded effort, however deep the tree is."""

from __future__ import annotations

import itertools

import pytest

from readroom.core.deadline import Deadline
from readroom.core.limits import MAX_PATH_DEPTH, NEAR_SCAN_NAMES, NEAR_SCAN_PARTS, NEAR_SCAN_S
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.policy.near import Effort, near_names
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import EntryKind

FILES = frozenset((EntryKind.FILE,))
DEEP = MAX_PATH_DEPTH - 10


def chains(count: int) -> MemoryStore:
    """So many chains of folders, each with a file at its end."""
    return MemoryStore({f"c{n}/" + "d/" * DEEP + "main.py": "" for n in range(count)})


def counted(store: MemoryStore, missing: str) -> int:
    """How often the search for near names looks at the clock, which it does before it opens a folder."""
    looks = itertools.count()
    last = 0

    def clock() -> float:
        nonlocal last
        last = next(looks)
        return 0.0

    Guard(store).near(missing, FILES, Deadline(10.0, clock=clock))
    return last


def test_folders_cost_by_their_depth() -> None:
    """One chain of 246 folders would take 30,000 steps, a hundred of them three million."""
    assert counted(chains(1), "mian.py") ** 2 / 2 < 1.1 * NEAR_SCAN_PARTS
    assert counted(chains(100), "mian.py") < NEAR_SCAN_PARTS / 6


@pytest.mark.parametrize("ignored", [False, True])
def test_names_that_are_not_suggested_cost_as_well(ignored: bool) -> None:
    seen = 0

    def visible(folder: WorkPath, effort: Effort) -> itertools.chain[tuple[WorkPath, EntryKind]]:
        nonlocal seen
        found = []
        for number in range(10 * NEAR_SCAN_NAMES):
            if not effort.takes_name():
                break
            seen += 1
            if not ignored:
                found.append((WorkPath(f"f{number}"), EntryKind.FILE))
        return itertools.chain(found)

    near_names(WorkPath("zzz"), visible, FILES, Deadline())
    assert seen == 2 * NEAR_SCAN_NAMES


def test_a_slow_store_ends_it_and_what_was_found_by_then_is_suggested() -> None:
    now = 0.0

    def clock() -> float:
        nonlocal now
        now += NEAR_SCAN_S / 10
        return now

    store = MemoryStore({"main.py": "", **{f"d{n}/e{n}/f.py": "" for n in range(500)}})
    guard = Guard(store)
    assert guard.near("mian.py", FILES, Deadline(clock=clock)) == ["main.py"]
    assert now < 3 * NEAR_SCAN_S
