"""Looking at, deleting, moving and throwing away names, on every kind of store."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

from readroom.core.deadline import Deadline
from readroom.core.engine.files import trash
from readroom.core.engine.services import Job
from readroom.core.errors import (
    BadValue,
    Denied,
    FolderNotEmpty,
    HardLinked,
    HoldsDenied,
    NotAFile,
    NotAFolder,
    NotFound,
    OutsideRoot,
    PartlyDeleted,
    Protected,
    ReadOnlyFile,
    ReadroomError,
    Stale,
    StoreFailed,
    SymbolicLink,
    Taken,
)
from readroom.core.policy.changes import ChangePolicy
from readroom.core.quoting import quote
from readroom.core.values import EntryKind
from readroom.core.values.changes import (
    DeleteRequest,
    DeleteResult,
    FolderResult,
    MakeFolderRequest,
    MoveRequest,
    MoveResult,
    NameRequest,
    StatRequest,
    StatResult,
    TrashRequest,
    TrashResult,
)
from tests.core.engine.edit.changing import STORES, Room, digest, made
from tests.core.engine.naming import perform, tree
from tests.core.stores.cases import ODD_NAMES
from tests.core.stores.worlds import LocalWorld

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount, or become another user")


@pytest.fixture(params=STORES)
def room(request: pytest.FixtureRequest, tmp_path: Path) -> Room:
    return Room(made(request.param, tmp_path))


@pytest.fixture
def local(tmp_path: Path) -> Room:
    return Room(made("walk", tmp_path))


def root(room: Room) -> Path:
    assert isinstance(room.world, LocalWorld)
    return room.world.root


def look(room: Room, path: str) -> StatResult:
    return cast("StatResult", perform(room, StatRequest(path)))


def refused(error: type[ReadroomError], room: Room, request: NameRequest) -> ReadroomError:
    """What is raised; nothing at all has changed, and the next step works."""
    before = tree(room)
    with pytest.raises(error) as caught:
        perform(room, request)
    assert tree(room) == before
    following = caught.value.next
    if following is not None:
        record = room.workspace.contract("native")
        room.workspace.engine.perform(following, room.workspace.cap(record), Deadline())
    return caught.value


# --- stat ---


def test_stat_tells_files_folders_the_root_and_nothing(room: Room) -> None:
    room.file("a/f", b"12345")
    found = look(room, "a/f")
    assert (found.exists, found.kind, found.size_bytes, found.read_only) == (True, EntryKind.FILE, 5, False)
    assert found.mtime_ns
    assert look(room, "a").kind is EntryKind.FOLDER
    assert look(room, ".").kind is EntryKind.FOLDER
    for absent in ("b", "b/c", "a/f/below"):
        assert look(room, absent) == StatResult(absent, exists=False)


def test_stat_of_a_link_is_that_of_what_it_leads_to(room: Room) -> None:
    room.file("a/f", b"12345")
    room.world.link("l", "a/f")
    found = look(room, "l")
    assert (found.kind, found.size_bytes, found.target) == (EntryKind.FILE, 5, "a/f")


def test_stat_of_a_link_to_nothing_to_the_outside_and_to_what_is_denied_is_the_same(room: Room) -> None:
    room.file(".env", b"SECRET")
    for name, target in (
        ("gone", "n"),
        ("out", "../outside/file"),
        ("kept", ".env"),
        ("kept2", ".git/config"),
    ):
        room.world.link(name, target)
        found = look(room, name)
        assert (found.exists, found.kind, found.target, found.size_bytes) == (True, EntryKind.LINK, None, 0)


def test_a_denied_name_is_denied_whether_or_not_it_is_there(room: Room) -> None:
    room.file("there/.env", b"SECRET")
    room.file("there/.ssh/known", b"SECRET")
    room.world.link("in", "there/.ssh")
    room.world.folder("empty")
    room.file("f", b"x")
    messages = []
    for folder in ("there", "empty"):
        for name in (".env", ".ssh", ".ssh/known"):
            for request in (
                StatRequest(f"{folder}/{name}"),
                DeleteRequest(f"{folder}/{name}", recursive=True),
                MoveRequest(f"{folder}/{name}", "x"),
                MoveRequest("f", f"{folder}/{name}"),
                TrashRequest(f"{folder}/{name}"),
                MakeFolderRequest(f"{folder}/{name}"),
            ):
                with pytest.raises(Denied) as caught:
                    perform(room, request)
                messages.append(str(caught.value).replace(folder, "F"))
    half = len(messages) // 2
    assert messages[:half] == messages[half:]
    for below in ("known", "absent"):
        with pytest.raises(Denied):
            look(room, f"in/{below}")


# --- delete ---


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_file_of_any_name_is_deleted(room: Room, name: str) -> None:
    room.file(name, b"x")
    room.file("other", b"y")
    assert perform(room, DeleteRequest(quote(name))) == DeleteResult(name)
    assert room.names() == ["other"]


def test_deleting_a_link_leaves_what_it_leads_to(room: Room) -> None:
    room.file("a/f", b"x")
    for name, target in (("l", "a/f"), ("d", "a"), ("gone", "nothing"), ("out", "../secret")):
        room.world.link(name, target)
        assert perform(room, DeleteRequest(name, recursive=True)) == DeleteResult(name, EntryKind.LINK)
    assert tree(room) == {"a": None, "a/f": b"x"}


def test_a_folder_with_something_in_it_goes_only_when_asked_for(room: Room) -> None:
    room.file("a/b/f", b"x")
    room.file("a/g", b"y")
    room.file("keep", b"z")
    room.world.link("a/out", "../keep")
    error = refused(FolderNotEmpty, room, DeleteRequest("a"))
    assert error.facts["entries"] == 3
    done = perform(room, DeleteRequest("a", recursive=True))
    assert done == DeleteResult("a", EntryKind.FOLDER, entries=5)
    assert tree(room) == {"keep": b"z"}
    room.world.folder("empty")
    assert perform(room, DeleteRequest("empty")) == DeleteResult("empty", EntryKind.FOLDER)
    assert room.names() == ["keep"]


def test_a_folder_that_holds_what_is_denied_stays_whole(room: Room) -> None:
    room.file("a/b/.env", b"SECRET")
    room.file("a/f", b"x")
    room.file("only/.env", b"SECRET")
    for request in (
        DeleteRequest("a", recursive=True),
        MoveRequest("a", "z"),
        TrashRequest("a"),
        DeleteRequest("only"),
        DeleteRequest("only", recursive=True),
    ):
        error = refused(HoldsDenied, room, request)
        assert error.facts["denied"] == 1
        assert ".env" not in str(error)


def test_what_policy_comes_from_and_the_root_are_protected(room: Room) -> None:
    room.file(".readroomignore", b"secret\n")
    room.file("f", b"x")
    for request in (
        DeleteRequest(".readroomignore"),
        MoveRequest(".readroomignore", "x"),
        MoveRequest("f", ".readroomignore", overwrite=True),
        MoveRequest("f", "readroom.toml"),
        TrashRequest(".readroomignore"),
        MakeFolderRequest("readroom.toml"),
        DeleteRequest(".", recursive=True),
        TrashRequest("."),
        MoveRequest(".", "x"),
        MoveRequest("f", "."),
    ):
        refused(Protected, room, request)


def test_nothing_is_changed_in_a_read_only_workspace(tmp_path: Path) -> None:
    room = Room(made("walk", tmp_path), changes=ChangePolicy(read_only=True))
    room.file("f", b"x")
    for request in (DeleteRequest("f"), MoveRequest("f", "g"), TrashRequest("f"), MakeFolderRequest("d")):
        refused(Protected, room, request)
    assert look(room, "f").exists


def test_a_file_in_another_state_than_expected_stays(room: Room) -> None:
    old = room.file("f", b"one\n")
    room.workspace.read("f")
    new = room.file("f", b"two\n")
    error = refused(Stale, room, DeleteRequest("f", expected_hash=old))
    assert "-one" in str(error.facts["changed"])
    assert perform(room, DeleteRequest("f", expected_hash=new)) == DeleteResult("f")
    assert room.names() == []
    room.world.folder("d")
    refused(BadValue, room, DeleteRequest("d", expected_hash=digest(b"")))
    refused(BadValue, room, DeleteRequest("d", expected_hash="no hash"))


def test_a_missing_name_comes_with_names_like_it(room: Room) -> None:
    room.file("docs/reading.md", b"x")
    for request in (
        DeleteRequest("docs/raeding.md"),
        MoveRequest("docs/raeding.md", "new/x"),
        TrashRequest("docs/raeding.md"),
    ):
        error = refused(NotFound, room, request)
        assert error.facts["near"] == ["docs/reading.md"]
    assert refused(NotFound, room, DeleteRequest("no/such/folder/f")).facts["near"] == []


def test_paths_lead_out_of_no_workspace(room: Room) -> None:
    room.file("f", b"x")
    room.world.link("up", "..")
    for path in ("../secret", "/etc/passwd", "up/secret"):
        for request in (
            StatRequest(path),
            DeleteRequest(path),
            MoveRequest("f", path),
            MoveRequest(path, "g"),
        ):
            refused(OutsideRoot, room, request)


def test_write_protected_files_stay(local: Room) -> None:
    local.file("a/f", b"x")
    local.file("g", b"y")
    (root(local) / "a/f").chmod(0o444)
    for request in (
        DeleteRequest("a/f"),
        DeleteRequest("a", recursive=True),
        MoveRequest("a/f", "x"),
        MoveRequest("g", "a/f", overwrite=True),
        TrashRequest("a/f"),
    ):
        refused(ReadOnlyFile, local, request)
    assert look(local, "a/f").read_only


def test_another_name_of_a_denied_file_is_refused(local: Room) -> None:
    local.file(".env", b"SECRET")
    os.link(root(local) / ".env", root(local) / "twin")
    for request in (DeleteRequest("twin"), MoveRequest("twin", "x"), TrashRequest("twin")):
        refused(HardLinked, local, request)


def test_pipes_are_left_alone(local: Room) -> None:
    os.mkfifo(root(local) / "p")
    for request in (DeleteRequest("p"), MoveRequest("p", "x"), TrashRequest("p")):
        with pytest.raises(NotAFile):
            perform(local, request)
    assert look(local, "p").kind is EntryKind.OTHER


NOBODY = """
import os, sys
from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.history import book, keeping
from readroom.core.values.changes import (
    DeleteRequest,
    MakeFolderRequest,
    MoveRequest,
    StatRequest,
    TrashRequest,
)
from readroom.core.workspace import Workspace
from tests.core.engine.naming import perform
with Workspace(sys.argv[1]) as workspace:
    perform(workspace, StatRequest("d"))  # loads what nobody may not read
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    for request in (DeleteRequest("d/f"), DeleteRequest("d", recursive=True), MoveRequest("d/f", "w/f"),
                    MoveRequest("w/g", "d/g"), TrashRequest("d/f"), MakeFolderRequest("d/n")):
        try:
            perform(workspace, request)
        except ReadroomError as error:
            print(error.code)
