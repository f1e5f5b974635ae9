"""Giant logs: counted on as they grow, shown in part when time is up, never torn by a writer."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.errors import Changed, NotFound, TimedOut
from readroom.core.limits import BLOCK_BYTES, Limits
from readroom.core.session.index_files import IndexPolicy
from readroom.core.stores.local import LocalStore
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from tests.core.engine.read.test_text import Restless
from tests.core.session.logs import Watched, giant, rows
from tests.laws.driving import fact, shown

LINES = 150_000
DATA = rows(1, LINES)


def space(files: dict[str, bytes] | None = None) -> Workspace:
    return Workspace(MemoryStore(files or {"a.log": DATA}), settings=Settings(index=giant()))


def timed(workspace: Workspace, reports: int, **arguments: Any) -> Reply:
    """A read that has time for so many pieces of the first pass."""
    return workspace.perform(
        "read_file",
        {"path": "a.log", **arguments},
        deadline=Watched(reports).deadline,
    )


def top(reply: Reply) -> str:
    return reply.text.partition("\n")[0]


# --- a log that has grown --------------------------------------------------------------------


def test_a_log_that_has_grown_says_that_its_hash_is_unknown() -> None:
    store = MemoryStore({"a.log": DATA})
    with Workspace(store, settings=Settings(index=giant())) as workspace:
        known = fact(workspace.read("a.log"), "content_hash")
        store.put("a.log", DATA + rows(LINES + 1, LINES + 2))
        reply = workspace.read("a.log", limit=3)
        assert list(shown(reply)) == [LINES, LINES + 1, LINES + 2]
        assert fact(reply, "content_hash") is None
        assert "hash unknown" in top(reply)
        assert fact(reply, "total_lines") == LINES + 2
        assert [warning["code"] for warning in fact(reply, "warnings")] == ["hash_unknown"]
        sure = workspace.read("a.log", limit=3, known_hash=known)
        data = DATA + rows(LINES + 1, LINES + 2)
        assert fact(sure, "content_hash") == "sha256:" + hashlib.sha256(data).hexdigest()
        assert fact(sure, "warnings") == []


def test_a_log_that_grows_during_a_read_is_passed_over_once(tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    file.write_bytes(DATA)

    def append(count: int) -> None:
        with file.open("ab") as end:
            end.write(b"more\n")

    steps: list[int] = []
    store = Restless(LocalStore(tmp_path), append)
    with Workspace(store, settings=Settings(index=giant())) as workspace:
        deadline = Deadline(progress=lambda done, total, unit: steps.append(done))
        reply = workspace.perform("read_file", {"path": "a.log", "limit": 1}, deadline=deadline)
    assert shown(reply) == {LINES: f"line {LINES:07d} of a log"}
    assert (fact(reply, "total_lines"), fact(reply, "content_hash")) == (LINES, None)
    assert "grew" in {warning["code"] for warning in fact(reply, "warnings")}
    assert steps == sorted(set(steps))


# --- out of time -----------------------------------------------------------------------------


def test_out_of_time_the_beginning_is_shown_with_exact_numbers() -> None:
    with space() as workspace:
        reply = timed(workspace, 1, offset=5, limit=3)
        assert shown(reply) == {n: f"line {n:07d} of a log" for n in (5, 6, 7)}
        assert (fact(reply, "total_lines"), fact(reply, "content_hash")) == (None, None)
        assert "lines 5-7 of an unknown number" in top(reply)
        assert fact(reply, "next")["arguments"]["offset"] == 8
        left = fact(reply, "omitted")
        counted = DATA[: 4 * BLOCK_BYTES].count(b"\n")
        assert [(one["what"], one["from"], one["to"]) for one in left] == [
            ("lines", 8, counted),
            ("bytes", counted * 22 + 1, len(DATA)),
        ]


def test_out_of_time_the_end_is_shown_counted_from_the_end() -> None:
    with space() as workspace:
        reply = timed(workspace, 1, limit=2)
        assert shown(reply) == {-2: f"line {LINES - 1:07d} of a log", -1: f"line {LINES:07d} of a log"}
        assert fact(reply, "lines_shown") == {"start": -2, "end": -1}
        assert fact(reply, "read_mode") == "tail"
        assert "counted from the end" in top(reply)
        assert fact(reply, "omitted")[0]["to"] == len(DATA) - 44
        middle = timed(workspace, 1, offset=-10, limit=3)
        assert shown(middle) == {-n: f"line {LINES + 1 - n:07d} of a log" for n in (10, 9, 8)}
        assert fact(middle, "next")["arguments"]["offset"] == -7


def test_out_of_time_a_line_that_was_not_reached_is_an_error_that_goes_on() -> None:
    with space() as workspace:
        with pytest.raises(TimedOut, match="bytes are counted so far") as caught:
            timed(workspace, 1, offset=LINES, limit=1)
        assert caught.value.next is not None
        reply = workspace.read("a.log", offset=LINES, limit=1)
        assert shown(reply) == {LINES: f"line {LINES:07d} of a log"}
        assert fact(reply, "content_hash") == "sha256:" + hashlib.sha256(DATA).hexdigest()


def test_calls_with_little_time_come_to_the_end_by_following_next() -> None:
    """Each goes on where the last one stopped, and every line is shown once, in order."""
    found: list[int] = []
    with space() as workspace:
        call: dict[str, Any] | None = {"offset": 1, "limit": 20_000}
        while call is not None:
            reply = timed(workspace, 1, **call)
            found += shown(reply)
            following = fact(reply, "next")
            call = None if following is None else following["arguments"]
    assert found == list(range(1, LINES + 1))


def test_out_of_time_hints_are_accepted() -> None:
    with space() as workspace:
        asked: list[dict[str, Any]] = [
            {"limit": 2},
            {"offset": 1, "limit": 2},
            {"offset": -300, "limit": 2},
        ]
        for first in asked:
            reply = timed(workspace, 1, **first)
            calls = [item["call"] for item in fact(reply, "omitted")] + [fact(reply, "next")]
            assert calls
            for call in calls:
                if call is not None:
                    assert not workspace.call(call["tool"], call["arguments"]).is_error


def test_out_of_time_in_one_giant_line_nothing_is_invented() -> None:
    data = b"x" * (8 * 1024 * 1024)
    with space({"a.log": data}) as workspace:
        calls: list[dict[str, Any]] = [{}, {"offset": 1}, {"offset": -1}, {"column": 2000}]
        for arguments in calls:
            with pytest.raises(TimedOut):
                timed(workspace, 1, **arguments)


def test_out_of_time_wide_text_is_cut_between_characters() -> None:
    data = b"\xff\xfe" + "".join(f"Zeile {n} \u0a0d\n" for n in range(200_000)).encode("utf-16-le")
    with space({"a.log": data}) as workspace:
        end = timed(workspace, 1, limit=2)
        assert shown(end) == {-2: "Zeile 199998 \u0a0d", -1: "Zeile 199999 \u0a0d"}
        start = timed(workspace, 1, offset=2, limit=1)
        assert shown(start) == {2: "Zeile 1 \u0a0d"}


def test_the_limit_of_the_workspace_ends_a_pass_as_well() -> None:
    limits = Limits(read_timeout_s=1e-9)
    with Workspace(MemoryStore({"a.log": DATA}), settings=Settings(limits=limits)) as workspace:
        reply = workspace.read("a.log", limit=1)
        assert shown(reply) == {-1: f"line {LINES:07d} of a log"}


# --- a file that is mostly a hole ------------------------------------------------------------


def test_the_last_lines_of_a_sparse_file_of_gigabytes_are_numbered(tmp_path: Path) -> None:
    size = 2 * 1024**3
    with open(tmp_path / "a.log", "wb") as file:
        file.write(rows(1, 1000))
        file.seek(size)
        file.write(b"\n" + rows(1001, 1003))
    policy = IndexPolicy(folder=str(tmp_path.parent / f"{tmp_path.name}-kept"), settled_ms=-1e9)
    asked: dict[str, Any] = {"path": "a.log", "offset": 1002, "limit": 2}
    for steps in (size // (4 * BLOCK_BYTES) + 1, 0):
        watched = Watched()
        with Workspace(tmp_path, settings=Settings(index=policy)) as workspace:
            reply = workspace.perform("read_file", asked, deadline=watched.deadline)
        assert shown(reply) == {1002: "line 0001001 of a log", 1003: "line 0001002 of a log"}
        assert fact(reply, "total_lines") == 1004
        assert len(watched.steps) == steps


# --- real writers ----------------------------------------------------------------------------

_WRITER = """
import os, random, sys
path, folder = sys.argv[1], os.path.dirname(sys.argv[1])
rng, generation, number = random.Random(7), 0, 0
def lines(count):
    global number
    found = "".join(f"generation {generation} line {number + n + 1}\\n" for n in range(count))
    number += count
    return found.encode()
