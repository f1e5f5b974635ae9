"""Changes in a bucket: one object on a condition, and everything else refused with nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from readroom.core import errors
from readroom.core.values.changes import ABSENT
from readroom.core.workspace import Workspace
from tests.core.stores.bucket.servers import Seen, needs_moto
from tests.core.stores.bucket.test_cost import facts, opened
from tests.core.stores.bucket.worlds import BucketWorld


def hash_of(workspace: Workspace, path: str) -> str:
    found: str = facts(workspace.read(path))["content_hash"]
    return found


def test_an_edit_carries_the_etag_and_what_the_object_has_beside_its_bytes(world: BucketWorld) -> None:
    world.file("page.html", b"<p>one</p>\n", kind="text/html", by="us", cache="no-store")
    with opened(world.store) as workspace:
        known = hash_of(workspace, "page.html")
        etag = world.about("page.html")["ETag"]
        world.proxy.seen.clear()
        reply = workspace.edit("page.html", known, [{"old_text": "one", "new_text": "two"}])
        assert not reply.is_error
        (put,) = [seen for seen in world.proxy.seen if seen.method == "PUT"]
        assert put.if_match == etag
        assert "no conditions" not in reply.text
    now = world.about("page.html")
    assert world.read("page.html") == b"<p>two</p>\n"
    assert (now["ContentType"], now["Metadata"], now["CacheControl"]) == (
        "text/html",
        {"by": "us"},
        "no-store",
    )


def test_what_another_writer_put_in_the_last_moment_stays(world: BucketWorld) -> None:
    world.file("f", b"one\n")
    with opened(world.store) as workspace:
        known = hash_of(workspace, "f")

        def between(seen: Seen) -> None:
            if seen.method == "PUT":
                world.proxy.fault = None
                world.file("f", b"theirs\n")

        world.proxy.fault = between
        reply = workspace.call(
            "edit_file",
            {"path": "f", "expected_hash": known, "edits": [{"old_text": "one", "new_text": "two"}]},
        )
        assert reply.is_error
        assert facts(reply)["error"]["code"] == "stale"
    assert world.read("f") == b"theirs\n"


def test_a_new_file_is_put_only_where_there_is_none(world: BucketWorld) -> None:
    with opened(world.store) as workspace:

        def between(seen: Seen) -> None:
            if seen.method == "PUT":
                world.proxy.fault = None
                assert seen.if_none_match == "*"
                world.file("new/f", b"theirs\n")

        world.proxy.fault = between
        arguments = {"path": "new/f", "content": "mine\n", "expected_hash": ABSENT}
        reply = workspace.call("write_file", arguments)
        assert reply.is_error
        assert world.read("new/f") == b"theirs\n"
        assert not workspace.call("write_file", {**arguments, "path": "new/g"}).is_error
    assert world.read("new/g") == b"mine\n"


def test_a_put_whose_answer_was_lost_is_known_again(world: BucketWorld) -> None:
    world.file("f", b"one\n")
    with opened(world.store) as workspace:
        known = hash_of(workspace, "f")
        lost: list[Seen] = []

        def lose(seen: Seen) -> str | None:
            if seen.method == "PUT" and not lost:
                lost.append(seen)
                return "cut"  # the server has done it, and its answer breaks off
            return None

        world.proxy.fault = lose
        arguments = {"path": "f", "expected_hash": known, "edits": [{"old_text": "one", "new_text": "two"}]}
        reply = workspace.call("edit_file", arguments)
        assert lost
        assert not reply.is_error or "not known" in reply.text
    assert world.read("f") == b"two\n"


REFUSED: dict[str, Callable[[Workspace, str], Any]] = {
    "several": lambda workspace, known: workspace.edit_files(
        [
            {"path": path, "expected_hash": known, "old_text": "one", "new_text": "two"}
            for path in ("a.txt", "b.txt")
        ]
    ),
    "move of a folder": lambda workspace, known: workspace.change(
        [{"action": "move", "path": "d", "to": "e", "entries": 2}]
    ),
    "folder": lambda workspace, known: workspace.change([{"action": "delete", "path": "d", "entries": 2}]),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_single_step_is_refused_and_changes_nothing(what: str, world: BucketWorld) -> None:
    for path in ("a.txt", "b.txt", "d/e.txt", "d/f.txt"):
        world.file(path, b"one\n")
    before = world.keys()
    with opened(world.store) as workspace:
        known = hash_of(workspace, "a.txt")
        world.proxy.seen.clear()
        with pytest.raises(Exception, match=r"cannot|in one step|changes") as caught:
            REFUSED[what](workspace, known)
        assert "nothing was changed" in str(caught.value), str(caught.value)
        assert not [seen for seen in world.proxy.seen if seen.method in ("PUT", "DELETE")]
    assert world.keys() == before
    assert world.read("a.txt") == world.read("b.txt") == b"one\n"


def test_one_file_is_deleted_in_the_state_that_was_seen(world: BucketWorld) -> None:
    world.file("a.txt", b"one\n")
    with opened(world.store) as workspace:
        known = hash_of(workspace, "a.txt")
        workspace.change([{"action": "delete", "path": "a.txt", "expected_hash": known}])
    assert world.keys() == []


def test_a_folder_of_one_object_goes_and_comes_back(world: BucketWorld) -> None:
    world.file("a.txt", b"one\n")
    world.file("d/e/f.txt", b"one\n")
    with Workspace(world.address) as workspace:
        workspace.change([{"action": "delete", "path": "d", "entries": 2}])
        assert world.keys() == ["a.txt"]
        workspace.change([{"action": "mkdir", "path": "new/inner"}])
        assert world.keys() == ["a.txt", "new/inner/"]
        workspace.change([{"action": "delete", "path": "new", "entries": 1}])
        assert world.keys() == ["a.txt"]
        for change, left in ((3, ["a.txt", "new/inner/"]), (2, ["a.txt"]), (1, ["a.txt", "d/e/f.txt"])):
            workspace.undo(change=change)
            assert world.keys() == left
    assert world.read("d/e/f.txt") == b"one\n"


def test_an_undo_takes_a_new_file_back_and_its_folders_unless_others_are_in_them(world: BucketWorld) -> None:
    with Workspace(world.address) as workspace:
        for name in ("new/er/a.txt", "newer/a.txt"):
            workspace.write(name, "mine\n", ABSENT)
        world.file("newer/b.txt", b"theirs\n")
        workspace.undo(path="new/er/a.txt")
        workspace.undo(path="newer/a.txt")
        assert world.keys() == ["newer/b.txt"]
        with pytest.raises(errors.NotFound):
            workspace.list("new")


def test_what_is_put_into_a_folder_while_it_is_taken_back_stays(world: BucketWorld) -> None:
    with Workspace(world.address) as workspace:
        workspace.write("new/a.txt", "mine\n", ABSENT)

        def between(seen: Seen) -> None:
            if seen.method == "DELETE":
                world.proxy.fault = None
                world.file("new/a.txt", b"theirs\n")

        world.proxy.fault = between
        with pytest.raises(errors.ChangedSince):
            workspace.undo(path="new/a.txt")
    assert world.read("new/a.txt") == b"theirs\n"


def test_several_changes_are_taken_back_one_by_one(world: BucketWorld) -> None:
    world.file("a.txt", b"one\n")
    with Workspace(world.address) as workspace:
        workspace.edit("a.txt", hash_of(workspace, "a.txt"), [{"old_text": "one", "new_text": "two"}])
        workspace.write("new/b.txt", "mine\n", ABSENT)
        workspace.change(
            [{"action": "delete", "path": "a.txt", "expected_hash": hash_of(workspace, "a.txt")}]
        )
        workspace.undo(since="1h")
    assert world.keys() == ["a.txt"]
    assert world.read("a.txt") == b"one\n"


def test_an_undo_puts_back_what_was_there(world: BucketWorld) -> None:
    world.file("a.txt", b"one\n")
    with Workspace(world.address) as workspace:
        known = hash_of(workspace, "a.txt")
        workspace.edit("a.txt", known, [{"old_text": "one", "new_text": "two"}])
        assert world.read("a.txt") == b"two\n"
        workspace.undo(path="a.txt")
    assert world.read("a.txt") == b"one\n"


@pytest.mark.parametrize("kind", [pytest.param("s3", marks=needs_moto)], indirect=True)
def test_a_server_that_ignores_conditions_is_told(world: BucketWorld) -> None:
    world.file("f", b"one\n")
    world.proxy.careless = True
    with opened(world.store) as workspace:
        known = hash_of(workspace, "f")
        reply = workspace.edit("f", known, [{"old_text": "one", "new_text": "two"}])
        assert "no conditions" in reply.text


def test_an_object_with_tags_is_not_replaced(world: BucketWorld) -> None:
    world.tagged("f", b"one\n")
    with opened(world.store) as workspace:
        known = hash_of(workspace, "f")
        arguments = {"path": "f", "expected_hash": known, "edits": [{"old_text": "one", "new_text": "two"}]}
        reply = workspace.call("edit_file", arguments)
    if world.about("f").get("TagCount"):
        assert reply.is_error
        assert world.read("f") == b"one\n"


def test_a_past_that_ended_with_its_process_is_not_said_to_be_none(world: BucketWorld) -> None:
    """As from the command line, where each command is a process of its own."""
    with Workspace(world.address) as workspace:
        workspace.write("a.txt", "mine\n", ABSENT)
        assert "not on disk" not in workspace.history().text
    with Workspace(world.address) as workspace:
        assert "only by the process that made the changes" in workspace.history().text
        for which in ({"path": "a.txt"}, {"change": 1}):
            with pytest.raises(errors.ReadroomError, match="only by the process that made the changes"):
                workspace.undo(**which)
