"""Files that move within a bucket, and between a folder and one: put there, then removed here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.stores.bucket import single
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.stores.bucket.servers import Seen
from tests.core.stores.bucket.test_changes import hash_of
from tests.core.stores.bucket.test_cost import facts
from tests.core.stores.bucket.worlds import BucketWorld


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "here"
    root.mkdir()
    (root / "a.txt").write_bytes(b"one\r\ntwo")
    return root


@pytest.fixture(name="both")
def _both(root: Path, world: BucketWorld) -> Iterator[Workspace]:
    world.file("b.txt", b"from the bucket\n")
    with Workspace(root, f"B={world.address}") as workspace:
        yield workspace


def move(workspace: Workspace, path: str, to: str, **more: Any) -> Reply:
    known = {"expected_hash": hash_of(workspace, path)}
    return changed(workspace, {"action": "move", "path": path, "to": to, **known, **more})


def changed(workspace: Workspace, *changes: dict[str, Any], **more: Any) -> Reply:
    return workspace.call("change_files", {"changes": list(changes), **more})


def test_a_file_moves_into_a_bucket_and_out_of_it(both: Workspace, root: Path, world: BucketWorld) -> None:
    reply = move(both, "a.txt", "B/d/a.txt")
    assert not reply.is_error, reply.text
    assert [*root.iterdir()] == []
    assert world.read("d/a.txt") == b"one\r\ntwo"
    reply = move(both, "B/b.txt", "new/b.txt")
    assert not reply.is_error, reply.text
    assert (root / "new/b.txt").read_bytes() == b"from the bucket\n"
    assert world.keys() == ["d/a.txt"]


def test_a_plan_of_a_move_moves_nothing(both: Workspace, root: Path, world: BucketWorld) -> None:
    change = {"action": "move", "path": "a.txt", "to": "B/a.txt", "expected_hash": hash_of(both, "a.txt")}
    assert not changed(both, change, dry_run=True).is_error
    assert (root / "a.txt").exists()
    assert world.keys() == ["b.txt"]


def test_both_halves_are_undone_where_they_were_made(both: Workspace, root: Path, world: BucketWorld) -> None:
    assert not move(both, "a.txt", "B/a.txt").is_error
    for path in ("a.txt", "B/a.txt"):
        both.undo(path=path)
    assert (root / "a.txt").read_bytes() == b"one\r\ntwo"
    assert world.keys() == ["b.txt"]


@pytest.mark.parametrize("at", ["bucket", "folder"])
def test_a_move_is_refused_where_one_side_is_read_only(at: str, root: Path, world: BucketWorld) -> None:
    world.file("b.txt", b"from the bucket\n")
    with Workspace(root, f"B={world.address}:ro") as workspace:
        ways = [("a.txt", "B/a.txt"), ("B/b.txt", "b.txt")]
        reply = move(workspace, *ways[at == "folder"])
        assert facts(reply)["error"]["code"] == "protected", reply.text
    assert [path.name for path in root.iterdir()] == ["a.txt"]
    assert world.keys() == ["b.txt"]


def test_denied_names_move_nowhere(both: Workspace, root: Path, world: BucketWorld) -> None:
    (root / ".env").write_text("KEY=1\n")
    known = "sha256:" + "0" * 64
    for path, to in ((".env", "B/x"), ("B/b.txt", ".env"), ("a.txt", "B/.env")):
        reply = changed(both, {"action": "move", "path": path, "to": to, "expected_hash": known})
        assert facts(reply)["error"]["code"] == "denied", reply.text
    assert world.keys() == ["b.txt"]


def test_a_name_that_is_taken_or_another_state_moves_nothing(
    both: Workspace, root: Path, world: BucketWorld
) -> None:
    assert facts(move(both, "a.txt", "B/b.txt"))["error"]["code"] == "taken"
    known = hash_of(both, "a.txt")
    (root / "a.txt").write_bytes(b"another\n")
    reply = changed(both, {"action": "move", "path": "a.txt", "to": "B/c", "expected_hash": known})
    assert facts(reply)["error"]["code"] == "stale"
    assert (root / "a.txt").read_bytes() == b"another\n"
    assert world.keys() == ["b.txt"]


def test_what_is_written_between_the_two_halves_stays_and_the_copy_goes(
    both: Workspace, root: Path, world: BucketWorld
) -> None:
    known = hash_of(both, "a.txt")

    def between(seen: Seen) -> None:
        if seen.method == "PUT":
            (root / "a.txt").write_bytes(b"a person's\n")

    world.proxy.fault = between
    reply = changed(both, {"action": "move", "path": "a.txt", "to": "B/c", "expected_hash": known})
    assert reply.is_error
    assert (root / "a.txt").read_bytes() == b"a person's\n"
    assert world.keys() == ["b.txt"]


def test_a_copy_that_cannot_be_removed_again_is_named(
    both: Workspace, root: Path, world: BucketWorld
) -> None:
    known = hash_of(both, "a.txt")

    def between(seen: Seen) -> int | None:
        if seen.method == "PUT":
            (root / "a.txt").write_bytes(b"a person's\n")
        return 403 if seen.method == "DELETE" else None

    world.proxy.fault = between
    reply = changed(both, {"action": "move", "path": "a.txt", "to": "B/c", "expected_hash": known})
    assert facts(reply)["error"]["code"] == "store_failed"
    assert "a copy of it is at B/c" in reply.text
    assert world.keys() == ["b.txt", "c"]


def test_the_advice_for_what_is_refused_can_be_followed_word_for_word(
    both: Workspace, root: Path, world: BucketWorld
) -> None:
    """Send a call for each folder. To move a file, copy it first, then delete the old one."""
    known = hash_of(both, "a.txt")
    moved = {"action": "move", "path": "a.txt", "to": "B/a.txt", "expected_hash": known}
    refused = changed(both, moved, {"action": "mkdir", "path": "d"})
    assert facts(refused)["error"]["code"] == "across_roots"
    assert "copy it first, then delete the old one" in refused.text
    assert not changed(both, {**moved, "action": "copy"}).is_error
    gone = {"action": "delete", "path": "a.txt", "expected_hash": known}
    assert not changed(both, gone, {"action": "mkdir", "path": "d"}).is_error
    assert [path.name for path in root.iterdir()] == ["d"]
    assert world.read("a.txt") == b"one\r\ntwo"


# --- within a bucket ---------------------------------------------------------------------------


@pytest.fixture(name="alone")
def _alone(world: BucketWorld) -> Iterator[Workspace]:
    world.file("a.txt", b"one\n", kind="text/x-notes", by="us")
    with Workspace(world.address) as workspace:
        yield workspace


def moved_error(workspace: Workspace, to: str = "c.txt") -> str:
    code: str = facts(move(workspace, "a.txt", to))["error"]["code"]
    return code


def test_a_file_moves_within_a_bucket_and_back_with_one_undo(alone: Workspace, world: BucketWorld) -> None:
    known = hash_of(alone, "a.txt")
    world.proxy.seen.clear()
    reply = changed(alone, {"action": "move", "path": "a.txt", "to": "new/er/c.txt", "expected_hash": known})
    assert not reply.is_error, reply.text
    put, removal = [seen for seen in world.proxy.seen if seen.method in ("PUT", "DELETE")]
    assert (put.if_none_match, bool(removal.if_match)) == ("*", True)
    assert world.keys() == ["new/er/c.txt"]
    there = world.about("new/er/c.txt")
    assert (world.read("new/er/c.txt"), there["ContentType"], there["Metadata"]) == (
        b"one\n",
        "text/x-notes",
        {"by": "us"},
    )
    alone.undo(change=1)
    assert world.keys() == ["a.txt"]
    alone.undo(change=2)
    assert world.keys() == ["new/er/c.txt"]
    assert world.read("new/er/c.txt") == b"one\n"


def test_an_empty_file_moves_and_a_plan_of_it_does_not(alone: Workspace, world: BucketWorld) -> None:
    world.file("empty")
    change = {"action": "move", "path": "empty", "to": "e/f", "expected_hash": hash_of(alone, "empty")}
    assert not changed(alone, change, dry_run=True).is_error
    assert world.keys() == ["a.txt", "empty"]
    assert not changed(alone, change).is_error
    assert world.keys() == ["a.txt", "e/f"]


@pytest.mark.parametrize("at", ["GET", "PUT", "DELETE"])
def test_what_is_written_during_a_move_stays_under_its_name(
    at: str, alone: Workspace, world: BucketWorld
) -> None:
    known = hash_of(alone, "a.txt")

    def between(seen: Seen) -> None:
        if seen.method == at:
            world.proxy.fault = None
            world.file("a.txt", b"two\n")

    world.proxy.fault = between
    reply = changed(alone, {"action": "move", "path": "a.txt", "to": "c.txt", "expected_hash": known})
    assert facts(reply)["error"]["code"] == "stale", reply.text
    assert world.keys() == ["a.txt"]
    assert world.read("a.txt") == b"two\n"


def test_a_name_that_another_writer_takes_in_the_last_moment_is_theirs(
    alone: Workspace, world: BucketWorld
) -> None:
    def between(seen: Seen) -> None:
        if seen.method == "PUT":
            world.proxy.fault = None
            world.file("c.txt", b"theirs\n")

    known = hash_of(alone, "a.txt")
    world.proxy.fault = between
    reply = changed(alone, {"action": "move", "path": "a.txt", "to": "c.txt", "expected_hash": known})
    assert facts(reply)["error"]["code"] == "taken", reply.text
    assert (world.read("a.txt"), world.read("c.txt")) == (b"one\n", b"theirs\n")


@pytest.mark.parametrize("refused", [1, 2])
def test_an_old_name_that_cannot_be_removed_keeps_the_file_or_both_are_named(
    refused: int, alone: Workspace, world: BucketWorld
) -> None:
    known = hash_of(alone, "a.txt")
    removals: list[Seen] = []

    def forbid(seen: Seen) -> int | None:
        removals.extend([seen] if seen.method == "DELETE" else [])
        return 403 if seen.method == "DELETE" and len(removals) <= refused else None

    world.proxy.fault = forbid
    reply = changed(alone, {"action": "move", "path": "a.txt", "to": "c.txt", "expected_hash": known})
    assert reply.is_error
    if refused == 1:
        assert "s3:DeleteObject" in reply.text or "Blob Data Contributor" in reply.text
        assert world.keys() == ["a.txt"]
    else:
        assert "it is at c.txt now" in reply.text
        assert world.keys() == ["a.txt", "c.txt"]


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("to", ["c.txt", "B/c.txt"])
def test_a_removal_without_an_answer_never_costs_both(
    to: str, made: bool, world: BucketWorld, tmp_path: Path
) -> None:
    """The server removes the old name and nobody hears of it, or it may still do so later."""
    world.file("a.txt", b"one\n")
    (tmp_path / "b").mkdir()
    address = f"B={tmp_path / 'b'}"
    with Workspace(world.address, *([address] if to.startswith("B/") else [])) as workspace:
        known = hash_of(workspace, "a.txt")

        def lose(seen: Seen) -> str | None:
            if seen.method != "DELETE" or "a.txt" not in seen.path:
                return None
            if made:
                world.delete("a.txt")
            return "reset"

        world.proxy.fault = lose
        reply = changed(workspace, {"action": "move", "path": "a.txt", "to": to, "expected_hash": known})
    there = (tmp_path / "b/c.txt").read_bytes() if to.startswith("B/") else world.read("c.txt")
    assert there == b"one\n"
    assert reply.is_error is not made
    assert made or "c.txt" in reply.text
    assert world.keys().count("a.txt") == (not made)


def test_a_removal_whose_first_answer_was_lost_is_made(world: BucketWorld) -> None:
    world.file("a.txt", b"one\n")
    lost: list[Seen] = []

    def lose(seen: Seen) -> str | None:
        if seen.method != "DELETE" or lost:
            return None
        lost.append(seen)
        world.delete("a.txt")
        return "reset"

    with Workspace(world.address) as workspace:
        gone = {"action": "delete", "path": "a.txt", "expected_hash": hash_of(workspace, "a.txt")}
        world.proxy.fault = lose
        reply = changed(workspace, gone)
        assert lost
        assert not reply.is_error, reply.text
        workspace.undo(change=1)
    assert world.read("a.txt") == b"one\n"


def test_what_is_too_large_or_tagged_or_taken_is_not_moved(
    alone: Workspace, world: BucketWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.file("c.txt", b"taken\n")
    assert moved_error(alone) == "taken"
    monkeypatch.setattr(single, "PUT_BYTES", 2)
    assert moved_error(alone, "d.txt") == "bucket_cannot"
    assert world.keys() == ["a.txt", "c.txt"]
