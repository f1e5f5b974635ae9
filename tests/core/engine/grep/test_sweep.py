"""One pass of rg over a tree finds what a search in path order and a look at how all files begin find."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import path_key
from readroom.core.engine.grep import process
from readroom.core.engine.grep.candidates import Plain, SecondRound
from readroom.core.engine.grep.process import Child, Watch
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope
from readroom.core.engine.unsearched import Unsearched
from readroom.core.limits.files import GREP_HEAD_START_S
from readroom.core.paths import ROOT
from readroom.core.policy.guard import Guard
from readroom.core.search.ripgrep import (
    GREP_REPORTED_FILES,
    LATE_LITERALS,
    Reports,
    comes_with_us,
    late_flags,
    pattern_flags,
    program,
)
from readroom.core.stores.local import LocalStore
from readroom.core.values import GrepRequest, GrepSort
from tests.core.engine.grep.searching import pages, search
from tests.core.formats.packing import PACK
from tests.suites import daily, whole

TEXT = "needle 日本語 の 文書\n"
LATE = {
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be": TEXT.encode("utf-16-be"),
    "utf-32-le": TEXT.encode("utf-32-le"),
    "utf-32-be": TEXT.encode("utf-32-be"),
    "iso-2022-jp": TEXT.encode("iso-2022-jp"),
    "gzip": gzip.compress(b"needle\n"),
    "bzip2": bz2.compress(b"needle\n"),
    "bzip2-empty": bz2.compress(b""),
    "xz": lzma.compress(b"needle\n"),
    "zstd": PACK["zstd"](b"needle\n"),
    "zstd-skippable": b"\x50\x2a\x4d\x18\x04\0\0\0abcd" + PACK["zstd"](b"needle\n"),
    "journal": b"__CURSOR=s=1\nMESSAGE\n\x06\0\0\0\0\0\0\0needle\n\n",
}
OTHERS = {
    "plain": b"needle\n",
    "other": b"thread\n",
    "image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)),
    "nul": b"words and then\0needle\n",
    "marked": b"\xff\xfe" + TEXT.encode("utf-16-le"),
    "latin": "needle é\n".encode("latin-1"),
    "empty": b"",
}


@contextmanager
def finders(
    root: Path, pattern: str = "needle", filled: float = 1.0, deadline: Deadline | None = None
) -> Iterator[tuple[Plain, SecondRound, Tree, Tree]]:
    """Both rounds of a search, its tree, and the tree that looks at how all files begin.

    `deadline` is that of the second round, without its processes.
    """
    guard, request = Guard(LocalStore(root)), GrepRequest(pattern)
    with guard.open_folder(ROOT) as top:
        scope, reports = Scope(guard, request, top.real, None), Reports()
        given = (guard, top, scope, request, Deadline(60), 60.0, top.fileno())
        noted = Noted()
        tree = Tree(*given, pattern_flags(request, [pattern, *LATE_LITERALS]), noted, reports=reports)
        heads = Tree(*given, late_flags(), noted, heads=True)
        first = Plain(tree, Deadline(60), lambda: filled)
        names = Unsearched(guard, ROOT, top.real, scope)
        late = SecondRound(
            guard, top.real, heads, first, tree, reports, scope, deadline or Deadline(60), names
        )
        yield first, late, tree, heads


class Running:
    """What a running rg is asked: how long it has worked, and which file it is in."""

    def __init__(self) -> None:
        self.worked_s = 0.0
        self.file: str | None = None

    def now(self) -> str | None:
        return self.file


def test_the_names_of_a_large_folder_may_be_read_before_a_page_is_given_up(tmp_path: Path) -> None:
    """rg reads and sorts them all before it opens the first file."""
    running = Running()
    child, watch = cast("Child", running), cast("Watch", running)
    with finders(tmp_path, filled=0.0) as (first, _, _, _):
        for running.worked_s in (0.2, 0.4):
            assert first.goes_well(child, watch), "it reads names"
        running.file = "a"
        running.worked_s += GREP_HEAD_START_S * 0.9
        assert first.goes_well(child, watch), "it is in the first files"
        running.worked_s += GREP_HEAD_START_S * 0.2
        assert not first.goes_well(child, watch), "it has found nothing in them"
    with finders(tmp_path, filled=0.0) as (first, _, _, _):
        running.file, running.worked_s = None, 60.0
        assert not first.goes_well(child, watch), "there is an end to that"


def planted(root: Path, seed: int = 1, copies: int = 3) -> None:
    """Files of every sort, in folders and under names that are hard to pass on."""
    rng = random.Random(seed)
    for name, data in (LATE | OTHERS).items():
        for number in range(copies):
            folder = root / rng.choice(["a", "a b/c", "z/*?[x]", "-e", "日本"])
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name} {number}").write_bytes(data)


def test_all_threads_find_what_one_finds_in_path_order(tmp_path: Path) -> None:
    planted(tmp_path)
    with finders(tmp_path) as (first, _, tree, _):
        in_order = list(tree.files(None))
        found, whole = tree.everything(Deadline())
        assert whole
        assert found == in_order == sorted(found, key=path_key)
        assert list(first.files(None)) == list(first.files(None, at_once=False)) == in_order
        least = path_key(in_order[10])
        assert list(tree.files_from(least)) == in_order[10:]


@whole
def test_all_threads_come_through_a_folder_of_very_many_names(tmp_path: Path) -> None:
    """rg lists a folder before it looks into it, whole paths, and its memory is bounded."""
    long = "/".join(letter * 240 for letter in "abc")
    (tmp_path / long).mkdir(parents=True)
    folder = os.open(tmp_path / long, os.O_RDONLY)
    for number in range(20_000):
        os.mknod(f"{number:0240}", dir_fd=folder)
    os.close(folder)
    (tmp_path / long / "needle").write_text("needle\n", encoding="utf-8")
    with finders(tmp_path) as (_, _, tree, _):
        assert tree.everything(Deadline()) == ([f"{long}/needle"], True)


@daily(1, "globs", [(), ("*.txt",), ("*.log", "*.txt")])
def test_pages_of_the_second_round_leave_out_no_file_without_a_nul(
    tmp_path: Path, globs: tuple[str, ...]
) -> None:
    """Nothing in a binary log tells of them, and the page before has seen them, not this one."""
    expected = set()
    for number in range(4):
        for name, data in (
            (f"{number}.txt", TEXT.encode("iso-2022-jp")),
            (f"k{number}.txt", b"needle\n"),
            (f"w{number}.txt", TEXT.encode("utf-16-le")),
            (f"z{number}.txt", b"words " * 2000 + b"\0\nneedle\n"),
            (f"a{number}.txt", b"needle\n" + b"words " * 2000 + b"\0\nneedle\n"),
        ):
            (tmp_path / name).write_bytes(data)
            expected.add(name)
        (tmp_path / f"image{number}.txt").write_bytes(OTHERS["image"] + b"\nneedle\n")
    for limit in (2, 5, 100):
        request = GrepRequest("needle", glob=globs, limit=limit)
        shown = [
            (file.path, line.number)
            for page in pages(LocalStore(tmp_path), request)
            for file in page.files
            for line in file.lines
        ]
        assert len(shown) == len(set(shown))
        assert {path for path, _ in shown} == expected


@pytest.mark.parametrize(("globs", "logged"), [((), True), (("*.txt",), False)])
def test_no_log_is_written_of_every_file_that_is_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, globs: tuple[str, ...], logged: bool
) -> None:
    said = tmp_path / "said"
    noting = tmp_path / "rg"
    noting.write_text(f'#!/bin/sh\necho "$@" >> {said}\nexec {program()} "$@"\n', encoding="ascii")
    noting.chmod(0o755)
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("thread\n", encoding="ascii")
    monkeypatch.setattr(process, "program", lambda: str(noting))
    search(LocalStore(root), GrepRequest("needle", glob=globs), confined=False)
    searches = [line for line in said.read_text(encoding="ascii").split("\n") if "needle" in line]
    assert any("--debug" in line.split() for line in searches) is logged


@pytest.mark.parametrize("pattern", ["needle", "nowhere", r"^\w+$", "日本語"])
def test_the_second_round_knows_its_files_from_the_first(tmp_path: Path, pattern: str) -> None:
    planted(tmp_path)
    assert comes_with_us(), "the rg of the environment is the one whose log is known"
    with finders(tmp_path, pattern) as (first, late, tree, heads):
        begun = set(heads.files(None))
        assert {path.rpartition("/")[2].partition(" ")[0] for path in begun} >= set(LATE)
        found = set(first.files(None))
        # Whoever opens what was found sees that it is for the second round.
        for path in found & begun:
            late.add(path)
        assert tree.leaves_binary
        assert set(late.files(None)) == begun


def test_a_rare_word_in_a_large_tree_is_found_with_all_threads(tmp_path: Path) -> None:
    """The head start ends, and nothing is found twice or not at all."""
    text = b"some words of a text that does not hold it\n" * 400
    for number in range(1200):
        folder = tmp_path / f"{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_bytes(text + (b"needle\n" if number % 100 == 0 else b""))
    (tmp_path / "0" / "wide").write_bytes(TEXT.encode("utf-16-le"))
    wanted = sorted((f"{number % 7}/{number}.txt" for number in range(0, 1200, 100)), key=path_key)
    with finders(tmp_path, filled=0.0) as (first, late, _, _):
        assert list(first.files(None)) == wanted
        assert list(late.files(None)) == ["0/wide"]
    result = search(LocalStore(tmp_path), GrepRequest("needle"))
    assert [file.path for file in result.files] == [*wanted, "0/wide"]
    assert result.complete


def test_a_page_that_fills_is_found_in_path_order(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number}").write_bytes(b"needle\n")
    with finders(tmp_path) as (first, _, _, _):
        assert list(first.files(None)) == sorted(map(str, range(50)))


@pytest.mark.parametrize(
    "name", ["line\nfeed", "x: found binary data at offset 1\nrg: DEBUG|", os.fsdecode(b"\xff.txt")]
)
def test_names_that_a_log_cannot_hold_have_all_beginnings_looked_at(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(TEXT.encode("utf-16-le"))
    (tmp_path / "b").write_bytes(b"needle\n")
    with finders(tmp_path) as (first, late, _, _):
        assert list(first.files(None)) == ["b"]
        assert list(late.files(None)) == [name]


# -----------------------------------------------------------------------------
# Texts with a NUL behind their beginning: of a log of a machine that lost its power, `read_file` shows
# every line, and rg leaves it at the NUL.
# -----------------------------------------------------------------------------

LONG = b"words of a log\n" * 6_000
TEXTS = {
    "behind.log": LONG + b"\0\0\0\nneedle\n",
    "beside.log": LONG + b"needle\0\n",
    "z/both.log": b"needle\n" + LONG + b"\0\nneedle\n",
    "early.log": LONG[:9_000] + b"\0\nneedle\n",
    "z/not.log": LONG + b"\0\nthread\n",
}
PLAIN_FILES = {
    "a.txt": b"needle\n",
    "y/b.txt": b"needle\n",
    "image.bin": bytes(range(32)) * 300 + LONG + b"needle\n",
}


def _lines_of_pages(root: Path, request: GrepRequest) -> list[tuple[str, int]]:
    """What all pages of a search show."""
    shown: list[tuple[str, int]] = []
    following: GrepRequest | None = request
    while following is not None:
        result = search(LocalStore(root), following)
        shown += [(file.path, line.number) for file in result.files for line in file.lines]
        following = result.next
    return shown


@pytest.mark.parametrize(
    ("limit", "odd", "sort"),
    [
        (100, (), "path"),
        (1, (), "path"),
        (100, (os.fsdecode(b"\xff.txt"),), "path"),
        (2, (os.fsdecode(b"\xff.txt"),), "path"),
        (2, ("line\nfeed",), "relevance"),
    ],
)
def test_texts_with_a_nul_behind_their_beginning_are_searched(
    tmp_path: Path, limit: int, odd: Sequence[str], sort: GrepSort
) -> None:
    files = TEXTS | PLAIN_FILES | {"wide": TEXT.encode("utf-16-le")} | dict.fromkeys(odd, TEXTS["behind.log"])
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    wanted = {("a.txt", 1), ("y/b.txt", 1), ("wide", 1), ("z/both.log", 1), ("z/both.log", 6_003)}
    wanted |= {
        ("early.log", 602),
        ("behind.log", 6_002),
        ("beside.log", 6_001),
        *((name, 6_002) for name in odd),
    }
    shown = _lines_of_pages(tmp_path, GrepRequest("needle", limit=limit, sort=sort))
    assert sorted(shown) == sorted(wanted)


def test_a_search_that_has_no_time_to_find_such_texts_says_so(tmp_path: Path) -> None:
    for name, data in (TEXTS | {"z/wide": TEXT.encode("utf-16-le")}).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    with finders(tmp_path, deadline=Deadline(0)) as (_, late, _, _):
        # The first round of a page that goes on does not see all files.
        assert [*late.files(None)] == ["z/wide"]
        assert not late.texts_known
    with finders(tmp_path) as (_, late, _, _):
        assert [*late.files(None)] == ["behind.log", "beside.log", "early.log", "z/not.log", "z/wide"]
        assert late.texts_known


def test_more_binary_files_than_are_remembered_are_not_all() -> None:
    reports = Reports()
    reports.flags()
    line = "rg: DEBUG|grep_printer::summary|crates/printer/src/summary.rs:686: "
    line += "ignoring ./%d: found binary data at offset 1\n"
    said = "".join(line % number for number in range(GREP_REPORTED_FILES)).encode()
    for at in range(0, len(said), 65_536):
        assert reports.add(said[at : at + 65_536]) == b""
    assert reports.sure
    assert len(reports.binary) == GREP_REPORTED_FILES
    assert (
        reports.add(b"rg: ./a: Permission denied (os error 13)\n")
        == b"rg: ./a: Permission denied (os error 13)\n"
    )
    reports.add((line % GREP_REPORTED_FILES).encode())
    assert not reports.sure


def test_a_link_that_takes_the_name_of_a_reported_file_leads_nowhere(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.write_bytes(TEXT.encode("utf-16-le"))
    (root / "wide").write_bytes(TEXT.encode("utf-16-le"))
    with finders(root) as (first, late, _, heads):
        assert list(first.files(None)) == []
        (root / "wide").unlink()
        (root / "wide").symlink_to(outside)
        assert list(late.files(None)) == []
        if heads.is_confined:  # only then files are given to rg by name
            assert list(heads.named(["wide"])) == []
