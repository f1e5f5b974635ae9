"""Replies about pipes, links that lead nowhere, names of folders, pointers and halves of characters."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from readroom.core.workspace import Workspace
from tests.each import each

_CHATTR = shutil.which("chattr")

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 1234567\n"


def said(folder: Path, tool: str, **arguments: Any) -> str:
    with Workspace(folder) as space:
        return space.call(tool, arguments).text


def test_a_write_to_a_pipe_says_so(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    text = said(tmp_path, "write_file", path="pipe", content="x", expected_hash="absent")
    assert "is a pipe, not a file. Only regular files can be opened." in text
    assert "is a pipe" in said(tmp_path, "read_file", path="pipe")


@pytest.mark.parametrize("tool", ["read_file", "list_directory"])
def test_a_link_that_leads_nowhere_is_called_one(tmp_path: Path, tool: str) -> None:
    (tmp_path / "dang").symlink_to("nowhere")
    (tmp_path / "hidden").symlink_to(".env")
    (tmp_path / "out").symlink_to("/no/such/file")
    assert "dang is a link to nowhere, which is not there" in said(tmp_path, tool, path="dang")
    assert ".env" not in said(tmp_path, tool, path="hidden")
    assert "/no/such" not in said(tmp_path, tool, path="out")


@pytest.mark.parametrize("path", ["newdir/", "a/newdir/", '"newdir/"'])
def test_the_name_of_a_folder_is_no_file(tmp_path: Path, path: str) -> None:
    text = said(tmp_path, "write_file", path=path, content="", expected_hash="absent")
    assert "Leave out the slash" in text
    assert not list(tmp_path.iterdir())


def test_a_binary_file_is_edited_as_its_refusal_says(tmp_path: Path) -> None:
    (tmp_path / "b.bin").write_bytes(b"abc\0\xff\xfe\x80def" * 20)
    with Workspace(tmp_path) as space:
        known = space.read("b.bin", encoding="utf-8").facts["content_hash"]
        call: dict[str, Any] = {"path": "b.bin", "expected_hash": known}
        call["edits"] = [{"old_text": "abc", "new_text": "x", "replace_all": True}]
        assert "edited with `encoding`" in space.call("edit_file", call).text
        assert "20 replacements" in space.call("edit_file", {**call, "encoding": "utf-8"}).text


def test_text_added_in_another_encoding_is_said_before_single_characters(tmp_path: Path) -> None:
    lines = "\ufeffa line\r\n".encode("utf-16-le") * 6
    (tmp_path / "log.txt").write_bytes(lines + b"appended utf8 line\r\n")
    assert "mixed encodings" in said(tmp_path, "read_file", path="log.txt")


def test_a_file_that_is_read_upwards_ends_at_its_start(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\n2\n3\n", encoding="ascii")
    assert said(tmp_path, "read_file", path="a.txt", offset=1, limit=-1).endswith("[start of file]")
    assert said(tmp_path, "read_file", path="a.txt", limit=-3).endswith("[end of file]")


def test_a_write_says_how_many_lines_were_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x\n" * 600)
    with Workspace(tmp_path) as space:
        known = space.read("a.txt", limit=1).facts["content_hash"]
        call = {"path": "a.txt", "content": "a\nb\n", "expected_hash": known}
        assert "replaced, 2 lines, 600 before" in space.call("write_file", call).text


@each("name", ["a.png", "b.pdf", "c.xlsx", "d.ipynb", "e.bin", "f.docx", "g.csv", "h"])
def test_a_pointer_of_git_lfs_is_called_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(POINTER)
    text = said(tmp_path, "read_file", path=name)
    assert "git lfs pointer" in text
    assert "1,234,567 bytes" in text


def test_a_file_of_git_crypt_is_encrypted(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"\0GITCRYPT\0" + bytes(range(200)))
    text = said(tmp_path, "read_file", path="a.yml")
    assert "git-crypt" in text
    assert "encrypted" in text


def test_half_of_a_character_is_said_in_one_pair_of_quotes(tmp_path: Path) -> None:
    edits = [{"old_text": "a", "new_text": "a\ud83d b"}]
    text = said(tmp_path, "edit_file", path="a", expected_hash="0" * 12, edits=edits)
    assert "edits[0].new_text='a\\\\ud83d b' contains half of a surrogate pair" in text
    assert "names" not in text
    assert "written as in listings" in said(tmp_path, "read_file", path="a\ud83d")


def test_a_name_that_is_missing_in_a_large_folder_is_looked_for_by_a_listing(tmp_path: Path) -> None:
    for number in range(12_000):
        (tmp_path / f"{number:05}-part").touch()
    with Workspace(tmp_path) as space:
        refused = space.call("read_file", {"path": "report.txt"})
        error: Any = refused.facts["error"]
        assert error["next"]["tool"] == "list_directory"
        assert "report" in error["next"]["arguments"]["glob"]
        assert not space.call(error["next"]["tool"], error["next"]["arguments"]).is_error


def _fixed(folder: Path) -> bool:
    """Whether a file of that folder can be given the attribute."""
    (folder / "probe").touch()
    fixed = (
        _CHATTR is not None and not subprocess.run([_CHATTR, "+i", folder / "probe"], check=False).returncode
    )
    if fixed:
        _loosen(folder / "probe")
    return fixed


def _loosen(file: Path) -> None:
    assert _CHATTR is not None
    subprocess.run([_CHATTR, "-i", file], check=True)


def test_an_immutable_file_is_called_one(tmp_path: Path) -> None:
    """Skipped unless this account may set the attribute: few file systems in memory have it."""
    if not _fixed(tmp_path):
        return
    file = tmp_path / "a.txt"
    file.write_text("x\n", encoding="utf-8")
    assert _CHATTR is not None
    subprocess.run([_CHATTR, "+i", file], check=True)
    try:
        with Workspace(tmp_path) as space:
            known = space.read("a.txt").facts["content_hash"]
            call = {"path": "a.txt", "content": "y\n", "expected_hash": known}
            assert "immutable" in space.call("write_file", call).text
            edits = [{"old_text": "x", "new_text": "y"}]
            call = {"path": "a.txt", "expected_hash": known, "edits": edits}
            assert "immutable" in space.call("edit_file", call).text
    finally:
        _loosen(file)
