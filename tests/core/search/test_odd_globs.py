"""Globs that nobody means: refused in a short reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from readroom import Workspace


@pytest.mark.parametrize("glob", ["{" * 500 + "a" + "}" * 500, "{" * 10 + "a" + "}" * 10])
def test_braces_in_braces_have_a_bound(tmp_path: Path, glob: str) -> None:
    with Workspace(tmp_path) as workspace:
        error = cast("dict[str, Any]", workspace.call("list_directory", {"glob": glob}).facts["error"])
    assert error["code"] == "bad_pattern"
    assert "deep" in error["message"]


def test_a_document_sent_as_glob_is_not_sent_back_whole(tmp_path: Path) -> None:
    with Workspace(tmp_path) as workspace:
        reply = workspace.call("list_directory", {"glob": "a" * 100_000})
    assert cast("dict[str, Any]", reply.facts["error"])["code"] == "bad_pattern"
    assert len(reply.text) + len(str(reply.facts)) < 3_000


def test_a_glob_without_a_match_does_not_make_a_folder_look_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n")
    with Workspace(tmp_path) as workspace:
        assert workspace.list(glob="*.py").text == ". | no entry matches the glob\n[end of list]"
