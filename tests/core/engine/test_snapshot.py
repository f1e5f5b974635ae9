"""A copy of a folder in memory: what may be seen, within bounds."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readroom.core.deadline import Deadline
from readroom.core.engine.snapshot import STORE_FILES, snapshot
from readroom.core.errors import NoSpace, TooLarge
from readroom.core.limits.session import STORE_BYTES
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore


def contents(folder: Path) -> dict[str, bytes]:
    guard = Guard(LocalStore(folder))
    try:
        return {str(path): data for path, data in snapshot(guard, Deadline()).contents()}
    finally:
        guard.close()


def test_what_may_be_seen_is_copied_with_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a").write_bytes(bytes(range(256)))
    (tmp_path / ".hidden").write_text("x")
    assert contents(tmp_path) == {".hidden": b"x", "docs/a": bytes(range(256))}


def test_what_is_denied_ignored_or_no_file_is_left_out(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a.log").write_text("x")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "inner").symlink_to(".gitignore")
    assert set(contents(tmp_path)) == {".gitignore"}


def test_more_files_than_a_store_takes_are_refused(tmp_path: Path) -> None:
    for number in range(STORE_FILES + 1):
        os.close(os.open(f"{tmp_path}/{number}", os.O_CREAT))
    with pytest.raises(TooLarge) as caught:
        contents(tmp_path)
    assert "sandbox" in str(caught.value)


def test_more_bytes_than_a_store_takes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    with open(tmp_path / "giant", "wb") as file:
        file.truncate(STORE_BYTES + 1)
    with pytest.raises(TooLarge):
        contents(tmp_path)


def test_a_store_holds_no_more_bytes_than_it_may() -> None:
    store = MemoryStore({"a": "12345"}, most_bytes=8)
    store.put("a", "12345678")
    with pytest.raises(NoSpace):
        store.put("b", "1")
    store.delete("a")
    store.put("b", "1")
    assert store.contents() == [("b", b"1")]


def test_room_is_there_again_whatever_took_the_place_of_a_file() -> None:
    store = MemoryStore({"a": "1234", "folder/b": "1234"}, most_bytes=8)
    store.link("a", "folder/b")
    store.put("folder/b", "12345678")
    store.link("folder", "nowhere")
    store.put("c", "1234")
    store.put("d", "1234")
    path = {name: WorkPath(name) for name in ("c", "d")}
    there = store.version(path["d"])
    store.move(path["c"], store.stat(path["c"])[1], path["d"], there)
    store.put("e", "1234")
    store.remove(path["d"], None, None)
    store.put("f", "1234")
    with pytest.raises(NoSpace):
        store.put("g", "1")
