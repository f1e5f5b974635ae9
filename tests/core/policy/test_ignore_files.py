"""Ignore files of a tree give git's answers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.paths import WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IGNORE_KEPT_BYTES, IGNORE_SLOW_PATTERNS, IgnoreTree
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from tests.core.policy.rules.test_gitignore import ignored_by_git

FOLDERS = ["", "a", "a/b", "a/b/c", "d", "d/b"]
NAMES = ["x", "y.log", "b.txt", ".hidden", "é"]

_patterns = st.lists(
    st.sampled_from(
        [
            *("x", "/x", "x/", "*.log", "!*.log", "!y.log", "b", "/b", "b/", "!b/", "a/b", "a/b/", "!a/b/"),
            *(
                "**/b",
                "b/**",
                "!b/**",
                "a/**/x",
                "*",
                "!*/",
                "!x",
                "/*",
                "!/a",
                "c/x",
                "!c/x",
                ".*",
                "é",
                "[bd]",
            ),
            *("*.txt", "!b.txt", "#x", "", "**", "/**/x", "d/", "!d/b/"),
        ]
    ),
    max_size=4,
)
_ignore_files = st.dictionaries(st.sampled_from([*FOLDERS, ".git/info"]), _patterns, max_size=4)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", root], check=True)
    for folder in FOLDERS:
        (root / folder).mkdir(exist_ok=True)
        for name in NAMES:
            (root / folder / name).touch()
    return root


def _place(root: Path, folder: str) -> Path:
    return root / folder / ("exclude" if folder == ".git/info" else ".gitignore")


@given(files=_ignore_files)
def test_any_ignore_files_hide_what_git_ignores(repository: Path, files: dict[str, list[str]]) -> None:
    for folder in [*FOLDERS, ".git/info"]:
        _place(repository, folder).unlink(missing_ok=True)
    for folder, lines in files.items():
        _place(repository, folder).write_text("\n".join(lines), encoding="utf-8")
    places = [(folder, True) for folder in FOLDERS if folder]
    places += [(join(WorkPath(folder or "."), name), False) for folder in FOLDERS for name in NAMES]
    tree = IgnoreTree(Guard(LocalStore(repository)))
    ours = [tree.ignored(WorkPath(path), folder=is_folder) for path, is_folder in places]
    git = ignored_by_git(repository, [path for path, _ in places])
    assert [place for place, one, other in zip(places, ours, git, strict=True) if one != other] == []


@given(files=_ignore_files, folder=st.sampled_from(FOLDERS))
def test_many_names_are_hidden_as_each_of_them(files: dict[str, list[str]], folder: str) -> None:
    store = MemoryStore({f"{name}/.gitignore".lstrip("/"): "\n".join(lines) for name, lines in files.items()})
    names = [*NAMES, "b", "c", "odd\nname", "\udcff"]
    path = WorkPath(folder or ".")
    guard = Guard(store)
    one_by_one = {
        name for name in names if IgnoreTree(guard).ignored(join(path, name), folder=name in ("b", "c"))
    }
    assert IgnoreTree(guard).hidden(path, names, {"b", "c"}) == one_by_one


def hidden(files: dict[str, str], path: str, *, folder: bool = False, top: str = ".") -> bool:
    return IgnoreTree(Guard(MemoryStore(files)), WorkPath(top)).ignored(WorkPath(path), folder=folder)


def test_the_pattern_that_hides_is_named_with_its_line() -> None:
    guard = Guard(MemoryStore({"a/.gitignore": "# logs\n*.log\n"}))
    rule = IgnoreTree(guard).rule(WorkPath("a/b/x.log"), folder=False)
    assert rule is not None
    assert (rule.pattern, rule.source) == ("*.log", "a/.gitignore:2")


def test_the_folder_that_was_asked_for_is_shown_although_it_is_hidden() -> None:
    files = {".gitignore": "build/\n*.o\n"}
    assert hidden(files, "build/x.txt")
    assert not hidden(files, "build/x.txt", top="build")
    assert not hidden(files, "build/deep/x.txt", top="build/deep")
    assert hidden(files, "build/x.o", top="build")


def test_another_repository_below_has_its_own_ignore_files_only() -> None:
    files = {
        ".gitignore": "*.log\n",
        "vendor/.git/HEAD": "",
        "vendor/.gitignore": "*.tmp\n",
        "vendor/.git/info/exclude": "*.bak\n",
    }
    assert hidden(files, "a.log")
    assert not hidden(files, "vendor/a.log")
    assert hidden(files, "vendor/a/b.tmp")
    assert hidden(files, "vendor/a.bak")
    assert not hidden(files, "a.bak")


def test_ignore_files_work_without_a_repository() -> None:
    assert hidden({".gitignore": "x\n"}, "x")


def test_a_link_is_no_ignore_file_and_no_folder(tmp_path: Path) -> None:
    """As in git, which does not follow it; and `x/` means folders only."""
    (tmp_path / "rules").write_bytes(b"y\n")
    (tmp_path / ".gitignore").symlink_to("rules")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".gitignore").write_bytes(b"x/\n")
    tree = IgnoreTree(Guard(LocalStore(tmp_path)))
    assert not tree.ignored(WorkPath("y"), folder=False)
    assert not tree.ignored(WorkPath("sub/x"), folder=False)
    assert tree.ignored(WorkPath("sub/x"), folder=True)


def test_an_ignore_file_outside_the_root_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"*\n")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".gitignore").symlink_to("../.gitignore")
    os.mkfifo(tmp_path / "root" / "pipe")
    assert not IgnoreTree(Guard(LocalStore(tmp_path / "root"))).ignored(WorkPath("a"), folder=False)


def test_what_is_no_readable_file_hides_nothing(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "d" / ".gitignore").mkdir(parents=True)
    tree = IgnoreTree(Guard(LocalStore(tmp_path)))
    assert not tree.ignored(WorkPath("d/a"), folder=False)


def test_more_patterns_than_anybody_writes_are_not_used() -> None:
    """Each costs time on every name; what they mean to hide is shown."""
    few, many = "*a*b*\n" * IGNORE_SLOW_PATTERNS, "*a*b*\n" * (IGNORE_SLOW_PATTERNS + 1)
    assert hidden({".gitignore": few}, "d/ab")
    assert not hidden({".gitignore": many}, "d/ab")
    assert hidden({".gitignore": "*.o\n", "d/.gitignore": many}, "d/x.o")
    assert hidden({".gitignore": "name\n" * 20_000 + "last\n"}, "d/last")


def test_what_is_kept_of_a_large_tree_is_bounded() -> None:
    """And dropping it changes no answer."""
    big = "# " + "x" * (IGNORE_KEPT_BYTES // 5) + "\n*.o\n"
    files = {f"d{number}/.gitignore": big for number in range(20)}
    tree = IgnoreTree(Guard(MemoryStore({**files, ".gitignore": "/d7/sub/\n"})))
    for number in [*range(20), *range(20)]:
        assert tree.ignored(WorkPath(f"d{number}/a.o"), folder=False)
        assert tree.ignored(WorkPath(f"d{number}/sub"), folder=True) is (number == 7)


def test_a_denied_ignore_file_still_hides() -> None:
    """Policy keeps content from readers; hiding shows none."""
    files = {".gitignore": "x\n", ".readroomignore": ".gitignore\n"}
    assert hidden(files, "x")
