"""Matches in several names of one file, in the contract of everruns."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom import Workspace
from tests.core.engine.grep.test_linked_matches import linked


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def test_the_contract_everruns_says_so_in_its_notes(folder: Path) -> None:
    linked(folder, "a")
    with Workspace(folder) as workspace:
        found = workspace.call("grep_files", {"pattern": "needle"}, contract_name="everruns")
    assert "hard link" in found.text
    assert "a has 2 names" in found.text
