"""No change without its past: what a killed process left is taken back byte for byte."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.races import killed_history


def kills(root: Path, mode: str) -> Counter[str]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.races.killed_history", str(root / "root"), mode],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return Counter(json.loads(done.stdout))


def test_what_processes_killed_at_random_moments_changed_is_taken_back(tmp_path: Path) -> None:
    seen = kills(tmp_path, "random")
    assert seen["lost"] == 0
    assert seen["restored"] == killed_history.KILLS
    assert seen["died"] > killed_history.KILLS // 4, "the moments were badly chosen"
    assert seen["changed"], "they died before they had changed anything"


@pytest.mark.whole
def test_what_processes_killed_at_any_of_their_lines_changed_is_taken_back(tmp_path: Path) -> None:
    seen = kills(tmp_path, "lines")
    assert seen["lost"] == 0
    assert seen["finished"] == 1, "the last, which had fewer lines than were asked for"
    assert seen["died"] > 100
    assert seen["changed"]
