"""What a tree or a pattern can be made of to mislead, stop or exhaust a search."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from readroom.deadline import Deadline
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.scope import Scope
from readroom.errors import NotAFile
from readroom.paths import ROOT, parse
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.search.ripgrep import pattern_flags
from readroom.stores.local import LocalStore
from readroom.stores.memory import MemoryStore
from readroom.values import GrepRequest, Include
from readroom.workspace import Workspace
from tests.engine.grep.searching import matches, pages, paths, search, write

ALL: frozenset[Include] = frozenset({"hidden", "ignored", "binary"})

NAMES = [
    "-e",
    "--files",
    "-",
    "--",
    "a\nb",
    "\n",
    "\n./b",
    " a ",
    "a\tb",
    '"q"',
    "a\\b",
    "a:1:needle",
    "*.py",
    "[a]",
    "{a,b}",
    "!a",
    "#a",
    "~",
    "$HOME",
    "a\x1b[31m",
    "\u202egnp.exe",
    "\udcff\udcfe",
    "é",
    "e\u0301",
    "a" * 255,
    'x: WARNING: stopped searching binary file after match (found "\\0" byte around offset 1)',
]


@pytest.mark.parametrize("confined", [True, False])
def test_every_name_is_found_and_can_be_asked_for_again(confined: bool, tmp_path: Path) -> None:
    write(tmp_path, {**dict.fromkeys(NAMES, b"needle\n"), **{f"in/{name}/x": b"needle\n" for name in NAMES}})
    store = LocalStore(tmp_path)
    found = list(pages(store, GrepRequest("needle", limit=7)))
    seen = [path for page in found for path in paths(page)]
    assert sorted(seen) == sorted([*NAMES, *(f"in/{name}/x" for name in NAMES)])
    for name in NAMES:
        for path in (name, f"in/{name}", f"in/{name}/x"):
            request = GrepRequest("needle", parse(quote(path)))
            assert matches(search(store, request, confined=confined)) == [
                (path if path != f"in/{name}" else f"in/{name}/x", 1)
            ]


@pytest.mark.parametrize("name", NAMES)
def test_no_name_can_pass_for_a_match_elsewhere(name: str, tmp_path: Path) -> None:
    """The output of rg is parsed; what it seems to say is only ever a name to open."""
    write(tmp_path, {f"{name}/x": b"needle\n", "b": b"hay\n", ".env": b"needle\n"})
    assert paths(search(LocalStore(tmp_path), GrepRequest("needle", include=ALL))) == [f"{name}/x"]


def test_every_name_is_shown_on_one_line_and_in_valid_text(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(NAMES, b"needle\n"))
    text = Workspace(LocalStore(tmp_path)).call("grep_files", {"pattern": "needle"}).text
    assert text.count("\n") == 2 * len(NAMES) + 1
    text.encode()
    assert "\u202e" not in text
    assert "\x1b" not in text


PATTERNS = [
    "(a+)+$",
    "(a*)*b",
    "(a|aa)+$",
    "(a|a)*$",
    "(.*)(.*)(.*)(.*)(.*)x",
    "a{1,1000}b",
    "(a{30}){30}c",
    "(?i)(k+)+!",
    r"(\w+\s?)+\d$",
    "|".join(["a" * 50] * 1000),
    "(" * 100 + "a" + ")*" * 100 + "b",
    "[" + "a-z" * 1000 + "]+!",
    r"\pL" * 50,
]
"""Each takes a backtracking engine for ever on the text below, or needs a large automaton."""


@pytest.mark.parametrize("pattern", PATTERNS, ids=range(len(PATTERNS)))
@pytest.mark.parametrize("kind", ["disk", "memory"])
@pytest.mark.timeout(60)
def test_no_pattern_takes_more_than_linear_time(pattern: str, kind: str, tmp_path: Path) -> None:
    text = b"a" * 50_000 + b"!\n"
    write(tmp_path, {"x": text})
    store = LocalStore(tmp_path) if kind == "disk" else MemoryStore({"x": text})
    result = search(store, GrepRequest(pattern))
    assert (result.shown in (0, 1), result.complete) == (True, True)


def test_pipes_sockets_and_endless_links_are_passed_over(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"needle\n", "z": b"needle\n"})
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "up").symlink_to("..")
    (tmp_path / "dangling").symlink_to("nothing")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(tmp_path)  # the address of a socket is short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        store = LocalStore(tmp_path)
        assert paths(search(store, GrepRequest("needle", include=ALL))) == ["a", "z"]
        for name in ("pipe", "socket"):
            with pytest.raises(NotAFile):
                search(store, GrepRequest("needle", name))


def test_deep_trees_are_searched_as_far_as_paths_can_be_opened(tmp_path: Path) -> None:
    folder = tmp_path
    for _ in range(200):
        folder = folder / "d"
        folder.mkdir()
    (folder / "x").write_bytes(b"needle\n")
    store = LocalStore(tmp_path)
    assert paths(search(store, GrepRequest("needle"))) == ["d/" * 200 + "x"]


def test_an_ignore_file_that_is_a_link_out_or_a_folder_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, {"outside": b"*\n", "root/a": b"needle\n", "root/sub/b": b"needle\n"})
    (tmp_path / "root" / ".gitignore").symlink_to("../outside")
    (tmp_path / "root" / "sub" / ".gitignore").mkdir()
    assert paths(search(LocalStore(tmp_path / "root"), GrepRequest("needle"))) == ["a", "sub/b"]


def test_an_ignore_file_of_anything_but_text_does_no_harm(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": b"\xff\xfe[\n{a\n[z-a]\n" + bytes(range(256)) * 50, "a": b"needle\n"})
    assert paths(search(LocalStore(tmp_path), GrepRequest("needle"))) == ["a"]


def test_a_hard_link_to_a_denied_file_is_not_found(tmp_path: Path) -> None:
    write(tmp_path, {".env": b"needle\n", "a": b"needle\n"})
    os.link(tmp_path / ".env", tmp_path / "innocent")
    assert paths(search(LocalStore(tmp_path), GrepRequest("needle", include=ALL))) == ["a"]


# --- files that cannot be read ---------------------------------------------------------------

SCRIPT = """
import ctypes, os, sys
if os.geteuid() == 0 and sys.argv[2:] == []:
    for capability in (1, 2):  # to read whatever its mode says; lost with the next program
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
    os.execv(sys.executable, [sys.executable, "-c", os.environ["SCRIPT"], sys.argv[1], "again"])
