"""Every file below a searched folder is shown, or counted and named as left out, starting from the disk.

Law 1 of searches, from the other side: what a search never opened.  And one reading of ignore files, git's,
in every tool.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.documents.reading.making import pdf
from tests.each import each
from tests.hostile import containers as hostile
from tests.laws.driving import fact

BINARY = bytes(range(256)) * 40 + b"needle\n"
INNER = hostile.zipped({"m.txt": b"needle\n"})
MADE: dict[str, list[tuple[str, bytes]]] = {
    "shown": [
        ("a.txt", b"needle\n"),
        ("d/b.py", b"x = 1  # needle\n"),
        ("d/nul.ts", b"const key = `needle${a}\0${b}`;\n"),
        ("nuls.txt", b"one\0two\0needle\0"),
        ("wide.txt", "needle\nin wide letters\n".encode("utf-16-le")),
        ("late.log2", b"hay of a long summer\n" * 600 + b"\0needle\n"),
        ("d/e/big", b"hay\n" * 3 + b"needle" + b"y" * 40_000),
    ],
    "hidden": [
        (".github/workflows/ci.yml", b"needle\n"),
        (".editorconfig", b"needle\n"),
        ("d/.h/x.txt", b"needle\n"),
        (".a b", BINARY),
    ],
    "ignored": [(name, b"needle\n") for name in ("x.log", "d/y.log", "out/z.txt", ".q.log")],
    "archive": [
        ("in.zip", INNER),
        ("d/o.jar", hostile.zipped({"i.zip": INNER})),
        ("t.tar.gz", gzip.compress(BINARY)),
    ],
    "document": [
        ("p.pdf", pdf([["the needle"]])),
        ("w.docx", hostile.zipped({"word/document.xml": b"<needle/>"})),
    ],
    "binary": [
        ("pic.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + BINARY),
        ("d/lib.so", BINARY),
        ("db", b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20" + bytes(80) + BINARY),
    ],
    "compressed": [("l.gz", gzip.compress(b"needle\n"))],
    "denied": [(".env", b"needle\n"), ("d/id_rsa", b"needle\n"), (".git/config", b"needle\n")],
    "odd": [
        (name, b"needle\n")
        for name in ("d/n\nl", os.fsdecode(b"\xff.txt"), "a: found binary data at offset 1")
    ],
}  # fmt: skip
"""Files by what a search says of them."""

SAID = ("hidden", "ignored", "archive", "document", "binary", "compressed")


def _chosen(seed: int) -> dict[str, list[tuple[str, bytes]]]:
    rng = random.Random(seed)
    return {kind: [file for file in files if rng.random() < 0.6] for kind, files in MADE.items()}


def _tree(root: Path, chosen: Mapping[str, list[tuple[str, bytes]]]) -> Path:
    for name, data in [file for files in chosen.values() for file in files]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    (root / ".gitignore").write_text("*.log\nout/\n", encoding="ascii")
    return root


def _counted(reply: Reply) -> dict[str, tuple[int, list[str]]]:
    """The files that a reply reports as left out: how many of a kind, and the names."""
    details = [warning["detail"] for warning in fact(reply, "warnings") if warning["code"] == "left_out"]
    found = {}
    for count, kind, names in re.findall(r"(\d+) (\w+?)s? \(([^()]*)\)", details[0] if details else ""):
        found[kind] = (int(count), [name.removesuffix(", …") for name in names.split(", ") if name != "…"])
    return found


def _names_compressed(reply: Reply) -> bool:
    return any(warning["code"] == "compressed" for warning in fact(reply, "warnings"))


def _expected(chosen: Mapping[str, list[tuple[str, bytes]]]) -> dict[str, set[str]]:
    expected = {kind: {name for name, _ in chosen[kind]} for kind in SAID}
    expected["hidden"].add(".gitignore")
    expected["ignored"] = {"out" if name.startswith("out/") else name for name in expected["ignored"]}
    return {kind: names for kind, names in expected.items() if names}


def _stores(root: Path) -> Iterator[Store]:
    yield LocalStore(root, confinement="kernel")
    yield LocalStore(root, confinement="walk")
    files = {
        path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()
    }
    yield MemoryStore(files)


@pytest.mark.parametrize("seed", range(6))
def test_a_search_shows_a_file_or_counts_and_names_it(tmp_path: Path, seed: int) -> None:
    """In every order and form, on disk and in memory, whether or not something matched."""
    chosen = _chosen(seed)
    root, expected = _tree(tmp_path, chosen), _expected(chosen)
    shown = {name for kind in ("shown", "odd") for name, _ in chosen[kind]}
    for store in _stores(root):
        with Workspace(store) as workspace:
            for options in ({}, {"output": "count"}, {"sort": "mtime", "output": "files"}, {"limit": 3}):
                paths, reply = set[str](), workspace.grep("needle", **options)
                paths.update(file["path"] for file in fact(reply, "files"))
                early = False
                while fact(reply, "next") is not None:
                    early |= _names_compressed(reply)
                    reply = workspace.call("grep_files", fact(reply, "next")["arguments"])
                    paths.update(file["path"] for file in fact(reply, "files"))
                assert {_plain(path) for path in paths} == shown, options
                # A page that opened a compressed file says it itself.
                either = {"compressed"} if early else set[str]()
                counted = {kind: found for kind, found in _counted(reply).items() if kind not in either}
                _require(counted, {kind: names for kind, names in expected.items() if kind not in either})
            assert not _counted(workspace.grep("needle", limit=1)) or len(shown) < 2
            _require(_counted(workspace.grep("nothing at all")), expected)
            found = workspace.find("needle", output="files")
            documents = {"document": expected["document"]} if "document" in expected else {}
            _require(_counted(found) | {kind: (len(n), []) for kind, n in documents.items()}, expected)
            assert not documents or "document" in found.text


def _plain(path: str) -> str:
    from readroom.core.quoting import is_in_quotes, without_quotes

    return without_quotes(path) if is_in_quotes(path) else path


def _require(counted: Mapping[str, tuple[int, list[str]]], expected: Mapping[str, set[str]]) -> None:
    """Require that all are counted, and that only they are named."""
    assert {kind: count for kind, (count, _) in counted.items()} == {
        kind: len(names) for kind, names in expected.items()
    }
    for kind, (_, names) in counted.items():
        assert set(names) <= expected[kind]


@pytest.mark.parametrize("seed", range(3))
def test_the_call_that_is_named_looks_into_all_of_it(tmp_path: Path, seed: int) -> None:
    """Following it until nothing is named any more matches in every file that holds the word."""
    chosen = _chosen(seed)
    root = _tree(tmp_path, chosen)
    with Workspace(root) as workspace:
        reply = workspace.grep("needle", output="files")
        for _ in range(4):
            calls = [item["call"] for item in fact(reply, "omitted") if item["call"] is not None]
            if calls:
                reply = workspace.call(calls[-1]["tool"], calls[-1]["arguments"])
        assert not _counted(reply)
        paths = [_plain(file["path"]) for file in fact(reply, "files")]
    for kind in MADE.keys() - {"denied", "document"}:
        for name, data in chosen[kind]:
            if b"needle" in data or (kind == "archive" and name != "t.tar.gz"):
                assert any(path == name or path.startswith(f"{name}!/") for path in paths), name
    assert not any(".env" in path or "id_rsa" in path or ".git/" in path for path in paths)


@pytest.mark.parametrize("tool", ["grep", "find"])
def test_all_that_was_left_out_is_one_sentence_with_one_call(tmp_path: Path, tool: str) -> None:
    """The call comes right after it, also where other warnings are many."""
    root = _tree(tmp_path, MADE)
    (root / "n.ipynb").write_text(
        json.dumps({"cells": [], "needle": "\u200b" * 4}, indent=1), encoding="utf-8"
    )
    with Workspace(root) as workspace:
        reply = workspace.grep("needle") if tool == "grep" else workspace.find("needle", budget_tokens=16_000)
        last = reply.text.rsplit("\n", 1)[-1]
        assert re.search(r"1 compressed \(l\.gz\)\. To include them: the same call with", last)
        assert last.count("Not searched:") == last.count("the same call") == 1
        assert "find_relevant {" not in last
        call = next(item["call"] for item in fact(reply, "omitted") if item["reason"] == "left_out")
        assert call["arguments"]["documents"] is True
        assert {"archives", "compressed", "hidden", "ignored"} <= set(call["arguments"]["include"])


def test_a_contract_without_the_arguments_says_the_same(tmp_path: Path) -> None:
    """Counted and named in the notes of Everruns, without advice that it does not take."""
    root = _tree(tmp_path, MADE)
    with Workspace(root) as workspace:
        reply = workspace.call("grep_files", {"pattern": "needle"}, contract_name="everruns")
        assert "3 archives (d/o.jar, in.zip, …), 2 documents (p.pdf, w.docx), 4 binary (" in reply.text
        assert "include=" not in reply.text


def test_what_names_something_hidden_includes_it(tmp_path: Path) -> None:
    """A glob with a dot segment, and a path below one."""
    root = _tree(tmp_path, MADE)
    with Workspace(root) as workspace:
        for options, wanted in (
            ({"glob": ".github/**"}, [".github/workflows/ci.yml"]),
            ({"glob": "**/.h/*"}, ["d/.h/x.txt"]),
            ({"glob": ".github/"}, [".github/workflows/ci.yml"]),
            ({"glob": "{.github,none}/**/*.yml"}, [".github/workflows/ci.yml"]),
            ({"glob": ["*.yml", ".editor*"]}, [".editorconfig"]),
            ({"path": ".github"}, [".github/workflows/ci.yml"]),
            ({"path": "d/.h"}, ["d/.h/x.txt"]),
            ({"glob": "*.yml"}, []),
        ):
            reply = workspace.grep("needle", output="files", **options)
            assert [file["path"] for file in fact(reply, "files")] == wanted, options
        assert _counted(reply) == {"hidden": (1, [".github/workflows/ci.yml"]), "ignored": (1, ["out"])}


# --- ignore files --------------------------------------------------------------------------------

PATTERNS = [
    "[a-e-n]", "foo[/]bar", "foo[^a-z]bar", "f[^eiu][^eiu][^eiu][^eiu][^eiu]r", "[\\1-\\3]", "[\\]",
    "[\\]]", "[[::]ab]", "*.py[co]", "[Bb]in/", "{a,b}", "a{b", "*", "!j", "!*/", "d/*", "!d/z", "/z",
    "d/**/z", "\\!x", "foo/*", "!foo/bar", "**/bar", "z ", "z\\ ", "#z", "d[!x]z", "*[abj]*", "!.h", ".h",
]  # fmt: skip
NAMES = [
    "j", "z", "a", "b", "n", "{a,b}", "a{b", "foo/bar", "foo!bar", "d/z", "d/e/z", "d/xz", "bin/z", "x.pyc",
    "!x", "]", "\\", "3", "foobazzr", "z ", "d/bar/q", "e/foo/bar/r", ".h",
]  # fmt: skip


def _taken(root: Path, include: Any) -> list[list[str]]:
    """The files that each tool takes."""
    with Workspace(root) as workspace:
        listed = fact(workspace.list(depth=64, limit=10_000), "entries")
        searched = workspace.grep("needle", output="files", include=include, limit=10_000)
        ranked = workspace.find("needle", output="files", include=include, budget_tokens=16_000)
    files = [entry["path"] for entry in listed if entry["kind"] == "file"]
    tools = (files, *([file["path"] for file in fact(reply, "files")] for reply in (searched, ranked)))
    return [sorted(map(_plain, names)) for names in tools]


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
@pytest.mark.parametrize("seed", range(8))
def test_every_tool_ignores_what_git_ignores(tmp_path: Path, seed: int) -> None:
    """Sets, escapes and braces of patterns, negations, nested ignore files: as `git ls-files` reads them."""
    rng = random.Random(seed)
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("needle\n", encoding="ascii")
    for folder in ("", "d/", "foo/"):
        if rng.random() < (1.0 if not folder else 0.4):
            lines = rng.sample(PATTERNS, rng.randint(1, 5))
            (tmp_path / f"{folder}.gitignore").write_text("\n".join(lines), encoding="ascii")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    listed = ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-standard"]
    wanted = sorted(subprocess.run(listed, capture_output=True, check=True).stdout.decode().split("\0")[:-1])
    shown, searched, ranked = _taken(tmp_path, ["hidden"])
    assert shown == wanted
    needles = [name for name in wanted if not name.endswith(".gitignore")]
    assert searched == needles
    assert ranked == needles


@each("pattern", PATTERNS[:11])
def test_a_repository_in_a_folder_that_is_none_has_ignore_files_of_its_own(
    tmp_path: Path, pattern: str
) -> None:
    """The ignore file of a folder of checkouts does not rule in them."""
    for top in ("", "foo/"):
        for name in ("j", "z", "a", "d/sherlock", "]", "x.pyc"):
            (tmp_path / top / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / top / name).write_text("needle\n", encoding="ascii")
    (tmp_path / ".gitignore").write_text(f"sherlock\n{pattern}\n", encoding="ascii")
    (tmp_path / "foo/.git").mkdir()
    (tmp_path / "foo/.git/HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
    listed, searched, ranked = _taken(tmp_path, ["hidden"])
    assert "foo/d/sherlock" in searched
    assert "d/sherlock" not in searched
    assert [name for name in listed if not name.endswith(".gitignore")] == searched == ranked
