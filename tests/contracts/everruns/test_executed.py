"""Writes of files that programs execute are refused with the reason, in the contract of everruns as well."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.workspace import Workspace


@pytest.mark.parametrize("path", [".mcp.json", ".husky/pre-commit"])
def test_a_refusal_says_why_and_how_to_allow_it(tmp_path: Path, path: str) -> None:
    with Workspace(tmp_path) as workspace:
        reply = workspace.call("write_file", {"path": path, "content": "x"}, contract_name="everruns")
    assert reply.is_error
    assert not (tmp_path / path).exists()
    assert "cannot be changed" in reply.text
    assert "under [changes] of the file given with --config" in reply.text
