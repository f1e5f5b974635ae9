"""Every number on the pages is that of the rows, in both databases, and percentiles are exact."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import psycopg
import pytest

from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.rows import Event
from readroom.server.ledger.sums import DAY_US, HOUR_US
from tests.server.http.by_hand import Ask, ByHand, Chosen, dashboard, got
from tests.server.ledger.events import event
from tests.server.ledger.postgres import programs, running

ROWS, SPAN_DAYS = 1200, 40
FILTERS: Sequence[dict[str, str]] = (
    {},
    {"agent": "codex"},
    {"token": "00000000000a"},
    {"tool": "grep_files"},
    {"outcome": "failed"},
    {"outcome": "refused"},
    {"outcome": "ok"},
    {"agent": "claude-code", "tool": "read_file"},
    {"since": "7d"},
    {"since": "30d", "agent": "codex", "outcome": "failed"},
)


def events(root: str) -> Iterator[Event]:
    """Calls of all sorts: several files, refusals, floods, calls that never ended, looks, another folder."""
    chance = random.Random(33)
    first_us = time.time_ns() // 1000 - SPAN_DAYS * DAY_US
    for at in range(ROWS):
        tool = chance.choice(["read_file", "read_file", "grep_files", "edit_file"])
        files = [f"src/{name}.py" for name in chance.sample("abcdef", chance.choice([0, 1, 1, 1, 3]))]
        spans = [[file, f"sha256:{file}", first := chance.randrange(1, 50), first + 9] for file in files]
        if chance.random() < 0.1:
            spans += [[file, None, 0, 0] for file in files[:1]]
        refused = chance.random() < 0.1
        session = chance.randrange(12)
        fields = {
            "time_us": first_us + at * SPAN_DAYS * DAY_US // ROWS,
            "workspace": root if chance.random() < 0.9 else "/another",
            "agent": ["codex", "claude-code", "pi"][session % 3],
            "session": f"work-{session}",
            "token": f"{10 + session % 2:012x}",
            "face": "ui" if chance.random() < 0.05 else "mcp",
            "epoch": at * 3 // ROWS,
            "tool": tool,
            "path": files[0] if files else None,
            "arguments": json.dumps({"path": files[0] if files else ".", "pattern": f"word{at % 7}"}),
            "decision": "refused" if refused else "allowed",
            "outcome": "denied" if refused else chance.choice(["ok"] * 8 + ["begun", "no_match"]),
            "shown": "[]" if refused else json.dumps(spans),
            "tokens": chance.randrange(3000),
            "duration_us": int(chance.lognormvariate(9, 2)),
        }
        if chance.random() < 0.03:
            flood = {"method": "POST", "times": chance.randrange(1, 90)}
            fields |= {"contract": "", "decision": "refused", "outcome": "unauthorized", "tokens": 0}
            fields |= {"tool": chance.choice(["/v1/x", ""]), "arguments": json.dumps(flood), "shown": "[]"}
            fields |= {"session": "", "face": "http", "path": None}
        yield event(**fields)


PROGRAMS = programs()
needs_postgres = (
    pytest.mark.xdist_group("postgres"),
    pytest.mark.skipif(PROGRAMS is None and "CI" not in os.environ, reason="PostgreSQL is not installed"),
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=needs_postgres)])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[LedgerPolicy, Ask, str]]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            policy = LedgerPolicy(file=str(tmp_path / "ledger.sqlite3"))
            open_book(policy).close()
            lite = stack.enter_context(closing(sqlite3.connect(str(policy.file))))
            yield policy, lambda sql: lite.execute(sql).fetchall(), request.param
            return
        assert PROGRAMS is not None, "PostgreSQL is required here: see .ci/run"
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="readroom-pg-"))
        url = stack.enter_context(running(PROGRAMS, Path(folder))).url
        with psycopg.connect(url, autocommit=True) as connection:
            yield (
                LedgerPolicy(url=url),
                lambda sql: connection.execute(sql.encode()).fetchall(),
                request.param,
            )


def test_every_number_is_that_of_the_rows(ledger: tuple[LedgerPolicy, Ask, str], tmp_path: Path) -> None:
    policy, ask, dialect = ledger
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    for name in "abcdefgh":
        (root / "src" / f"{name}.py").write_text("x = 1\n" * 60, encoding="utf-8")
    with closing(open_book(policy)) as book:
        book.append_all(list(events(str(root))))
        book.sum_up(60)
    with dashboard(policy.url or str(policy.file), root) as (_, port):
        by_hand = ByHand(lambda address: got(port, address), ask, str(root), dialect)
        for values in FILTERS:
            _at_one_hour(by_hand, values)
        for session in range(12):
            by_hand.session(
                f"work-{session}", ["codex", "claude-code", "pi"][session % 3], f"{10 + session % 2:012x}"
            )
        for name in "abcdefgh":
            by_hand.file(f"src/{name}.py")
        by_hand.search("word3")
    assert by_hand.differences == []
    assert by_hand.compared > 2000


def _at_one_hour(by_hand: ByHand, values: dict[str, str]) -> None:
    """Compare with a range that begins at a whole hour; once more if the next hour began meanwhile."""
    days = int(values["since"][:-1]) if "since" in values else None
    for _ in range(2):
        hour = _hour()
        before = len(by_hand.differences)
        since_us = 0 if days is None else hour * HOUR_US - days * DAY_US
        by_hand.everything(Chosen(values, since_us))
        if _hour() == hour:
            return
        del by_hand.differences[before:]


def _hour() -> int:
    return time.time_ns() // 1000 // HOUR_US
