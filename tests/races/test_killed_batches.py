"""Several changes are all made or none: whoever looks next after a kill finds the one or the other.

Whatever was half done is undone or finished, also if the process that does that is killed as well.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.core.stores.worlds import WAYS, Way
from tests.races import killed_batches
from tests.suites import daily


def kills(root: Path, way: Way, mode: str, program: str = "killed_batches") -> Counter[str]:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.races.{program}", str(root / "root"), way, mode],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return Counter(json.loads(done.stdout))


@daily(1, "way", WAYS)
def test_a_batch_killed_at_random_moments_is_made_as_a_whole_or_not_at_all(way: Way, tmp_path: Path) -> None:
    seen = kills(tmp_path, way, "random")
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
    seen = kills(tmp_path, way, mode)
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
    seen = kills(tmp_path, way, "random", "killed_across")
    assert seen["torn"] == 0
    assert seen["old"] + seen["new"] == killed_batches.KILLS
    assert seen["journals"] == 0


@pytest.mark.whole
@pytest.mark.parametrize("mode", ["lines", "twice"])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_in_two_roots_killed_at_any_of_its_lines_is_made_as_a_whole_or_not_at_all(
    way: Way, mode: str, tmp_path: Path
) -> None:
    seen = kills(tmp_path, way, mode, "killed_across")
    assert seen["torn"] == 0
    assert seen["finished"] == 1, "the last, which had fewer lines than were asked for"
    assert seen["half done"], "it never died between the first change and the last"
    assert seen["old"]
    assert seen["new"]
    assert seen["journals"] == 0
