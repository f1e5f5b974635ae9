"""Programs as BusyBox has them: times without fractions, no -printf, a grep that names no files by NUL."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from tests.core.stores.cases import Folders, Reading
from tests.core.stores.environment.machines import ShellMachine
from tests.core.stores.environment.worlds import EnvironmentWorld
from tests.core.stores.write_cases import Placing

_PROGRAMS = {
    "stat": 'for one do shift; set -- "$@" "$(printf %s "$one" | sed "s/%\\\\.9/%/g")"; done\n'
    'exec {stat} "$@"',
    "find": 'case "$*" in *-printf*) exit 1;; esac; exec {find} "$@"',
    "grep": 'case "$*" in *--version*) echo BusyBox; exit;; esac; exec {grep} "$@"',
}
"""A name in braces is where the program is."""


def plainer(folder: Path) -> Callable[[Path], ShellMachine]:
    """A machine with such programs, which are put into a folder."""
    folder.mkdir()
    for name, script in _PROGRAMS.items():
        where = next(f"{one}/{name}" for one in ("/usr/bin", "/bin") if os.path.exists(f"{one}/{name}"))
        (folder / name).write_text(f"#!/bin/sh\n{script.replace('{' + name + '}', where)}\n")
        (folder / name).chmod(0o755)
    return lambda root: ShellMachine(root, path=f"{folder}:/usr/bin:/bin")


@pytest.fixture
def world(tmp_path: Path) -> EnvironmentWorld:
    made = EnvironmentWorld(tmp_path, plainer(tmp_path / "bin"))
    assert not vars(made.store.hands)["fine"]
    return made


class TestReading(Reading):
    """The same as everywhere."""


class TestFolders(Folders):
    """The same as everywhere."""


class TestPlacing(Placing):
    """The same as everywhere."""


def test_a_change_within_one_second_of_the_same_size_is_seen(world: EnvironmentWorld) -> None:
    world.file("f", b"one")
    os.utime(world.root / "f", (1_700_000_000, 1_700_000_000))
    with world.store.open(WorkPath("f")) as source, world.store.place(WorkPath("f")) as place:
        with (world.root / "f").open("r+b") as file:
            file.write(b"two")
        os.utime(world.root / "f", (1_700_000_000, 1_700_000_000))
        assert source.current() != source.version
        place.hold(Deadline())
        with pytest.raises(Moved):
            place.put([b"ours"], source, lambda: None)
    assert (world.root / "f").read_bytes() == b"two"
