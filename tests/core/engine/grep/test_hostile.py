"""What a tree or a pattern can be made of to mislead, stop or exhaust a search."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from readroom.core.contracts.native import MEASURE
from readroom.core.deadline import Deadline
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope
from readroom.core.errors import NotAFile
from readroom.core.limits import MIN_REPLY_BYTES
from readroom.core.paths import ROOT, parse
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.search.ripgrep import pattern_flags
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Cap, GrepOutput, GrepRequest, GrepSort, Include
from readroom.core.workspace import Workspace
from tests.core.engine.grep.searching import matches, pages, paths, search, write
from tests.each import each
from tests.hostile import containers as hostile
from tests.laws.driving import Driver, fact
from tests.suites import needs

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


@each("name", NAMES)
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


@each("pattern", PATTERNS, ids=range(len(PATTERNS)))
@each("kind", ["disk", "memory"])
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
import json
from readroom.core.workspace import Workspace
room = Workspace(sys.argv[1])
calls = json.loads(os.environ["CALLS"])
print(json.dumps([room.call(tool, arguments).text for tool, arguments in calls]))
"""


@needs("documents")
def test_unreadable_files_are_named_and_the_others_searched(tmp_path: Path) -> None:
    files = dict.fromkeys(["a", "b", "closed/c.py", ".env", "n\nl", "z"], b"needle\n")
    write(tmp_path, files | dict.fromkeys(["l.zip", "o.zip"], hostile.zipped({"m": b"needle"})))
    for name in ("b", ".env", "closed", "n\nl", "l.zip"):
        (tmp_path / name).chmod(0)
    grep = {"pattern": "needle"}
    calls = [
        ("grep_files", {**grep, "include": ["hidden"]}),
        ("grep_files", {**grep, "glob": "*.py"}),
        ("grep_files", {**grep, "include": ["archives"], "output": "files"}),
        ("find_relevant", {"query": "needle", "include": ["archives"], "output": "files"}),
    ]
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    surroundings = {**os.environ, "SCRIPT": SCRIPT, "CALLS": json.dumps(calls)}
    done = subprocess.run(command, capture_output=True, check=False, env=surroundings)
    (tmp_path / "closed").chmod(0o755)
    plain, narrow, inside, ranked = json.loads(done.stdout)
    left = "[Warning: unreadable (b, closed, l.zip and 1 more cannot be read)."
    archive = " Not searched: 1 archive (o.zip)."
    again = ' To include them: the same call with include=["archives","hidden"].]'
    assert plain == f"2 matches in 2 files\na\n1\tneedle\nz\n1\tneedle\n{left}{archive}{again}"
    assert "unreadable (closed cannot be read)" in narrow
    assert inside.split("\n")[1:] == ["a", "o.zip!/m", "z", left + "]"]
    assert "(cannot be read: b; closed; l.zip; and 1 more)" in ranked
    assert {"a", "o.zip!/m", "z"} <= set(ranked.split("\n"))


def test_what_lies_deeper_than_paths_can_be_opened_is_named(tmp_path: Path) -> None:
    part, levels = "x" * 200, 25
    store, folder = LocalStore(tmp_path), os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(part, dir_fd=folder)
        above, folder = folder, os.open(part, os.O_RDONLY, dir_fd=folder)
        os.close(above)
        with os.fdopen(os.open("f.py", os.O_WRONLY | os.O_CREAT, dir_fd=folder), "w") as file:
            file.write("needle")
    os.close(folder)
    inner = "/".join([part] * (levels // 2))
    sorts: tuple[GrepSort, ...] = ("path", "mtime", "relevance")
    for request in (
        GrepRequest("needle", output="files"),
        GrepRequest("needle", output="files", glob=("*.py",)),
        *(GrepRequest("needle", inner, output="files", sort=sort) for sort in sorts),
    ):
        found = list(pages(store, request, cap=Cap(10**6, MEASURE)))
        assert 0 < sum(page.shown for page in found) < levels
        assert any(warning.code == "unreadable" for page in found for warning in page.warnings), request
    with Workspace(store) as room:
        listed = room.call("list_directory", {"depth": levels + 1})
        assert "cannot be opened" in fact(listed, "warnings")[0]["detail"]
        ranked = room.call("find_relevant", {"query": "needle", "output": "files"})
        assert "cannot be read" in fact(ranked, "warnings")[0]["detail"]


@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_a_page_that_ends_behind_a_name_that_is_no_text_hides_no_other(
    output: GrepOutput, tmp_path: Path
) -> None:
    """Names of another encoding differ in bytes that no argument of a program can hold."""
    names = [os.fsdecode(name) for name in (b"b\xe4r", b"b\xe5r", b"b\xf6r", b"b\xfcr")]
    write(tmp_path, dict.fromkeys(names, b"needle\n"))
    found = pages(LocalStore(tmp_path), GrepRequest("needle", output=output, limit=1))
    assert [path for page in found for path in paths(page)] == names


@pytest.mark.parametrize("output", ["content", "files", "count"])
def test_a_path_that_is_longer_than_a_reply_keeps_nobody_from_those_behind_it(output: str) -> None:
    long = "/".join(["x" * 200] * 19)
    driver = Driver(MemoryStore(dict.fromkeys([long, "y", "z"], b"needle\n")), reply_bytes=MIN_REPLY_BYTES)
    replies = driver.pages("grep_files", pattern="needle", output=output)
    assert [file["path"] for reply in replies for file in fact(reply, "files")] == [long, "y", "z"]


def test_a_folder_that_the_kernel_cannot_confine_a_program_to_is_searched_without(tmp_path: Path) -> None:
    """Confined to another folder rg sees nothing of this one, which must not look like "not found"."""
    write(tmp_path, {"here/a": b"needle\n", "there/b": b"needle\n"})
    guard, request = Guard(LocalStore(tmp_path / "here")), GrepRequest("needle")
    there = os.open(tmp_path / "there", os.O_RDONLY)
    try:
        with guard.open_folder(ROOT) as top:
            scope = Scope(guard, request, top.real, None)
            tree = Tree(guard, top, scope, request, Deadline(), 1.0, there, pattern_flags(request), Noted())
            assert list(tree.files(None)) == ["a"]
    finally:
        os.close(there)
