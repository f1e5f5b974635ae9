"""A crash at any point leaves the old file or the new one, and nothing that the next call does not remove.

Measured peers: 5 to 12 torn files of 20 killed writers in four of six, left-over files in a fifth.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.core.stores.worlds import WAYS, Way
from tests.races import killed
from tests.races.counting import kills
from tests.suites import daily


@daily(1, "way", WAYS)
def test_a_writer_killed_at_random_moments_leaves_the_old_file_or_the_new(way: Way, tmp_path: Path) -> None:
    seen = kills(killed, tmp_path, way, "random")
    assert seen["torn"] == 0
    assert seen["old"] + seen["new"] == killed.KILLS
    assert seen["litter at the end"] == 0
    assert seen["foreign"], "what is only called like a temporary file was removed"
    assert seen["died"] > killed.KILLS // 4, "the moments were badly chosen"


@pytest.mark.whole
@pytest.mark.parametrize("way", WAYS)
def test_a_writer_killed_at_any_of_its_lines_leaves_the_old_file_or_the_new(way: Way, tmp_path: Path) -> None:
    seen = kills(killed, tmp_path, way, "lines")
    assert seen["torn"] == 0
    assert seen["finished"] == 1, "the last, which had fewer lines than were asked for"
    assert seen["died"] > 200 // killed.STRIDES[way]
    assert seen["with litter"], "it never died between making the file and naming it"
    assert seen["foreign"]
    assert seen["old"]
    assert seen["new"]
    assert seen["litter at the end"] == 0
