"""Sums are those of the rows, however rows come, go and are spoiled."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from readroom.server.database import Execute
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger import sums
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.sums import differences
from readroom.server.ledger.verify import prune, verify
from tests.server.ledger.events import before_durations, book, empty_folder, event, long_calls

NAMES = st.sampled_from(["a", "b"])

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "time_us": st.integers(0, 5 * sums.DAY_US),
            "workspace": NAMES,
            "agent": NAMES,
            "session": NAMES,
            "tool": st.sampled_from(["read_file", "grep_files"]),
            "outcome": st.sampled_from(["ok", "denied", "begun"]),
            "decision": st.sampled_from(["allowed", "refused"]),
            "face": st.sampled_from(["mcp", sums.LOOKED_AT]),
            "epoch": st.integers(0, 3),
            "shown": st.sampled_from(
                ["[]", '[["x",null,1,9]]', '[["x","sha256:a",1,2],["y",null,0,0],["x",null,4,4]]', "{"]
            ),
            "tokens": st.integers(0, 1000),
            "duration_us": st.integers(0, 20_000),
        }
    ),
    max_size=30,
)


def unlike(found: Ledger) -> list[str]:
    return found.look(lambda execute: list(differences(execute)))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, step=st.integers(1, 7))
def test_sums_are_those_of_the_rows_however_they_are_taken(
    tmp_path: Path, rows: list[dict[str, object]], step: int
) -> None:
    backend = SqliteBackend(str(empty_folder(tmp_path) / "ledger.sqlite3"))
    found = Ledger(backend)
    for fields in rows:
        found.append(event(**fields))
    while backend.run(lambda execute: sums.fold(execute, step), write=True):
        assert unlike(found) == []
    assert found.unsummed() == 0
    counted = found.look(lambda execute: execute("SELECT COALESCE(SUM(tokens), 0) FROM sums_by_hour"))[0][0]
    agents = [one for one in rows if one["face"] == "mcp" and one["outcome"] != "begun"]
    assert counted == sum(int(str(one["tokens"])) for one in agents)
    found.close()


def test_writers_keep_sums_close_to_the_rows(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append_all([event() for _ in range(1200)])
    assert found.unsummed() <= 700
    assert found.sum_up(10) == 0
    assert verify(found).problems == ()


def test_verification_names_a_sum_that_was_changed(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append(event())
    found.sum_up(10)
    with sqlite3.connect(tmp_path / "ledger.sqlite3") as other:
        other.execute("UPDATE sums_by_hour SET tokens = 1")
    other.close()
    assert "sums_by_hour" in verify(found).problems[0]


def test_sums_after_pruning_are_those_of_what_is_left(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append(event(time_us=1))
    found.append(event(time_us=time.time_ns() // 1_000, tokens=7))
    found.sum_up(10)
    assert prune(found, 1) == 1
    found.sum_up(10)
    assert unlike(found) == []
    assert _tokens(found) == 7


def test_a_flood_counts_as_many_requests_as_it_had(tmp_path: Path) -> None:
    found = book(tmp_path)
    found.append(event(contract="", arguments=json.dumps({"times": 500}), decision="refused", outcome="x"))
    found.sum_up(10)
    assert found.look(lambda execute: execute("SELECT requests FROM sums_by_hour")) == [(500,)]


def test_durations_of_a_ledger_from_before_are_summed_when_it_is_opened(tmp_path: Path) -> None:
    """By SQL, as sums are made of new rows; those that are in no sum yet come later."""
    found = book(tmp_path)
    found.append_all(long_calls())
    found.sum_up(10)
    found.append(event(duration_us=777))
    found.close()
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other, other:
        for statement in before_durations():
            other.execute(statement)
    again = book(tmp_path)
    assert verify(again).problems == ()
    again.sum_up(10)
    assert verify(again).problems == ()


def _tokens(found: Ledger) -> int:
    def ask(execute: Execute) -> int:
        return int(execute("SELECT SUM(tokens) FROM sums_by_hour")[0][0])

    return found.look(ask)
