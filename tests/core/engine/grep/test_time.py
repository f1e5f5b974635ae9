"""A limit never looks like "not found": what a search says when its time is up, or nobody waits any more."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from readroom.core.contracts.native.search import render_grep
from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import read_grep_cursor
from readroom.core.engine.grep import GREP_RANK_SHARE
from readroom.core.engine.grep.candidates import WIDE, Plain, SecondRound
from readroom.core.engine.grep.file import GREP_FILE_SHARE
from readroom.core.engine.grep.left import BEGINS_AGAIN, NOT_SORTED, Coverage
from readroom.core.engine.grep.process import Child, Watch
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope
from readroom.core.engine.unsearched import Unsearched
from readroom.core.errors import Cancelled
from readroom.core.limits import GREP_MAX_TIMEOUT_S, SMALL_FILE_BYTES, Limits
from readroom.core.paths import ROOT
from readroom.core.policy.guard import Guard
from readroom.core.search.ripgrep import Records, Reports, pattern_flags
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import GrepRequest, GrepSort, ListRequest, ReadRequest
from tests.core.engine.grep.searching import CAP, matches, on_disk, search
from tests.hostile.containers import zipped
from tests.laws.trees import Clock as LateClock
from tests.suites import daily, needs

FILES = {
    f"d{number // 50}/f{number:04d}": b"needle %d\n" % number if number % 37 == 0 else b"hay\n" * 20
    for number in range(600)
}
NEEDLES = sorted((path, 1) for path, data in FILES.items() if data.startswith(b"needle"))

ENDLESS = 1 << 40
"""Bytes of a file with a hole that long: nobody gets to its end."""


class Clock:
    """Goes on by a step whenever it is looked at."""

    def __init__(self, step: float, act: Callable[[int], None] = lambda looks: None) -> None:
        self._step = step
        self._looks = 0
        self._hurried = 0.0
        self._act = act

    def __call__(self) -> float:
        self._looks += 1
        self._act(self._looks)
        return self._looks * self._step + self._hurried

    def hurry(self, seconds: float) -> None:
        self._hurried += seconds


def stores() -> list[str]:
    return ["disk", "memory"]


@daily(2, "kind", stores())
@pytest.mark.parametrize("looks", [3, 7, 40])
def test_following_next_after_each_timeout_shows_everything_once(kind: str, looks: int) -> None:
    """Of many files, which rg finds in several pieces; the laws ask for everything else."""
    with on_disk(FILES) as disk:
        store: Store = disk if kind == "disk" else MemoryStore(FILES)
        following: GrepRequest | None = GrepRequest("needle", timeout_s=float(looks))
        found = []
        stopped = 0
        while following is not None:
            result = search(store, following, deadline=Deadline(clock=Clock(1.0)))
            assert result.complete is (result.reason is None) is (result.next is None)
            stopped += result.reason == "timeout"
            found += matches(result)
            following = result.next
    assert found == NEEDLES
    assert stopped


@needs("documents")
def test_time_that_ends_among_members_that_are_not_asked_for_is_not_lost() -> None:
    """They are passed over one by one, and the next call goes on where that came to."""
    members = {f"d/{number:04d}.txt": b"needle\n" for number in range(2_000)}
    store = MemoryStore({"a.zip": zipped({**members, "e.py": b"needle\n"})})
    first = GrepRequest("needle", glob=("*.py",), include=frozenset({"archives"}), timeout_s=1_000.0)
    following: GrepRequest | None = first
    found, stopped = [], 0
    while following is not None:
        result = search(store, following, deadline=Deadline(clock=Clock(1.0)))
        found += matches(result)
        stopped += result.reason == "timeout"
        following = result.next
    assert found == [("a.zip!/e.py", 1)]
    assert stopped > 1


@daily(1, "kind", stores())
@pytest.mark.parametrize("sort", ["mtime", "relevance"])
def test_an_order_that_is_not_known_in_time_is_by_path_from_its_first_page(kind: str, sort: GrepSort) -> None:
    """What is shown is not shown again."""
    with on_disk(FILES) as disk:
        store: Store = disk if kind == "disk" else MemoryStore(FILES)
        request = GrepRequest("needle", sort=sort, timeout_s=10, limit=3)
        late = Deadline(clock=LateClock(4, GREP_RANK_SHARE * 10))
        first = search(store, request, deadline=late)
        assert NOT_SORTED in first.warnings
        assert matches(first) == NEEDLES[:3]
        assert first.next is not None
        assert first.next.sort == "path"
        assert matches(search(store, replace(first.next, limit=None))) == NEEDLES[3:]


@daily(1, "kind", stores())
@pytest.mark.parametrize("sort", ["mtime", "relevance"])
def test_a_page_whose_order_is_not_known_in_time_asks_for_more(kind: str, sort: GrepSort) -> None:
    with on_disk(FILES) as disk:
        store: Store = disk if kind == "disk" else MemoryStore(FILES)
        second = search(store, GrepRequest("needle", sort=sort, timeout_s=10, limit=3)).next
        assert second is not None
        result = search(store, second, deadline=Deadline(clock=LateClock(2)))
        assert (result.shown, result.reason) == (0, "timeout")
        assert result.next == replace(second, timeout_s=30)
        last = replace(second, timeout_s=GREP_MAX_TIMEOUT_S)
        result = search(store, last, deadline=Deadline(clock=LateClock(2)))
        assert BEGINS_AGAIN in result.warnings
        assert result.next == replace(last, sort="path", cursor=None)


@pytest.mark.parametrize("kind", stores())
def test_no_time_at_all_is_a_partial_result_and_offers_more_time(kind: str) -> None:
    with on_disk(FILES) as disk:
        store: Store = disk if kind == "disk" else MemoryStore(FILES)
        request = GrepRequest("needle", timeout_s=1)
        result = search(store, request, deadline=Deadline(clock=Clock(100.0)))
        assert (result.shown, result.complete, result.reason) == (0, False, "timeout")
        assert result.next is not None
        if result.next.cursor is None:
            assert result.next.timeout_s == 3
        # As far as the search came, it does not go again.
        assert matches(search(store, replace(result.next, timeout_s=None))) == NEEDLES


@pytest.mark.parametrize("path", [".", "a"])
def test_where_there_is_no_more_time_to_ask_for_there_is_another_step(path: str) -> None:
    request = GrepRequest("needle", path, timeout_s=GREP_MAX_TIMEOUT_S)
    store = MemoryStore({"a": b"hay\n" * SMALL_FILE_BYTES})
    result = search(store, request, deadline=Deadline(clock=LateClock(1)))
    while result.next is not None:  # as far as it came
        result = search(store, result.next, deadline=Deadline(clock=LateClock(1)))
    assert (result.shown, result.reason, result.next) == (0, "timeout", None)
    other = ReadRequest("a") if path == "a" else ListRequest(".")
    assert [item.request for item in result.omitted] == [other]
    said = render_grep(result, CAP).text
    assert ("listed with: list_directory {}" if path == "." else 'read_file {"path":"a"}') in said


def test_more_time_than_allowed_is_never_offered() -> None:
    request = GrepRequest("needle", timeout_s=GREP_MAX_TIMEOUT_S)
    result = search(MemoryStore(FILES), request, deadline=Deadline(clock=Clock(1000.0)))
    assert result.next is not None
    assert result.next.timeout_s == GREP_MAX_TIMEOUT_S


def test_the_time_limit_is_that_of_the_workspace_unless_the_call_has_its_own() -> None:
    store, limits = MemoryStore(FILES), Limits(grep_timeout_s=2.0)
    assert (
        search(store, GrepRequest("needle"), limits=limits, deadline=Deadline(clock=Clock(1.0))).reason
        == "timeout"
    )
    patient = GrepRequest("needle", timeout_s=100_000.0)
    deadline = Deadline(clock=Clock(0.1))
    assert search(store, patient, limits=limits, deadline=deadline).reason is None


def test_a_search_that_finds_nothing_in_time_knows_how_far_it_came(tmp_path: Path) -> None:
    """A file that takes for ever is named, by the cursor or as one that was left: all before it is done."""
    for name in ("a", "b/c", "d"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"hay\n")
    endless(tmp_path / "b" / "x")
    request = GrepRequest("needle", include=frozenset({"binary"}), timeout_s=30)
    # The clock goes on slowly until rg sits in that file, in each of its passes, and then at once to the end.
    clock = Clock(0.01, lambda looks: clock.hurry(1.0 if is_in(tmp_path / "b" / "x") else 0.0))
    result = search(LocalStore(tmp_path), request, deadline=Deadline(clock=clock))
    assert (result.shown, result.complete) == (0, False)
    left = [item.request.path for item in result.omitted if isinstance(item.request, GrepRequest)]
    cursor = None if result.next is None else result.next.cursor
    assert left == ["b/x"] or (cursor or "").endswith(".0.b/x")


@daily(1, "looks", [30, 70])
def test_a_second_round_that_runs_out_of_time_shows_everything_once_too(looks: int) -> None:
    """UTF-16 without a mark is known by how files begin; wherever time ends meanwhile, nothing is passed.

    Waiting for rg looks at the clock as often as the machine is slow, so a page may get nowhere: it says so,
    and the same call continues.
    """
    files = {path: ("hay\n" + "needle\n" * (path in dict(NEEDLES))).encode("utf-16-le") for path in FILES}
    following: GrepRequest | None = GrepRequest("needle", timeout_s=float(looks))
    found, stopped, nowhere = [], set[str](), 0
    with on_disk(files) as disk:
        while following is not None:
            result = search(disk, following, deadline=Deadline(clock=Clock(1.0)))
            found += matches(result)
            if result.next is None and result.reason == "timeout" and not result.shown:
                nowhere += 1
                assert nowhere < 100
                continue
            following = result.next
            place = None if following is None else read_grep_cursor(following)
            if place is not None and place.place.rank == WIDE:
                stopped.add(place.path)
    assert found == [(path, 2) for path, _ in NEEDLES]
    assert len(stopped) > 1


def test_a_second_round_stops_where_its_process_was(tmp_path: Path) -> None:
    guard, deadline, request = Guard(LocalStore(tmp_path)), Deadline(), GrepRequest("needle")
    with guard.open_folder(ROOT) as top:
        scope = Scope(guard, request, top.real, None)
        tree = Tree(guard, top, scope, request, deadline, 1.0, None, pattern_flags(request), Noted())
        names, first = Unsearched(guard, ROOT, ROOT, scope), Plain(tree, deadline, lambda: 0.0)
        late = SecondRound(guard, top.real, tree, first, tree, Reports(), scope, deadline, names)
        assert late.stopped_at is None
        tree.stopped_at = "d0/f1"
        assert late.stopped_at == "d0/f1"


def test_a_search_that_reads_what_a_folder_ignores_has_passed_none_of_its_files(tmp_path: Path) -> None:
    class This:
        pid = os.getpid()

    for name in (".gitignore", "x"):
        with LocalStore(tmp_path).open_folder(ROOT) as top, (tmp_path / name).open("wb"):
            watch = Watch(cast(Child, This()), top, 1.0, Deadline())
            assert watch.now() == (name, None, 0)
            assert watch.reached() == (None if name == ".gitignore" else name)


def test_what_was_shown_of_a_compressed_file_before_its_time_was_up_is_not_shown_again() -> None:
    """Wherever its share of the time ends, on whichever page: the search that is named goes on behind it."""
    lines = b"needle\n" * 9
    store = MemoryStore({"a.gz": gzip.compress(lines), "b.txt": lines})
    wanted = [(path, line) for path in ("a.gz", "b.txt") for line in range(1, 10)]
    request = GrepRequest("needle", include=frozenset({"compressed"}), limit=5, timeout_s=30)
    begun = 0
    for looks in range(1, 60):
        found, following = list[tuple[str, int]](), list[GrepRequest]([request])
        while following:
            clock = LateClock(looks, 30 / GREP_FILE_SHARE + 1)
            result = search(store, following.pop(), deadline=Deadline(clock=clock))
            found += matches(result)
            named = [item.request for item in result.omitted if isinstance(item.request, GrepRequest)]
            begun += sum(one.cursor is not None for one in named)
            following += [one for one in (result.next, *named) if one is not None]
        assert sorted(found) == wanted, looks
    assert begun


def endless(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(ENDLESS)


def is_in(path: Path) -> bool:
    """Whether a process that this one started has that file open."""
    with suppress(OSError):
        for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split():
            if any(os.readlink(file) == os.fspath(path) for file in Path(f"/proc/{pid}/fd").iterdir()):
                return True
    return False


def children() -> set[int]:
    """Processes that this one started and that still run."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid=,comm="], capture_output=True, check=True)
    rows = [row.split() for row in listed.stdout.decode().split("\n") if row]
    return {int(pid) for pid, parent, *name in rows if int(parent) == os.getpid() and "rg" in name}


