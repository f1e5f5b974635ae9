"""Several changes are all made or none: whoever looks next after a kill finds the one or the other.

Whatever was half done is undone or finished, also if the process that does that is killed as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.stores.worlds import WAYS, Way
from tests.races import killed_across, killed_batches
from tests.races.counting import kills
from tests.suites import daily


@daily(1, "way", WAYS)
def test_a_batch_killed_at_random_moments_is_made_as_a_whole_or_not_at_all(way: Way, tmp_path: Path) -> None:
    seen = kills(killed_batches, tmp_path, way, "random")
    assert seen["torn"] == 0
    assert seen["old"] + seen["new"] == killed_batches.KILLS
    assert seen["journals"] == 0
    assert seen["died"] > killed_batches.KILLS // 4, "the moments were badly chosen"


@pytest.mark.whole
@pytest.mark.parametrize("mode", ["lines", "twice"])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_killed_at_any_of_its_lines_is_made_as_a_whole_or_not_at_all(
    way: Way, mode: str, tmp_path: Path
) -> None:
    seen = kills(killed_batches, tmp_path, way, mode)
    assert seen["torn"] == 0
    assert seen["finished"] == 1, "the last, which had fewer lines than were asked for"
    assert seen["died"] > 300 // killed_batches.STRIDES[way]
    assert seen["half done"], "it never died between the first change and the last"
    assert seen["old"]
    assert seen["new"]
    assert seen["journals"] == 0


@daily(1, "way", WAYS)
def test_a_batch_in_two_roots_killed_at_random_moments_is_made_as_a_whole_or_not_at_all(
    way: Way, tmp_path: Path
) -> None:
    seen = kills(killed_across, tmp_path, way, "random")
    assert seen["torn"] == 0
    assert seen["old"] + seen["new"] == killed_batches.KILLS
    assert seen["journals"] == 0


@pytest.mark.whole
@pytest.mark.parametrize("mode", ["lines", "twice"])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_in_two_roots_killed_at_any_of_its_lines_is_made_as_a_whole_or_not_at_all(
    way: Way, mode: str, tmp_path: Path
) -> None:
    seen = kills(killed_across, tmp_path, way, mode)
    assert seen["torn"] == 0
    assert seen["finished"] == 1, "the last, which had fewer lines than were asked for"
    assert seen["half done"], "it never died between the first change and the last"
    assert seen["old"]
    assert seen["new"]
    assert seen["journals"] == 0
