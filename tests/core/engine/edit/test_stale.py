"""Changes for contracts that have no hashes: whatever state a file is in, under the same laws."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import ManyMatches, NotFound, Stale, TooLarge, WrongCount
from readroom.core.values import Cap, Request, Result
from readroom.core.values.changes import Edit, EditRequest, EditResult, WriteRequest, WriteResult
from tests.core.engine.edit.changing import STORES, Room, digest, made


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


def performed(room: Room, request: Request) -> Result:
    record = room.workspace.contract("native")
    cap = Cap(record.reply_bytes, record.measure)
    return room.workspace.engine.perform(request, cap, Deadline())


def edited(
    room: Room, *edits: Edit, expected: str | None = None, most: int | None = None, path: str = "a"
) -> EditResult:
    request = EditRequest(path, expected, edits, most_bytes=most)
    result = performed(room, request)
    assert isinstance(result, EditResult)
    return result


def written(room: Room, path: str, content: str) -> WriteResult:
    request = WriteRequest(path, content, None)
    result = performed(room, request)
    assert isinstance(result, WriteResult)
    return result


def test_an_edit_without_a_hash_changes_the_state_it_finds(room: Room) -> None:
    room.file("a", "one\r\ntwo\r\n")
    result = edited(room, Edit("one\ntwo", "1\n2"))
    assert room.data("a") == b"1\r\n2\r\n"
    assert result.previous_hash == digest(b"one\r\ntwo\r\n")
    assert result.content_hash == digest(b"1\r\n2\r\n")


def test_a_hash_that_is_given_counts_all_the_same(room: Room) -> None:
    room.file("a", "one")
    with pytest.raises(Stale):
        edited(room, Edit("one", "two"), expected=digest(b"other"))
    assert room.data("a") == b"one"


def test_a_write_without_a_hash_makes_or_replaces(room: Room) -> None:
    assert written(room, "new/a", "1").previous_hash is None
    assert written(room, "new/a", "2").previous_hash == digest(b"1")
    assert room.data("new/a") == b"2"


def test_an_edit_of_nothing_says_that_there_is_no_file(room: Room) -> None:
    with pytest.raises(NotFound):
        edited(room, Edit("one", "two"), path="missing")


@pytest.mark.parametrize(
    ("replace_all", "count", "found"), [(True, 2, 3), (True, 4, 3), (False, 3, 1), (False, 0, 1)]
)
def test_another_count_than_the_caller_said_changes_nothing(
    room: Room, replace_all: bool, count: int, found: int
) -> None:
    room.file("a", "foo bar foo\nfoo")
    with pytest.raises(WrongCount) as caught:
        edited(room, Edit("foo", "baz", replace_all, count))
    assert (caught.value.facts["expected"], caught.value.facts["found"]) == (count, found)
    assert room.data("a") == b"foo bar foo\nfoo"


def test_the_count_that_the_caller_said_is_replaced(room: Room) -> None:
    room.file("a", "foo bar foo\nfoo")
    assert edited(room, Edit("foo", "baz", replace_all=True, count=3)).replacements == 3
    with pytest.raises(ManyMatches):
        edited(room, Edit("baz", "foo", count=1))


def test_a_file_does_not_grow_beyond_what_the_contract_allows(room: Room) -> None:
    room.file("a", "Hello world")
    with pytest.raises(TooLarge) as caught:
        edited(room, Edit("world", "x" * 200), most=100)
    assert (caught.value.facts["size"], caught.value.facts["limit"]) == (206, 100)
    assert edited(room, Edit("world", "x" * 94), most=100).size_bytes == 100
