"""The store in memory."""

from __future__ import annotations

from itertools import count

import pytest

from readroom.core.errors import BadPath, NotAFile, NotAFolder, NotFound
from readroom.core.paths import WorkPath
from readroom.core.stores.memory import MemoryStore
from tests.core.stores import cases
from tests.core.stores.worlds import MemoryWorld


@pytest.fixture
def world() -> MemoryWorld:
    return MemoryWorld()


class TestReading(cases.Reading):
    """The same as everywhere."""


class TestFolders(cases.Folders):
    """The same as everywhere."""


class TestLinks(cases.Links):
    """The same as everywhere."""


def test_text_is_stored_as_utf_8_and_bytes_as_they_are() -> None:
    store = MemoryStore({"a/text": "é\udcff", "bytes": b"\xff"})
    with store.open(WorkPath("a/text")) as text, store.open(WorkPath("bytes")) as data:
        assert text.read_at(0, 9) == b"\xc3\xa9\xff"
        assert data.read_at(0, 9) == b"\xff"


def test_versions_grow_with_every_change_and_the_identity_stays() -> None:
    store = MemoryStore({"f": "same"})
    seen = []
    for _ in range(3):
        store.put("f", "same", mtime_ns=7)
        seen.append(store.version(WorkPath("f")))
    assert [version.ctime_ns for version in seen if version] == sorted(
        {version.ctime_ns for version in seen if version}
    )
    assert len({version.inode for version in seen if version}) == 1


def test_times_come_from_the_clock() -> None:
    ticks = count(100)
    store = MemoryStore(clock=lambda: next(ticks))
    store.put("f", b"")
    assert store.stat(WorkPath("f"))[1].mtime_ns == 101


def test_a_file_does_not_stand_where_a_folder_is_and_the_other_way_round() -> None:
    store = MemoryStore({"d/f": ""})
    for path in ("d", "."):
        with pytest.raises(NotAFile):
            store.put(path, "")
    with pytest.raises(NotAFolder):
        store.put("d/f/below", "")
    with pytest.raises(NotAFolder):
        store.make_folder("d/f")


def test_deleted_names_are_gone_and_bad_ones_are_told() -> None:
    store = MemoryStore({"d/f": "", "d/g": ""})
    store.delete("d/f")
    with pytest.raises(NotFound):
        store.delete("d/f")
    store.delete("d")
    with pytest.raises(NotFound):
        store.open(WorkPath("d/g"))
    with pytest.raises(BadPath):
        store.put("", "")
