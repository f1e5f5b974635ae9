"""Nothing outside the root or denied is ever changed while another process swaps names.

Of six measured peers those that write by name put content outside as they show it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from readroom.core.errors import ReadroomError
from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.stores.worlds import WAYS, Way
from tests.races.swapper import LEADING_OUT, LEADING_TO_DENIED, Scene, swapping
from tests.suites import daily

CHANGES = 30
"""Of each kind, for each scene and way, before it is asked whether both states were met."""

MOST = 20
"""How many times as many, until a refusal is met: each is flushed to disk, and the other process has to get
its turn. Something is changed sooner or later, since its rests grow."""

RESTS = [0.001 * 2**step for step in range(8)]
"""Of the other process between its turns, in seconds, each as long as the turn before it: a change that is
flushed to a slow disk meets turns, rests, and both."""

TRIES = 100_000
"""Of the naive writer, until it changes what it must not."""

every_scene = pytest.mark.parametrize(
    "make", [*LEADING_OUT, *LEADING_TO_DENIED], ids=lambda make: make.__name__
)
every_way = pytest.mark.parametrize("way", WAYS)


def forbidden(base: Path) -> dict[str, bytes]:
    """All that must not be changed, and must not get company: by name, what is in it."""
    folders = [base / "outside", base / "root" / ".ssh"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    found = {str(path): path.read_bytes() for path in [*files, base / "root" / ".env"]}
    for folder in (base, *folders):
        found |= {str(path): b"" for path in folder.rglob("*") if path.is_dir() and "stash" not in path.parts}
    return {
        name: data
        for name, data in found.items()
        if "/root/" not in name or "/.ssh" in name or name.endswith("/.env")
    }


def answered(seen: Counter[str], reply: Reply) -> None:
    """Count what came of a call."""
    error = reply.facts.get("error")
    code = "done" if error is None else str(error["code"])  # type: ignore[call-overload, index]  # of JSON
    assert code != "internal", reply.text
    assert "OUTSIDE" not in reply.text
    seen[code] += 1


def enough(seen: Counter[str], count: int) -> bool:
    """Whether there was both something to change and something to refuse."""
    refusals = seen["denied"] + seen["outside_root"] + seen["symbolic_link"]
    return count >= CHANGES and bool(seen["done"] and (refusals or count >= CHANGES * MOST))


@every_scene
@every_way
def test_edits_change_nothing_but_the_root(way: Way, make: Callable[[Path], Scene], tmp_path: Path) -> None:
    scene = make(tmp_path)
    before = forbidden(tmp_path)
    seen: Counter[str] = Counter()
    with Workspace(LocalStore(scene.root, way)) as workspace, swapping(scene, RESTS):
        for count in itertools.count():
            known = content(workspace, scene.file)
            if known is None:
                continue
            words = [b"INSIDE", b"inside"] if b"INSIDE" in known else [b"inside", b"INSIDE"]
            arguments = {
                "path": scene.file,
                "expected_hash": "sha256:" + hashlib.sha256(known).hexdigest(),
                "edits": [{"old_text": words[0].decode(), "new_text": words[1].decode()}],
            }
            answered(seen, workspace.call("edit_file", arguments))
            if enough(seen, count):
                break
    assert forbidden(tmp_path) == before
    assert seen["done"]


def content(workspace: Workspace, path: str) -> bytes | None:
    """What a caller that reads the file at this moment knows of it; None while it leads elsewhere."""
    try:
        with workspace.guard.open(path) as source:
            return source.read_at(0, source.size)
    except ReadroomError:
        return None


@every_scene
@every_way
def test_new_files_and_folders_are_made_only_in_the_root(
    way: Way, make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    scene = make(tmp_path)
    before = forbidden(tmp_path)
    seen: Counter[str] = Counter()
    with Workspace(LocalStore(scene.root, way)) as workspace, swapping(scene, RESTS):
        for count in itertools.count():
            name = f"new-{count}" if count % 2 else f"folder-{count}/deep/new"
            path = name if scene.folder == "." else f"{scene.folder}/{name}"
            arguments = {"path": path, "content": "made", "expected_hash": "absent"}
            answered(seen, workspace.call("write_file", arguments))
            if enough(seen, count) or (scene.folder == "." and count >= CHANGES):
                break
    assert forbidden(tmp_path) == before
    assert seen["done"]


@daily(1, "make", LEADING_OUT, ids=lambda make: make.__name__)
def test_a_writer_that_checks_before_it_opens_is_caught(
    make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    """The control: the same tree and the same swapper do hit the window between check and use."""
    scene = make(tmp_path)
    before = forbidden(tmp_path)
    root = os.path.realpath(scene.root)
    target = os.path.join(root, scene.file)
    with swapping(scene):
        for _ in range(TRIES):
            try:
                if os.path.realpath(target).startswith(root + "/"):
                    with open(target, "r+b") as file:
                        file.write(b"naive")
            except OSError:
                continue
            if forbidden(tmp_path) != before:
                break
        else:
            pytest.fail("the swapper never hit the window")