@pytest.mark.parametrize("path", [".", "x"])
@pytest.mark.parametrize("pattern", ["needle", r"\<needle\>"])
def test_a_caller_that_goes_away_ends_the_search_and_its_process(
    path: str, pattern: str, tmp_path: Path
) -> None:
    endless(tmp_path / "x")
    deadline = Deadline(1e9, clock=Clock(1.0, lambda looks: deadline.cancel() if looks == 8 else None))
    request = GrepRequest(pattern, path, include=frozenset({"binary"}), timeout_s=200)
    with pytest.raises(Cancelled):
        search(LocalStore(tmp_path), request, deadline=deadline)
    assert children() == set()


def test_a_cancelled_child_is_gone_at_once(tmp_path: Path) -> None:
    endless(tmp_path / "x")
    deadline = Deadline()
    with Child(["--no-config", "--text", "needle", "./"], deadline, folder=str(tmp_path)) as child:
        pid = child.pid
        threading.Thread(target=deadline.cancel).start()
        with pytest.raises(Cancelled):
            list(child.output())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def state_of(pid: int) -> str:
    """Of a process, as the system writes it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(") ")[2][0]


@pytest.mark.skipif(sys.platform != "linux", reason="how little may wait to be read is the system's own")
def test_rg_does_not_search_far_ahead_of_its_reader(tmp_path: Path) -> None:
    for number in range(500):
        (tmp_path / f"{number:03}").write_bytes(b"needle\n")
    flags = ["--no-config", "--sort=path", "--line-buffered", "--null", "--count", "needle", "./"]
    with Child(flags, Deadline(60), folder=str(tmp_path), held_back=True) as child:
        names = Records()
        first = list(names.add(next(child.output())))
        while state_of(child.pid) not in "SZ":  # it waits for its reader, or has ended
            assert child.worked_s < 30
        assert 1 <= len(first) + len(list(names.add(child.rest()))) < 30
    with Child(flags, Deadline(60), folder=str(tmp_path), held_back=True) as child:
        names = Records()
        found = [name for data in child.output() for name in names.add(data)]
        assert (found, child.status) == ([f"{number:03}" for number in range(500)], 0)


def test_a_page_that_is_full_leaves_no_process_behind(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"needle\nneedle\n")
    endless(tmp_path / "x")
    result = search(LocalStore(tmp_path), GrepRequest("needle", limit=1, include=frozenset({"binary"})))
    assert (result.shown, result.reason) == (1, "limit")
    assert children() == set()


def test_progress_is_reported_while_files_are_looked_at() -> None:
    seen: list[tuple[int, int | None, str]] = []
    deadline = Deadline(progress=lambda done, total, unit: seen.append((done, total, unit)))
    search(MemoryStore(FILES), GrepRequest("needle"), deadline=deadline)
    assert seen
    assert seen == sorted(seen)
    assert {unit for _, _, unit in seen} == {"files"}


# --- how much of the tree --------------------------------------------------------------------


def test_coverage_counts_files_in_path_order() -> None:
    names = [f"a/{number:04d}" for number in range(100)] + ["b"]
    coverage = Coverage(lambda deadline: iter(names), Deadline())
    coverage.count()
    assert coverage.at("") == (0, 101)
    assert coverage.at("zzz") == (97, 101)
    for number in (0, 1, 16, 17, 50, 99):
        searched, total = coverage.at(f"a/{number:04d}")
        assert total == 101
        assert searched is not None
        assert number - 15 <= searched <= number


def test_a_count_that_was_not_finished_says_only_what_it_knows() -> None:
    deadline = Deadline()

    def names() -> list[str]:
        return [f"{number:04d}" for number in range(100)]

    def listing(within: Deadline) -> object:
        for number, name in enumerate(names()):
            if number == 50:
                deadline.cancel()
            within.check()
            yield name

    coverage = Coverage(listing, deadline)  # type: ignore[arg-type]  # a generator
    coverage.count()
    assert coverage.at("0020") == (17, None)
    assert coverage.at("0090") == (None, None)


def test_the_files_that_are_counted_are_those_that_are_searched(tmp_path: Path) -> None:
    for name in ("a.py", "b.js", "c/d.py", ".h/e.py", "log/f.py", ".gitignore"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"log/\n" if name == ".gitignore" else b"needle\n")
    guard, deadline = Guard(LocalStore(tmp_path)), Deadline()
    request = GrepRequest("needle", glob=("*.py",))
    with guard.open_folder(ROOT) as top:
        scope = Scope(guard, request, top.real, None)
        tree = Tree(guard, top, scope, request, deadline, 1.0, top.fileno(), pattern_flags(request), Noted())
        assert list(tree.listing(deadline)) == list(tree.files(None)) == ["a.py", "c/d.py"]
