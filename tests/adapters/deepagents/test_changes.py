"""Changes as deepagents asks for them: writes, edits, deletions and uploads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deepagents.backends.protocol import EditResult, FileUploadResponse
from deepagents.backends.utils import EMPTY_OLD_STRING_ERROR
from deepagents.middleware.filesystem import FilesystemMiddleware
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from msgspec.structs import replace

from readroom import Workspace
from readroom.adapters.deepagents import WorkspaceBackend
from readroom.core.config import Settings
from readroom.core.policy.changes import ChangePolicy

pytestmark = pytest.mark.filterwarnings("ignore")  # those of frameworks are not ours


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[WorkspaceBackend]:
    with Workspace(tmp_path) as workspace:
        yield WorkspaceBackend(workspace)


# -----------------------------------------------------------------------------
# Writes.
# -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("/a.txt", "x"),
        ("/deep/nested/a.txt", "Nested\n"),
        ("/dir with spaces/a b.txt", "x"),
        ("/empty.txt", ""),
        ("/feeds.txt", "\n\n\n"),
        ("/shell.txt", "$VAR `cmd` $(sub) 'q' \"q\"\n\tTab \\\\ \0"),
        ("/world.txt", "Hello 👋 世界 مرحبا\n"),
    ],
)
def test_a_file_is_written_as_it_is_and_overwritten(
    backend: WorkspaceBackend, tmp_path: Path, path: str, content: str
) -> None:
    for text in ("before\n", content):
        written = backend.write(path, text)
        assert (written.error, written.path) == (None, path)
        assert (tmp_path / path[1:]).read_bytes() == text.encode()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/folder", "Error writing file '/folder'"),
        ("/file/below", "Error writing file '/file/below'"),
        ("/loop", "Error writing file '/loop'"),
        ("/.env", "(permission_denied)"),
        ("/outside/x", "(permission_denied)"),
        ("/link", "(permission_denied)"),
    ],
)
def test_a_write_that_fails_says_why_and_changes_nothing(
    backend: WorkspaceBackend, tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("as it was")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "outside").symlink_to("/tmp")
    (tmp_path / "link").symlink_to("file")
    failed = backend.write(path, "x")
    assert failed.path is None
    assert words in (failed.error or "")
    assert (tmp_path / "file").read_text() == "as it was"


# -----------------------------------------------------------------------------
# Edits.
# -----------------------------------------------------------------------------


@pytest.mark.clause("deepagents.line_ends")
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ("Hello world\nBye world\n", "Bye", "Farewell", "Hello world\nFarewell world\n"),
        ("Price: $100.00\n[a-z]*\n", "[a-z]*", "[0-9]+", "Price: $100.00\n[0-9]+\n"),
        ("Line 1\nLine 2\nLine 3", "Line 1\nLine 2", "One", "One\nLine 3"),
        ("Keep\nDrop\nKeep", "Drop\n", "", "Keep\nKeep"),
        ("a    b", "    ", " ", "a b"),
        ("世界 👋", "👋", "🌍", "世界 🌍"),
        ("one\ntwo\nthree\n", "one\r\ntwo\r\n", "1\n", "1\nthree\n"),
        ("hello world\n", "hello", "bye\r\n", "bye\n world\n"),
        ("one\r\ntwo\r\nthree\r\n", "one\ntwo", "1\n2\n3", "1\r\n2\r\n3\r\nthree\r\n"),
        ("lf\nlf2\ncr\r\ncr2\r\n", "lf\nlf2", "LF", "LF\ncr\r\ncr2\r\n"),
    ],
)
def test_an_edit_replaces_a_text_and_keeps_line_ends(
    backend: WorkspaceBackend, tmp_path: Path, before: str, old: str, new: str, after: str
) -> None:
    (tmp_path / "a.txt").write_bytes(before.encode())
    assert backend.edit("/a.txt", old, new) == EditResult(path="/a.txt", occurrences=1)
    assert (tmp_path / "a.txt").read_bytes() == after.encode()


def test_every_place_is_replaced_on_demand(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("foo\nbar\nfoo\n")
    assert backend.edit("/a.txt", "foo\r\n", "baz\n", replace_all=True).occurrences == 2
    assert (tmp_path / "a.txt").read_text() == "baz\nbar\nbaz\n"


def test_a_text_that_occurs_twice_is_refused_with_its_lines(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("foo bar foo\nfoo\n")
    assert backend.edit("/a.txt", "foo", "x").error == (
        "Error: String 'foo' appears 3 times in file. Use replace_all=True to replace all instances, or "
        "provide a more specific string with surrounding context. It appears multiple times: in lines 1, 2."
    )
    assert (tmp_path / "a.txt").read_text() == "foo bar foo\nfoo\n"


@pytest.mark.clause("deepagents.near")
def test_a_text_that_is_not_there_is_named_with_what_is_like_it(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("def total(items):\n    return sum(items)\n")
    error = backend.edit("/a.py", "    return  sum(items)", "x").error or ""
    assert error.startswith("Error: String not found in file: '    return  sum(items)'. ")
    assert "old_text" not in error
    long = backend.edit("/a.py", "gone " * 1000, "x").error or ""
    assert "..." in long
    assert len(long) < 1500


@pytest.mark.parametrize(
    ("before", "old", "words"),
    [
        ("# Role:\nyou are", "# Role:\nyou are\n", "with the trailing newline removed from old_string"),
        ("end\nend", "end\n\n", None),
        ("x end\nthe end", "end\n", None),
        ("twice, twice", "twice\n", "old_string would appear 2 times in the file"),
        ("ends well\n", "well\n\n", None),
    ],
)
def test_a_line_feed_that_the_end_of_the_file_lacks_is_named(
    backend: WorkspaceBackend, tmp_path: Path, before: str, old: str, words: str | None
) -> None:
    (tmp_path / "a.txt").write_text(before)
    error = backend.edit("/a.txt", old, "x").error or ""
    begin = "Error: old_string ends with a newline, but the file does not end with a newline."
    assert (begin in error) == (words is not None)
    assert words is None or words in error


@pytest.mark.clause("deepagents.identical")
@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        ("/missing.txt", "a", "b", "Error: File '/missing.txt' not found"),
        ("/a.txt", "", "b", EMPTY_OLD_STRING_ERROR),
        ("/a.txt", "text", "text", "new_string"),
        ("/.env", "SECRET", "x", "(permission_denied)"),
        ("/loop", "a", "b", "Error editing file '/loop'"),
        ("/folder", "a", "b", "(not_a_file)"),
    ],
)
def test_an_edit_that_fails_says_why(
    backend: WorkspaceBackend, tmp_path: Path, path: str, old: str, new: str, words: str
) -> None:
    (tmp_path / "a.txt").write_text("text\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / ".env").write_text("SECRET=hunter2\n")
    (tmp_path / "loop").symlink_to("loop")
    failed = backend.edit(path, old, new)
    assert (failed.path, failed.occurrences) == (None, None)
    assert words in (failed.error or "")


# -----------------------------------------------------------------------------
# Deletions.
# -----------------------------------------------------------------------------


def test_a_file_or_a_folder_with_all_in_it_is_deleted_and_nothing_beside(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "deep" / "d.txt").write_text("d")
    (tmp_path / "empty").mkdir()
    for name in ("keep.txt", "drop.txt"):
        (tmp_path / name).write_text("x")
    for path in ("/sub", "/empty", "/drop.txt"):
        deleted = backend.delete(path)
        assert (deleted.error, deleted.path) == (None, path)
    assert [file.name for file in tmp_path.iterdir()] == ["keep.txt"]


def test_a_link_is_deleted_and_not_what_it_leads_to(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "keep.txt").write_text("keep")
    (tmp_path / "link").symlink_to("target", target_is_directory=True)
    (tmp_path / "loop").symlink_to("loop")
    assert backend.delete("/link").error is None
    assert backend.delete("/loop").error is None
    assert [file.name for file in tmp_path.iterdir()] == ["target"]
    assert (tmp_path / "target" / "keep.txt").exists()


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/missing.txt", "Error: '/missing.txt' not found"),
        ("/.env", "Error deleting '/.env'"),
        ("/holds", "Error deleting '/holds'"),
        ("/", "Error deleting '/'"),
    ],
)
def test_a_deletion_that_fails_says_why(
    backend: WorkspaceBackend, tmp_path: Path, path: str, words: str
) -> None:
    (tmp_path / ".env").write_text("SECRET=hunter2\n")
    (tmp_path / "holds").mkdir()
    (tmp_path / "holds" / ".env").write_text("SECRET=hunter2\n")
    failed = backend.delete(path)
    assert failed.path is None
    assert words in (failed.error or "")
    assert (tmp_path / "holds" / ".env").exists()


# -----------------------------------------------------------------------------
# Uploads.
# -----------------------------------------------------------------------------


@given(data=st.binary(max_size=300))
def test_what_is_uploaded_is_downloaded(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    root = tmp_path_factory.mktemp("uploads")
    with Workspace(root) as workspace:
        backend = WorkspaceBackend(workspace)
        for name in ("/new/a.bin", "/new/a.bin"):
            assert backend.upload_files([(name, data)]) == [FileUploadResponse(name)]
            assert backend.download_files([name])[0].content == data
    assert (root / "new" / "a.bin").read_bytes() == data


def test_an_upload_of_many_bytes_arrives_whole(backend: WorkspaceBackend) -> None:
    data = bytes(range(256)) * (10 * 1024 * 1024 // 256)
    assert backend.upload_files([("/large.bin", data)]) == [FileUploadResponse("/large.bin")]
    assert backend.download_files(["/large.bin"])[0].content == data
    assert "bytes" in (backend.upload_files([("/larger.bin", data * 2)])[0].error or "")


def test_uploads_are_answered_in_order_each_with_its_token(backend: WorkspaceBackend, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("as it was")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "outside").symlink_to("/tmp")
    tokens: dict[str, Any] = {
        "/a.bin": None,
        "/new/b.bin": None,
        "/folder": "is_directory",
        "/file/below": "invalid_path",
        "/.env": "permission_denied",
        "/link": "permission_denied",
        "/outside/x": "permission_denied",
        "/../bad.txt": "invalid_path",
        "/loop": "invalid_path",
        "relative.txt": "invalid_path",
        "/last.bin": None,
    }
    uploaded = backend.upload_files([(path, b"\x00\xff") for path in tokens])
    assert {one.path: one.error for one in uploaded} == tokens
    assert [one.path for one in uploaded] == list(tokens)
    assert (tmp_path / "last.bin").read_bytes() == b"\x00\xff"
    assert (tmp_path / "file").read_text() == "as it was"


def test_nothing_is_changed_where_policy_allows_no_changes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text\n")
    settings = replace(Settings(), changes=ChangePolicy(read_only=True))
    with Workspace(tmp_path, settings=settings) as workspace:
        backend = WorkspaceBackend(workspace)
        errors = [
            backend.write("/new.txt", "x").error,
            backend.edit("/a.txt", "text", "x").error,
            backend.delete("/a.txt").error,
        ]
        assert all("(permission_denied)" in (error or "") for error in errors)
        assert backend.upload_files([("/new.txt", b"x")])[0].error == "permission_denied"
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


# -----------------------------------------------------------------------------
# Together with deepagents.
# -----------------------------------------------------------------------------


def test_a_result_that_is_too_long_is_kept_where_the_backend_says(
    backend: WorkspaceBackend, tmp_path: Path
) -> None:
    middleware: Any = FilesystemMiddleware(backend=backend, tool_token_limit_before_evict=1000)
    request = type("Request", (), {"tool_call": {"name": "novel", "id": "call_1", "args": {}}})()
    long = ToolMessage(content="f" * 5000, tool_call_id="call_1")
    shown = middleware.wrap_tool_call(request, lambda _: long)
    assert "/large_tool_results/call_1" in shown.content
    assert (tmp_path / "large_tool_results" / "call_1").read_text() == "f" * 5000


def test_every_method_can_be_awaited(backend: WorkspaceBackend, tmp_path: Path) -> None:
    searched: Any = backend  # the protocol knows no context

    async def session() -> list[Any]:
        return [
            await backend.awrite("/a.txt", "needle\n"),
            await backend.aread("/a.txt"),
            await backend.aedit("/a.txt", "needle", "thread"),
            await backend.als("/"),
            await backend.aglob("*.txt"),
            await searched.agrep("thread", max_count=1, context_lines=1),
            *await backend.adownload_files(["/a.txt"]),
            *await backend.aupload_files([("/b.bin", b"\xff")]),
            await backend.adelete("/a.txt"),
        ]

    results = asyncio.run(session())
    assert [result.error for result in results] == [None] * 9
    assert [file.name for file in tmp_path.iterdir()] == ["b.bin"]
    with pytest.raises(ValueError, match="traversal"):
        asyncio.run(backend.aread("/../a.txt"))
