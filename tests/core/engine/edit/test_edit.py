"""edit_file through the whole pipeline: what changes, what is refused, and what to do next."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readroom.core.contracts.native.calls import to_call
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import EDITS
from readroom.core.errors import (
    BadEncoding,
    BadValue,
    Binary,
    BrokenPlace,
    Cancelled,
    Denied,
    HardLinked,
    ManyMatches,
    MissingArgument,
    NoMatch,
    NotAFile,
    NotFound,
    OutsideRoot,
    Overlap,
    Protected,
    ReadOnlyFile,
    ReadroomError,
    Stale,
    SymbolicLink,
    TooLarge,
    Unencodable,
    UnknownArgument,
    WrongType,
)
from readroom.core.limits import CHANGE_TEXT_BYTES, MATCHES, MIN_REPLY_BYTES, Limits
from readroom.core.policy.changes import ChangePolicy
from readroom.core.session.caches import KEPT_TEXT_BYTES
from readroom.core.values import ReadRequest
from readroom.core.values.changes import Edit
from tests.core.engine.edit.changing import STORES, Room, digest, made, refused
from tests.core.stores.worlds import WAYS, LocalWorld
from tests.laws.driving import fact


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


@pytest.fixture(params=WAYS)
def local(request: pytest.FixtureRequest, tmp_path: Path) -> LocalWorld:
    return LocalWorld(tmp_path, request.param)


# --- what an edit does -----------------------------------------------------------------------


def test_an_edit_changes_its_text_and_tells_the_new_hash_and_the_diff(room: Room) -> None:
    old = room.file("a.py", "one\ntwo\nthree\n")
    reply = room.edit("a.py", old, Edit("two", "2"))
    assert room.data("a.py") == b"one\n2\nthree\n"
    assert fact(reply, "content_hash") == digest(b"one\n2\nthree\n")
    assert fact(reply, "previous_hash") == old
    assert reply.text == (
        f"a.py | 1 replacement in line 2 of 3 | {digest(room.data('a.py'))[:19]}\n"
        "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n[end of diff]"
    )


def test_the_next_edit_goes_on_from_the_hash_of_the_last_reply(room: Room) -> None:
    known = room.file("a", "0")
    for number in range(5):
        known = fact(room.edit("a", known, Edit(str(number), str(number + 1))), "content_hash")
    assert room.data("a") == b"5"


@pytest.mark.parametrize("digits", [12, 20, 63, 64])
def test_a_prefix_of_the_hash_is_enough(room: Room, digits: int) -> None:
    known = room.file("a", "one")
    assert room.edit("a", known[: 7 + digits], Edit("one", "two")).is_error is False
    assert room.edit("a", digest(b"two")[7 : 7 + digits].upper(), Edit("two", "three")).is_error is False


def test_several_edits_are_matched_against_the_file_as_it_was(room: Room) -> None:
    known = room.file("a", "a b c\n")
    reply = room.edit("a", known, Edit("c", "a"), Edit("a", "b"), Edit("b", "c"))
    assert room.data("a") == b"b c a\n"
    assert (fact(reply, "edits"), fact(reply, "replacements")) == (3, 3)


def test_replace_all_changes_every_place(room: Room) -> None:
    known = room.file("a", "x\ny\nx\n" * 20)
    reply = room.edit("a", known, Edit("x", "z", replace_all=True))
    assert room.data("a") == b"z\ny\nz\n" * 20
    assert fact(reply, "replacements") == 40
    assert fact(reply, "lines_changed") == {"start": 1, "end": 60}


@pytest.mark.parametrize(
    ("before", "old", "new", "said", "start", "end"),
    [
        ("a\nb\nc", "c", "c\n", "in line 3 of 3", 3, 3),
        ("a\nb\nc\n", "c\n", "c\nd\n", "in line 4 of 4", 4, 4),
        ("a\nb\nc\n", "b\n", "b\n\n", "in line 3 of 4", 3, 3),
        ("a\nb\n", "b\n", "x\ny\n", "in lines 2-3 of 3", 2, 3),
        ("a\nb\nc\n", "b\nc\n", "", "in line 1 of 1", 1, 1),
        ("a\nb\nc\n", "b\n", "", "in line 2 of 2", 2, 2),
        ("a\nb\n", "a\nb\n", "", ", now empty", 0, 0),
    ],
)
def test_the_changed_lines_are_lines_of_the_new_state(
    room: Room, before: str, old: str, new: str, said: str, start: int, end: int
) -> None:
    for text, encoding in ((before, "utf-8"), (before, "utf-16"), (before.replace("\n", "\r\n"), "utf-8")):
        known = room.file("a", text.encode(encoding))
        reply = room.edit("a", known, Edit(old, new))
        assert f"1 replacement{said if said.startswith(',') else f' {said}'} | " in reply.text
        assert fact(reply, "lines_changed") == {"start": start, "end": end}


def test_a_dry_run_shows_the_diff_and_changes_nothing(room: Room) -> None:
    known = room.file("a", "one\ntwo\n")
    reply = room.edit("a", known, Edit("two", "2\n3"), dry_run=True)
    assert room.data("a") == b"one\ntwo\n"
    assert fact(reply, "content_hash") is None
    assert fact(reply, "total_lines") == 3
    assert "-two\n+2\n+3\n" in fact(reply, "diff")
    assert reply.text.endswith("[Dry run: nothing was changed.]")
    real = room.edit("a", known, Edit("two", "2\n3"))
    assert fact(real, "diff") == fact(reply, "diff")
    assert fact(real, "size_bytes") == fact(reply, "size_bytes") == len(room.data("a"))


def test_a_file_that_is_emptied_has_no_lines(room: Room) -> None:
    known = room.file("a", "all of it")
    reply = room.edit("a", known, Edit("all of it", ""))
    assert room.data("a") == b""
    assert fact(reply, "total_lines") == 0


def test_an_edit_in_the_encoding_that_the_caller_reads_in(room: Room) -> None:
    known = room.file("a", "Größe\n".encode("cp1250"))
    room.edit("a", known, Edit("Größe", "Größe ąć"), encoding="cp1250")
    assert room.data("a") == "Größe ąć\n".encode("cp1250")


def test_lines_that_end_in_two_carriage_returns_can_be_edited_as_they_are_shown(room: Room) -> None:
    known = room.file("a", "one\r\r\ntwo\r\r\nthree\r\r\n")
    room.edit("a", known, Edit("one\r\ntwo\r", "1\r\n2\r"))
    assert room.data("a") == b"1\r\r\n2\r\r\nthree\r\r\n"


def test_a_path_with_odd_characters_is_shown_quoted(room: Room) -> None:
    known = room.file("odd\nname", "one")
    assert room.edit("odd\nname", known, Edit("one", "two")).text.startswith('"odd\\nname" | ')


def test_a_reply_without_room_for_all_hunks_says_which_lines_it_leaves_out(tmp_path: Path) -> None:
    room = Room(made("memory", tmp_path), limits=Limits(reply_bytes=MIN_REPLY_BYTES))
    known = room.file("a", "".join(f"line {number}\n" for number in range(1000)))
    reply = room.edit("a", known, *(Edit(f"line {n}\n", f"LINE {n}\n") for n in range(100, 1000, 20)))
    assert len(reply.text.encode()) <= MIN_REPLY_BYTES
    assert "(diff cut)" in reply.text.split("\n")[0]
    (omitted,) = fact(reply, "omitted")
    assert omitted["what"] == "hunks"
    shown = room.workspace.call(omitted["call"]["tool"], omitted["call"]["arguments"])
    assert "LINE 360" in shown.text
    assert (omitted["from"], omitted["to"]) == (358, 984)
    assert fact(reply, "truncated") is True


# --- another state ---------------------------------------------------------------------------


def test_a_stale_hash_is_refused_and_shows_what_changed_since_the_read(room: Room) -> None:
    room.file("a", "one\ntwo\nthree\n")
    known = fact(room.workspace.read("a"), "content_hash")
    now = room.file("a", "one\nTWO\nthree\n")
    error = refused(Stale, room, "a", lambda: room.edit("a", known, Edit("two", "2")))
    assert error.facts["changed"] == "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"
    assert (error.facts["expected"], error.facts["found"]) == (known, now)
    reply = room.workspace.call(
        "edit_file",
        {"path": "a", "expected_hash": known, "edits": [{"old_text": "two", "new_text": "2"}]},
    )
    assert reply.is_error
    assert "-two\n+TWO\n" in reply.text


def test_the_states_before_and_after_an_edit_are_known(room: Room) -> None:
    first = room.file("a", "one\n")
    second = fact(room.edit("a", first, Edit("one", "two")), "content_hash")
    room.file("a", "three\n")
    for known, line in ((first, "-one\n"), (second, "-two\n")):
        error = refused(Stale, room, "a", lambda known=known: room.edit("a", known, Edit("two", "2")))
        assert line in str(error.facts["changed"])


def test_a_stale_hash_of_an_unknown_state_says_how_to_read_again(room: Room) -> None:
    room.file("a", "one\n")
    error = refused(Stale, room, "a", lambda: room.edit("a", digest(b"never seen"), Edit("one", "2")))
    assert error.facts["changed"] is None
    assert "Read it again" in error.advice


def test_states_of_large_files_are_not_kept(room: Room) -> None:
    room.file("a", "x\n" * KEPT_TEXT_BYTES)
    known = fact(room.workspace.read("a"), "content_hash")
    room.file("a", "y\n")
    error = refused(Stale, room, "a", lambda: room.edit("a", known, Edit("x", "2")))
    assert error.facts["changed"] is None


def test_a_state_of_another_file_is_never_shown(room: Room) -> None:
    room.file("other", "secret of the other\n")
    known = fact(room.workspace.read("other"), "content_hash")
    room.file("a", "one\n")
    error = refused(Stale, room, "a", lambda: room.edit("a", known, Edit("one", "2")))
    assert error.facts["changed"] is None


def test_a_state_that_differs_in_line_ends_only_is_said_so(room: Room) -> None:
    room.file("a", "one\ntwo\n")
    known = fact(room.workspace.read("a"), "content_hash")
    room.file("a", "one\r\ntwo\r\n")
    error = refused(Stale, room, "a", lambda: room.edit("a", known, Edit("one", "2")))
    assert "only line ends" in str(error.facts["changed"])


def test_the_same_edit_a_second_time_changes_nothing(room: Room) -> None:
    """The tool is idempotent: the file is no longer in the state that the call names."""
    known = room.file("a", "one\n")
    room.edit("a", known, Edit("one", "one one"))
    refused(Stale, room, "a", lambda: room.edit("a", known, Edit("one", "one one")))


# --- texts that are not there once -----------------------------------------------------------


def test_a_text_that_is_not_there_names_the_closest_place(room: Room) -> None:
    known = room.file("a.py", "def first():\n    return 1\n\n\ndef second():\n    return 2\n")
    error = refused(
        NoMatch, room, "a.py", lambda: room.edit("a.py", known, Edit("def second():\n    return 3", "x"))
    )
    assert (error.facts["first"], error.facts["last"]) == (5, 6)
    assert "5\tdef second():\n6\t    return 2" in error.detail


def test_a_text_that_is_there_several_times_names_the_lines(room: Room) -> None:
    known = room.file("a", "x\ny\nx\n")
    error = refused(ManyMatches, room, "a", lambda: room.edit("a", known, Edit("x", "z")))
    assert (error.facts["lines"], error.facts["count"]) == ([1, 3], 2)
    assert "2 times, in lines 1, 3" in error.message
    assert "replace_all" in error.advice
    known = room.file("b", "x.x\ny\n")
    error = refused(ManyMatches, room, "b", lambda: room.edit("b", known, Edit("x", "z")))
    assert error.message.endswith("2 times, in line 1")


def test_all_edits_that_fail_are_named_and_none_is_made(room: Room) -> None:
    known = room.file("a", "one\ntwo\ntwo\n")
    error = refused(
        NoMatch,
        room,
        "a",
        lambda: room.edit("a", known, Edit("one", "1"), Edit("none", "0"), Edit("two", "2")),
    )
    assert error.facts["edit"] == 1
    assert error.facts["others"] == [2]


def test_edits_that_overlap_are_refused(room: Room) -> None:
    known = room.file("a", "first\nabc\n")
    error = refused(Overlap, room, "a", lambda: room.edit("a", known, Edit("ab", "1"), Edit("bc", "2")))
    assert (error.facts["edits"], error.facts["line"]) == ([0, 1], 2)


def test_the_same_edit_twice_in_one_call_overlaps(room: Room) -> None:
    known = room.file("a", "abc\n")
    refused(Overlap, room, "a", lambda: room.edit("a", known, Edit("ab", "1"), Edit("ab", "1")))


def test_too_many_places_are_refused(tmp_path: Path) -> None:
    room = Room(made("memory", tmp_path))
    known = room.file("a", "x\n" * (MATCHES + 1))
    refused(TooLarge, room, "a", lambda: room.edit("a", known, Edit("x", "y", replace_all=True)))


# --- calls that no file fits -----------------------------------------------------------------


@pytest.mark.parametrize("value", ["abc", "sha256:", "sha256:12345", "x" * 64, "absent", "0" * 65])
def test_a_hash_of_another_form_is_refused(room: Room, value: str) -> None:
    room.file("a", "one\n")
    error = refused(BadValue, room, "a", lambda: room.edit("a", value, Edit("one", "2")))
    assert error.facts["argument"] == "expected_hash"


def test_an_empty_old_text_is_refused_by_its_number(room: Room) -> None:
    known = room.file("a", "one\n")
    error = refused(BadValue, room, "a", lambda: room.edit("a", known, Edit("one", "1"), Edit("", "2")))
    assert error.facts["argument"] == "edits[1].old_text"


@pytest.mark.parametrize("new", ["one\ntwo", "one\r\ntwo"])
def test_an_edit_that_changes_nothing_is_refused(room: Room, new: str) -> None:
    known = room.file("a", "one\ntwo\n")
    error = refused(BadValue, room, "a", lambda: room.edit("a", known, Edit("one\ntwo", new)))
    assert error.facts["argument"] == "edits[0].new_text"


def test_no_edits_and_too_many_are_refused(room: Room) -> None:
    known = room.file("a", "one\n")
    refused(BadValue, room, "a", lambda: room.edit("a", known))
    refused(TooLarge, room, "a", lambda: room.edit("a", known, *[Edit("one", "2")] * (EDITS + 1)))
    big = "x" * (CHANGE_TEXT_BYTES // 2 + 1)
    refused(TooLarge, room, "a", lambda: room.edit("a", known, Edit(big, "1"), Edit("1", big)))


@pytest.mark.parametrize(
    ("edits", "error", "argument"),
    [
        ([{"new_text": "a"}], BadValue, "edits[0].old_text"),
        ([{"old_text": "a", "new_text": "b"}, {"old_text": "a"}], MissingArgument, "edits[1].new_text"),
        ([{"old_text": "a", "new_text": "b", "all": True}], UnknownArgument, "edits[0].all"),
        ([{"old_text": 5, "new_text": "b"}], WrongType, "edits[0].old_text"),
        ([{"old_text": "a", "new_text": "b", "replace_all": "maybe"}], WrongType, "edits[0].replace_all"),
        (["a"], WrongType, "edits[0]"),
        ("a", WrongType, "edits"),
        (5, WrongType, "edits"),
        ([{"old_text": "a", "new_text": "\ud800"}], BadValue, "edits[0].new_text"),
        (None, MissingArgument, "edits"),
    ],
)
def test_an_edit_of_another_form_is_refused_by_name(
    room: Room, edits: object, error: type[Exception], argument: str
) -> None:
    known = room.file("a", "a\n")
    with pytest.raises(error) as caught:
        room.workspace.perform("edit_file", {"path": "a", "expected_hash": known, "edits": edits})  # type: ignore[dict-item]  # as models send it
    assert caught.value.facts["argument"] == argument  # type: ignore[attr-defined]  # a ReadroomError
    assert room.data("a") == b"a\n"


@pytest.mark.parametrize(
    "edits", [{"old_text": "a", "new_text": "b"}, '[{"old_text": "a", "new_text": "b"}]']
)
def test_one_edit_without_its_list_and_a_list_as_text_are_understood(room: Room, edits: object) -> None:
    known = room.file("a", "a\n")
    room.workspace.perform("edit_file", {"path": "a", "expected_hash": known, "edits": edits})  # type: ignore[dict-item]  # as models send it
    assert room.data("a") == b"b\n"


# --- bytes and encodings ---------------------------------------------------------------------


def test_text_that_the_encoding_lacks_is_refused_by_character_and_line(room: Room) -> None:
    known = room.file("a", ("Grüße aus Köln, schöne Straße\n" * 20 + "Ende\n").encode("cp1252"))
    error = refused(Unencodable, room, "a", lambda: room.edit("a", known, Edit("Ende", "Ende\nπ = 3")))
    assert (error.facts["char"], error.facts["line"], error.facts["encoding"]) == ("π", 2, "cp1252")
    assert error.facts["where"] == "edits[0].new_text"


def test_new_text_that_would_join_with_a_broken_byte_is_refused(room: Room) -> None:
    data = "中文文件内容，编码测试。\n".encode("gbk") * 50 + b"end\x81 x\n"
    known = room.file("a", data)
    error = refused(BrokenPlace, room, "a", lambda: room.edit("a", known, Edit(" x", "Ax"), encoding="gbk"))
    assert error.facts["line"] == 51


def test_an_unknown_encoding_is_refused(room: Room) -> None:
    known = room.file("a", "one\n")
    with pytest.raises(BadEncoding) as caught:
        room.edit("a", known, Edit("one", "2"), encoding="klingon")
    assert room.data("a") == b"one\n"
    following = to_call(caught.value.next) if caught.value.next else None
    assert following is not None
    assert not room.workspace.call(following.tool, following.arguments).is_error
    assert room.data("a") == b"2\n"


@pytest.mark.parametrize("data", [b"caf\xe9\n", b"x\n" * 200_000 + b"caf\xe9\n"])
def test_the_read_that_a_refusal_advises_is_accepted_in_any_encoding(room: Room, data: bytes) -> None:
    known = room.file("a", data)
    for error, expected in ((Stale, digest(b"")), (NoMatch, known)):
        for encoding in ("utf-8", "cp1252"):
            refusal = refused(
                error,
                room,
                "a",
                lambda expected=expected, encoding=encoding: room.edit(
                    "a", expected, Edit("tea", "y"), encoding=encoding
                ),
            )
            assert isinstance(refusal.next, ReadRequest)
            assert refusal.next.encoding == encoding
            following = to_call(refusal.next)
            assert not room.workspace.call(following.tool, following.arguments).is_error


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n" + b"\0" * 50, b"%PDF-1.7\n" + b"\0" * 50, b"\0\1\2" * 100, b"PK\3\4\0\0"]
)
def test_what_is_no_text_is_refused(room: Room, data: bytes) -> None:
    known = room.file("a", data)
    error = refused(Binary, room, "a", lambda: room.edit("a", known, Edit("P", "Q")))
    assert "write_file" in error.advice


# --- places that may not be changed ----------------------------------------------------------


@pytest.mark.parametrize("path", [".env", "keys/server.pem", ".git/config", ".ssh/config"])
def test_a_denied_file_is_refused_whether_or_not_it_is_there(room: Room, path: str) -> None:
    answers = []
    for _ in range(2):
        with pytest.raises(Denied) as caught:
            room.edit(path, digest(b"x"), Edit("x", "y"))
        answers.append((str(caught.value), caught.value.facts))
        room.file(path, "x")
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("readroom.toml", Protected),
        (".readroomignore", Protected),
        (".kilocodeignore", Denied),
        ("README.md/../readroom.toml", Protected),
    ],
)
def test_the_policy_itself_is_not_changed(room: Room, path: str, error: type[ReadroomError]) -> None:
    room.file(path.split("/")[-1], "# x\n")
    refused(error, room, path.split("/")[-1], lambda: room.edit(path, digest(b"# x\n"), Edit("x", "y")))


def test_the_policy_under_a_name_that_some_systems_take_for_it_is_not_changed(room: Room) -> None:
    room.file("ReadRoom.TOML", "x")
    refused(
        Protected, room, "ReadRoom.TOML", lambda: room.edit("ReadRoom.TOML", digest(b"x"), Edit("x", "y"))
    )


def test_a_readroom_toml_further_down_is_a_file_like_others(room: Room) -> None:
    known = room.file("docs/readroom.toml", "x")
    room.edit("docs/readroom.toml", known, Edit("x", "y"))
    assert room.data("docs/readroom.toml") == b"y"


def test_nothing_is_changed_in_a_read_only_workspace(tmp_path: Path) -> None:
    room = Room(made("memory", tmp_path), changes=ChangePolicy(read_only=True))
    known = room.file("a", "one")
    refused(Protected, room, "a", lambda: room.edit("a", known, Edit("one", "two")))


def test_what_is_missing_is_not_found_and_near_names_are_told(room: Room) -> None:
    room.file("settings.py", "x")
    for path in ("setings.py", "no/such/folder/file"):
        with pytest.raises(NotFound) as caught:
            room.edit(path, digest(b"x"), Edit("x", "y"))
        assert caught.value.facts["path"] == path
    assert room.names() == ["settings.py"]


def test_a_folder_is_no_file(room: Room) -> None:
    room.world.folder("folder")
    refused(NotAFile, room, "", lambda: room.edit("folder", digest(b""), Edit("x", "y")))


def test_a_path_out_of_the_root_is_refused(room: Room) -> None:
    for path in ("../secret", "/etc/passwd"):
        with pytest.raises(OutsideRoot):
            room.edit(path, digest(b"OUTSIDE"), Edit("OUTSIDE", "x"))


# --- links -----------------------------------------------------------------------------------


def test_a_link_is_not_followed_and_its_target_named(room: Room) -> None:
    known = room.file("real", "one")
    room.world.link("link", "real")
    error = refused(SymbolicLink, room, "real", lambda: room.edit("link", known, Edit("one", "two")))
    assert error.facts["target"] == "real"
    assert "change real itself" in error.advice


@pytest.mark.parametrize("target", ["nowhere", "../secret", "folder", ".env", "/etc/passwd"])
def test_a_link_to_what_may_not_be_seen_tells_nothing_of_it(room: Room, target: str) -> None:
    room.world.folder("folder")
    room.file(".env", "x")
    room.world.link("link", target)
    error = refused(SymbolicLink, room, "", lambda: room.edit("link", digest(b"x"), Edit("x", "y")))
    assert error.facts["target"] is None
    assert ".env" not in str(error)


def test_links_are_followed_where_the_operator_says_so(tmp_path: Path) -> None:
    for kind in STORES:
        base = tmp_path / kind
        base.mkdir()
        room = Room(made(kind, base), changes=ChangePolicy(follow_links=True))
        known = room.file("real", "one")
        room.world.link("link", "real")
        room.edit("link", known, Edit("one", "two"))
        assert room.data("real") == b"two"
        room.file(".env", "x")
        room.world.link("bad", ".env")
        room.world.link("out", "../secret")
        for path in ("bad", "out"):
            with pytest.raises(SymbolicLink):
                room.edit(path, digest(b"x"), Edit("x", "y"))


def test_a_link_to_a_folder_inside_is_a_way_to_the_file(room: Room) -> None:
    known = room.file("real/a", "one")
    room.world.link("link", "real")
    assert room.edit("link/a", known, Edit("one", "two")).text.startswith("link/a | ")
    assert room.data("real/a") == b"two"


def test_a_folder_link_to_a_denied_folder_is_refused(room: Room) -> None:
    known = room.file(".ssh/config", "one")
    room.world.link("link", ".ssh")
    with pytest.raises(Denied):
        room.edit("link/config", known, Edit("one", "two"))
    assert room.data(".ssh/config") == b"one"


def test_a_file_with_several_names_is_not_parted_from_them(local: LocalWorld) -> None:
    room = Room(local)
    known = room.file("a", "one")
    os.link(local.root / "a", local.root / "b")
    error = refused(HardLinked, room, "a", lambda: room.edit("a", known, Edit("one", "two")))
    assert "split_hardlinks" in error.advice


def test_a_file_with_several_names_is_parted_where_the_operator_says_so(local: LocalWorld) -> None:
    room = Room(local, changes=ChangePolicy(split_hardlinks=True))
    known = room.file("a", "one")
    os.link(local.root / "a", local.root / "b")
    reply = room.edit("a", known, Edit("one", "two"))
    assert (room.data("a"), room.data("b")) == (b"two", b"one")
    assert fact(reply, "warnings")[0]["code"] == "hard_link"
    room.file(".env", "one")
    os.link(local.root / ".env", local.root / "c")
    refused(HardLinked, room, "c", lambda: room.edit("c", known, Edit("one", "two")))


def test_a_write_protected_file_is_left_alone_even_by_root(local: LocalWorld) -> None:
    room = Room(local)
    known = room.file("a", "one")
    (local.root / "a").chmod(0o444)
    error = refused(ReadOnlyFile, room, "a", lambda: room.edit("a", known, Edit("one", "two")))
    assert error.facts["mode"] == "0444"


def test_a_pipe_is_no_file(local: LocalWorld) -> None:
    os.mkfifo(local.root / "pipe")
    with pytest.raises(NotAFile):
        Room(local).edit("pipe", digest(b""), Edit("x", "y"))


# --- other writers ---------------------------------------------------------------------------


class _Saver(Deadline):
    """Another program, which saves the file while an edit is under way: at the n-th look at the clock."""

    def __init__(self, room: Room, moment: int, data: bytes) -> None:
        super().__init__()
        self.left, self.room, self.data = moment, room, data

    def check(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.room.world.file("a", self.data)

    def within(self, seconds: float) -> Deadline:
        return self


@pytest.mark.parametrize("moment", range(1, 12))
def test_a_file_that_is_saved_during_an_edit_keeps_what_was_saved(room: Room, moment: int) -> None:
    known = room.file("a", "one\ntwo\n")
    saver = _Saver(room, moment, b"one\nsaved\n")
    arguments = {"path": "a", "expected_hash": known, "edits": [{"old_text": "two", "new_text": "2"}]}
    reply = room.workspace.call("edit_file", arguments, deadline=saver)
    if saver.left > 0:
        assert room.data("a") == b"one\n2\n"
    else:
        assert reply.facts["error"]["code"] == "stale"  # type: ignore[call-overload, index]  # of JSON
        assert room.data("a") == b"one\nsaved\n"
    assert room.names() == ["a"]


@pytest.mark.parametrize("moment", range(1, 12))
def test_a_file_that_is_saved_with_the_same_content_is_edited(room: Room, moment: int) -> None:
    known = room.file("a", "one\ntwo\n")
    arguments = {"path": "a", "expected_hash": known, "edits": [{"old_text": "two", "new_text": "2"}]}
    reply = room.workspace.call("edit_file", arguments, deadline=_Saver(room, moment, b"one\ntwo\n"))
    assert not reply.is_error
    assert room.data("a") == b"one\n2\n"


def test_a_cancelled_edit_changes_nothing(room: Room) -> None:
    known = room.file("a", "one")
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        room.workspace.perform(
            "edit_file",
            {"path": "a", "expected_hash": known, "edits": [{"old_text": "one", "new_text": "2"}]},
            deadline=deadline,
        )
    assert room.data("a") == b"one"
    assert room.names() == ["a"]


NOTEBOOK = """{
 "cells": [
  {"cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
   "source": ["x = 1\\n", "y = 2"]}
 ],
 "metadata": {}, "nbformat": 4, "nbformat_minor": 5
}
"""


def test_what_a_notebook_shows_is_changed_as_it_is_shown_and_its_json_too(room: Room) -> None:
    known = room.file("n.ipynb", NOTEBOOK)
    error = refused(NoMatch, room, "n.ipynb", lambda: room.edit("n.ipynb", known, Edit("x = 1\ny = 3", "z")))
    assert error.next is not None
    call = to_call(error.next)
    assert "y = 2" in room.workspace.call(call.tool, call.arguments).text
    room.edit("n.ipynb", known, Edit('"x = 1\\n"', '"x = 3\\n"'))
    assert room.data("n.ipynb").decode() == NOTEBOOK.replace("x = 1", "x = 3")
    room.edit("n.ipynb", digest(room.data("n.ipynb")), Edit("x = 3\ny = 2", "z"))
    assert room.data("n.ipynb").decode() == NOTEBOOK.replace('"x = 1\\n", "y = 2"', '"z"')
