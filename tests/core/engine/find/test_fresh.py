"""A ranked search answers from the tree as it is now, and the same tree gives the same bytes."""

from __future__ import annotations

import os
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from tests.core.engine.find.test_guard import on_disk
from tests.laws.driving import fact

OLD = (1_600_000_000, 1_600_000_000)
FILES = {
    f"pkg/part_{number}.py": f"def step_{number}(engine):\n    return engine.start({number})\n"
    for number in range(40)
}


def found(room: Workspace, question: str) -> list[str]:
    return [file["path"] for file in fact(room.find(question, output="files"), "files")]


@pytest.fixture
def room(tmp_path: Path) -> Workspace:
    on_disk(tmp_path, FILES)
    opened = Workspace(tmp_path)
    assert found(opened, "quaternion") == []
    assert found(opened, "engine start")
    return opened


def test_an_edit_is_found_at_once(room: Workspace, tmp_path: Path) -> None:
    (tmp_path / "pkg/part_7.py").write_text("def quaternion(): pass\n")
    assert found(room, "quaternion") == ["pkg/part_7.py"]


def test_an_edit_that_keeps_size_and_time_is_found(room: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "pkg/part_7.py"
    stat = path.stat()
    path.write_text(path.read_text().replace("engine", "motors"))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_size == stat.st_size
    assert found(room, "motors") == ["pkg/part_7.py"]
    assert "pkg/part_7.py" not in found(room, "engine")


def test_edits_within_one_tick_of_the_clock_are_found(room: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "pkg/part_7.py"
    for number in range(30):
        word = "word" + "abcdefghij"[number // 10] + "klmnopqrst"[number % 10] + "z"
        path.write_text(f"def {word}(): pass\n")
        assert found(room, word) == ["pkg/part_7.py"]


def test_a_new_name_a_removed_and_a_renamed_file_are_as_they_are(room: Workspace, tmp_path: Path) -> None:
    (tmp_path / "pkg/new.py").write_text("quaternion = 1\n")
    assert found(room, "quaternion") == ["pkg/new.py"]
    os.rename(tmp_path / "pkg/new.py", tmp_path / "pkg/part_9.py")
    assert found(room, "quaternion") == ["pkg/part_9.py"]
    (tmp_path / "pkg/part_9.py").unlink()
    assert found(room, "quaternion") == []


def test_a_file_put_in_place_of_another_with_its_times_is_found(room: Workspace, tmp_path: Path) -> None:
    path, other = tmp_path / "pkg/part_3.py", tmp_path / "other"
    text = path.read_text()
    other.write_text(text.replace("engine", "motors"))
    stat = path.stat()
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    os.replace(other, path)
    assert found(room, "motors") == ["pkg/part_3.py"]


def test_permissions_taken_away_hide_a_file_at_once(room: Workspace, tmp_path: Path) -> None:
    (tmp_path / "readroom.toml").unlink(missing_ok=True)
    (tmp_path / "pkg/part_3.py").chmod(0)
    if os.access(tmp_path / "pkg/part_3.py", os.R_OK):
        return  # the superuser may read it still
    assert "pkg/part_3.py" not in found(room, "engine start")


def test_two_workspaces_and_a_writer_agree_with_the_tree(tmp_path: Path) -> None:
    """Texts that one keeps are no business of the other; each answer is of a state that was there."""
    on_disk(tmp_path, FILES)
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            fresh = tmp_path / "fresh"
            fresh.write_text(f"def alpha{number}(): return beta{number}\n" * (number % 5 + 1))
            os.replace(fresh, tmp_path / "pkg/part_5.py")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        with Workspace(tmp_path) as one, Workspace(tmp_path) as two:
            for _ in range(20):
                for room in (one, two):
                    reply = room.find("alpha beta engine", path="pkg")
                    for line in reply.text.split("\n"):
                        name, _, rest = line.partition("alpha")
                        if name.endswith("def ") and rest:
                            assert f"beta{rest.partition('(')[0]}" in rest
    finally:
        stop.set()
        writer.join()
    with Workspace(tmp_path) as after:
        (tmp_path / "pkg/part_5.py").write_text("def gamma(): pass\n")
        assert found(after, "gamma") == ["pkg/part_5.py"]


def test_the_same_tree_gives_the_same_bytes(tmp_path: Path) -> None:
    """Whatever order the files were made in, whatever store, whatever is kept, whoever asks first."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("engine start", {}),
        ("step_7", {"explain": True}),
        ("engine", {"output": "files", "explain": True}),
    ]
    texts = []
    for seed in range(3):
        names = list(FILES)
        random.Random(seed).shuffle(names)
        root = tmp_path / str(seed)
        on_disk(root, {name: FILES[name] for name in names})
        with Workspace(root) as room:
            texts += [[room.find(question, **more).text for question, more in calls] for _ in range(3)]
    for store in (
        LocalStore(tmp_path / "0", confinement="walk"),
        MemoryStore({p: t.encode() for p, t in FILES.items()}),
    ):
        with Workspace(store) as room:
            texts.append([room.find(question, **more).text for question, more in calls])
    assert all(one == texts[0] for one in texts)


def test_pages_go_on_where_files_come_and_go(tmp_path: Path) -> None:
    on_disk(tmp_path, FILES)
    with Workspace(tmp_path) as room:
        first = room.find("engine start", budget_tokens=200)
        shown = {file["path"] for file in fact(first, "files")}
        for path in shown:
            (tmp_path / path).unlink()
        following = fact(first, "next")
        second = room.call(following["tool"], following["arguments"])
        assert not second.is_error
        assert not shown & {file["path"] for file in fact(second, "files")}
