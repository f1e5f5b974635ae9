"""Bash words that sh reads otherwise are named in the contract of everruns."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.engine.command import shell
from tests.core.engine.command.running import room


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "out").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def only_sh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system without bash."""
    monkeypatch.setattr(shell, "_BASH", ("/no/bash",))


def test_everruns_says_so_as_well(root: Path, only_sh: None) -> None:
    with room(root) as workspace:
        reply = workspace.call("bash", {"command": "true &> out/log"}, contract_name="everruns")
    assert "Run by sh." in reply.text
    assert "> FILE 2>&1" in reply.text
