"""Several files are edited, all of them or none."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from readroom.core.deadline import Deadline
from readroom.core.stores.local import Confinement, LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

ROOT = "/workspace"


class Desk:
    """A workspace whose root is /workspace, and edits in it."""

    def __init__(self, store: MemoryStore | LocalStore) -> None:
        self.workspace = Workspace(store)

    def edit(self, files: dict[str, list[tuple[str, str]]], *, every: bool = False, **options: Any) -> Reply:
        sent = [
            {
                "path": path if path.startswith("/") or not path else f"{ROOT}/{path}",
                "edits": [{"search": old, "replace": new, "replace_all": every} for old, new in edits],
            }
            for path, edits in files.items()
        ]
        arguments = {"files": sent, "include_diff": True}
        return self.workspace.call("edit-files", arguments, contract_name="coder", **options)


@pytest.fixture(params=["memory", "local"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Desk, Any]]:
    """A desk, and its files by name."""
    files = {"a": "one\n", "d/b": "two\r\nthree\r\n", "d/c": "four"}
    if request.param == "memory":
        memory = MemoryStore(files)
        memory.roots = (ROOT,)
        found: Any = Desk(memory)

        def read(path: str) -> bytes:
            with memory.open(path) as source:  # type: ignore[arg-type]
                return source.read_at(0, source.size)
    else:
        (tmp_path / "d").mkdir()
        for name, text in files.items():
            (tmp_path / name).write_bytes(text.encode())
        local = LocalStore(tmp_path)
        local.roots = (ROOT, *local.roots)
        found = Desk(local)

        def read(path: str) -> bytes:
            return (tmp_path / path).read_bytes()

    with found.workspace:
        yield found, read


@contextmanager
def local(folder: Path, way: Confinement = "auto") -> Iterator[Desk]:
    store = LocalStore(folder, way)
    store.roots = (ROOT, *store.roots)
    room = Desk(store)
    with room.workspace:
        yield room


@contextmanager
def at(folder: Path, data: bytes) -> Iterator[Desk]:
    (folder / "a").write_bytes(data)
    with local(folder) as room:
        yield room


def status(reply: Reply) -> object:
    return reply.facts["status"]


def message(reply: Reply) -> str:
    return str(json.loads(reply.text)["message"])


def test_all_files_are_changed_and_their_diffs_told(desk: tuple[Desk, Any]) -> None:
    room, read = desk
    found = room.edit({"d/b": [("two\n", "TWO\n")], "a": [("one", "1"), ("1", "2")], "d/c": [("four", "4")]})
    assert status(found) == 200
    assert (read("a"), read("d/b"), read("d/c")) == (b"2\n", b"TWO\r\nthree\r\n", b"4")
    diffs = {one["path"]: one["diff"] for one in json.loads(found.text)["files"]}
    assert list(diffs) == [f"{ROOT}/d/b", f"{ROOT}/a", f"{ROOT}/d/c"]
    assert diffs[f"{ROOT}/a"] == f"--- {ROOT}/a\n+++ {ROOT}/a\n@@ -1 +1 @@\n-one\n+2\n"


def test_every_failure_is_told_and_the_highest_status_wins(desk: tuple[Desk, Any]) -> None:
    room, read = desk
    found = room.edit({"a": [("one", "1")], "d/b": [("x", "y")], "": [("x", "y")], "d/none": []})
    assert status(found) == 400
    assert message(found).split("\n")[1:] == ['"path" is required', "must specify at least one edit"]
    again = room.edit(
        {"a": [("one", "1")], "d/b": [("x", "y")], "/etc/passwd": [("x", "y")], "no": [("x", "y")]}
    )
    assert status(again) == 404
    lines = message(again).split("\n")
    assert lines[0].startswith(f"edit {ROOT}/d/b: search string not found in file.")
    assert lines[1].startswith("permission denied: /etc/passwd: ")
    assert lines[2] == f"open {ROOT}/no: no such file or directory"
    assert (read("a"), read("d/b")) == (b"one\n", b"two\r\nthree\r\n")


def test_one_file_twice_is_refused(desk: tuple[Desk, Any]) -> None:
    room, read = desk
    found = room.edit({"a": [("one", "1")], "d/../a": [("one", "2")]})
    assert status(found) == 400
    assert "aliases" in message(found)
    assert read("a") == b"one\n"


def test_an_ambiguous_or_empty_search_is_refused(desk: tuple[Desk, Any]) -> None:
    room, read = desk
    assert "matches 2 occurrences (expected exactly 1)." in message(room.edit({"d/b": [("e", "E")]}))
    assert "search string must not be empty" in message(room.edit({"a": [("", "x")]}))
    assert read("d/b") == b"two\r\nthree\r\n"


def test_an_edit_that_changes_nothing_leaves_the_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with at(tmp_path, b"same\n") as room:
        before = file.stat()
        assert status(room.edit({"a": [("same", "same")]})) == 200
    assert (file.stat().st_ino, file.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252", "shift_jis"])
def test_bytes_outside_a_change_stay(encoding: str, tmp_path: Path) -> None:
    text = "これは長い日本語の文章です。\n" * 20 if encoding == "shift_jis" else "café, déjà vu, où\n" * 20
    data = f"{text}old\n{text}".encode(encoding)
    with at(tmp_path, data) as room:
        assert status(room.edit({"a": [("old", "new")]})) == 200
    assert (tmp_path / "a").read_bytes() == f"{text}new\n{text}".encode(encoding)


def test_bytes_that_are_no_characters_stay(tmp_path: Path) -> None:
    with at(tmp_path, "☃ and text\n".encode() * 40 + b"\xff\xfe broken \xe2\x82\nold\n") as room:
        found = room.edit({"a": [("old", "n\u00e9w")]})
    assert status(found) == 200, found.text
    assert (tmp_path / "a").read_bytes().endswith(b"\xff\xfe broken \xe2\x82\nn\xc3\xa9w\n")


def test_what_the_encoding_cannot_hold_is_refused(tmp_path: Path) -> None:
    data = ("café, déjà vu, où\n" * 20 + "old\n").encode("cp1252")
    with at(tmp_path, data) as room:
        assert status(room.edit({"a": [("old", "☃")]})) == 400
    assert (tmp_path / "a").read_bytes() == data


@pytest.mark.clause("coder.deviation.restored")
def test_a_name_that_cannot_be_given_takes_back_those_that_were(tmp_path: Path) -> None:
    """One of two folders is moved away when both new contents are written and no name is given yet."""
    for name in ("first", "last"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("old\n", encoding="utf-8")
    seen: list[str] = []

    def clock() -> float:
        if len(list(tmp_path.glob("*/.readroom-*.tmp"))) == 2 and not seen:
            seen.append("both are written")
            os.rename(tmp_path / "first", tmp_path / "moved")
        return time.monotonic()

    with local(tmp_path, "walk") as room:  # whose new files have names while they are written
        changes = {"first/f": [("old", "new")], "last/f": [("old", "new")]}
        found = room.edit(changes, deadline=Deadline(60, clock=clock))
    assert seen
    assert status(found) == 404
    for name in ("moved", "last"):
        assert (tmp_path / name / "f").read_text(encoding="utf-8") == "old\n"
        assert os.listdir(tmp_path / name) == ["f"]


def test_calls_that_edit_the_same_files_in_other_orders_both_come_through(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "f").write_text("0 0\n", encoding="utf-8")
    failures: list[str] = []
    with local(tmp_path) as room:

        def work(*names: str) -> None:
            for number in range(15):
                change = ("0 0\n", f"0 0\n{names[0]}{number}\n")
                found = room.edit({f"{name}/f": [change] for name in names})
                if found.is_error:
                    failures.append(found.text)

        threads = [threading.Thread(target=work, args=names) for names in (("a", "b"), ("b", "a"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    assert (tmp_path / "a/f").read_bytes() == (tmp_path / "b/f").read_bytes()
    assert (tmp_path / "a/f").read_bytes().count(b"\n") == 31


@pytest.mark.clause("coder.deviation.told")
def test_what_no_longer_parses_is_a_note_beside_the_diffs() -> None:
    store = MemoryStore({"f.py": "x = [1]\ny = 2\n", "g": "a\n"})
    store.roots = (ROOT,)
    desk = Desk(store)
    reply = desk.edit({"f.py": [("]", "")], "g": [("a", "# ... rest of the file")]})
    notes = json.loads(reply.text)["notes"]
    assert [note.partition(" (")[0] for note in notes] == [
        f"{ROOT}/f.py: Warning: no longer parses at line 1",
        f"{ROOT}/g: Warning: placeholder at line 1",
    ]
    assert "notes" not in json.loads(desk.edit({"f.py": [("x", "z")]}).text)
