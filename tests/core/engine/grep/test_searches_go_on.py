"""A search goes on past what it cannot finish, says which that was and why, and how to search just that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.stores.local import LocalStore
from readroom.core.values import Reply
from tests.laws.driving import Driver, fact
from tests.suites import daily

ENDLESS = 1 << 40
"""Bytes of a hole that nobody reads to its end."""


def places(reply: Reply) -> list[tuple[str, int | None, int]]:
    """File, part and line of each match in a reply."""
    return [
        (file["path"], line["part"], line["line"])
        for file in fact(reply, "files")
        for line in file["lines"]
        if line["match"]
    ]


def warned(reply: Reply) -> dict[str, str]:
    return {warning["code"]: warning["detail"] for warning in fact(reply, "warnings")}


def beside(replies: list[Reply]) -> Iterator[dict[str, Any]]:
    """The calls for files that were left before their end."""
    for reply in replies:
        for item in fact(reply, "omitted"):
            if item["reason"] == "timeout":
                yield item["call"]


# --- files -------------------------------------------------------------------------------------


def endless(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(ENDLESS)


def test_a_file_without_an_end_does_not_hide_those_behind_it(tmp_path: Path) -> None:
    endless(tmp_path / "a.bin")
    (tmp_path / "b.txt").write_text("needle\n")
    driver = Driver(LocalStore(tmp_path))
    arguments: dict[str, Any] = {"pattern": "needle", "include": ["binary"], "timeout_s": 1}
    replies = list(driver.pages("grep_files", **arguments))
    assert [place for reply in replies for place in places(reply)] == [("b.txt", None, 1)]
    # On a busy machine what is behind it can be a page of its own, which is complete.
    assert not all(fact(reply, "complete") for reply in replies)
    (said,) = [warned(reply)["unfinished"] for reply in replies if "unfinished" in warned(reply)]
    # How far it came is not known while rg maps the file instead of reading it.
    assert re.search(rf"a\.bin: ([\d,]+ of {ENDLESS:,} bytes searched|not searched completely)", said)
    (call,) = beside(replies)
    assert (call["tool"], call["arguments"]["path"]) == ("grep_files", "a.bin")
    assert any(call["arguments"]["path"] in reply.text for reply in replies)


@daily(1, "output", ["content", "count", "files"])
def test_a_match_before_a_hole_without_an_end_is_shown_and_the_rest_is_named(
    tmp_path: Path, output: str
) -> None:
    (tmp_path / "a.bin").write_bytes(b"needle\n")
    with (tmp_path / "a.bin").open("r+b") as file:
        file.truncate(ENDLESS)
    (tmp_path / "b.txt").write_text("needle\n")
    driver = Driver(LocalStore(tmp_path))
    shown = {"pattern": "needle", "include": ["binary"], "timeout_s": 1, "output": output}
    replies = list(driver.pages("grep_files", **shown))
    found = [file["path"] for reply in replies for file in fact(reply, "files")]
    assert found == (["b.txt"] if output == "count" else ["a.bin", "b.txt"])
    assert bool(list(beside(replies))) is (output != "files")


NAMES = ("a", "b/c", "b/d e", "b/é", "f", "g/h/i", "z")


@settings(max_examples=4, deadline=None)
@given(stuck=st.sets(st.sampled_from(NAMES), max_size=3), timeout=st.sampled_from([0.05, 0.5, 0.8]))
def test_by_its_own_calls_a_search_reaches_every_other_file_exactly_once(
    stuck: set[str], timeout: float
) -> None:
    with TemporaryDirectory(prefix="readroom-stuck-") as folder:
        for name in NAMES:
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("needle\n")
        for name in stuck:
            endless(Path(folder, name + ".bin"))
        driver = Driver(LocalStore(folder))
        replies = list(
            driver.pages("grep_files", pattern="needle", include=["binary"], timeout_s=timeout, limit=2)
        )
        assert [path for reply in replies for path, _, _ in places(reply)] == list(NAMES)
        named = [call["arguments"]["path"] for call in beside(replies)]
        assert sorted(named) == sorted(name + ".bin" for name in stuck)
        assert fact(replies[-1], "next") is None


def test_many_names_before_a_page_do_not_bring_back_what_was_left(tmp_path: Path) -> None:
    """More names than fit into the arguments of the search process: it is told of them otherwise."""
    for number in range(2100):
        (tmp_path / f"n{number:04}").write_bytes(b"hay\n")
    for name in ("a", "b", "c", "n0500x"):
        endless(tmp_path / name)
    for name in ("n2050", "z"):
        (tmp_path / name).write_bytes(b"needle\n")
    driver = Driver(LocalStore(tmp_path))
    replies = list(driver.pages("grep_files", pattern="needle", include=["binary"], timeout_s=1))
    assert [path for reply in replies for path, _, _ in places(reply)] == ["n2050", "z"]
    assert sorted(call["arguments"]["path"] for call in beside(replies)) == ["a", "b", "c", "n0500x"]
    assert len(replies) <= 60  # some 8 with time enough; one for each name would be 2,100


def test_a_file_that_policy_denies_is_not_named_however_long_it_takes(tmp_path: Path) -> None:
    endless(tmp_path / "server.pem")
    (tmp_path / "z.txt").write_text("needle\n")
    driver = Driver(LocalStore(tmp_path))
    replies = list(driver.pages("grep_files", pattern="needle", include=["binary"], timeout_s=1))
    assert [path for reply in replies for path, _, _ in places(reply)] == ["z.txt"]
    assert all("server.pem" not in f"{reply.text} {reply.facts}" for reply in replies)
