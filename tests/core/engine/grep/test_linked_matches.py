"""A search shows lines of files with several names with the warning that a read of them has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core.limits import MIN_REPLY_BYTES
from tests.laws.driving import fact
from tests.suites import needs


def linked(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("needle\n", encoding="utf-8")
        os.link(folder / name, folder.parent / f"other {name[:9]}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.mark.parametrize("path", [".", "a"])
@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_one_file_is_named_with_how_many_names_it_has(folder: Path, path: str, output: str) -> None:
    linked(folder, "a")
    (folder / "b").write_text("needle\n", encoding="utf-8")
    with Workspace(folder) as workspace:
        found = workspace.call("grep_files", {"pattern": "needle", "path": path, "output": output})
    assert "Warning: hard link (a has 2 names)." in found.text
    assert fact(found, "warnings")[0] == {
        "code": "hard_link",
        "detail": "a has 2 names",
    }


def test_many_files_are_one_warning(folder: Path) -> None:
    linked(folder, *"abcdefg")
    with Workspace(folder) as workspace:
        found = workspace.call("grep_files", {"pattern": "needle"})
    assert [one["code"] for one in fact(found, "warnings")] == ["hard_link"]
    assert "(a, b, c and 4 more: several names each)" in found.text


def test_files_without_a_match_are_not_mentioned(folder: Path) -> None:
    linked(folder, "a")
    (folder / "b").write_text("other\n", encoding="utf-8")
    with Workspace(folder) as workspace:
        assert "hard link" not in workspace.call("grep_files", {"pattern": "other"}).text


def test_the_warning_fits_into_the_smallest_reply(folder: Path) -> None:
    linked(folder, *(letter * 200 for letter in "abcdefg"))
    with Workspace(folder) as workspace:
        found = workspace.call("grep_files", {"pattern": "needle"}, reply_bytes=MIN_REPLY_BYTES)
    assert len(found.text.encode()) <= MIN_REPLY_BYTES
    assert "needle" in found.text


@needs("documents")
def test_a_document_with_several_names_is_read_with_the_warning(folder: Path) -> None:
    (folder / "page.html").write_text("<html><body><p>needle</p></body></html>", encoding="utf-8")
    os.link(folder / "page.html", folder.parent / "other.html")
    with Workspace(folder) as workspace:
        found = workspace.call("read_file", {"path": "page.html", "pages": "1"})
    assert "Warning: hard link (the file has 2 names)." in found.text
