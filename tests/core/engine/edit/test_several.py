"""Several files changed in one call: all of them or none, each with what the call says of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from readroom import OneEdit
from readroom.core.errors import (
    AlreadyAppended,
    BadRange,
    BadValue,
    Denied,
    EditsFailed,
    Exists,
    HashNeeded,
    Inside,
    MissingArgument,
    NotFound,
    Overlap,
    Protected,
    ReadroomError,
    SameFile,
    Stale,
    Taken,
    UncertainSymbol,
    UnknownSymbol,
    WrongEntries,
)
from readroom.core.stores.local.journal import PUT, Record, Step, encoded, state_of
from readroom.core.values import Reply
from tests.core.engine.edit.changing import STORES, Room, digest, made
from tests.core.stores.worlds import LocalWorld

FILES = {
    "a.txt": b"one\ntwo\n",
    "b.py": b"import os\n\n\n# Adds.\n@cache\ndef add(a, b):\n    return a + b\n\n\n"
    b"def sub(a, b):\n    return a - b\n",
    "d/x": b"x\n",
    "d/e/y": b"y\n",
    ".readroomignore": b"secret*\n",
    "secret.txt": b"s\n",
    "h/secret": b"s\n",
    "h/open": b"o\n",
}

Tree = Mapping[str, bytes | None]


def tree(room: Room) -> dict[str, bytes | None]:
    """Every file with its bytes, and every folder."""
    found: dict[str, bytes | None] = {}

    def look(folder: str) -> None:
        for name in room.names(folder):
            path = name if folder == "." else f"{folder}/{name}"
            try:
                found[path] = room.data(path)
            except ReadroomError:
                found[path] = None
                look(path)

    look(".")
    return found


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Room]:
    world = made(request.param, tmp_path)
    for path, data in FILES.items():
        world.file(path, data)
    room = Room(world)
    with room.workspace:
        yield room


def known(path: str) -> str:
    return digest(FILES[path])


def edit(path: str, **how: Any) -> Any:
    return {"path": path, "expected_hash": known(path), **how}


def refused(room: Room, error: type[ReadroomError], act: Any) -> ReadroomError:
    """What is raised; nothing is changed, and nothing is left beside the files."""
    before = tree(room)
    with pytest.raises(error) as caught:
        act()
    assert tree(room) == before
    return caught.value


# --- several files ---------------------------------------------------------------------------


def test_files_are_edited_and_created_in_one_call_with_a_diff_each(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("a.txt", old_text="two", new_text="TWO"),
        edit("d/x", lines="1", new_text="X"),
        {"path": "new/deep/z", "expected_hash": "absent", "insert": "end", "new_text": "z\n"},
        {"path": "a.txt", "old_text": "one", "new_text": "ONE"},
    ]
    before = tree(room)
    dry = room.workspace.edit_files(edits, dry_run=True)
    assert tree(room) == before
    done = room.workspace.edit_files(edits)
    assert room.data("a.txt") == b"ONE\nTWO\n"
    assert room.data("d/x") == b"X\n"
    assert room.data("new/deep/z") == b"z\n"
    for reply in (dry, done):
        assert all(text in reply.text for text in ("-two\n+ONE\n+TWO", "-x\n+X", "new/deep/z | created"))
    changes: Any = done.facts["changes"]
    assert [change["content_hash"] for change in changes] == [
        digest(b"ONE\nTWO\n"),
        digest(b"X\n"),
        digest(b"z\n"),
    ]


def test_new_text_alone_makes_an_absent_file_and_no_other(room: Room) -> None:
    room.workspace.edit_files([{"path": "n/z", "expected_hash": "absent", "new_text": "z\n"}])
    assert room.data("n/z") == b"z\n"
    again: list[OneEdit] = [{"path": "n/z", "expected_hash": "absent", "new_text": "other\n"}]
    refused(room, Exists, lambda: room.workspace.edit_files(again))


def test_if_one_file_is_stale_none_is_changed(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("a.txt", old_text="two", new_text="TWO"),
        {"path": "d/x", "expected_hash": "0" * 64, "old_text": "x", "new_text": "X"},
        {"path": "new/z", "expected_hash": "absent", "insert": "end", "new_text": "z\n"},
    ]
    error = refused(room, Stale, lambda: room.workspace.edit_files(edits))
    assert error.facts["path"] == "d/x"


def test_failures_of_several_files_are_told_together(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("a.txt", old_text="nine", new_text="9"),
        {"path": "d/x", "expected_hash": "0" * 64, "old_text": "x", "new_text": "X"},
    ]
    error = refused(room, EditsFailed, lambda: room.workspace.edit_files(edits))
    assert "edits[0].old_text is not in a.txt" in str(error)
    assert "d/x has changed" in str(error)


def test_a_hash_that_is_missing_or_said_twice_is_refused(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("a.txt", old_text="two", new_text="2"),
        {"path": "d/x", "old_text": "x", "new_text": "X"},
    ]
    refused(room, MissingArgument, lambda: room.workspace.edit_files(edits))
    twice: list[OneEdit] = [
        edit("a.txt", old_text="two", new_text="2"),
        edit("a.txt", old_text="one", new_text="1") | {"expected_hash": "0" * 12},
    ]
    refused(room, BadValue, lambda: room.workspace.edit_files(twice))
    refused(room, MissingArgument, lambda: room.workspace.edit_files([{"new_text": "a", "old_text": "b"}]))


def test_two_names_of_one_file_are_refused(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("a.txt", old_text="two", new_text="2"),
        edit("a.txt", old_text="one", new_text="1") | {"path": "./d/../a.txt"},
    ]
    refused(room, SameFile, lambda: room.workspace.edit_files(edits))


def test_overlaps_within_a_file_name_the_edits_of_the_call(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("d/x", old_text="x", new_text="X"),
        edit("a.txt", lines="1-2", new_text="both"),
        edit("a.txt", old_text="two", new_text="2"),
    ]
    error = refused(room, Overlap, lambda: room.workspace.edit_files(edits))
    assert error.facts["edits"] == [1, 2]


# --- forms of an edit ------------------------------------------------------------------------


def one(room: Room, path: str, **how: Any) -> Reply:
    sent: Any = how
    return room.workspace.edit(path, known(path), [sent])


@pytest.mark.parametrize(
    ("how", "after"),
    [
        ({"lines": "2", "new_text": "2"}, b"one\n2\n"),
        ({"lines": 1, "new_text": ""}, b"two\n"),
        ({"lines": "1-2", "new_text": "a\nb\nc"}, b"a\nb\nc\n"),
        ({"lines": "1", "insert": "before", "new_text": "zero"}, b"zero\none\ntwo\n"),
        ({"lines": "2", "insert": "after", "new_text": "three\n"}, b"one\ntwo\nthree\n"),
        ({"old_text": "one", "insert": "after", "new_text": "!"}, b"one!\ntwo\n"),
        ({"old_text": "one", "insert": "before", "new_text": "the "}, b"the one\ntwo\n"),
        ({"insert": "end", "new_text": "three"}, b"one\ntwo\nthree"),
    ],
)
def test_an_edit_may_name_its_place(room: Room, how: dict[str, Any], after: bytes) -> None:
    one(room, "a.txt", **how)
    assert room.data("a.txt") == after


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"lines": "2-3", "new_text": "2"}, BadRange),
        ({"lines": "0", "new_text": "2"}, BadRange),
        ({"lines": "2-1", "new_text": "2"}, BadRange),
        ({"lines": "two", "new_text": "2"}, BadValue),
        ({"lines": "2", "new_text": "two"}, BadValue),
        ({"lines": "2", "old_text": "two", "new_text": "2"}, BadValue),
        ({"lines": "2", "symbol": "f", "new_text": "2"}, BadValue),
        ({"lines": "2", "insert": "end", "new_text": "2"}, BadValue),
        ({"insert": "end", "new_text": ""}, BadValue),
        ({"lines": "2", "replace_all": True, "new_text": "2"}, BadValue),
        ({"insert": "middle", "new_text": "2"}, BadValue),
    ],
)
def test_a_place_that_is_not_there_or_said_twice_is_refused(
    room: Room, how: dict[str, Any], error: type[ReadroomError]
) -> None:
    refused(room, error, lambda: one(room, "a.txt", **how))


def test_a_definition_is_replaced_with_its_comments_and_decorators(room: Room) -> None:
    one(room, "b.py", symbol="add", new_text="def add(*all):\n    return sum(all)")
    assert room.data("b.py").startswith(b"import os\n\n\ndef add(*all):\n    return sum(all)\n\n\ndef sub")


def test_a_text_is_inserted_before_and_after_a_definition(room: Room) -> None:
    edits: list[OneEdit] = [
        edit("b.py", symbol="add", insert="before", new_text="ONE = 1\n\n\n"),
        edit("b.py", symbol="sub", insert="after", new_text="\n\ndef mul(a, b):\n    return a * b"),
    ]
    room.workspace.edit_files(edits)
    data = room.data("b.py")
    assert b"\n\n\nONE = 1\n\n\n# Adds.\n@cache\ndef add" in data
    assert data.endswith(b"    return a - b\n\n\ndef mul(a, b):\n    return a * b\n")


def test_a_definition_whose_end_is_not_certain_is_refused(room: Room) -> None:
    broken = room.file("c.py", "def f(:\n  x\n def g():\n  pass\n")
    shared = room.file("s.py", "a = 1; b = 2\n")
    for path, state, symbol in (("c.py", broken, "f"), ("s.py", shared, "a")):
        sent: list[OneEdit] = [{"symbol": symbol, "new_text": "x"}]
        error = refused(room, UncertainSymbol, lambda p=path, h=state, e=sent: room.workspace.edit(p, h, e))
        assert error.next is not None
    refused(room, UnknownSymbol, lambda: one(room, "b.py", symbol="mul", new_text="x"))


def test_a_long_file_is_written_in_pieces_and_a_repeated_piece_is_refused(room: Room) -> None:
    state, data = "absent", b""
    for number in range(4):
        piece = f"part {number}\r\n" if number % 2 else f"part {number}\n"
        sent: list[OneEdit] = [{"insert": "end", "new_text": piece}]
        reply = room.workspace.edit("long", state, sent)
        error = refused(
            room,
            Exists if state == "absent" else AlreadyAppended,
            lambda h=state, e=sent: room.workspace.edit("long", h, e),
        )
        assert state == "absent" or "was appended" in str(error)
        data = room.data("long")
        state = str(reply.facts["content_hash"])
        assert state == digest(data)
    assert [line.strip() for line in data.split(b"\n")] == [b"part 0", b"part 1", b"part 2", b"part 3", b""]


# --- names -----------------------------------------------------------------------------------


def change(room: Room, *changes: Any, **options: Any) -> Reply:
    return room.workspace.change(list(changes), **options)


def test_names_are_changed_together(room: Room) -> None:
    changes = (
        {"action": "delete", "path": "a.txt", "expected_hash": known("a.txt")},
        {"action": "move", "path": "d", "to": "moved/d", "entries": 3},
        {"action": "copy", "path": "b.py", "to": "moved/c.py", "expected_hash": known("b.py")},
        {"action": "mkdir", "path": "moved/empty"},
    )
    before = tree(room)
    change(room, *changes, dry_run=True)
    assert tree(room) == before
    change(room, *changes)
    after = tree(room)
    assert "a.txt" not in after
    assert "d" not in after
    assert after["moved/d/e/y"] == b"y\n"
    assert after["moved/c.py"] == after["b.py"] == FILES["b.py"]
    assert after["moved/empty"] is None


def test_a_folder_is_copied_with_everything_in_it(room: Room) -> None:
    change(room, {"action": "copy", "path": "d", "to": "copies/d", "entries": 3})
    after = tree(room)
    assert after["copies/d/x"] == after["d/x"] == b"x\n"
    assert after["copies/d/e/y"] == b"y\n"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        ({"action": "delete", "path": "a.txt"}, HashNeeded),
        ({"action": "delete", "path": "a.txt", "expected_hash": "0" * 12}, Stale),
        ({"action": "delete", "path": "d"}, WrongEntries),
        ({"action": "delete", "path": "d", "entries": 2}, WrongEntries),
        ({"action": "delete", "path": "none"}, NotFound),
        ({"action": "delete", "path": "secret.txt", "expected_hash": "0" * 12}, Denied),
        ({"action": "delete", "path": ".readroomignore", "expected_hash": "0" * 12}, Protected),
        ({"action": "move", "path": "d", "to": "d/e/f", "entries": 3}, BadValue),
        ({"action": "move", "path": "a.txt", "to": "b.py", "expected_hash": known("a.txt")}, Taken),
        ({"action": "move", "path": "a.txt", "to": "secret.b", "expected_hash": known("a.txt")}, Denied),
        ({"action": "move", "path": "a.txt", "to": "a.txt", "expected_hash": known("a.txt")}, ReadroomError),
        ({"action": "move", "path": "a.txt", "expected_hash": known("a.txt")}, MissingArgument),
        ({"action": "copy", "path": "a.txt", "to": "b.py", "expected_hash": known("a.txt")}, Taken),
        ({"action": "copy", "path": "secret.txt", "to": "c", "expected_hash": "0" * 12}, Denied),
        ({"action": "mkdir", "path": "a.txt"}, Taken),
        ({"action": "mkdir", "path": "q", "to": "r"}, BadValue),
        ({"action": "delete", "path": "h", "entries": 2}, ReadroomError),
        ({"action": "copy", "path": "h", "to": "g", "entries": 2}, ReadroomError),
    ],
)
def test_if_one_name_cannot_be_changed_none_is(
    room: Room, bad: dict[str, Any], error: type[ReadroomError]
) -> None:
    good = {"action": "delete", "path": "d/e/y", "expected_hash": known("d/e/y")}
    if bad["path"] == "d":
        good = {"action": "mkdir", "path": "fresh/folder"}
    for changes in ((bad, good), (good, bad)):
        refused(room, error, lambda sent=changes: change(room, *sent))


def test_a_name_that_is_part_of_two_changes_is_refused(room: Room) -> None:
    delete = {"action": "delete", "path": "d", "entries": 3}
    inner = {"action": "delete", "path": "d/x", "expected_hash": known("d/x")}
    refused(room, Inside, lambda: change(room, delete, inner))
    refused(room, Inside, lambda: change(room, inner, delete))
    refused(room, SameFile, lambda: change(room, inner, inner))
    to = {"action": "copy", "path": "a.txt", "to": "new", "expected_hash": known("a.txt")}
    refused(room, SameFile, lambda: change(room, to, {**to, "path": "b.py", "expected_hash": known("b.py")}))


def test_no_rest_of_a_crashed_call_is_hidden(tmp_path: Path) -> None:
    """What another program changed since stays; the reply after that says which file it is."""
    world = LocalWorld(tmp_path, "walk")
    world.file("f", b"half done, and changed since\n")
    world.file(".readroom-0000000000000000.tmp", b"old\n")
    old = state_of(os.stat(world.root / ".readroom-0000000000000000.tmp"))
    root = os.stat(world.root)
    step = Step(PUT, b".", b"f", encoded(".readroom-0000000000000000.tmp"), b".", b"aside", old)
    step.new = (old[0], old[1] + 1_000_000, 3, 1)
    record = Record(encoded(str(world.root)), root.st_dev, root.st_ino, [step])
    (world.notes / "batches").mkdir(parents=True)
    (world.notes / "batches/of-the-dead.begun").write_bytes(msgspec.msgpack.encode(record))
    room = Room(world)
    with room.workspace:
        warned = room.workspace.list().facts["warnings"]
        assert isinstance(warned, list)
        assert [warn["code"] for warn in warned if isinstance(warn, dict)] == ["half_done"]
        assert room.data("f") == b"half done, and changed since\n"
        assert room.data(".readroom-0000000000000000.tmp") == b"old\n", "nothing is lost"
        assert room.workspace.list().facts["warnings"] == [], "said once"
    assert not os.listdir(f"{world.notes}/batches")
