"""Listing what is no folder: told apart from what policy refuses, and with a next call that works."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

import pytest

from readroom import Workspace
from readroom.core.errors import Denied, HardLinked, NotAFolder


def test_listing_a_link_to_a_denied_file_is_denied_as_reading_it_is(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    (tmp_path / "link").symlink_to(".env")
    with Workspace(tmp_path) as workspace, pytest.raises(Denied):
        workspace.list("link")


def test_listing_another_name_of_a_denied_file_does_not_suggest_to_read_it(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1\n")
    os.link(tmp_path / ".env", tmp_path / "copy")
    with Workspace(tmp_path) as workspace, pytest.raises(HardLinked):
        workspace.list("copy")


def test_listing_a_pipe_suggests_no_call(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Workspace(tmp_path) as workspace, pytest.raises(NotAFolder) as caught:
        workspace.list("pipe")
    assert caught.value.next is None
    assert "Read it" not in str(caught.value)


def test_listing_a_file_suggests_to_read_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        error = cast("dict[str, Any]", workspace.call("list_directory", {"path": "a.txt"}).facts["error"])
        following = error["next"]
        assert not workspace.call(following["tool"], following["arguments"]).is_error
