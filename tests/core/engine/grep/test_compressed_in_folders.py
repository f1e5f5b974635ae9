"""A search of a folder counts the compressed files it leaves out, and searches them when asked to."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from readroom.core.limits import MAX_WARNINGS, Limits
from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from tests.each import each
from tests.laws.driving import STORES, Driver, StoreName, fact, stored
from tests.suites import daily

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

LINES = [f"line {number} {'needle' if number % 10 == 0 else 'hay'}" for number in range(1, 41)]
TEXT = "".join(f"{line}\n" for line in LINES).encode()
FILES = {
    "a.txt": b"needle\n",
    "b/app.log.gz": gzip.compress(TEXT, mtime=0),
    "b/app.log.xz": lzma.compress(TEXT),
    "c.zst": zstd.compress(TEXT),
    "d": bz2.compress(TEXT),
    "image.gz": gzip.compress(b"\x89PNG\r\n\x1a\n\0\0\0needle", mtime=0),
    "z.txt": b"hay\n",
}
PACKED = ["b/app.log.gz", "b/app.log.xz", "c.zst", "d"]
WANTED = [("a.txt", 1), *((path, number) for path in PACKED for number in (10, 20, 30, 40))]


@pytest.fixture(scope="module", params=STORES)
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    name: StoreName = request.param
    with stored(name, FILES) as found:
        yield found


def places(reply: Reply) -> list[tuple[str, int]]:
    return [
        (file["path"], line["line"])
        for file in fact(reply, "files")
        for line in file["lines"]
        if line["match"]
    ]


def warned(reply: Reply) -> dict[str, str]:
    return {warning["code"]: warning["detail"] for warning in fact(reply, "warnings")}


@each("pattern", ["needle", "nothing at all"])
@each("sort", ["path", "mtime", "relevance"])
def test_compressed_files_that_were_left_out_are_counted_and_named(
    store: Store, pattern: str, sort: str
) -> None:
    """Whether or not something matched; and the call that searches them, too, is there."""
    driver = Driver(store)
    reply = driver.call("grep_files", pattern=pattern, sort=sort)
    said = "5 files were not searched: "
    assert warned(reply)["compressed"].startswith(said)
    assert said in reply.text
    assert "b/app.log.gz" in warned(reply)["compressed"]
    (item,) = [item for item in fact(reply, "omitted") if item["reason"] == "compressed"]
    assert (item["what"], item["from"], item["to"]) == ("files", 1, 5)
    again = driver.follow(item["call"])
    assert "compressed" not in warned(again)
    assert sorted(places(again)) == (sorted(WANTED) if pattern == "needle" else [])


@daily(2, "limit", [1, 3, 100])
def test_their_matches_come_once_and_in_order_over_pages(store: Store, limit: int) -> None:
    replies = list(Driver(store).pages("grep_files", pattern="needle", include=["compressed"], limit=limit))
    assert [place for reply in replies for place in places(reply)] == WANTED


def test_the_lines_around_matches_and_their_numbers_are_those_of_a_read(store: Store) -> None:
    driver = Driver(store)
    reply = driver.call("grep_files", pattern="needle", path="b", include=["compressed"], context=1)
    for file in fact(reply, "files"):
        shown = {line["line"]: line["text"] for line in file["lines"]}
        assert sorted(shown) == [9, 10, 11, 19, 20, 21, 29, 30, 31, 39, 40]
        assert shown == {number: driver.lines(file["path"])[number].rstrip("\n") for number in shown}


@each("output", ["count", "files"])
def test_they_are_counted_and_listed_like_others(store: Store, output: str) -> None:
    reply = Driver(store).call("grep_files", pattern="needle", include=["compressed"], output=output)
    assert [file["path"] for file in fact(reply, "files")] == ["a.txt", *PACKED]
    if output == "count":
        assert [file["matches"] for file in fact(reply, "files")] == [1, 4, 4, 4, 4]


@each("sort", ["mtime", "relevance"])
def test_other_orders_have_them_too(store: Store, sort: str) -> None:
    reply = Driver(store).call("grep_files", pattern="needle", include=["compressed"], sort=sort)
    assert sorted(places(reply)) == sorted(WANTED)


def test_globs_choose_among_them(store: Store) -> None:
    driver = Driver(store)
    reply = driver.call("grep_files", pattern="needle", include=["compressed"], glob="*.gz")
    assert {path for path, _ in places(reply)} == {"b/app.log.gz"}
    assert "compressed" not in warned(driver.call("grep_files", pattern="needle", glob="*.txt"))


def test_how_much_is_expanded_is_bounded_and_said(store: Store) -> None:
    driver = Driver(store, limits=Limits(expanded_bytes=200))
    reply = driver.call("grep_files", pattern="needle", path="b", include=["compressed"])
    assert places(reply) == [("b/app.log.gz", 10), ("b/app.log.xz", 10)]
    said = warned(reply)["expansion_limit"]
    assert re.match(r"b/app\.log\.(gz|xz): only the first 200 bytes of the content were expanded", said)


def test_a_bomb_does_not_keep_the_search_from_the_others(tmp_path: Path) -> None:
    """What takes too long to expand is left with its share of the time and named."""
    bomb = gzip.compress(b"hay\n" * (1 << 22), 1)
    (tmp_path / "a.gz").write_bytes(bomb * 60)
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"needle\n"))
    driver = Driver(LocalStore(tmp_path))
    arguments: dict[str, Any] = {"pattern": "needle", "include": ["compressed"], "timeout_s": 1}
    replies = list(driver.pages("grep_files", **arguments))
    assert [place for reply in replies for place in places(reply)] == [("b.gz", 1)]
    said = [warned(reply)["unfinished"] for reply in replies if "unfinished" in warned(reply)]
    # A fast machine is done in time.
    assert said in ([], ["out of time, no error: a.gz: not expanded in time"])


def test_of_many_damaged_files_those_that_are_not_named_are_counted() -> None:
    files = {f"{number:02}.gz": b"\x1f\x8b\x08junk" for number in range(MAX_WARNINGS + 5)}
    reply = Driver(MemoryStore(files)).call("grep_files", pattern="needle", include=["compressed"])
    told = [warning["detail"] for warning in fact(reply, "warnings") if warning["code"] == "broken_data"]
    assert len(told) == MAX_WARNINGS + 1
    assert told[-1] == "5 more files could not be searched completely"


def test_damaged_data_are_searched_as_far_as_they_go_and_said(store: Store) -> None:
    whole = gzip.compress("".join(f"{n * n} needle\n" for n in range(5000)).encode())
    files = {"cut.gz": whole[: len(whole) // 2], "nothing.gz": b"\x1f\x8b\x08junk"}
    reply = Driver(MemoryStore(files)).call("grep_files", pattern="^0 needle", include=["compressed"])
    assert places(reply) == [("cut.gz", 1)]
    told = [warning["detail"] for warning in fact(reply, "warnings") if warning["code"] == "broken_data"]
    assert len(told) == 2
    assert all(name in " ".join(told) for name in files)


def test_policy_holds_for_them(tmp_path: Path) -> None:
    """What is denied is neither searched, nor counted, nor named."""
    (tmp_path / ".env").write_bytes(gzip.compress(b"needle\n"))
    for include in (["hidden"], ["hidden", "compressed"]):
        reply = Driver(LocalStore(tmp_path)).call("grep_files", pattern="needle", include=include)
        assert places(reply) == []
        assert ".env" not in f"{reply.text}{reply.facts}"
        assert "compressed" not in warned(reply)


def test_a_second_name_outside_the_root_is_treated_as_for_a_plain_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.gz").write_bytes(gzip.compress(b"needle\n"))
    (tmp_path / "outside.txt").write_bytes(b"needle\n")
    for name in ("outside.gz", "outside.txt"):
        (root / name).hardlink_to(tmp_path / name)
    driver = Driver(LocalStore(root))
    reply = driver.call("grep_files", pattern="needle", include=["compressed"])
    plain = driver.call("grep_files", pattern="needle")
    found = {path for path, _ in places(reply)}
    assert ("outside.gz" in found) is ("outside.txt" in {path for path, _ in places(plain)})
