"""What is said of a path, and why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from readroom.errors import BadPath
from readroom.policy.explain import explain
from readroom.policy.guard import Guard
from readroom.stores.local import LocalStore
from readroom.stores.memory import MemoryStore
from readroom.values import EntryKind
from tests.stores.worlds import WAYS, Way


@pytest.fixture
def guard() -> Guard:
    store = MemoryStore(
        {
            "src/a.py": "",
            "build/out.o": "",
            ".env": "",
            "private/notes": "",
            ".gitignore": "# made\nbuild/\n",
            ".readroomignore": "private/\n",
        }
    )
    store.link("alias", "src/a.py")
    store.link("innocent", ".env")
    store.link("out", "../x")
    return Guard(store)


def test_an_allowed_file(guard: Guard) -> None:
    found = explain(guard, "./src//a.py")
    assert (found.path, found.allowed, found.real, found.kind) == (
        "src/a.py",
        True,
        "src/a.py",
        EntryKind.FILE,
    )
    assert (found.rule, found.problem, found.hidden, found.confinement) == (None, None, None, "none")


def test_a_link_is_explained_by_what_is_behind_it(guard: Guard) -> None:
    assert explain(guard, "alias").real == "src/a.py"
    found = explain(guard, "innocent")
    assert found.rule is not None
    assert (found.allowed, found.rule.pattern, found.denied_name) == (False, ".env", ".env")


@pytest.mark.parametrize("path", [".env", "x/.env", "nothing/.env"])
def test_a_denied_name_is_not_looked_up(guard: Guard, path: str) -> None:
    found = explain(guard, path)
    assert found.rule is not None
    assert (found.allowed, found.rule.source, found.denied_name, found.real) == (
        False,
        "defaults",
        path,
        None,
    )


@pytest.mark.parametrize("path", ["private", "private/notes", "private/nothing"])
def test_the_line_of_the_ignore_file_is_named(guard: Guard, path: str) -> None:
    found = explain(guard, path)
    assert found.rule is not None
    assert (found.allowed, found.rule.source) == (False, ".readroomignore:1")


def test_the_ignore_file_of_kilo_is_named_and_explained(guard: Guard) -> None:
    assert isinstance(guard.store, MemoryStore)
    guard.store.put(".kilocodeignore", "\nsrc/\n")
    for path, rule in (("alias", "src/"), (".kilocodeignore", "/.kilocodeignore")):
        found = explain(guard, path)
        assert found.rule is not None
        assert (found.allowed, found.rule.pattern) == (False, rule)
        assert found.rule.source.partition(":")[0] == ".kilocodeignore"


def test_what_is_hidden_is_still_allowed(guard: Guard) -> None:
    for path in ("build/out.o", "build"):
        found = explain(guard, path)
        assert found.hidden is not None
        assert (found.allowed, found.hidden.source, found.hidden.pattern) == (True, ".gitignore:2", "build/")


@pytest.mark.parametrize(
    ("path", "allowed", "code"),
    [("nothing", True, "not_found"), ("out", False, "outside_root"), ("/etc/passwd", False, "outside_root")],
)
def test_what_cannot_be_used_says_why(guard: Guard, path: str, allowed: bool, code: str) -> None:
    found = explain(guard, path)
    assert found.problem is not None
    assert (found.allowed, found.problem.code, found.rule) == (allowed, code, None)


def test_a_path_that_is_none_is_an_error(guard: Guard) -> None:
    with pytest.raises(BadPath):
        explain(guard, "")


@pytest.mark.parametrize("way", WAYS)
def test_hard_links_and_special_files_on_disk(way: Way, tmp_path: Path) -> None:
    (tmp_path / ".env").touch()
    os.link(tmp_path / ".env", tmp_path / "innocent")
    os.mkfifo(tmp_path / "pipe")
    guard = Guard(LocalStore(tmp_path, way))
    found = explain(guard, "innocent")
    assert found.problem is not None
    assert (found.allowed, found.problem.code, found.links) == (False, "hard_linked", 2)
    found = explain(guard, "pipe")
    assert found.problem is not None
    assert (found.allowed, found.problem.code, found.confinement) == (False, "not_a_file", way)
