"""The store over an environment without commands: whole files, links told by `real` alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from readroom.core.errors import NotAFile, StoreFailed
from readroom.core.paths import WorkPath
from readroom.core.stores.environment import EnvironmentStore, Known, opened
from tests.core.stores.cases import Links, Reading, read
from tests.core.stores.environment.machines import FilesMachine
from tests.core.stores.environment.worlds import EnvironmentWorld
from tests.core.stores.write_cases import Excluding, Placing


@pytest.fixture
def world(tmp_path: Path) -> EnvironmentWorld:
    return EnvironmentWorld(tmp_path, FilesMachine)


class TestReading(Reading):
    """The same as everywhere."""


class TestPlacing(Placing):
    """The same as everywhere."""


class TestExcluding(Excluding):
    """The same as everywhere."""


@pytest.mark.parametrize("target", ["../secret", "../outside/file", "/etc/passwd", "d/../../secret"])
def test_links_out_of_the_root_are_refused(world: EnvironmentWorld, target: str) -> None:
    Links().test_links_out_of_the_root_are_refused(world, target)


def test_a_link_inside_is_followed_and_the_real_name_told(world: EnvironmentWorld) -> None:
    world.file("a/file", b"inside")
    world.link("to_file", "a/file")
    world.link("to_folder", "a")
    for path in ("to_file", "to_folder/file"):
        assert read(world, path) == b"inside"
        with world.store.open(WorkPath(path)) as source:
            assert source.real == "a/file"
    with world.store.open_folder(WorkPath(".")) as folder, pytest.raises(NotAFile):
        folder.open("to_file")


def test_a_file_that_is_too_large_as_a_whole_is_refused_before_it_is_fetched(
    world: EnvironmentWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.file("large", b"x")

    def look(path: str) -> Known:
        return Known("large", path.endswith("root"), opened.SPOOL_BYTES + 1)

    def read_all(path: str) -> bytes:
        raise AssertionError("it was fetched")

    monkeypatch.setattr(world.machine, "look", look)
    monkeypatch.setattr(world.machine, "read", read_all)
    with pytest.raises(StoreFailed) as caught:
        world.store.open(WorkPath("large"))
    assert "also runs commands" in caught.value.advice


def test_names_that_are_no_names_are_not_listed(tmp_path: Path) -> None:
    class Lying(FilesMachine):
        def list(self, path: str) -> list[Known]:
            names = ("..", ".", "", "a/b", "../x", "ok", "a\0b", "\udcff")
            return [Known(name, False, 1) for name in names]

    store = EnvironmentStore(Lying(tmp_path))
    with store.open_folder(WorkPath(".")) as folder:
        assert [entry.name for entry in folder.entries()] == ["ok"]
