"""Somebody swaps folders and links while names are deleted and moved: nothing outside is lost.

The clock of the deadline is looked at before every step; at each of those moments in turn
the swap happens.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from readroom.core.stores.local import LocalStore, rename
from readroom.core.values.changes import DeleteRequest, MoveRequest, NameRequest, TrashRequest
from readroom.core.workspace import Workspace
from tests.core.engine.naming import at_each_check, files, perform
from tests.core.stores.worlds import WAYS, Way
from tests.suites import daily

_OUTSIDE = {"f": b"OUTSIDE", "b/f": b"OUTSIDE", "b/c/f": b"OUTSIDE"}
_REQUESTS = (
    DeleteRequest("a/b", recursive=True),
    DeleteRequest("a", recursive=True),
    DeleteRequest("a/b/f"),
    MoveRequest("a/b", "moved/b"),
    MoveRequest("a/b/f", "c/f"),
    TrashRequest("a/b"),
)


def fill(folder: Path, contents: dict[str, bytes]) -> None:
    for name, data in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def swapped(folder: Path, target: Path) -> None:
    """A link in the place of a folder, which goes elsewhere."""
    os.rename(folder, folder.parent.parent / f"aside-{folder.name}")
    os.symlink(target, folder)


@daily(9, "way", WAYS)
@pytest.mark.parametrize("request_", _REQUESTS, ids=repr)
@pytest.mark.parametrize("victim", ["a", "a/b", "a/b/c"])
def test_a_folder_that_becomes_a_link_loses_nothing_of_what_it_leads_to(
    tmp_path: Path, way: Way, request_: NameRequest, victim: str
) -> None:
    for count in range(1, 40):
        base = tmp_path / str(count)
        root, outside = base / "root", base / "outside"
        fill(outside, _OUTSIDE)
        fill(root, {"a/f": b"1", "a/b/f": b"2", "a/b/c/f": b"3", "a/b/g": b"4"})
        with Workspace(LocalStore(root, way)) as workspace:
            happened = _run(workspace, request_, partial(swapped, root / victim, outside), count)
        assert files(outside) == _OUTSIDE
        if not happened:
            break
        shutil.rmtree(base)
    assert count > 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("request_", _REQUESTS[:5:3], ids=repr)
def test_a_denied_file_that_appears_in_a_folder_is_never_deleted(
    tmp_path: Path, way: Way, request_: NameRequest
) -> None:
    for count in range(1, 40):
        root = tmp_path / str(count) / "root"
        fill(root, {"a/b/f": b"2", "a/b/c/f": b"3"})

        came: list[bool] = []
        with Workspace(LocalStore(root, way)) as workspace:
            happened = _run(workspace, request_, partial(appear, root / "a/b/c/.env", came), count)
        assert (b"SECRET" in files(root).values()) == bool(came)
        if not happened:
            break
    assert count > 1


def appear(path: Path, came: list[bool]) -> None:
    path.write_bytes(b"SECRET")
    came.append(True)


def _run(workspace: Workspace, request: NameRequest, act: Callable[[], None], count: int) -> bool:
    def run(deadline: Deadline) -> None:
        with contextlib.suppress(ReadroomError):  # and nothing else
            perform(workspace, request, deadline)

    return at_each_check(act, run, count)


def test_a_file_that_was_saved_at_the_last_moment_stays(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"old")
    folder = os.open(tmp_path, os.O_RDONLY)
    store = LocalStore(tmp_path)
    with store.open(WorkPath("f")) as source:
        version = source.version
    (tmp_path / "new").write_bytes(b"new")
    os.replace(tmp_path / "new", tmp_path / "f")
    with pytest.raises(Moved):
        rename.remove(folder, "f", version, "aside")
    found = os.stat(tmp_path / "f")
    with pytest.raises(Moved):
        rename.take((folder, "f"), (folder, "g"), (found.st_dev, found.st_ino), version)
    with pytest.raises(Moved):
        rename.move((folder, "f"), (folder, "g"), (found.st_dev, found.st_ino + 1))
    assert files(tmp_path) == {"f": b"new"}
    os.close(folder)
    store.close()
