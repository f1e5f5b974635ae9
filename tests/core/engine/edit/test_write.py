"""write_file through the whole pipeline: creating, replacing, what is kept and what is refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import (
    BadPath,
    BadValue,
    Cancelled,
    Denied,
    Exists,
    HardLinked,
    NotAFile,
    NotAFolder,
    OutsideRoot,
    Protected,
    ReadOnlyFile,
    Stale,
    SymbolicLink,
    TooLarge,
    Unencodable,
    Vanished,
)
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.policy.changes import ChangePolicy
from tests.core.engine.edit.changing import STORES, Room, digest, made, refused
from tests.core.stores.worlds import WAYS, LocalWorld
from tests.laws.driving import fact


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


@pytest.fixture(params=WAYS)
def local(request: pytest.FixtureRequest, tmp_path: Path) -> LocalWorld:
    return LocalWorld(tmp_path, request.param)


def warnings(reply: object) -> list[str]:
    return [item["code"] for item in fact(reply, "warnings")]  # type: ignore[arg-type]  # a Reply


# --- creating --------------------------------------------------------------------------------


def test_a_file_is_created_with_its_folders(room: Room) -> None:
    reply = room.write("a/b/f.txt", "one\ntwo\n", "absent")
    assert room.data("a/b/f.txt") == b"one\ntwo\n"
    assert reply.text == (
        f"a/b/f.txt | created, 2 lines | {digest(b'one' + bytes([10]) + b'two' + bytes([10]))[:19]}\n"
        "[Folders created: a, a/b.]"
    )
    assert fact(reply, "folders") == ["a", "a/b"]
    assert fact(reply, "created") is True
    assert fact(reply, "previous_hash") is None


def test_a_created_file_can_be_edited_with_the_hash_of_the_reply(room: Room) -> None:
    known = fact(room.write("f", "one", "absent"), "content_hash")
    assert known == fact(room.workspace.read("f"), "content_hash") == digest(b"one")
    room.workspace.edit("f", known, [{"old_text": "one", "new_text": "two"}])
    assert room.data("f") == b"two"


def test_an_empty_file_is_a_file(room: Room) -> None:
    reply = room.write("f", "", "absent")
    assert room.data("f") == b""
    assert (fact(reply, "total_lines"), fact(reply, "newline")) == (0, "none")


def test_what_is_there_is_not_created_again(room: Room) -> None:
    room.file("f", "old")
    refused(Exists, room, "f", lambda: room.write("f", "new", "absent"))


def test_a_word_for_a_new_file_is_answered_with_the_one_that_there_is(room: Room) -> None:
    error = refused(BadValue, room, "", lambda: room.write("f", "new", "none"))
    assert '"absent" creates the file' in error.advice
    room.write("f", "new", "absent")


def test_the_same_write_a_second_time_changes_nothing(room: Room) -> None:
    room.write("f", "one", "absent")
    refused(Exists, room, "f", lambda: room.write("f", "one", "absent"))
    known = digest(b"one")
    room.write("f", "two", known)
    refused(Stale, room, "f", lambda: room.write("f", "two", known))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("utf-8", "é→\n".encode()),
        ("UTF8", "é→\n".encode()),
        ("utf-8-sig", b"\xef\xbb\xbf" + "é→\n".encode()),
        ("utf-16", b"\xff\xfe" + "é→\n".encode("utf-16-le")),
        ("utf-16-be", "é→\n".encode("utf-16-be")),
        ("utf-32", b"\xff\xfe\0\0" + "é→\n".encode("utf-32-le")),
    ],
)
def test_a_new_file_is_utf_8_or_what_was_asked_for(room: Room, name: str, data: bytes) -> None:
    room.write("f", "é→\n", "absent", encoding=name)
    assert room.data("f") == data


def test_a_mark_in_the_content_is_not_doubled(room: Room) -> None:
    room.write("f", "\ufeffone", "absent", encoding="utf-8-sig")
    assert room.data("f") == b"\xef\xbb\xbfone"
    room.write("g", "\ufeffone", "absent")
    assert room.data("g") == b"\xef\xbb\xbfone"


# --- replacing -------------------------------------------------------------------------------


def test_a_file_is_replaced_when_it_is_in_the_expected_state(room: Room) -> None:
    known = room.file("f", "old\n")
    reply = room.write("f", "new\n", known[:25])
    assert room.data("f") == b"new\n"
    assert fact(reply, "previous_hash") == known
    assert reply.text.startswith("f | replaced, 1 line | sha256:")


def test_a_stale_hash_is_refused_and_shows_what_changed(room: Room) -> None:
    room.file("f", "one\n")
    known = fact(room.workspace.read("f"), "content_hash")
    room.file("f", "two\n")
    error = refused(Stale, room, "f", lambda: room.write("f", "three\n", known))
    assert error.facts["changed"] == "@@ -1 +1 @@\n-one\n+two\n"


def test_a_file_that_is_gone_is_not_made_again(room: Room) -> None:
    for path in ("f", "no/such/folder/f"):
        error = refused(Vanished, room, "", lambda path=path: room.write(path, "x", digest(b"old")))
        assert 'expected_hash="absent"' in error.advice


MARKED = [
    ("utf-8", b"\xef\xbb\xbf"),
    ("utf-16-le", b"\xff\xfe"),
    ("utf-16-be", b"\xfe\xff"),
    ("utf-32-le", b"\xff\xfe\0\0"),
]


@pytest.mark.parametrize(("name", "mark"), [*MARKED, ("utf-16-le", b""), ("cp1252", b""), ("shift_jis", b"")])
def test_what_replaces_a_file_has_its_encoding_and_mark(room: Room, name: str, mark: bytes) -> None:
    text = "これは日本語のテキストです。\n" if name == "shift_jis" else "Grüße aus Köln, schöne Straße\n"
    known = room.file("f", mark + (text * 20).encode(name))
    reply = room.write("f", text * 2, known)
    assert room.data("f") == mark + (text * 2).encode(name)
    assert fact(reply, "bom") is bool(mark)


def test_an_encoding_that_was_asked_for_wins_over_that_of_the_file(room: Room) -> None:
    known = room.file("f", b"\xef\xbb\xbfone\n")
    room.write("f", "→\n", known, encoding="utf-8")
    assert room.data("f") == "→\n".encode()


def test_a_file_whose_lines_all_end_in_cr_lf_keeps_that(room: Room) -> None:
    known = room.file("f", "one\r\ntwo\r\n")
    reply = room.write("f", "1\n2\n3", known)
    assert room.data("f") == b"1\r\n2\r\n3"
    assert fact(reply, "newline") == "crlf"
    assert warnings(reply) == ["final_newline_changed"]


@pytest.mark.parametrize(
    ("old", "new"), [("one\r\ntwo\n", "1\n2\n"), ("one\ntwo\n", "1\r\n2\r\n"), ("one\r\ntwo\r\n", "1\r\n2\n")]
)
def test_other_line_ends_are_written_as_they_are_sent_and_told(room: Room, old: str, new: str) -> None:
    known = room.file("f", old)
    reply = room.write("f", new, known)
    assert room.data("f") == new.encode()
    assert warnings(reply) == ["line_ends_changed"]


def test_content_that_the_encoding_lacks_is_refused(room: Room) -> None:
    known = room.file("f", ("Grüße aus Köln, schöne Straße\n" * 20).encode("cp1252"))
    error = refused(Unencodable, room, "f", lambda: room.write("f", "ok\nso\n→\n", known))
    assert (error.facts["char"], error.facts["line"]) == ("→", 3)
    assert "utf-8" in error.advice
    room.write("f", "ok\nso\n→\n", known, encoding="utf-8")
    assert room.data("f") == "ok\nso\n→\n".encode()


def test_replacing_an_image_by_text_is_told(room: Room) -> None:
    known = room.file("f.png", b"\x89PNG\r\n\x1a\n" + b"\0" * 50)
    assert warnings(room.write("f.png", "text\n", known)) == ["was_binary"]


def test_the_same_content_leaves_the_file_as_it_is(room: Room) -> None:
    known = room.file("f", "one\n")
    with room.world.store.open("f") as source:  # type: ignore[arg-type]  # a path in normal form
        reply = room.write("f", "one\n", known)
        assert source.current() == source.version
    assert warnings(reply) == ["unchanged"]
    assert fact(reply, "content_hash") == known


def test_a_large_file_is_replaced(room: Room) -> None:
    known = room.file("f", b"x" * 3_000_000)
    room.write("f", "y\n", known)
    assert room.data("f") == b"y\n"


def test_mode_and_folder_modes(local: LocalWorld) -> None:
    room = Room(local)
    known = room.file("f", "one")
    (local.root / "f").chmod(0o750)
    room.write("f", "two", known)
    assert stat.S_IMODE((local.root / "f").stat().st_mode) == 0o750


# --- calls that cannot be followed -----------------------------------------------------------


@pytest.mark.parametrize("value", ["", "Absent ", "none", "abc", "sha256:12"])
def test_a_hash_of_another_form_is_refused(room: Room, value: str) -> None:
    room.file("f", "one")
    error = refused(BadValue, room, "f", lambda: room.write("f", "two", value))
    assert error.facts["argument"] == "expected_hash"


def test_too_much_content_is_refused(room: Room) -> None:
    refused(TooLarge, room, "", lambda: room.write("f", "é" * (CHANGE_TEXT_BYTES // 2 + 1), "absent"))


def test_an_unknown_encoding_is_refused(room: Room) -> None:
    error = refused(BadValue, room, "", lambda: room.write("f", "x", "absent", encoding="utf8x"))
    assert error.facts["argument"] == "encoding"


def test_a_cancelled_write_changes_nothing(room: Room) -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        room.workspace.perform(
            "write_file", {"path": "a/f", "content": "x", "expected_hash": "absent"}, deadline=deadline
        )
    assert room.names() == []


# --- places where nothing may be written -----------------------------------------------------


@pytest.mark.parametrize(
    "path", [".env", "a/.env.local", "new.pem", ".git/hooks/pre-commit", ".ssh/new/key", "a/.GIT/config"]
)
def test_a_denied_name_is_not_created(room: Room, path: str) -> None:
    refused(Denied, room, "", lambda: room.write(path, "x", "absent"))


@pytest.mark.parametrize("path", ["readroom.toml", ".readroomignore", "Readroom.toml", ".kilocodeignore"])
def test_a_policy_is_not_created(room: Room, path: str) -> None:
    refused(Protected, room, "", lambda: room.write(path, "x", "absent"))


def test_nothing_is_created_in_a_read_only_workspace(tmp_path: Path) -> None:
    room = Room(made("memory", tmp_path), changes=ChangePolicy(read_only=True))
    refused(Protected, room, "", lambda: room.write("f", "x", "absent"))


@pytest.mark.parametrize("path", ["../f", "/tmp/f", "a/../../f"])
def test_nothing_is_created_outside(room: Room, path: str) -> None:
    refused(OutsideRoot, room, "", lambda: room.write(path, "x", "absent"))


def test_a_link_to_a_folder_outside_is_no_way(room: Room) -> None:
    room.world.link("link", "../outside")
    for path in ("link/f", "link/new/f"):
        refused(OutsideRoot, room, "", lambda path=path: room.write(path, "x", "absent"))


def test_a_link_to_a_denied_folder_is_no_way_and_makes_no_folders(room: Room) -> None:
    room.world.folder(".ssh")
    room.world.link("link", ".ssh")
    refused(Denied, room, "", lambda: room.write("link/new/f", "x", "absent"))
    assert room.names(".ssh") == []


@pytest.mark.parametrize("target", ["real", "nowhere", "../outside/new"])
def test_a_link_at_the_name_is_not_followed(room: Room, target: str) -> None:
    known = room.file("real", "one")
    room.world.link("link", target)
    for expected in ("absent", known):
        refused(SymbolicLink, room, "real", lambda expected=expected: room.write("link", "x", expected))


def test_a_folder_is_no_file_and_a_file_no_folder(room: Room) -> None:
    room.world.folder("folder")
    room.file("f", "x")
    for path in ("folder", "."):
        refused(NotAFile, room, "", lambda path=path: room.write(path, "x", "absent"))
    for path in ("f/g", "f/g/h"):
        error = refused(NotAFolder, room, "f", lambda path=path: room.write(path, "x", "absent"))
        assert str(error) == "f is a file, not a folder. Choose a path that does not lead through it."
        assert error.next is None


def test_a_name_that_is_too_long_is_refused_and_makes_no_folders(local: LocalWorld) -> None:
    room = Room(local)
    refused(BadPath, room, "", lambda: room.write("a/b/" + "x" * 300, "x", "absent"))


def test_a_file_with_several_names_and_a_protected_one_are_left_alone(local: LocalWorld) -> None:
    room = Room(local)
    known = room.file("f", "one")
    (local.root / "f").chmod(0o444)
    refused(ReadOnlyFile, room, "f", lambda: room.write("f", "x", known))
    (local.root / "f").chmod(0o644)
    os.link(local.root / "f", local.root / "g")
    refused(HardLinked, room, "f", lambda: room.write("f", "x", known))
