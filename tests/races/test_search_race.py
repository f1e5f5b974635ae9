"""Searches show nothing but the root while another process swaps names, in every mode.

Not the content, not the name, and not the number of matches of what is outside
or denied; with the kernel's confinement of rg and without it.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.process import Child, confines
from readroom.core.errors import ReadroomError
from readroom.core.policy.guard import Guard
from readroom.core.stores.local import LocalStore
from readroom.core.values import GrepRequest, Include
from tests.core.engine.grep.searching import search
from tests.core.stores.worlds import WAYS, Way
from tests.races.swapper import LEADING_OUT, LEADING_TO_DENIED, Scene, leaf_out, swapping
from tests.suites import daily

SEARCHES = 12
"""For each scene, way and confinement: 400 searches on a machine with all of them, in each of two tests."""

MOST = 40
"""How many times as many, until the file was found at all: the other process may hold it all the time."""

TRIES = 20_000
"""Of rg without confinement, until it is led outside; it takes some tens."""

EVERYTHING: frozenset[Include] = frozenset({"hidden", "ignored", "binary"})

CONFINED = [True, False] if confines() else [False]

REQUESTS = [
    # `the root` is in every file inside and outside; `OUTSIDE` only where nobody may look.
    GrepRequest("the root", fixed=True, sort="path", include=EVERYTHING),
    GrepRequest("root", output="files", include=EVERYTHING),
    GrepRequest("root", output="count", include=EVERYTHING),
    GrepRequest("root", sort="mtime"),
    GrepRequest("the root", fixed=True, before=2, after=2),
    GrepRequest(r"(?s:IN.*root)|OUTSIDE", multiline=True, include=EVERYTHING),
    # RE2 leaves this one to rg, which then searches the opened file.
    GrepRequest(r"\<(IN|OUT)SIDE\>", include=EVERYTHING),
]
SECRET = [
    GrepRequest("OUTSIDE", include=EVERYTHING),
    GrepRequest("OUTSIDE", output="files", include=EVERYTHING),
    GrepRequest("denied", output="count", include=EVERYTHING),
    GrepRequest("denied", sort="mtime", include=EVERYTHING),
    GrepRequest("or denied", fixed=True, include=EVERYTHING),
]


def _scenes() -> list[Callable[[Path], Scene]]:
    return [*LEADING_OUT, *LEADING_TO_DENIED]


@daily(5, "make", _scenes(), ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("confined", CONFINED)
def test_searches_see_nothing_but_the_root(
    confined: bool, way: Way, make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    scene = make(tmp_path)
    store = LocalStore(scene.root, way)
    guard = Guard(store)
    found = 0
    with swapping(scene):
        for count, request in enumerate(itertools.islice(itertools.cycle(REQUESTS), SEARCHES * MOST)):
            result = search(store, request, confined=confined, guard=guard)
            for file in result.files:
                assert file.matches == 1
                assert "OUTSIDE" not in file.path
                assert not file.path.startswith(".")
                assert all(line.text == "INSIDE the root" for line in file.lines)
            found += result.shown
            if count >= SEARCHES and found:
                break
    assert found


@daily(5, "make", _scenes(), ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("confined", CONFINED)
def test_what_is_only_outside_is_never_found(
    confined: bool, way: Way, make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    scene = make(tmp_path)
    store = LocalStore(scene.root, way)
    guard = Guard(store)
    with swapping(scene):
        for request in itertools.islice(itertools.cycle(SECRET), SEARCHES):
            result = search(store, request, confined=confined, guard=guard)
            assert (result.files, result.shown, result.complete) == ([], 0, True)


@daily(2, "make", _scenes(), ids=lambda make: make.__name__)
@pytest.mark.parametrize("way", WAYS)
def test_a_swapped_path_that_is_searched_by_name_shows_nothing_else(
    way: Way, make: Callable[[Path], Scene], tmp_path: Path
) -> None:
    scene = make(tmp_path)
    store = LocalStore(scene.root, way)
    guard = Guard(store)
    with swapping(scene):
        for path in [scene.file, scene.folder] * (SEARCHES // 2):
            for pattern in ("OUTSIDE", "the root"):
                try:
                    result = search(store, GrepRequest(pattern, path), guard=guard)
                    said = {line.text for file in result.files for line in file.lines}
                except ReadroomError as error:
                    said = {str(error).replace(repr(pattern), "")}
                assert "OUTSIDE" not in "".join(said)


def _bare(scene: Scene, root: int | None) -> bytes:
    """What rg itself says of a folder, guard or no guard."""
    flags = ["--no-config", "--hidden", "--sort=path", "OUTSIDE", "./"]
    with Child(flags, Deadline(), folder=str(scene.root), root=root) as child:
        return b"".join(child.output())


@pytest.mark.parametrize("confined", CONFINED)
def test_rg_alone_is_led_outside_unless_it_is_confined(confined: bool, tmp_path: Path) -> None:
    """The control: the same swapper does lead rg out of the root, and the kernel keeps it in."""
    scene = leaf_out(tmp_path)
    (scene.root / ".env").unlink()
    (scene.root / ".ssh" / "file").unlink()
    (scene.root / ".ssh" / "OUTSIDE").unlink()
    root = os.open(scene.root, os.O_RDONLY)
    try:
        with swapping(scene):
            led = any(
                _bare(scene, root if confined else None) for _ in range(SEARCHES if confined else TRIES)
            )
    finally:
        os.close(root)
    assert led is not confined