"""


@as_root
def test_folders_that_may_not_be_written_keep_what_is_in_them(anyones: Path) -> None:
    local = Room(made("walk", anyones))
    base = root(local)
    local.file("d/f", b"x")
    local.file("w/g", b"y")
    for path in (base / "w", base / "d/f", base / "w/g"):
        path.chmod(0o777)
    base.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", NOBODY, str(base)], capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) == {"no_permission"}
    assert len(done.stdout.split()) == 6
    assert tree(local) == {"d": None, "d/f": b"x", "w": None, "w/g": b"y"}


@as_root
def test_a_folder_in_which_the_system_refuses_a_step_says_how_much_is_gone(local: Room) -> None:
    """A mount point cannot be removed, whoever asks."""
    local.file("a/b/f", b"x")
    (root(local) / "a/mounted").mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(root(local) / "a/mounted")], check=True)
    try:
        with pytest.raises((PartlyDeleted, StoreFailed)) as caught:
            perform(local, DeleteRequest("a", recursive=True))
        gone = 2 if isinstance(caught.value, PartlyDeleted) else 0
        assert caught.value.facts.get("removed", 0) == gone
        assert (root(local) / "a/b").exists() is not bool(gone)
    finally:
        subprocess.run(["umount", "-l", str(root(local) / "a/mounted")], check=True)


# --- folders ---


def test_a_folder_is_made_with_those_above_it_and_once(room: Room) -> None:
    done = perform(room, MakeFolderRequest("a/b/c"))
    assert done == FolderResult("a/b/c", folders=("a", "a/b", "a/b/c"))
    assert perform(room, MakeFolderRequest("a/b/c")) == FolderResult("a/b/c", created=False)
    assert perform(room, MakeFolderRequest(".")) == FolderResult(".", created=False)
    room.world.link("l", "a")
    assert perform(room, MakeFolderRequest("l")) == FolderResult("l", created=False)
    room.file("f", b"x")
    room.world.link("m", "f")
    refused(Taken, room, MakeFolderRequest("f"))
    refused(Taken, room, MakeFolderRequest("m"))
    with pytest.raises(NotAFolder):
        perform(room, MakeFolderRequest("f/g"))


# --- move ---


def test_files_folders_and_links_get_another_name(room: Room) -> None:
    room.file("a/f", b"x")
    room.world.link("a/l", "f")
    done = perform(room, MoveRequest("a/f", "new/deep/g"))
    assert done == MoveResult("a/f", "new/deep/g", EntryKind.FILE, folders=("new", "new/deep"))
    assert perform(room, MoveRequest("a/l", "l")) == MoveResult("a/l", "l", EntryKind.LINK)
    assert perform(room, MoveRequest("new", "a/n")) == MoveResult("new", "a/n", EntryKind.FOLDER)
    assert perform(room, MoveRequest("a/n/deep/g", "a/n/deep/h")) == MoveResult("a/n/deep/g", "a/n/deep/h")
    assert tree(room) == {"a": None, "a/n": None, "a/n/deep": None, "a/n/deep/h": b"x", "l": None}


def test_a_name_that_is_taken_is_kept_unless_a_file_shall_replace_a_file(room: Room) -> None:
    room.file("a", b"1")
    room.file("b", b"2")
    room.file("d/f", b"3")
    room.world.link("l", "a")
    for request in (
        MoveRequest("a", "b"),
        MoveRequest("a", "d", overwrite=True),
        MoveRequest("d", "b", overwrite=True),
        MoveRequest("a", "l", overwrite=True),
        MoveRequest("l", "b", overwrite=True),
    ):
        refused(Taken, room, request)
    assert perform(room, MoveRequest("a", "b", overwrite=True)) == MoveResult("a", "b", replaced=True)
    assert tree(room) == {"b": b"1", "d": None, "d/f": b"3", "l": None}


def test_nothing_is_moved_to_itself_or_below_itself(room: Room) -> None:
    room.file("a/f", b"x")
    room.world.link("l", "a")
    for path, to in (("a", "a"), ("a", "a/b/c"), ("a", "l/b"), ("a/f", "l/f"), ("a/f", "a/f/g")):
        before = tree(room)
        with pytest.raises((BadValue, NotAFolder)):
            perform(room, MoveRequest(path, to))
        assert tree(room) == before


def test_nothing_gets_a_denied_name_by_a_move_of_the_folder_above(room: Room) -> None:
    room.file("d/config.json", b"x")
    room.file("e/f", b"x")
    refused(HoldsDenied, room, MoveRequest("d", ".docker"))
    refused(Denied, room, MoveRequest("d/config.json", "x/.docker/config.json"))
    refused(Denied, room, MoveRequest("e", ".git"))
    refused(Denied, room, MoveRequest("e", ".ssh"))


def test_folders_that_were_made_for_a_move_that_fails_are_gone(room: Room) -> None:
    room.file("a/.env", b"SECRET")
    refused(HoldsDenied, room, MoveRequest("a", "new/deep/b"))


# --- trash ---


def test_what_is_thrown_away_can_be_moved_back(room: Room) -> None:
    room.file("a/f", b"x")
    done = cast("TrashResult", perform(room, TrashRequest("a/f")))
    assert done.trashed_to.startswith(".trash/")
    assert done.trashed_to.split("/")[1].isdigit()
    assert done.trashed_to.endswith("/a/f")
    assert room.data(done.trashed_to) == b"x"
    perform(room, MoveRequest(done.trashed_to, "a/f"))
    assert room.data("a/f") == b"x"


def test_the_same_name_is_thrown_away_twice_in_one_moment(room: Room) -> None:
    cap = room.workspace.cap(room.workspace.contract("native"))
    for data, moment in ((b"1", "5"), (b"2", "6")):
        room.file("f", data)
        job = Job(TrashRequest("f"), cap, Deadline())
        done = trash(room.workspace.engine.services, job, clock=lambda: 5_000_000)
        assert done.trashed_to == f".trash/{moment}/f"
        assert room.data(done.trashed_to) == data


def test_the_trash_is_not_thrown_away_and_is_no_link(room: Room) -> None:
    room.file("f", b"x")
    room.world.folder("elsewhere")
    room.world.link(".trash", "elsewhere")
    refused(SymbolicLink, room, TrashRequest("f"))
    room.world.delete(".trash")
    done = cast("TrashResult", perform(room, TrashRequest("f")))
    for path in (".trash", done.trashed_to):
        refused(BadValue, room, TrashRequest(path))
    perform(room, DeleteRequest(".trash", recursive=True))
    assert room.names() == ["elsewhere"]


# --- around the engine ---
