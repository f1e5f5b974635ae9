"""Of any number of changes against one hash exactly one is made, and none that was acknowledged is lost.

Measured peers: of 96 acknowledged edits 3 survived in three of them.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from readroom.core.stores.local import Confinement
from readroom.core.workspace import Workspace
from tests.core.engine.edit.changing import STORES, Room, made
from tests.core.stores.worlds import WAYS
from tests.races.writers import Crew, create, crew, edit

PROCESSES = 12
ROUNDS = 10
WORDS = 3
"""Edits of each process, all in one file."""

PROCESS_WAYS: list[Confinement] = [WAYS[number % len(WAYS)] for number in range(PROCESSES)]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("root")


@pytest.fixture(scope="module")
def processes(root: Path) -> Iterator[Crew]:
    with crew(root, PROCESS_WAYS) as found:
        yield found


def digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def test_of_many_processes_exactly_one_edits(processes: Crew, root: Path) -> None:
    for number in range(ROUNDS):
        text = f"round {number}: free\n"
        (root / "f").write_text(text, encoding="utf-8")
        orders = [["edit", "f", digest(text), "free", f"won by {who}"] for who in range(PROCESSES)]
        answers = processes.do(orders)
        assert Counter(answers) == {"won": 1, "stale": PROCESSES - 1}
        winner = answers.index("won")
        assert (root / "f").read_text(encoding="utf-8") == f"round {number}: won by {winner}\n"
    assert not [name for name in os.listdir(root) if name.startswith(".")]


def test_of_many_processes_exactly_one_creates(processes: Crew, root: Path) -> None:
    for number in range(ROUNDS):
        path = f"new/{number}/deep/f"
        answers = processes.do([["create", path, f"by {who}"] for who in range(PROCESSES)])
        assert Counter(answers) == {"won": 1, "exists": PROCESSES - 1}
        assert (root / path).read_text(encoding="utf-8") == f"by {answers.index('won')}"
        assert os.listdir((root / path).parent) == ["f"]


def test_no_acknowledged_edit_of_many_processes_is_lost(processes: Crew, root: Path) -> None:
    (root / "list").write_text("\nend", encoding="utf-8")
    words = [[f"{who}.{number}" for number in range(WORDS)] for who in range(PROCESSES)]
    processes.do([["append", "list", mine] for mine in words])
    found = (root / "list").read_text(encoding="utf-8").split()
    assert sorted(found) == sorted(["end", *(word for mine in words for word in mine)])


EDITORS = 96
SHARED = 7
"""Files that the editors have in common, in three folders."""


def test_no_acknowledged_edit_of_several_files_is_lost(processes: Crew, root: Path) -> None:
    """Each editor changes three files in one call, and every two of them may have some in common."""
    paths = [f"shared/{number % 3}/{number}" for number in range(SHARED)]
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"")
    sets = {
        f"editor {who}": [paths[who % SHARED], paths[(who + 1 + who // 3) % SHARED]] for who in range(EDITORS)
    }
    calls = {
        word: sorted({*chosen, paths[(len(word) + at) % SHARED]})
        for at, (word, chosen) in enumerate(sets.items())
    }
    each = EDITORS // PROCESSES
    words = list(calls)
    orders = [
        ["append_to_several", [[word, calls[word]] for word in words[who * each : (who + 1) * each]]]
        for who in range(PROCESSES)
    ]
    processes.do(orders)
    for path in paths:
        found = (root / path).read_text(encoding="utf-8").splitlines()
        assert sorted(found) == sorted(word for word in words if path in calls[word])
    assert not [name for folder in range(3) for name in os.listdir(root / f"shared/{folder}") if "." in name]


@pytest.mark.parametrize("kind", STORES)
def test_of_many_threads_exactly_one_edits(kind: str, tmp_path: Path) -> None:
    room = Room(made(kind, tmp_path))
    with ThreadPoolExecutor(PROCESSES) as pool:
        for number in range(ROUNDS):
            text = f"round {number}: free\n"
            room.file("f", text)

            def act(who: int, text: str = text) -> str:
                return edit(room.workspace, "f", digest(text), "free", f"won by {who}")

            answers = list(pool.map(act, range(PROCESSES)))
            assert Counter(answers) == {"won": 1, "stale": PROCESSES - 1}
            assert room.data("f").decode() == f"round {number}: won by {answers.index('won')}\n"
            path = f"new/{number}/f"
            answers = list(pool.map(lambda who, path=path: create(room.workspace, path, str(who)), range(9)))
            assert Counter(answers) == {"won": 1, "exists": 8}
    assert room.names() == ["f", "new"]


def test_another_program_that_saves_by_renaming_loses_nothing(tmp_path: Path) -> None:
    """It knows nothing of our locks: what it saved is there, or was what an edit was made on."""
    with Workspace(tmp_path) as workspace, ThreadPoolExecutor(1) as pool:
        for number in range(100):
            text = f"round {number}\n"
            (tmp_path / "f").write_text(text, encoding="utf-8")
            saving = pool.submit(_save, tmp_path / "f", f"saved {number}\n")
            answer = edit(workspace, "f", digest(text), "round", "edited")
            saving.result()
            found = (tmp_path / "f").read_text(encoding="utf-8")
            assert found == f"saved {number}\n", (answer, found)
    assert os.listdir(tmp_path) == ["f"]


def _save(path: Path, text: str) -> None:
    aside = path.with_name("aside")
    aside.write_text(text, encoding="utf-8")
    aside.rename(path)
