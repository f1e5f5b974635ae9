"""Files of other people called as readroom's own are for a moment: any edit beside them removed them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore

NAME = ".readroom-0123456789abcdef.tmp"


@pytest.fixture(params=["local", "memory"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path | Store:
    if request.param == "memory":
        return MemoryStore({NAME: b"theirs\n", "f": b"old\n"})
    (tmp_path / NAME).write_bytes(b"theirs\n")
    os.utime(tmp_path / NAME, (978_307_200, 978_307_200))
    (tmp_path / "f").write_bytes(b"old\n")
    return tmp_path


def test_they_survive_every_change_beside_them_and_are_like_all_others(root: Path | Store) -> None:
    with Workspace(root) as workspace:
        known = str(workspace.read("f").facts["content_hash"])
        workspace.edit("f", known, [{"old_text": "old", "new_text": "new"}])
        workspace.write("g", "x", "absent")
        workspace.write("g", "y", str(workspace.read("g").facts["content_hash"]))
        assert "1\ttheirs" in workspace.read(NAME).text
        assert NAME in workspace.list().text
        assert "theirs" in workspace.grep("theirs", include=["hidden"]).text
        known = str(workspace.read(NAME).facts["content_hash"])
        workspace.edit(NAME, known, [{"old_text": "theirs", "new_text": "changed"}])
        assert "1\tchanged" in workspace.read(NAME).text
