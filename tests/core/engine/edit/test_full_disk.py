"""Changes on a disk that is full or read-only: a clear refusal, nothing changed, and it works later."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from readroom import OneChange, OneEdit
from readroom.core.errors import NoSpace, ReadOnlyPlace, StoreFailed
from readroom.core.stores.local import LocalStore
from readroom.core.values.changes import ABSENT, DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import digest
from tests.core.engine.naming import files, perform

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")

OLD = b"first line\nsecond line\n"
LONG = "x" * 100_000


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB with one file."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=True)
    (folder / "f").write_bytes(OLD)
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def workspace(small: Path) -> Iterator[Workspace]:
    with Workspace(LocalStore(small)) as workspace:
        yield workspace


def edit(workspace: Workspace, new: str) -> None:
    workspace.edit("f", digest(OLD), [{"old_text": "second", "new_text": new}])


def unchanged(small: Path) -> None:
    assert os.listdir(small) == ["f"]
    assert (small / "f").read_bytes() == OLD


def test_a_full_disk_refuses_edits_and_writes_until_there_is_room(workspace: Workspace, small: Path) -> None:
    (small / "filler").write_bytes(b"x" * 48 * 1024)
    with pytest.raises(NoSpace) as caught:
        edit(workspace, LONG[:20_000])
    assert "space" in str(caught.value)
    with pytest.raises(NoSpace):
        workspace.write("new/deep/f", LONG[:20_000], ABSENT)
    with pytest.raises(NoSpace):
        workspace.write("f", LONG, digest(OLD))
    (small / "filler").unlink()
    unchanged(small)
    edit(workspace, LONG[:20_000])
    assert (small / "f").stat().st_size > 20_000


def test_a_disk_that_became_read_only_refuses_edits_and_writes(workspace: Workspace, small: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    for act in (
        lambda: edit(workspace, "2nd"),
        lambda: workspace.write("g", "new", ABSENT),
        lambda: workspace.write("a/b/g", "new", ABSENT),
        lambda: workspace.write("f", "new", digest(OLD)),
    ):
        with pytest.raises(ReadOnlyPlace):
            act()
    unchanged(small)
    subprocess.run(["mount", "-o", "remount,rw", str(small)], check=True)
    edit(workspace, "2nd")
    assert (small / "f").read_bytes() == OLD.replace(b"second", b"2nd")


NAMES = (
    DeleteRequest("f"),
    DeleteRequest("d", recursive=True),
    MoveRequest("f", "g"),
    MoveRequest("d", "new/d"),
    TrashRequest("d"),
    MakeFolderRequest("new/deep"),
)


def test_nothing_is_deleted_or_moved_on_a_disk_that_became_read_only(
    workspace: Workspace, small: Path
) -> None:
    (small / "d").mkdir()
    (small / "d/f").write_bytes(OLD)
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    for request in NAMES:
        with pytest.raises(ReadOnlyPlace):
            perform(workspace, request)
    assert files(small) == {"f": OLD, "d/f": OLD}


def test_a_full_disk_lets_files_be_deleted(workspace: Workspace, small: Path) -> None:
    (small / "filler").write_bytes(b"x" * 60 * 1024)
    with pytest.raises(NoSpace):
        workspace.write("g", LONG, ABSENT)
    perform(workspace, DeleteRequest("f", expected_hash=digest(OLD)))
    perform(workspace, DeleteRequest("filler"))
    assert os.listdir(small) == []


def test_a_full_disk_changes_none_of_several_files(workspace: Workspace, small: Path) -> None:
    (small / "g").write_bytes(OLD)
    (small / "filler").write_bytes(b"x" * 44 * 1024)
    known = digest(OLD)
    edits: list[OneEdit] = [
        {"path": "f", "expected_hash": known, "old_text": "second", "new_text": "2nd"},
        {"path": "new/h", "expected_hash": "absent", "insert": "end", "new_text": "h\n"},
        {"path": "g", "expected_hash": known, "old_text": "second", "new_text": LONG[:20_000]},
    ]
    before = files(small)
    with pytest.raises(NoSpace):
        workspace.edit_files(edits)
    with pytest.raises(NoSpace):
        workspace.change(
            [
                {"action": "delete", "path": "f", "expected_hash": known},
                {"action": "copy", "path": "filler", "to": "copy", "expected_hash": digest(b"x" * 44 * 1024)},
            ]
        )
    assert files(small) == before
    assert sorted(os.listdir(small)) == ["f", "filler", "g"]
    workspace.change(
        [
            {"action": "delete", "path": "filler", "expected_hash": digest(b"x" * 44 * 1024)},
            {"action": "move", "path": "f", "to": "new/f", "expected_hash": known},
        ]
    )
    assert files(small) == {"g": OLD, "new/f": OLD}


def test_what_cannot_be_moved_takes_back_what_was_changed_before_it(tmp_path: Path, small: Path) -> None:
    """One rename leads to another file system; the deletion before it is undone."""
    (tmp_path / "f").write_bytes(OLD)
    with Workspace(LocalStore(tmp_path, notes=str(tmp_path.with_name("notes")))) as workspace:
        changes: list[OneChange] = [
            {"action": "delete", "path": "small/f", "expected_hash": digest(OLD)},
            {"action": "move", "path": "f", "to": "small/g", "expected_hash": digest(OLD)},
        ]
        with pytest.raises(StoreFailed, match="another file system"):
            workspace.change(changes)
    assert files(small) == {"f": OLD}
    assert (tmp_path / "f").read_bytes() == OLD


def test_what_cannot_be_moved_to_another_file_system_stays(tmp_path: Path, small: Path) -> None:
    (tmp_path / "f").write_bytes(OLD)
    with Workspace(LocalStore(tmp_path)) as workspace:
        for destination in ("small/g", "small/new/g"):
            with pytest.raises(StoreFailed, match="another file system"):
                perform(workspace, MoveRequest("f", destination))
        unchanged(small)
        assert (tmp_path / "f").read_bytes() == OLD
