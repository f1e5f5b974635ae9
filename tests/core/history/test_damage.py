"""A history that is damaged, full, of another version, or prepared by somebody else.

The work goes on and says so, or is refused where a past is required; no byte is written that was not there.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from readroom.core import errors
from readroom.core.history.database import FILE
from readroom.core.values.changes import DeleteRequest, MoveRequest, WriteRequest
from readroom.core.values.history import DiffRequest, ForgetRequest
from tests.core.history.pasts import Past, tree

ROUNDS = 60

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount, or become another user")

CONTENTS = [f"content {number}\n" * (number * 7 + 1) for number in range(8)]


@pytest.fixture(name="root")
def _root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    root.mkdir()
    return root


def filled(root: Path, folder: Path) -> None:
    """A workspace with some changes."""
    past = Past(root, folder)
    for content in CONTENTS:
        past.write("a.txt", content)
        past.write("d/b.txt", content)
    past.do(MoveRequest("d/b.txt", "d/c.txt"))
    past.do(DeleteRequest("a.txt"))
    past.close()


def used(past: Past, root: Path) -> Iterator[str]:
    """Everything that can be asked of a history; the codes of what was refused."""
    numbers = range(1, 20)
    acts: list[Callable[[], object]] = [
        past.changes,
        *(lambda number=number: past.do(DiffRequest(number)) for number in numbers),
        *(lambda number=number: past.undo(change=number) for number in reversed(numbers)),
        lambda: past.undo(path="a.txt"),
        lambda: past.do(ForgetRequest("d")),
    ]
    for act in acts:
        try:
            act()
        except errors.ReadroomError as error:
            yield error.code


def test_flipped_bytes_give_no_wrong_byte(root: Path, tmp_path: Path) -> None:
    filled(root, tmp_path / "whole")
    shutil.move(root, tmp_path / "kept")
    seen = set[str]()
    for number in range(ROUNDS):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "kept", root)
        folder = tmp_path / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", folder)
        file = folder / FILE
        data = bytearray(file.read_bytes())
        chance = random.Random(number)
        for _ in range(1 + number % 30):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        file.write_bytes(data[: len(data) // (1 + number % 3)])
        past = Past(root, folder)
        seen |= set(used(past, root))
        result = past.do(WriteRequest("a.txt", "goes on\n", None))
        seen |= {warn.code for warn in result.warnings}
        past.close()
        known = {content.encode() for content in CONTENTS} | {b"goes on\n"}
        found = tree(root)
        assert {what[2] for what in found.values() if what[0] == "file"} <= known
        assert set(found) <= {"a.txt", "d", "d/b.txt", "d/c.txt"}
    assert {"history_failed", "no_history"} <= seen


@pytest.mark.parametrize("kind", ["garbage", "version", "another", "trigger", "view", "table"])
def test_another_database_is_not_used_and_stays(kind: str, root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    filled(root, folder)
    file = folder / FILE
    if kind == "garbage":
        file.write_bytes(os.urandom(10_000))
    else:
        statement = {
            "version": "PRAGMA user_version = 99",
            "another": "PRAGMA application_id = 7",
            "trigger": "CREATE TRIGGER t AFTER INSERT ON changes BEGIN DELETE FROM names; END",
            "view": "CREATE VIEW v AS SELECT * FROM names",
            "table": "CREATE TABLE more (x)",
        }[kind]
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(statement)
            connection.commit()
    before = file.read_bytes()
    past = Past(root, folder)
    with pytest.raises(errors.HistoryFailed) as refused:
        past.changes()
    assert str(folder) in refused.value.message
    assert [warn.code for warn in past.do(WriteRequest("n", "n\n", "absent")).warnings] == ["no_history"]
    past.close()
    assert file.read_bytes() == before
    strict = Past(root, folder, required=True)
    with pytest.raises(errors.HistoryRequired):
        strict.do(WriteRequest("m", "m\n", "absent"))
    strict.close()
    assert not (root / "m").exists()


def test_a_history_in_use_is_no_damage(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "history"
    filled(root, folder)
    monkeypatch.setattr("readroom.core.history.database._WAIT_S", 0.1)
    past = Past(root, folder)
    with closing(sqlite3.connect(folder / FILE, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(errors.HistoryFailed, match="another program is using it") as refused:
            past.changes()
    assert "move it away" not in refused.value.advice
    assert past.changes()
    past.close()


@pytest.mark.parametrize("kind", ["link", "file", "linked file", "hard link", "pipe"])
def test_a_folder_that_somebody_prepared_is_not_used(kind: str, root: Path, tmp_path: Path) -> None:
    folder, theirs = tmp_path / "history", tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "victim").write_bytes(b"victim\n")
    if kind == "link":
        folder.symlink_to(theirs)
    elif kind == "file":
        folder.write_bytes(b"")
    else:
        folder.mkdir()
        if kind == "linked file":
            (folder / FILE).symlink_to(theirs / "victim")
        elif kind == "hard link":
            os.link(theirs / "victim", folder / FILE)
        else:
            os.mkfifo(folder / FILE)
    past = Past(root, folder)
    assert [warn.code for warn in past.do(WriteRequest("n", "n\n", "absent")).warnings] == ["no_history"]
    past.close()
    assert tree(theirs) == {"victim": ("file", 0o644, b"victim\n")}


@as_root
def test_a_folder_of_another_user_is_not_used(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    os.chown(folder, 12345, 12345)
    past = Past(root, folder)
    assert [warn.code for warn in past.do(WriteRequest("n", "n\n", "absent")).warnings] == ["no_history"]
    past.close()
    assert list(folder.iterdir()) == []


def test_wide_modes_are_taken_back(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    filled(root, folder)
    os.chmod(folder, 0o777)
    os.chmod(folder / FILE, 0o666)
    past = Past(root, folder)
    past.write("n", "n\n")
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    past.close()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert set(modes.values()) == {0o600}


def test_a_record_that_leaves_the_root_is_not_believed(root: Path, tmp_path: Path) -> None:
    folder, outside = tmp_path / "history", tmp_path / "outside"
    past = Past(root, folder)
    past.write("a.txt", "a\n")
    past.do(DeleteRequest("a.txt"))
    change = past.changes()[0].id
    past.close()
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.execute("UPDATE names SET path = ? WHERE change = ?", (b"../outside", change))
        connection.commit()
    past = Past(root, folder)
    with pytest.raises(errors.HistoryFailed):
        past.undo(change=change)
    past.close()
    assert not outside.exists()


def test_a_history_in_the_root_is_denied(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from readroom.core.workspace import Workspace

    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    with Workspace(root) as workspace:
        workspace.write("a.txt", "secret words\n", "absent")
        assert (root / "state/readroom/history" / FILE).exists()
        for path in ("state/readroom/history", f"state/readroom/history/{FILE}"):
            with pytest.raises(errors.Denied):
                workspace.read(path)
        with pytest.raises(errors.ReadroomError):
            workspace.change([{"action": "delete", "path": "state", "entries": 3}])
        assert workspace.grep("secret").text.count("history") == 0


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A disk of its own for a folder."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@as_root
def test_on_a_full_disk_the_work_goes_on_and_says_so(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with small_disk(folder, "1m"):
        past = Past(root, folder)
        codes = []
        for number in range(20):
            content = os.urandom(60_000).hex()
            result = past.do(WriteRequest(f"{number}.txt", content, "absent"))
            codes += [warn.code for warn in result.warnings]
            assert (root / f"{number}.txt").read_text() == content
        assert set(codes) == {"no_history"}
        kept = past.changes(maximum=100)
        assert 0 < len(kept) < 20
        for change in kept:
            past.undo(change=change.id)
        assert len(tree(root)) == 20 - len(kept)
        past.close()


@as_root
def test_on_a_read_only_disk_the_work_goes_on_and_says_so(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with small_disk(folder, "4m"):
        past = Past(root, folder)
        past.write("a.txt", "a\n")
        past.close()
        subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
        past = Past(root, folder)
        result = past.do(WriteRequest("a.txt", "b\n", None))
        assert [warn.code for warn in result.warnings] == ["no_history"]
        assert "ead-only" in result.warnings[0].detail
        past.close()
