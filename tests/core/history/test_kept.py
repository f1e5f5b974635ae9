"""Every change is kept: what it took away, who made it, and how it is listed and shown."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.core import config, errors
from readroom.core.caller import Caller
from readroom.core.history.contents import packed
from readroom.core.history.records import Draft
from readroom.core.stores.local import LocalStore
from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    MoveRequest,
    TrashRequest,
    WriteRequest,
)
from readroom.core.values.history import Author, DiffRequest, EntryState, ForgetRequest, HistoryRequest
from tests.core.history.pasts import Past, tree


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


@pytest.fixture(name="past")
def _past(root: Path, tmp_path: Path) -> Iterator[Past]:
    past = Past(root, tmp_path / "history")
    yield past
    past.close()


def test_a_change_says_who_made_it_and_what_it_was(past: Past) -> None:
    past.do(WriteRequest("a.txt", "one\n", "absent"), Caller("claude", "s1", "t1", "mcp", "7", "00-ab-cd-01"))
    (change,) = past.changes()
    assert (change.by.agent, change.by.session, change.by.token) == ("claude", "s1", "t1")
    assert (change.by.face, change.by.call, change.by.traceparent) == ("mcp", "7", "00-ab-cd-01")
    (name,) = change.names
    assert (name.path, name.action, name.added, name.removed) == ("a.txt", "created", 1, 0)
    assert (name.before.kind, name.after.kind) == ("absent", "file")


def test_an_edit_is_shown_line_by_line_and_taken_back(past: Past, root: Path) -> None:
    past.write("a.txt", "one\ntwo\n")
    past.write("a.txt", "one\nthree\n")
    newest = past.changes()[0]
    (file,) = past.do(DiffRequest(newest.id)).files
    assert [line for line in file.diff.hunks[0].lines if line[0] in "+-"] == ["-two", "+three"]
    assert (file.before, file.after) == (b"one\ntwo\n", b"one\nthree\n")
    result = past.undo(change=newest.id)
    assert (root / "a.txt").read_bytes() == b"one\ntwo\n"
    assert [(one.path, one.action, one.right) for one in result.undone] == [("a.txt", "changed back", "edit")]
    assert [one.undone_by for one in past.changes()] == [None, result.id, None]


def test_undoing_an_undo_works_and_counts_again(past: Past, root: Path) -> None:
    past.write("a.txt", "one\n")
    past.write("a.txt", "two\n")
    undo = past.undo(path="a.txt").id
    past.undo(change=undo)
    assert (root / "a.txt").read_bytes() == b"two\n"
    assert [one.undone_by is None for one in past.changes()] == [True, False, True, True]
    past.undo(path="a.txt")
    past.undo(path="a.txt")
    assert not (root / "a.txt").exists()
    with pytest.raises(errors.NothingToUndo):
        past.undo(path="a.txt")


def test_undoing_an_undo_of_several_counts_all_of_them_again(past: Past, root: Path) -> None:
    past.write("a.txt", "one\n")
    past.write("made.txt", "made\n")
    past.change(
        action="delete", path="made.txt", expected_hash=past.workspace.read("made.txt").facts["content_hash"]
    )
    deleted = past.changes()[0].id
    undone = past.undo(since_ns=0)  # "made.txt" needs no change: it was not there before, and is not there
    assert undone.id is not None
    past.undo(change=undone.id)
    assert [change.undone_by for change in past.changes() if change.id <= deleted] == [None] * 3
    past.undo(change=deleted)
    assert (root / "made.txt").read_text() == "made\n"


def test_a_deleted_folder_comes_back_with_bytes_modes_times_and_links(past: Past, root: Path) -> None:
    (root / "d/deep/empty").mkdir(parents=True)
    (root / "d/a.bin").write_bytes(bytes(range(256)))
    (root / "d/deep/run.sh").write_text("#!/bin/sh\n")
    os.chmod(root / "d/deep/run.sh", 0o750)
    os.chmod(root / "d/deep", 0o711)
    (root / "d/link").symlink_to("../elsewhere")
    os.utime(root / "d/a.bin", ns=(10**18, 10**18 + 7))
    before = tree(root, times=True)
    past.do(DeleteRequest("d", recursive=True))
    assert tree(root) == {}
    past.undo(change=past.changes()[0].id)
    assert tree(root, times=True) == before


def test_moves_and_folders_are_taken_back(past: Past, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d/a").write_text("a\n")
    (root / "b").write_text("b\n")
    before = tree(root)
    past.do(MoveRequest("d", "new/place/d"))
    past.do(MoveRequest("b", "new/b"))
    past.do(MakeFolderRequest("x/y"))
    past.do(TrashRequest("new/b"))
    for change in past.changes():
        past.undo(change=change.id)
    assert tree(root) == before


def test_a_session_is_taken_back_at_once(past: Past, root: Path) -> None:
    (root / "a").write_text("a\n")
    before = tree(root)
    one, other = Caller(session="one"), Caller(session="other")
    past.do(WriteRequest("other", "other\n", "absent"), other)
    for content in ("b\n", "c\n", "d\n"):
        past.do(WriteRequest("a", content, None), one)
    past.do(WriteRequest("n/e/w", "w\n", "absent"), one)
    past.do(MoveRequest("a", "n/moved"), one)
    result = past.undo(session="one")
    assert len(result.changes) == 5
    assert tree(root) == before | {"other": ("file", 0o644, b"other\n")}
    past.undo(change=result.id)
    assert (root / "n/moved").read_bytes() == b"d\n"
    assert (root / "n/e/w").read_bytes() == b"w\n"


def test_an_undo_of_several_changes_of_its_own_names_all_of_them(past: Past, root: Path) -> None:
    past.write("d/a.txt", "one\n")
    before = tree(root)
    past.write("b.txt", "two\n")
    past.do(MoveRequest("d", "e"))
    moved = tree(root)
    result = past.undo(since_ns=past.changes()[1].at_ns)
    assert tree(root) == before
    assert result.id is not None
    assert result.earlier
    reply = past.workspace.perform("undo_changes", {"change": result.id}, contract_name="history")
    assert reply.facts["earlier_changes"] == []
    for change in result.earlier:
        past.undo(change=change)
    assert tree(root) == moved


def test_what_was_changed_since_is_refused_and_its_parts_are_offered(past: Past, root: Path) -> None:
    lines = [f"line {number}\n" for number in range(30)]
    past.write("a.txt", "".join(lines))
    changed = lines.copy()
    changed[2], changed[20] = "changed 2\n", "changed 20\n"
    past.write("a.txt", "".join(changed))
    change = past.changes()[0].id
    changed[20] = "a person's\n"
    (root / "a.txt").write_text("".join(changed))
    with pytest.raises(errors.ChangedSince) as refused:
        past.undo(change=change)
    (conflict,) = refused.value.conflicts
    assert (conflict.fits, conflict.left) == (1, 1)
    assert "a person's" in refused.value.detail
    assert "-line 2" in refused.value.detail
    assert (root / "a.txt").read_text() == "".join(changed)
    result = past.undo(change=change, parts=True)
    changed[2] = "line 2\n"
    assert (root / "a.txt").read_text() == "".join(changed)
    assert (result.undone[0].fits, result.undone[0].left) == (1, 1)


def test_what_has_the_name_of_something_deleted_or_moved_is_shown(past: Past, root: Path) -> None:
    past.write("a.txt", "deleted\n")
    past.do(DeleteRequest("a.txt"))
    (root / "a.txt").write_text("a person's\n")
    with pytest.raises(errors.ChangedSince) as refused:
        past.undo(path="a.txt")
    assert "-deleted" in refused.value.detail
    assert "+a person's" in refused.value.detail
    assert "move that away first" in refused.value.detail
    past.write("old.txt", "moved\n")
    past.do(MoveRequest("old.txt", "new.txt"))
    (root / "new.txt").unlink()
    with pytest.raises(errors.ChangedSince) as refused:
        past.undo(path="new.txt")
    assert refused.value.message.startswith("new.txt was changed since")
    assert refused.value.detail == "new.txt: it is not there any more"


def test_a_made_folder_stays_for_what_others_put_into_it(past: Past, root: Path) -> None:
    past.write("n/a.txt", "a\n")
    (root / "n/theirs").write_text("theirs\n")
    past.undo(change=past.changes()[0].id)
    assert tree(root) == {"n": ("folder", 0o755), "n/theirs": ("file", 0o644, b"theirs\n")}


def test_what_is_denied_by_now_is_not_shown_and_not_undone(past: Past, root: Path) -> None:
    past.write("secret.txt", "one\n")
    past.write("secret.txt", "two\n")
    change = past.changes()[0].id
    (root / ".readroomignore").write_text("secret.txt\n")
    assert past.changes() == []
    for request in (DiffRequest(change), HistoryRequest(change=change)):
        with pytest.raises(errors.NoSuchChange):
            past.do(request)
    with pytest.raises(errors.NoSuchChange):
        past.undo(change=change)
    with pytest.raises(errors.Denied):
        past.undo(path="secret.txt")
    assert (root / "secret.txt").read_text() == "two\n"


def test_what_is_forgotten_leaves_no_byte(past: Past, root: Path, tmp_path: Path) -> None:
    secret = f"hunter2-{os.urandom(40).hex()}\n"
    kept = packed(secret.encode())[10:50]
    past.write("a.txt", secret)
    past.write("a.txt", "nothing\n")
    past.write("b.txt", "b\n")
    files = list((tmp_path / "history").iterdir())
    assert any(kept in file.read_bytes() for file in files)
    result = past.do(ForgetRequest("a.txt"))
    assert (result.changes, result.names, list(result.warnings)) == (2, 2, [])
    assert [one.names[0].path for one in past.changes()] == ["b.txt"]
    for file in files:
        data = file.read_bytes()
        assert b"a.txt" not in data
        assert kept not in data


def test_other_names_that_keep_what_was_forgotten_are_said(past: Past) -> None:
    past.write("d/secret.txt", "hunter2\n")
    past.write("d/secret.txt", "gone\n")
    past.write("other.txt", "hunter2\n")
    past.write("b.txt", "b\n")
    past.do(MoveRequest("d", "e"))
    past.write("e/secret.txt", "later\n")
    (warn,) = past.do(ForgetRequest("e/secret.txt")).warnings
    assert warn.code == "still_kept"
    assert warn.detail.endswith("forget also d/secret.txt")
    (warn,) = past.do(ForgetRequest("d/secret.txt")).warnings
    assert warn.detail.endswith("forget also other.txt")
    assert past.do(ForgetRequest("other.txt")).warnings == []
    assert [name.path for change in past.changes() for name in change.names if name.after.kind == "file"] == [
        "b.txt"
    ]


def test_a_too_large_file_is_said_and_refused_where_a_past_is_required(root: Path, tmp_path: Path) -> None:
    (root / "big").write_bytes(b"x" * 2000)
    past = Past(root, tmp_path / "history", file_bytes=1000)
    result = past.do(DeleteRequest("big"))
    assert [one.code for one in result.warnings] == ["no_history"]
    with pytest.raises(errors.NotKept):
        past.undo(change=past.changes()[0].id)
    past.close()
    (root / "big").write_bytes(b"x" * 2000)
    strict = Past(root, tmp_path / "history", file_bytes=1000, required=True)
    with pytest.raises(errors.HistoryRequired):
        strict.do(DeleteRequest("big"))
    assert (root / "big").stat().st_size == 2000
    assert len(strict.changes()) == 1
    strict.close()


def test_without_a_history_nothing_is_kept(root: Path, tmp_path: Path) -> None:
    past = Past(root, tmp_path / "history", enabled=False)
    past.write("a.txt", "one\n")
    with pytest.raises(errors.HistoryOff):
        past.changes()
    assert not (tmp_path / "history").exists()
    past.close()


def test_the_last_change_of_a_name_is_known(past: Past) -> None:
    history = past.workspace.engine.services.history
    assert history is not None
    assert history.last_change("a.txt") is None
    past.do(WriteRequest("a.txt", "one\n", "absent"), Caller("one"))
    past.do(WriteRequest("a.txt", "two\n", None), Caller("two"))
    past.do(WriteRequest("b.txt", "b\n", "absent"), Caller("three"))
    past.do(MoveRequest("b.txt", "c.txt"), Caller("four"))
    found = {path: history.last_change(path) for path in ("a.txt", "b.txt", "c.txt")}
    assert {path: change and change.by.agent for path, change in found.items()} == {
        "a.txt": "two",
        "b.txt": "four",
        "c.txt": "four",
    }


def test_a_change_that_was_made_otherwise_is_kept(past: Past, root: Path) -> None:
    history = past.workspace.engine.services.history
    assert history is not None
    (root / "built").write_text("built\n")
    digest = "sha256:" + sha256(b"built\n").hexdigest()
    made = Draft("built", EntryState(), EntryState("file", 6, content_hash=digest))
    number = history.record(Author("make", tool="run_command"), [made])
    assert past.changes()[0].id == number
    past.undo(change=number)
    assert tree(root) == {}


def test_a_history_below_the_root_is_hidden_alone(root: Path, tmp_path: Path) -> None:
    operators = tmp_path / "operator.toml"
    operators.write_text(f'[history]\nfolder = "{root / "hist"}"\n', encoding="utf-8")
    (root / "history.md").write_text("ours\n", encoding="utf-8")
    with Workspace(root, settings=config.load(LocalStore(root), operators)) as workspace:
        workspace.write("a.txt", "one\n", "absent")
        assert (root / "hist" / "history.sqlite3").exists()
        assert "ours" in workspace.read("history.md").text
        with pytest.raises(errors.Denied):
            workspace.read("hist/history.sqlite3")
