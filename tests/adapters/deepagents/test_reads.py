"""Content as deepagents takes and gives it: pages, media, searches and downloads."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import FileDownloadResponse, ReadResult
from deepagents.backends.utils import EMPTY_CONTENT_WARNING, format_grep_matches
from hypothesis import example, given
from hypothesis import strategies as st

from readroom import Workspace
from readroom.adapters.deepagents import WorkspaceBackend
from readroom.core.config import Settings
from readroom.core.limits import Limits
from tests.adapters.calls import picture
from tests.adapters.deepagents.locked import locked_store

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours

FIVE = "one\ntwo\nthree\nfour\nfive"


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[WorkspaceBackend]:
    with Workspace(tmp_path) as workspace:
        yield WorkspaceBackend(workspace)


def content(result: ReadResult) -> str:
    assert result.error is None
    assert result.file_data is not None
    return result.file_data["content"]


def window(result: ReadResult) -> tuple[int | None, ...]:
    return result.total_lines, result.start_line, result.end_line, result.next_offset


# -----------------------------------------------------------------------------
# Pages of a text.
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("offset", "limit", "text", "expected"),
    [
        (0, 2000, FIVE, (5, 1, 5, None)),
        (1, 2, "two\nthree\n", (5, 2, 3, 3)),
        (3, 10, "four\nfive", (5, 4, 5, None)),
        (-1, 2, "one\ntwo\n", (5, 1, 2, 2)),
        (4, 1, "five", (5, 5, 5, None)),
    ],
)
def test_a_page_says_where_it_is_and_where_to_go_on(
    backend: WorkspaceBackend,
    tmp_path: Path,
    offset: int,
    limit: int,
    text: str,
    expected: tuple[int | None, ...],
) -> None:
    (tmp_path / "notes.txt").write_text(FIVE)
    page = backend.read("/notes.txt", offset, limit)
    assert (content(page), window(page)) == (text, expected)


@given(
    lines=st.lists(st.sampled_from(["", "a", "   ", "é", "long " * 50]), max_size=12),
    final=st.booleans(),
    limit=st.integers(1, 5),
)
@example(lines=["", "", "x"], final=False, limit=1)
def test_all_pages_together_are_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], final: bool, limit: int
) -> None:
    root = tmp_path_factory.mktemp("pages")
    text = "\n".join(lines) + ("\n" if final and lines else "")
    (root / "a.txt").write_text(text)
    pages, offset = list[str](), 0
    with Workspace(root) as workspace:
        while True:
            page = WorkspaceBackend(workspace).read("/a.txt", offset, limit)
            if page.start_line is None:
                assert text.strip() == ""
                assert content(page) == EMPTY_CONTENT_WARNING
                return
            pages.append(content(page))
            assert page.start_line == offset + 1
            if page.next_offset is None:
                break
            offset = page.next_offset
    assert "".join(pages) == text


@pytest.mark.parametrize("limit", [0, -3])
def test_no_lines_are_no_error(backend: WorkspaceBackend, tmp_path: Path, limit: int) -> None:
    (tmp_path / "notes.txt").write_text(FIVE)
    page = backend.read("/notes.txt", 99, limit)
    assert (content(page), window(page), page.no_lines_requested) == ("", (None,) * 4, True)
    assert backend.read("/missing.txt", 0, limit).error == "File '/missing.txt' not found"


@pytest.mark.parametrize("text", ["", " ", "\n \n\t\n"])
@pytest.mark.parametrize(("offset", "limit"), [(0, 10), (0, 0), (7, 3)])
def test_a_file_with_nothing_in_it_says_so(
    backend: WorkspaceBackend, tmp_path: Path, text: str, offset: int, limit: int
) -> None:
    (tmp_path / "blank.txt").write_text(text)
    page = backend.read("/blank.txt", offset, limit)
    assert (content(page), window(page)) == (EMPTY_CONTENT_WARNING, (None,) * 4)


def test_lines_after_the_last_are_refused_with_their_number(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "notes.txt").write_text(FIVE)
    past = backend.read("/notes.txt", 99, 10)
    assert past == ReadResult(error="Line offset 99 exceeds file length (5 lines)")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/missing.txt", ["File '/missing.txt' not found"]),
        ("/notse.txt", ["File '/notse.txt' not found. Did you mean /notes.txt?"]),
        ("/folder", ["Error reading file '/folder'", "(not_a_file)"]),
        ("/.env", ["Error reading file '/.env'", "denied by the rule", "(permission_denied)"]),
        ("/loop", ["Error reading file '/loop'", "a loop of links"]),
        ("/data.bin", ["Error reading file '/data.bin'", "is binary"]),
    ],
)
def test_a_read_that_fails_says_why(
    backend: WorkspaceBackend, tmp_path: Path, path: str, words: list[str]
) -> None:
    (tmp_path / "notes.txt").write_text(FIVE)
    (tmp_path / "folder").mkdir()
    (tmp_path / ".env").write_text("SECRET=hunter2\n")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "data.bin").write_bytes(bytes(range(256)) * 20)
    failed = backend.read(path)
    assert failed.file_data is None
    assert [word for word in words if word not in (failed.error or "")] == []
    assert "hunter2" not in (failed.error or "")


def test_a_file_without_permissions_is_named_by_its_token() -> None:
    with Workspace(locked_store()) as workspace:
        backend = WorkspaceBackend(workspace)
        assert "(permission_denied)" in (backend.read("/locked.txt").error or "")
        assert "(permission_denied)" in (backend.ls("/sub/locked").error or "")
        assert backend.download_files(["/locked.txt"])[0].error == "permission_denied"


@pytest.mark.clause("deepagents.encodings", "deepagents.lines")
@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("utf16.txt", "eins\r\nzwei".encode("utf-16"), "eins\nzwei"),
        ("gbk.txt", "中文内容，这是一个测试文件\n".encode("gbk"), "中文内容，这是一个测试文件\n"),
        ("form.txt", b"a\x0cb\nc\xc2\x85d\n", "a\x0cb\nc\x85d\n"),
    ],
)
def test_texts_in_other_encodings_are_texts(
    backend: WorkspaceBackend, tmp_path: Path, name: str, data: bytes, text: str
) -> None:
    (tmp_path / name).write_bytes(data)
    page = backend.read(f"/{name}")
    assert (content(page), page.total_lines) == (text, len(text.rstrip("\n").split("\n")))


@pytest.mark.clause("deepagents.documents")
def test_a_notebook_is_its_cells(backend: WorkspaceBackend, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "source": ["x = 1\n", "print(x)"], "outputs": []}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "a.ipynb").write_text(json.dumps(notebook))
    text = content(backend.read("/a.ipynb"))
    assert "x = 1\nprint(x)" in text
    assert "cell_type" not in text


# -----------------------------------------------------------------------------
# Files that models take as they are.
# -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["clip.mkv", "FILM.MP4", "a.pdf", "broken.png", "slides.pptx"])
@pytest.mark.parametrize("limit", [0, 2000])
def test_media_are_bytes_whatever_lines_are_asked_for(
    backend: WorkspaceBackend, tmp_path: Path, name: str, limit: int
) -> None:
    data = b"\x80\x81 not text\n" + bytes(range(256))
    (tmp_path / name).write_bytes(data)
    page = backend.read(f"/{name}", 0, limit)
    assert b64decode(content(page)) == data
    assert page.file_data is not None
    assert page.file_data["encoding"] == "base64"


def test_an_image_is_an_image_and_text_under_its_name_is_bytes(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "logo.png").write_bytes(picture())
    (tmp_path / "text.png").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert b64decode(content(backend.read("/logo.png"))) == picture()
    assert b64decode(content(backend.read("/text.png"))).startswith(b"version ")


@pytest.mark.clause("deepagents.media")
def test_a_file_that_is_too_large_for_a_model_is_refused_and_can_be_downloaded(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    size = 8 * 1024 * 1024
    (tmp_path / "film.mp4").write_bytes(bytes(size + 1))
    refused = backend.read("/film.mp4")
    assert refused.error == f"File '/film.mp4': Binary file exceeds maximum preview size of {size} bytes"
    assert backend.read("/gone.mp4").error == "File '/gone.mp4' not found"
    (downloaded,) = backend.download_files(["/film.mp4"])
    assert downloaded.content == bytes(size + 1)


# -----------------------------------------------------------------------------
# Searches.
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        ("def __init__(", ["/a.py"]),
        ("str | int", ["/a.py"]),
        ("[a-z]", ["/b.txt"]),
        ("$19.99", ["/b.txt"]),
        ("a.b", []),
        ("NEEDLE", []),
        ("needle", ["/a.py", "/docs/c.md"]),
        ("世界", ["/docs/c.md"]),
    ],
)
def test_a_search_is_for_a_text_as_it_is(
    backend: WorkspaceBackend, tmp_path: Path, pattern: str, files: list[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "a.py").write_text("def __init__(self, x: str | int):\n    needle\n")
    (tmp_path / "b.txt").write_text("[a-z]*\n$19.99\naxb\n")
    (tmp_path / "docs" / "c.md").write_bytes("世界\r\nneedle\r\n".encode())
    (tmp_path / "data.bin").write_bytes(b"\xff\xfe needle \x00\x80" * 100)
    found = backend.grep(pattern)
    assert (found.error, found.truncated) == (None, False)
    assert [match["path"] for match in found.matches or []] == files
    assert all(pattern in match["text"] and "\r" not in match["text"] for match in found.matches or [])


@pytest.mark.parametrize(
    ("glob", "path", "files"),
    [
        ("src/**/*.py", "/", ["/src/app/main.py"]),
        ("**/*.py", "/", ["/src/app/main.py", "/top.py"]),
        ("*.py", None, ["/src/app/main.py", "/top.py"]),
        ("/*.py", "/", ["/top.py"]),
        ("*.{md,rst}", "/", ["/README.md"]),
        ("app/*.py", "/src", ["/src/app/main.py"]),
        ("src/", "/", []),
        ("!*.py", "/", []),
        ("[!m]*.py", "/", ["/top.py"]),
        (".ci/*.py", "/", ["/.ci/run.py"]),
        (None, "/src/app/main.py", ["/src/app/main.py"]),
        ("*.md", "/src/app/main.py", []),
    ],
)
def test_a_search_takes_the_files_that_the_glob_takes(
    backend: WorkspaceBackend, tmp_path: Path, glob: str | None, path: str | None, files: list[str]
) -> None:
    for name in ("src/app/main.py", "top.py", "README.md", ".ci/run.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("import os\n")
    found = backend.grep("import", path, glob)
    assert found.error is None
    assert [match["path"] for match in found.matches or []] == files


@given(counts=st.lists(st.integers(0, 4), min_size=1, max_size=4), most=st.integers(0, 8))
def test_a_search_has_at_most_so_many_matches_and_says_whether_there_are_more(
    tmp_path_factory: pytest.TempPathFactory, counts: list[int], most: int
) -> None:
    root = tmp_path_factory.mktemp("matches")
    for number, count in enumerate(counts):
        (root / f"{number}.txt").write_text("needle\nhay\n" * count)
    with Workspace(root) as workspace:
        backend = WorkspaceBackend(workspace)
        every, some = backend.grep("needle"), backend.grep("needle", max_count=most)
    assert every.matches is not None
    assert (len(every.matches), every.truncated) == (sum(counts), False)
    assert some.matches == every.matches[:most]
    assert some.truncated == (sum(counts) > most)


@pytest.mark.clause("deepagents.many_matches")
def test_more_matches_than_a_reply_holds_are_truncated(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"needle {'x' * 1000}\n" * 2000)
    found = backend.grep("needle")
    assert found.truncated
    assert 900 < len(found.matches or []) < 2000


def test_a_search_that_could_not_look_into_a_file_says_so() -> None:
    with Workspace(locked_store()) as workspace:
        found = WorkspaceBackend(workspace).grep("needle")
    assert [match["path"] for match in found.matches or []] == ["/open.txt", "/sub/b.txt"]
    begin = "Error: One or more files could not be fully searched: "
    assert found.error == f"{begin}locked.txt, sub/locked cannot be read"


def test_a_search_that_takes_too_long_says_so(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}.txt").write_text("needle\n" * 1000)
    with Workspace(tmp_path, settings=Settings(limits=Limits(grep_timeout_s=1e-9))) as workspace:
        found = WorkspaceBackend(workspace).grep("needle", max_count=40_000)
    assert found.truncated or "time limit" in (found.error or "")


def test_a_long_line_is_found_and_its_beginning_shown(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "bundle.js").write_text("x" * 100_000 + "needle" + "y" * 100_000)
    (match,) = backend.grep("needle").matches or []
    assert match["line"] == 1
    assert "needle" in match["text"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/missing", "Path '/missing': path_not_found"),
        ("/loop", "Error searching path '/loop'"),
        ("/.env", "(permission_denied)"),
    ],
)
def test_a_search_that_fails_says_why(
    backend: WorkspaceBackend, tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / ".env").write_text("needle\n")
    found = backend.grep("needle", path)
    assert found.matches == []
    assert words in (found.error or "")


SAMPLE = "one\ntwo\nneedle three\nfour\nneedle five\nsix\nseven\neight\nnine\nneedle ten\neleven"


def test_a_text_of_two_lines_is_in_no_line(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    error = backend.grep("one\ntwo").error or ""
    assert "matches stay within a line" in error
    assert "multiline" not in error


def test_lines_around_matches_are_shown_once(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SAMPLE)
    matches = backend.grep("needle", context_lines=1).matches or []
    assert [match["line"] for match in matches] == [3, 5, 10]
    assert [[each["line"] for each in match["context_before"]] for match in matches] == [[2], [4], [9]]
    assert [[each["line"] for each in match["context_after"]] for match in matches] == [[4], [6], [11]]
    shown = format_grep_matches(matches, "content")
    assert shown == (
        "/a.txt:\n  2- two\n  3: needle three\n  4- four\n  5: needle five\n  6- six\n  --\n"
        "  9- nine\n  10: needle ten\n  11- eleven"
    )


def test_a_match_that_was_left_out_is_not_context(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("before\nneedle one\nneedle two\nafter\n")
    found = backend.grep("needle", max_count=1, context_lines=2)
    assert found.truncated
    (match,) = found.matches or []
    assert match["context_before"] == [{"line": 1, "text": "before"}]
    assert match["context_after"] == [{"line": 4, "text": "after"}]


def test_context_is_of_the_same_file_and_ends_where_the_file_ends(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("alpha\nneedle a")
    (tmp_path / "b.txt").write_bytes(b"needle b\r\nbravo\r\n")
    first, second = backend.grep("needle", context_lines=10**9).matches or []
    assert (first["context_before"], first["context_after"]) == ([{"line": 1, "text": "alpha"}], [])
    assert (second["context_before"], second["context_after"]) == ([], [{"line": 2, "text": "bravo"}])


def test_without_context_a_match_has_none(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(SAMPLE)
    assert backend.grep("two").matches == [{"path": "/a.txt", "line": 2, "text": "two"}]
    with pytest.raises(ValueError, match="context_lines must be non-negative"):
        backend.grep("two", context_lines=-1)


# -----------------------------------------------------------------------------
# Downloads.
# -----------------------------------------------------------------------------


@pytest.mark.clause("deepagents.transfers")
def test_files_are_downloaded_in_order_each_with_its_bytes_or_its_token(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(256)))
    (tmp_path / "folder").mkdir()
    (tmp_path / ".env").write_text("SECRET=hunter2\n")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "outside").symlink_to("/etc/passwd")
    tokens: dict[str, Any] = {
        "/a.bin": None,
        "/missing.txt": "file_not_found",
        "/a.bin/below": "invalid_path",
        "/folder": "is_directory",
        "/": "is_directory",
        "/.env": "permission_denied",
        "/outside": "permission_denied",
        "/../etc/passwd": "invalid_path",
        "/loop": "invalid_path",
        "/nul\0": "invalid_path",
        "relative.txt": "invalid_path",
        "": "invalid_path",
    }
    downloaded = backend.download_files(list(tokens))
    assert {one.path: one.error for one in downloaded} == tokens
    assert downloaded[0] == FileDownloadResponse("/a.bin", bytes(range(256)))
    assert [one.content for one in downloaded[1:]] == [None] * (len(tokens) - 1)
