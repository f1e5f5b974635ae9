"""Patterns give git's answers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.policy.rules.gitignore import (
    PatternList,
    UnusablePattern,
    byte_text,
    decode_lines,
    patterns,
    translate,
)
from tests.each import each

NAMES = ["a", "b", "ab", "a.b", "b a", "a ", "[", "]", "-", "\\", "é", "A", "!", "#", "*", "x\n", "\u202e"]

ATOMS = [
    *("a", "b", ".", "-", "!", "#", " ", "é", "A", "/", "/", "*", "*", "**", "?", "/**/", "**/"),
    *("[ab]", "[!a]", "[^b]", "[a-c]", "[]a]", "[b-a]", "[a-]", "[é]", "[a/b]", "[[:alpha:]]"),
    *("[[:digit:]-]", "[[:foo:]]", "[[:a]", "[\\]]", "[", "]", "[a", "\\", "\\a", "\\*", "\\/", "\\ "),
]

_lines = st.lists(
    st.tuples(st.sampled_from(["", "", "", "!"]), st.lists(st.sampled_from(ATOMS), max_size=7)).map(
        lambda line: line[0] + "".join(line[1])
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with every odd name as a file and as a folder, three levels deep."""
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q", root], check=True)
    folders = [root]
    for _ in range(2):
        folders = [folder / name for folder in folders for name in NAMES[::3]]
        for folder in folders:
            folder.mkdir()
            for name in NAMES:
                if name not in NAMES[::3]:
                    (folder / name).touch()
    return root


def _places(root: Path) -> Iterator[tuple[str, bool]]:
    for path in root.rglob("*"):
        name = os.fspath(path.relative_to(root))
        if not name.startswith((".git/", ".gitignore")) and name != ".git":
            yield name, path.is_dir()


def ignored_by_git(root: Path, names: list[str]) -> list[bool]:
    run = subprocess.run(
        ["git", "-C", root, "check-ignore", "--stdin", "-z", "-v", "-n", "--no-index"],
        input=b"\0".join(map(os.fsencode, names)),
        capture_output=True,
        check=False,
    )
    fields = run.stdout.split(b"\0")
    return [bool(pattern) and not pattern.startswith(b"!") for pattern in fields[2::4]]


def _ignored(found: PatternList, name: str, folder: bool) -> bool:
    cuts = [at for at, char in enumerate(name) if char == "/"]
    steps = [*((name[:at], True) for at in cuts), (name, folder)]
    decisions = (found.deciding(byte_text(step), folder=is_folder) for step, is_folder in steps)
    return any(pattern is not None and not pattern.negated for pattern in decisions)


@given(lines=_lines)
def test_any_patterns_mean_what_they_mean_to_git(tree: Path, lines: list[str]) -> None:
    (tree / ".gitignore").write_bytes("\n".join(lines).encode())
    places = list(_places(tree))
    found = PatternList(patterns(decode_lines((tree / ".gitignore").read_bytes())))
    ours = [_ignored(found, name, folder) for name, folder in places]
    git = ignored_by_git(tree, [name for name, _ in places])
    assert [place for place, one, other in zip(places, ours, git, strict=True) if one != other] == []


@each(
    "data",
    [
        b"\xef\xbb\xbfa\n",
        b"a\r\nb\r\n",
        b"a  \n",
        b"a\\ \n",
        b"a\\ \\ ",
        b"\\#\n\\!\n",
        b"#a\n\n!a\n",
        b"\xc3\xa9",
        b"x?\n",
        b"x[\n]\n",
        b"/\n//\n!\n!/\n\\\n",
    ],
)
def test_files_are_split_into_patterns_as_git_does(tree: Path, data: bytes) -> None:
    (tree / ".gitignore").write_bytes(data)
    places = list(_places(tree))
    found = PatternList(patterns(decode_lines(data)))
    git = ignored_by_git(tree, [name for name, _ in places])
    assert [_ignored(found, name, folder) for name, folder in places] == git


@each("glob", ["a[", "[[:foo:]]", "a\\", "[a", "[[:alpha:]", "[\\", "[a-"])
def test_patterns_that_match_nothing_are_told(glob: str) -> None:
    with pytest.raises(UnusablePattern):
        translate(glob)


HOSTILE = [
    ("*a" * 40 + "b", "a" * 250),
    ("*?" * 40 + "b", "a" * 250),
    ("**/a/" * 40 + "b", "a/" * 200 + "c"),
    ("**/*a*/" * 20 + "b", "aaa/" * 200 + "c"),
    ("[ab]*" * 40 + "c", "ab" * 120),
]


@pytest.mark.parametrize(("glob", "name"), HOSTILE)
def test_hostile_patterns_take_no_time(glob: str, name: str) -> None:
    """A matcher that tries every way does not come back before the universe ends, let alone the test run."""
    assert translate(glob).fullmatch(name) is None


@given(
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]"]), max_size=9).map("".join),
    st.text("ab", max_size=9),
)
def test_matching_once_loses_nothing(glob: str, name: str) -> None:
    """Against the definition, tried in every way."""
    assert (translate(glob).fullmatch(name) is not None) is _matches(glob, name)


def _matches(glob: str, name: str) -> bool:
    if not glob:
        return not name
    if glob[0] == "*":
        return any(_matches(glob[1:], name[at:]) for at in range(len(name) + 1))
    if glob.startswith("[ab]"):
        return bool(name) and _matches(glob[4:], name[1:])
    return bool(name) and glob[0] in ("?", name[0]) and _matches(glob[1:], name[1:])
