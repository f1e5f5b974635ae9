"""Files that move between a folder and a bucket: copied there with the hash, then removed here with it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
