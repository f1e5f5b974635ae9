"""What the history takes, how long it is kept, and how many may use it at once."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from readroom.core.history.pruning import content_bytes, log_bytes, room
from readroom.core.history.settings import HistoryPolicy
from readroom.core.values.changes import DeleteRequest, WriteRequest
from readroom.core.values.history import HistoryRequest
from tests.core.history.pasts import Past, tree

MEGABYTE = 1024 * 1024


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


def disk_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def test_the_oldest_goes_until_the_rest_fits(root: Path, tmp_path: Path) -> None:
    folder, chance = tmp_path / "history", random.Random(1)
    past = Past(root, folder, most_bytes=2 * MEGABYTE)
    for number in range(400):
        past.do(WriteRequest(f"{number % 7}.txt", chance.randbytes(10_000).hex(), None))
        if not number % 50:
            assert disk_bytes(folder) <= 2 * MEGABYTE
    past.close()
    assert disk_bytes(folder) <= 2 * MEGABYTE
    past = Past(root, folder, most_bytes=2 * MEGABYTE)
    kept = past.changes(maximum=200)
    assert 30 < len(kept) < 200
    assert kept[0].id == 400
    assert [change.id for change in kept] == sorted((change.id for change in kept), reverse=True)
    assert past.undo(change=400).undone
    past.close()


def test_what_is_older_than_the_days_goes_and_a_clock_that_went_back_changes_no_order(
    root: Path, tmp_path: Path
) -> None:
    past = Past(root, tmp_path / "history", days=10)
    history = past.workspace.engine.services.history
    assert history is not None
    book, day = history.book(), 86_400 * 10**9
    clock = [100 * day]
    book.clock = lambda: clock[0]
    for content, at in (("one\n", 100), ("two\n", 50), ("three\n", 103), ("four\n", 102)):
        clock[0] = at * day
        past.do(WriteRequest("a.txt", content, None))
    assert [change.id for change in past.changes()] == [4, 3, 2, 1]
    for expected in (b"three\n", b"two\n"):
        past.undo(path="a.txt")
        assert (root / "a.txt").read_bytes() == expected
    assert len(past.changes()) == 6
    clock[0] = 111 * day
    for number in range(16):
        past.do(WriteRequest("b.txt", f"{number}\n", None))
    assert past.changes(maximum=200)[-1].id == 3, "the two before a younger one went"
    past.close()
    past = Past(root, tmp_path / "history", days=10)
    assert past.changes() == [], "they are older than ten days by the clock of today"
    past.close()


def test_a_change_of_two_gigabytes_is_said_and_cheap(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with (root / "big").open("wb") as file:
        file.truncate(2 * 1024 * MEGABYTE)
    past = Past(root, folder)
    result = past.do(DeleteRequest("big"))
    assert [warn.code for warn in result.warnings] == ["no_history"]
    assert disk_bytes(folder) < MEGABYTE
    (change,) = past.changes()
    assert (change.names[0].before.size, change.names[0].before.kept) == (2 * 1024 * MEGABYTE, False)
    past.close()


def test_a_folder_that_is_larger_than_the_history_is_not_kept_whole(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    (root / "d").mkdir()
    for number in range(60):
        (root / f"d/{number}").write_bytes(os.urandom(100_000))
    past = Past(root, folder, most_bytes=2 * MEGABYTE)
    result = past.do(DeleteRequest("d", recursive=True))
    assert [warn.code for warn in result.warnings] == ["no_history"]
    assert disk_bytes(folder) <= 2 * MEGABYTE
    past.close()


def test_the_log_next_to_the_database_has_its_part_of_the_bound() -> None:
    for most in (MEGABYTE, 16 * MEGABYTE, HistoryPolicy().most_bytes):
        policy = HistoryPolicy(most_bytes=most)
        assert room(policy) + log_bytes(policy) + content_bytes(policy) <= most
    assert content_bytes(HistoryPolicy()) == HistoryPolicy().file_bytes


WRITER = """
import sys
from pathlib import Path
from readroom.core.caller import Caller
from readroom.core.values.changes import WriteRequest
from tests.core.history.pasts import Past
root, folder, name, count = sys.argv[1:]
past = Past(Path(root), Path(folder))
codes = set()
for number in range(int(count)):
    result = past.do(WriteRequest(f"{name}.txt", f"{number}\\n", None), Caller(session=name))
    codes |= {warn.code for warn in result.warnings}
    shared = past.do(WriteRequest(f"shared/{name}-{number}", "x\\n", None), Caller(session=name))
    codes |= {warn.code for warn in shared.warnings}