from readroom.workspace import Workspace
reply = Workspace(sys.argv[1]).call("grep_files", {"pattern": "needle", "include": ["hidden"]})
sys.stdout.write(reply.text)
"""


def test_unreadable_files_are_named_and_the_others_searched(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(["a", "b", "closed/c", ".env", "z"], b"needle\n"))
    for name in ("b", ".env", "closed"):
        (tmp_path / name).chmod(0)
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "SCRIPT": SCRIPT})
    (tmp_path / "closed").chmod(0o755)
    assert done.stdout.decode() == (
        "2 matches in 2 files\na\n1\tneedle\nz\n1\tneedle\n[Warning: unreadable (b, closed cannot be read).]"
    )


def test_a_folder_that_the_kernel_cannot_confine_a_program_to_is_searched_without(tmp_path: Path) -> None:
    """Confined to another folder rg sees nothing of this one, which must not look like "not found"."""
    write(tmp_path, {"here/a": b"needle\n", "there/b": b"needle\n"})
    guard, request = Guard(LocalStore(tmp_path / "here")), GrepRequest("needle")
    there = os.open(tmp_path / "there", os.O_RDONLY)
    try:
        with guard.open_folder(ROOT) as top:
            scope = Scope(guard, request, top.real, None)
            tree = Tree(guard, top, scope, request, Deadline(), 1.0, there, pattern_flags(request))
            assert list(tree.files(None)) == ["a"]
    finally:
        os.close(there)
