"""Nothing outside the root or denied is ever read while another process swaps names.

Four of six measured peers check a path and then open it, and return outside
content in 1 % to 25 % of the reads of such a tree.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from readroom.core.errors import AbsentError, FailedError, ReadroomError, RefusedError
from readroom.core.policy.guard import Guard
from readroom.core.stores.local import LocalStore
from readroom.core.workspace import Workspace
from tests.core.stores.worlds import WAYS, Way
from tests.races.swapper import LEADING_OUT, LEADING_TO_DENIED, OUTSIDE, Scene, swapping
from tests.suites import daily

READS = 1000
SCANS = 400
CALLS = 150
"""Of each kind, for each scene and way: 17,000 operations on a machine with both ways."""

MOST = 100
"""How many times as many, until both states of the tree were met: the other process may not get its turn."""

TRIES = 300_000
"""Of the naive reader, until it returns what it must not; it takes some hundreds."""


def _outcome(act: Callable[[], bytes]) -> tuple[str, bytes]:
    """What came of a read: a word for it, and what was seen."""
    try:
        return "shown", act()
    except RefusedError:
        return "refused", b""
    except (AbsentError, FailedError):
        return "not there", b""


def _repeated(act: Callable[[], bytes], least: int) -> Counter[str]:
    """How often came what; until there was both something to show and something to refuse."""
    seen: Counter[str] = Counter()
    for count in range(least * MOST):
        word, data = _outcome(act)
        assert b"OUTSIDE" not in data
        seen[word] += 1
        if count >= least and seen["shown"] and seen["refused"]:
            break
    return seen


@daily(2, "make", [*LEADING_OUT, *LEADING_TO_DENIED], ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_reads_see_nothing_but_the_root(way: Way, make: Callable[[Path], Scene], tmp_path: Path) -> None:
    scene = make(tmp_path)
    guard = Guard(LocalStore(scene.root, way))

    def read() -> bytes:
        with guard.open(scene.file) as source:
            assert not source.real.startswith((".", "/"))
            return source.read_at(0, 1000)

    with swapping(scene):
        seen = _repeated(read, READS)
    assert seen["shown"]
    assert seen["refused"]


@daily(2, "make", [*LEADING_OUT, *LEADING_TO_DENIED], ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_scans_see_nothing_but_the_root(way: Way, make: Callable[[Path], Scene], tmp_path: Path) -> None:
    """Names, and for each name what a listing looks at: its stat and what is behind it."""
    scene = make(tmp_path)
    guard = Guard(LocalStore(scene.root, way))
    outside = {(found.st_dev, found.st_ino) for found in map(os.stat, (tmp_path / "outside").rglob("*"))}

    def scan() -> bytes:
        with guard.open_folder(scene.folder) as folder:
            names = []
            for entry in folder.entries():
                names.append(entry.name)
                try:
                    stat = folder.stat(entry.name)
                except ReadroomError:
                    continue
                assert (stat.device, stat.inode) not in outside
        _, found = guard.stat(scene.file)
        assert (found.device, found.inode) not in outside
        return "\n".join(names).encode()

    with swapping(scene):
        seen = _repeated(scan, SCANS)
    assert seen["shown"]


@daily(2, "make", [*LEADING_OUT, *LEADING_TO_DENIED], ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_replies_show_nothing_but_the_root(way: Way, make: Callable[[Path], Scene], tmp_path: Path) -> None:
    """Whole calls, as a model sends them; an error says no more than a result."""
    scene = make(tmp_path)
    calls = [("read_file", {"path": scene.file}), ("list_directory", {"path": scene.folder, "depth": 3})]
    with Workspace(LocalStore(scene.root, way)) as workspace, swapping(scene):
        for tool, arguments in calls * CALLS:
            reply = workspace.call(tool, arguments)
            assert "OUTSIDE" not in reply.text
            assert "OUTSIDE" not in str(reply.facts)
            assert "'code': 'internal'" not in str(reply.facts)


@pytest.mark.parametrize("make", LEADING_OUT, ids=lambda make: make.__name__)
def test_a_reader_that_checks_before_it_opens_is_caught(
    make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    """The control: the same tree and the same swapper do hit the window between check and use."""
    scene = make(tmp_path)
    root = os.path.realpath(scene.root)

    def naive() -> bytes:
        real = os.path.realpath(os.path.join(root, scene.file))
        if not real.startswith(root + "/"):
            raise PermissionError
        with open(os.path.join(root, scene.file), "rb") as file:
            return file.read()

    with swapping(scene):
        for _ in range(TRIES):
            try:
                if naive() == OUTSIDE:
                    break
            except OSError:
                continue
        else:
            pytest.fail("the swapper never hit the window")