file = open(path, "ab", buffering=0)
print("ready", flush=True)
while True:
    what = rng.randrange(12)
    if what == 0:
        generation, number = generation + 1, 0
        os.truncate(path, 0)
    elif what == 1:
        os.replace(path, path + ".1")
        generation, number = generation + 1, 0
        file.close()
        file = open(path, "ab", buffering=0)
    file.write(lines(rng.choice([1, 50, 40000])))
"""
_ROW = re.compile(r"generation (\d+) line (\d+)")


def test_a_log_that_is_appended_to_cut_and_rotated_is_never_torn(tmp_path: Path) -> None:
    """Every window is of one generation, its lines numbered as they were written."""
    path = tmp_path / "a.log"
    writer = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        replies, generation, turn = 0, 0, 0
        with Workspace(tmp_path, settings=Settings(index=giant(tmp_path.parent / "kept"))) as workspace:
            while generation < 15 or turn < 200:
                turn += 1
                try:
                    reply = workspace.read("a.log", offset=-40 if turn % 2 else 1, limit=40)
                except Changed:
                    continue
                except NotFound:
                    continue  # between the two steps of a rotation
                replies += 1
                found = list(shown(reply).items())
                if found and found[-1][0] == fact(reply, "total_lines"):
                    found.pop()  # it was being written
                rows_found = [(number, _ROW.fullmatch(line)) for number, line in found]
                assert all(match is not None for _, match in rows_found), reply.text[-300:]
                assert len({match[1] for _, match in rows_found if match}) <= 1
                assert all(int(match[2]) == number for number, match in rows_found if match)
                generation = max([generation, *(int(match[1]) for _, match in rows_found if match)])
        assert replies > 20
    finally:
        writer.kill()
        writer.communicate()