past.close()
print(sorted(codes))
"""


def test_processes_share_a_history(root: Path, tmp_path: Path) -> None:
    folder, count = tmp_path / "history", 15
    line = [sys.executable, "-c", WRITER, str(root), str(folder)]
    writers = [
        subprocess.Popen([*line, name, str(count)], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        for name in ("one", "two", "three", "four")
    ]
    assert [writer.communicate()[0].strip() for writer in writers] == ["[]"] * 4
    past = Past(root, folder)
    found = past.changes(maximum=200)
    assert len(found) == 4 * 2 * count
    assert len({change.id for change in found}) == len(found)
    past.undo(session="two")
    assert not (root / "two.txt").exists()
    assert (root / "one.txt").read_text() == f"{count - 1}\n"
    for name in ("one", "three", "four"):
        past.undo(session=name)
    assert set(tree(root)) <= {"shared"}, "it was not empty when its maker's changes were taken back"
    assert not [path for path in folder.iterdir() if path.name.startswith("run-")][1:]
    past.close()


def test_many_writers_at_once_keep_every_change(root: Path, tmp_path: Path) -> None:
    past = Past(root, tmp_path / "history")
    problems: list[object] = []

    def write(name: int) -> None:
        for content in ("one\n", "two\n"):
            result = past.do(WriteRequest(f"{name % 8}/{name}.txt", content, None))
            problems.extend(result.warnings)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(96)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    names, cursor = [], None
    while True:
        result = past.do(HistoryRequest(cursor=cursor, maximum=50))
        every = [name for change in result.changes for name in change.names]
        names += [name.path for name in every if name.after.kind == "file"]
        cursor = result.cursor
        if cursor is None:
            break
    assert len(names) == 192
    assert sorted(set(names)) == sorted(f"{number % 8}/{number}.txt" for number in range(96))
    past.close()


def test_two_who_undo_the_same_change_at_once_lose_nothing(root: Path, tmp_path: Path) -> None:
    past = Past(root, tmp_path / "history")
    for number in range(10):
        past.write(f"{number}.txt", "one\n")
        past.write(f"{number}.txt", "two\n")
    first = {change.id: change.names[0] for change in past.changes()}
    changes = [change for change, name in first.items() if name.action == "changed"]
    outcomes: list[str] = []

    def undo(change: int) -> None:
        try:
            outcomes.append(past.undo(change=change).undone[0].action)
        except Exception as error:
            outcomes.append(type(error).__name__)

    threads = [threading.Thread(target=undo, args=(change,)) for change in changes * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {path.read_text() for path in root.iterdir()} == {"one\n"}
    assert outcomes.count("changed back") == len(changes)
    assert set(outcomes) <= {"changed back", "nothing", "NothingToUndo", "Changed"}
    past.close()


def test_a_folder_made_anew_says_so(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    past = Past(root, folder)
    past.write("a.txt", "a\n")
    past.close()
    root.rename(tmp_path / "away")
    root.mkdir()
    past = Past(root, folder)
    past.write("b.txt", "b\n")
    assert [(change.names[0].path, change.anew) for change in past.changes()] == [
        ("b.txt", False),
        ("a.txt", True),
    ]
    past.close()
    elsewhere = Past(tmp_path / "away", folder)
    assert elsewhere.changes() == []
    elsewhere.close()
