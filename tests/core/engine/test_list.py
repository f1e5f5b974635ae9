"""list_directory through the whole pipeline: order, depth, globs, what is hidden, links and pages."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from readroom.core.config import Settings
from readroom.core.contracts.native import MEASURE
from readroom.core.contracts.native.render import render_list
from readroom.core.deadline import Deadline
from readroom.core.engine.list import perform
from readroom.core.engine.walk import in_order, names_after
from readroom.core.errors import (
    BadCursor,
    BadPattern,
    BadValue,
    Cancelled,
    Denied,
    NoPermission,
    NotAFolder,
    NotFound,
    TimedOut,
)
from readroom.core.limits import LIST_LIMIT, MIN_REPLY_BYTES, REPLY_BYTES, Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.rules import Denials, Rule
from readroom.core.stores.base import Folder, Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import (
    Cap,
    ListEntry,
    ListMeasure,
    ListRequest,
    ListResult,
    ListSort,
    Measure,
    Reply,
)
from readroom.core.workspace import Workspace
from tests.core.engine.serving import job, serving
from tests.each import each
from tests.laws.driving import Driver, fact
from tests.vocabulary import tokens_of


def names(reply: Reply) -> list[str]:
    return [entry["path"] for entry in fact(reply, "entries")]


def listed(store: Store, path: str = ".", **options: Any) -> list[str]:
    return names(Workspace(store).list(path, **options))


TREE = {
    "a.txt": b"12345",
    "a/z.txt": b"",
    "a/b/deep.py": b"",
    "B.md": b"",
    "b/c.txt": b"",
    ".github/ci.yml": b"",
    ".env.example": b"",
}


# --- order and depth -------------------------------------------------------------------------


def test_names_come_in_the_order_of_their_bytes_with_folders_among_them() -> None:
    assert listed(MemoryStore(TREE)) == [".env.example", ".github", "B.md", "a", "a.txt", "b"]


def test_what_is_in_a_folder_follows_directly_after_it() -> None:
    expected = [
        ".env.example", ".github", ".github/ci.yml", "B.md",
        "a", "a/b", "a/b/deep.py", "a/z.txt", "a.txt", "b", "b/c.txt",
    ]  # fmt: skip
    assert listed(MemoryStore(TREE), depth=3) == expected
    assert listed(MemoryStore(TREE), depth=2) == [name for name in expected if name != "a/b/deep.py"]


def test_paths_are_relative_to_the_listed_folder() -> None:
    assert listed(MemoryStore(TREE), "a", depth=5) == ["b", "b/deep.py", "z.txt"]


def test_undecodable_names_sort_as_their_bytes(tmp_path: Path) -> None:
    found = [b"a", b"\xff", "é".encode(), "\U0001f600".encode(), "豈".encode()]
    for name in found:
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).touch()
    reply = Workspace(tmp_path).list()
    assert names(reply) == ["a", "é", "豈", "\U0001f600", r'"\377"']
    assert r'"\377"' in reply.text


class Counted(str):
    """A name that counts how often it is compared with another."""

    compared = 0

    def __lt__(self, other: str) -> bool:
        Counted.compared += 1
        return str.__lt__(self, other)

    def __gt__(self, other: str) -> bool:
        Counted.compared += 1
        return str.__gt__(self, other)

    def __le__(self, other: str) -> bool:
        Counted.compared += 1
        return str.__le__(self, other)


def test_the_first_of_many_names_are_known_before_the_others_are_sorted() -> None:
    found = [Counted(f"{number * 7919 % 20_011:05}") for number in range(20_011)]
    first = [*islice(in_order(found), 1000)]
    assert first == [f"{number:05}" for number in range(1000)]
    assert Counted.compared < 5 * len(found), "all of them sorted take fourteen for each"


_NAME = st.text(st.sampled_from("aZ~\x7fé豈\udcff\U0001f600"), min_size=1, max_size=6)


@given(st.lists(_NAME, max_size=40, unique=True), _NAME, st.sampled_from([1, 60]))
def test_names_in_order_are_the_names_sorted_by_their_bytes(
    found: list[str], border: str, copies: int
) -> None:
    many = [name + "b" * number for name in found for number in range(copies)]
    many = list(dict.fromkeys(many))
    assert [*in_order(many)] == sorted(many, key=os.fsencode)
    assert names_after(many, border) == [name for name in many if os.fsencode(name) > os.fsencode(border)]


def test_a_page_that_goes_on_in_a_large_folder_repeats_and_leaves_out_nothing(tmp_path: Path) -> None:
    for number in range(2500):
        (tmp_path / f"{'é' if number % 3 else 'Z'}{number * 977 % 2503}").touch()
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    expected = sorted(os.listdir(tmp_path), key=os.fsencode)
    shown, arguments = list[str](), dict[str, Any](limit=700)
    with Workspace(tmp_path) as workspace:
        while arguments:
            reply = workspace.list(**arguments)
            shown += names(reply)
            following = fact(reply, "next")
            arguments = following["arguments"] if following else {}
    assert shown == expected


def test_largest_and_newest_come_first_and_equals_by_path() -> None:
    store = MemoryStore()
    for name, size, when in (("b", 5, 1), ("a", 5, 2), ("c/d", 9, 3), ("e", 0, 3)):
        store.put(name, b"x" * size, mtime_ns=when * 10**9)
    assert listed(store, sort="size", depth=2) == ["c/d", "a", "b", "e", "c"]
    assert [name for name in listed(store, sort="mtime", depth=2) if name != "c"] == ["c/d", "e", "a", "b"]


def test_a_name_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.utime(tmp_path / "file", ns=(0, 86_400 * 10**9))
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    reply = Workspace(tmp_path).list()
    kinds = {entry["path"]: (entry["kind"], entry["size_bytes"]) for entry in fact(reply, "entries")}
    assert kinds == {
        "file": ("file", 5),
        "folder": ("folder", None),
        "link": ("link", None),
        "pipe": ("other", None),
    }
    assert fact(reply, "entries")[0]["modified"] == "1970-01-02T00:00:00Z"
    assert reply.text.split("\n")[1:] == [
        "5 1970-01-02\tfile", "folder/", "link -> file", "pipe (special file)", "[end of list]",
    ]  # fmt: skip


def test_a_date_that_files_share_stands_in_the_header_only() -> None:
    store = MemoryStore()
    for number in range(4):
        store.put(f"f{number}", b"", mtime_ns=0)
    store.put("g", b"", mtime_ns=3 * 86_400 * 10**9)
    lines = Workspace(store).list().text.split("\n")
    assert lines[0] == ". | entries 1-5 of 5 | files modified 1970-01-01 unless dated"
    assert lines[1:6] == ["0\tf0", "0\tf1", "0\tf2", "0\tf3", "0 1970-01-04\tg"]


@pytest.mark.parametrize("when", [2**62, -(2**62), 253_402_300_800 * 10**9])
def test_a_time_that_no_calendar_has_is_unknown(when: int) -> None:
    store = MemoryStore()
    store.put("f", b"", mtime_ns=when)
    reply = Workspace(store).list()
    assert "\tf\n" in reply.text
    assert fact(reply, "entries")[0]["modified"] in (None, fact(reply, "entries")[0]["modified"])


# --- what is not shown -----------------------------------------------------------------------


def test_names_with_a_dot_are_shown() -> None:
    assert {".github", ".env.example"} <= set(listed(MemoryStore(TREE)))


def test_denied_names_are_counted_and_never_named() -> None:
    store = MemoryStore({".env": b"s", "id_rsa": b"s", "x/.ssh/key": b"s", "x/ok": b""})
    reply = Workspace(store).list(depth=9)
    assert names(reply) == ["x", "x/ok"]
    assert fact(reply, "denied") == 3
    assert "3 denied by policy" in reply.text
    assert not any(name in reply.text + str(reply.facts) for name in (".env", "id_rsa", ".ssh"))


def test_a_glob_does_not_change_what_is_counted_as_denied() -> None:
    """Or else `.e*`, `.en*` and so on would spell the names out."""
    workspace = Workspace(MemoryStore({".env": b"s", "a": b""}))
    assert {fact(workspace.list(glob=glob), "denied") for glob in (".e*", ".x*", "!.env", "*")} == {1}


def test_a_rule_that_names_the_link_and_one_that_names_the_folder_both_hold() -> None:
    store = MemoryStore({"real/a": b"", "real/b": b"", "real/c": b""})
    store.link("way", "real")
    denials = Denials([Rule("way/a", "test", "x"), Rule("real/b", "test", "x")])
    workspace = Workspace(store, settings=Settings(layers=(denials,)))
    assert names(workspace.list("way")) == ["c"]
    assert names(workspace.list("real")) == ["a", "c"]


def test_ignored_names_are_counted_and_shown_when_asked_for() -> None:
    store = MemoryStore(
        {".gitignore": b"build/\n*.log\n", "build/x": b"", "a.log": b"", "a.txt": b"", "s/b.log": b""}
    )
    reply = Workspace(store).list(depth=2)
    assert names(reply) == [".gitignore", "a.txt", "s"]
    assert (fact(reply, "ignored"), fact(reply, "denied")) == (3, 0)
    assert "3 ignored" in reply.text
    everything = [".gitignore", "a.log", "a.txt", "build", "build/x", "s", "s/b.log"]
    assert listed(store, depth=2, include=["ignored"]) == everything


def test_an_ignored_folder_can_be_listed_by_its_name() -> None:
    store = MemoryStore({".gitignore": b"build/\n*.log\n", "build/x": b"", "build/y.log": b""})
    assert listed(store, "build") == ["x"]


def test_an_empty_folder_says_so() -> None:
    store = MemoryStore()
    store.make_folder("empty")
    assert Workspace(store).list("empty").text == "empty | no entries\n[end of list]"


class _Shut:
    """A store in which the system lets nobody open one folder; root would open any."""

    def __init__(self, store: Store, folder: str) -> None:
        self._store = store
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def open_folder(self, path: WorkPath) -> Folder:
        if path == self._folder:
            raise NoPermission(path)
        return self._store.open_folder(path)


def test_a_folder_that_may_not_be_opened_is_named_in_a_warning() -> None:
    store = cast(Store, _Shut(MemoryStore({"open/a": b"", "shut/b": b""}), "shut"))
    reply = Workspace(store).list(depth=2)
    assert names(reply) == ["open", "open/a", "shut"]
    assert [warning["code"] for warning in fact(reply, "warnings")] == ["no_permission"]
    assert "cannot be opened: shut" in reply.text


# --- globs -----------------------------------------------------------------------------------


def test_globs_choose_files_at_any_depth_and_folders_only_by_themselves() -> None:
    store = MemoryStore(TREE)
    assert listed(store, depth=9, glob="*.txt") == ["a/z.txt", "a.txt", "b/c.txt"]
    assert listed(store, depth=9, glob=["*.{py,md}"]) == ["B.md", "a/b/deep.py"]
    assert listed(store, depth=9, glob="a/**") == ["a/b", "a/b/deep.py", "a/z.txt"]
    assert listed(store, depth=9, glob="b") == ["a/b", "b"]
    assert listed(store, depth=9, glob=["!a", "!.*"]) == ["B.md", "a.txt", "b", "b/c.txt"]
    assert listed(store, depth=9, glob=["*.txt", "!a.txt"]) == ["a/z.txt", "b/c.txt"]


def test_globs_hold_for_the_totals() -> None:
    reply = Workspace(MemoryStore(TREE)).list(depth=9, glob="*.txt", limit=1)
    assert (fact(reply, "total"), fact(reply, "first")) == (3, 1)


# --- links -----------------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"")
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub/.env").write_bytes(b"")
    (root / "plain").write_bytes(b"")
    for name, target in {
        "1-file": "plain",
        "2-folder": "sub",
        "3-out": str(outside),
        "4-broken": "nowhere",
        "5-denied": "sub/.env",
        "6-denied-missing": ".env",
        "7-chain": "5-denied",
        "8-absolute": str(root / "sub/.env"),
        "9-loop": "9-loop",
    }.items():
        (root / name).symlink_to(target)
    return root


def test_links_are_never_followed_and_show_where_they_point(linked: Path) -> None:
    reply = Workspace(linked).list(depth=9)
    targets = {e["path"]: e.get("target") for e in fact(reply, "entries") if e["kind"] == "link"}
    assert targets["1-file"] == "plain"
    assert targets["2-folder"] == "sub"
    assert targets["3-out"] is None
    assert targets["4-broken"] == "nowhere"
    assert targets["9-loop"] == "9-loop"
    assert not any(name.startswith(("2-folder/", "3-out/")) for name in names(reply))
    assert "secret" not in reply.text


def test_the_target_of_a_link_is_not_shown_when_policy_denies_it(linked: Path) -> None:
    reply = Workspace(linked).list()
    targets = {e["path"]: e.get("target") for e in fact(reply, "entries") if e["kind"] == "link"}
    assert targets["5-denied"] is None
    assert targets["6-denied-missing"] is None
    assert targets["7-chain"] is None
    assert targets["8-absolute"] is None
    assert "5-denied -> (denied or outside)" in reply.text
    assert ".env" not in reply.text + str(reply.facts)


def test_a_listed_link_to_a_folder_is_that_folder(linked: Path) -> None:
    reply = Workspace(linked).list("2-folder")
    assert (names(reply), fact(reply, "denied"), fact(reply, "path")) == ([], 1, "2-folder")


# --- pages -----------------------------------------------------------------------------------


def many(count: int) -> MemoryStore:
    return MemoryStore({f"file_{number:05d}.txt": b"x" * (number % 7) for number in range(count)})


@each("sort", ["name", "mtime", "size"])
@each("limit", [1, 7, None])
def test_following_next_shows_every_entry_once(sort: ListSort, limit: int | None) -> None:
    options = {"sort": sort, "depth": 3, "limit": limit}
    files = {f"d{n % 3}/e{n % 5}/f{n:03d}": b"x" * (n % 4) for n in range(60)}
    whole = listed(MemoryStore(files), sort=sort, depth=3, limit=10_000)
    store = MemoryStore(files)
    pages = list(Driver(store).pages("list_directory", **{k: v for k, v in options.items() if v is not None}))
    assert sorted(name for page in pages for name in names(page)) == sorted(whole)
    if sort != "mtime":  # two stores, two clocks
        assert [name for page in pages for name in names(page)] == whole
    at = 1
    for page in pages:
        assert (fact(page, "first"), fact(page, "total")) == (at, 78)
        at += len(names(page))


def test_the_first_and_the_last_line_say_that_there_is_more() -> None:
    reply = Workspace(many(300)).list()
    assert reply.text.startswith(f". | entries 1-{LIST_LIMIT} of 300 (more below)")
    assert reply.text.split("\n")[-1].startswith('[Next: list_directory {"cursor":')
    assert (fact(reply, "reason"), fact(reply, "truncated")) == ("limit", True)
    assert fact(reply, "omitted")[0]["from"] == LIST_LIMIT + 1
    assert fact(reply, "omitted")[0]["to"] == 300


def test_a_page_ends_before_the_cap_and_says_so() -> None:
    pages = list(Driver(many(300), reply_bytes=MIN_REPLY_BYTES).pages("list_directory", limit=300))
    assert len(pages) > 1
    assert fact(pages[0], "reason") == "reply_cap"
    assert [name for page in pages for name in names(page)] == listed(many(300), limit=300)


def test_entries_that_come_and_go_hide_and_repeat_none_of_the_others() -> None:
    store = many(20)
    workspace = Workspace(store)
    first = workspace.list(limit=5)
    store.delete("file_00004.txt")  # the one that the cursor names
    store.put("file_00000a.txt", b"")
    store.put("file_00004a.txt", b"")
    following = workspace.call("list_directory", fact(first, "next")["arguments"])
    assert names(following)[:2] == ["file_00004a.txt", "file_00005.txt"]
    assert (fact(following, "first"), fact(following, "total")) == (6, 21)


def test_a_cursor_past_the_last_entry_shows_nothing_more() -> None:
    store = many(3)
    workspace = Workspace(store)
    following = fact(workspace.list(limit=2), "next")
    store.delete("file_00002.txt")
    reply = workspace.call("list_directory", following["arguments"])
    assert (names(reply), fact(reply, "next"), fact(reply, "first")) == ([], None, 0)
    assert reply.text == ". | no entries of 2\n[end of list]"


def test_a_cursor_belongs_to_its_arguments() -> None:
    workspace = Workspace(MemoryStore(TREE))
    cursor = fact(workspace.list(limit=1), "next")["arguments"]["cursor"]
    assert names(workspace.list(limit=2, cursor=cursor)) == [".github", "B.md"]
    for other in ({"depth": 2}, {"sort": "size"}, {"glob": "*"}, {"path": "a"}, {"include": ["ignored"]}):
        with pytest.raises(BadCursor) as failure:
            workspace.list(**{"path": ".", "cursor": cursor, **other})
        assert failure.value.next is not None


@each("place", ["", "../x", "/etc", "\0", '"\\9"'])
@each("sort", ["name", "size"])
def test_a_broken_cursor_is_refused(place: str, sort: ListSort) -> None:
    workspace = Workspace(many(3))
    cursor = fact(workspace.list(limit=1, sort=sort), "next")["arguments"]["cursor"]
    with pytest.raises(BadCursor):
        workspace.list(cursor=cursor.partition(".")[0] + "." + place, sort=sort)


def test_names_of_any_length_are_within_the_smallest_cap() -> None:
    store = MemoryStore({"/".join(["\u202e" * 60] * 8) + f"/{n}": b"" for n in range(3)})
    driver = Driver(store, reply_bytes=MIN_REPLY_BYTES)
    found = [name for page in driver.pages("list_directory", depth=9) for name in names(page)]
    assert len(found) == len(set(found)) == 11


def test_a_page_of_10_000_entries_costs_a_fortieth_of_all_their_names() -> None:
    """Performance target 7: server-filesystem sends "[FILE] name" for each."""
    theirs = tokens_of("\n".join(f"[FILE] file_{number:05d}.txt" for number in range(10_000)))
    store = MemoryStore()
    for number in range(10_000):
        # The dearest case: every file has its own date, and a size of millions.
        store.put(f"file_{number:05d}.txt", b"", mtime_ns=number * 86_400 * 10**9)
    text = Workspace(store).list().text.replace("\n0 ", "\n1234567 ")
    assert tokens_of(text) <= theirs / 40


# --- failures --------------------------------------------------------------------------------


@each(
    ("arguments", "error"),
    [
        ({"path": "a.txt"}, NotAFolder),
        ({"path": "nope"}, NotFound),
        ({"path": ".git"}, Denied),
        ({"path": ".env"}, Denied),
        ({"glob": "[a"}, BadPattern),
        ({"glob": "{a,b"}, BadPattern),
        ({"cursor": "nonsense"}, BadCursor),
        ({"depth": -1}, BadValue),
        ({"limit": -1}, BadValue),
        ({"include": ["hidden"]}, BadValue),
    ],
)
def test_bad_calls_fail_by_their_name(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Workspace(MemoryStore(TREE)).list(**arguments)


# --- time and change ----------------------------------------------------------------------------


def meddling(act: Callable[[], None]) -> Measure:
    """A measure that does something after each entry was looked at."""
    assert MEASURE.list is not None
    cost = MEASURE.list.listed

    def listed(entry: ListEntry) -> int:
        act()
        return cost(entry)

    return replace(MEASURE, list=ListMeasure(listed))


@pytest.mark.parametrize("sort", ["name", "size"])
def test_a_name_that_vanishes_before_it_is_looked_at_is_not_listed(tmp_path: Path, sort: ListSort) -> None:
    for number in range(4):
        (tmp_path / f"f{number}").touch()
    (tmp_path / "g").mkdir()

    def act() -> None:
        (tmp_path / "f2").unlink(missing_ok=True)
        if (tmp_path / "g").is_dir():
            (tmp_path / "g").rmdir()
            (tmp_path / "g").write_bytes(b"no folder any more")

    workspace = Workspace(tmp_path)
    cap = Cap(REPLY_BYTES, meddling(act))
    result = perform(serving(workspace.guard), job(ListRequest(sort="name"), cap))
    assert [entry.path for entry in result.entries] == ["f0", "f1", "f3"]
    assert result.total == 3


class Clock:
    """Moves on by one second each time somebody looks at it, from the n-th look on."""

    def __init__(self, quiet: int) -> None:
        self.quiet = quiet
        self.now = 0.0

    def __call__(self) -> float:
        self.quiet -= 1
        self.now += self.quiet < 0
        return self.now


def under(store: Store, clock: Clock, **options: Any) -> ListResult:
    limits, cap = Limits(list_timeout_s=0.5), Cap(REPLY_BYTES, MEASURE)
    services = serving(Workspace(store).guard, limits)
    return perform(services, job(ListRequest(**options), cap, Deadline(limits.list_timeout_s, clock=clock)))


def folders(count: int) -> MemoryStore:
    return MemoryStore({f"d{number:03d}/f{number}": b"" for number in range(count)})


def test_by_name_the_time_limit_gives_a_true_beginning_and_goes_on_from_there() -> None:
    store = folders(40)
    whole = listed(store, depth=2, limit=1000)
    result = under(store, Clock(60), depth=2, limit=1000)
    shown = [entry.path for entry in result.entries]
    assert 0 < len(shown) < len(whole)
    assert shown == whole[: len(shown)]
    assert (result.total_known, result.reason) == (False, "timeout")
    assert result.next is not None
    following = under(store, Clock(10**6), depth=2, limit=1000, cursor=result.next.cursor)
    assert shown + [entry.path for entry in following.entries] == whole


def test_a_full_page_is_continued_though_the_rest_was_not_counted() -> None:
    result = under(folders(40), Clock(60), depth=2, limit=3)
    assert (len(result.entries), result.reason, result.total_known) == (3, "limit", False)
    assert result.next is not None
    assert "of 3+" not in render_list(result, Cap(REPLY_BYTES, MEASURE)).text


def test_by_size_the_time_limit_gives_what_was_seen_and_the_way_by_name() -> None:
    result = under(folders(40), Clock(60), depth=2, limit=1000, sort="size")
    assert result.entries
    assert (result.total_known, result.reason, result.next) == (False, "timeout", None)
    assert result.omitted[0].request == ListRequest(depth=2, limit=1000)
    text = render_list(result, Cap(REPLY_BYTES, MEASURE)).text
    assert 'Instead: list_directory {"depth":2,"limit":1000}' in text


@pytest.mark.parametrize("sort", ["name", "size"])
def test_nothing_before_the_time_limit_is_a_failure(sort: ListSort) -> None:
    with pytest.raises(TimedOut) as failure:
        under(folders(40), Clock(1), depth=2, sort=sort)
    assert failure.value.next == ListRequest()  # what stands in the folder itself is known sooner
    with pytest.raises(TimedOut) as failure:
        under(folders(40), Clock(1))
    assert failure.value.next is None


def test_a_caller_that_goes_away_ends_the_work() -> None:
    deadline = Deadline()
    deadline.cancel()
    with pytest.raises(Cancelled):
        Workspace(many(3)).perform("list_directory", {}, deadline=deadline)


def test_progress_is_reported_for_each_folder() -> None:
    seen: list[int] = []
    deadline = Deadline(progress=lambda done, total, unit: seen.append(done))
    Workspace(folders(3)).perform("list_directory", {"depth": 2}, deadline=deadline)
    assert seen == [3, 4, 5, 6]
