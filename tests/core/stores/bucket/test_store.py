"""The store of a bucket does what every store does."""

from __future__ import annotations

import pytest

from readroom.core.errors import BadPath, NotFound
from readroom.core.paths import WorkPath
from readroom.core.stores.bucket.store import BucketStore
from readroom.core.values import EntryKind
from tests.core.stores import cases, write_cases
from tests.core.stores.worlds import World

NAMES = [name for name in cases.ODD_NAMES if "\n" not in name]
"""moto has no way to a key with a line feed."""


def is_usable(world: World, name: str) -> bool:
    """Whether the server has that name; no path leads to one that it takes for another."""
    assert isinstance(world.store, BucketStore)
    if world.store.client.is_name(name):
        return True
    with pytest.raises(NotFound):
        world.store.open(WorkPath(name))
    with pytest.raises(BadPath):
        world.store.place(WorkPath(name))
    return False


class TestReading(cases.Reading):
    """The same as everywhere."""

    @pytest.mark.parametrize("name", NAMES)
    def test_odd_names_are_names(self, world: World, name: str) -> None:
        if is_usable(world, name):
            super().test_odd_names_are_names(world, name)


class TestFolders(cases.Folders):
    """The same as everywhere, but that nothing is a link."""

    @pytest.mark.parametrize("most", [1, 2, 100])
    def test_names_come_many_at_a_time(self, world: World, most: int) -> None:
        world.file("d/file")
        world.folder("d/folder")
        with world.store.open_folder(WorkPath("d")) as folder:
            some = list(folder.names(most))
            assert [name for names in some for name in names.names] == ["file", "folder"]
            assert all(0 < len(names.names) <= most for names in some)
            assert {name: kind for names in some for name, kind in names.kinds.items()} == {
                "folder": EntryKind.FOLDER
            }

    def test_entries_come_with_their_kinds(self, world: World) -> None:
        world.file("d/file", b"12")
        world.folder("d/folder")
        with world.store.open_folder(WorkPath("d")) as folder:
            found = {entry.name: entry.kind for entry in folder.entries()}
            assert found == {"file": EntryKind.FILE, "folder": EntryKind.FOLDER}
            assert {name: folder.stat(name).kind for name in found} == found
            assert {name: folder.target(name) for name in found} == dict.fromkeys(found)


class TestPlacing(write_cases.Placing):
    """The same as everywhere, but that nothing is a link."""

    @pytest.mark.parametrize("name", NAMES)
    def test_a_new_file_has_its_bytes_and_nothing_else_is_there(self, world: World, name: str) -> None:
        if is_usable(world, name):
            super().test_a_new_file_has_its_bytes_and_nothing_else_is_there(world, name)


class TestExcluding(write_cases.Excluding):
    """The same as everywhere."""
