"""Events and ledgers for the tests."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from msgspec.structs import replace

from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import MIGRATIONS, Ledger
from readroom.server.ledger.rows import Event

PLAIN = Event(
    id="",
    time_us=1_780_000_000_000_000,
    workspace="/w",
    agent="tester",
    session="s",
    token="",
    face="library",
    epoch=0,
    contract="native",
    tool="read_file",
    path="a.txt",
    arguments='{"path":"a.txt"}',
    decision="allowed",
    rule=None,
    outcome="ok",
    kind="text",
    shown='[["a.txt","sha256:aa",1,2]]',
    tokens=10,
    counter="estimate",
    duration_us=100,
)


def event(**fields: object) -> Event:
    """An event with a new id."""
    return replace(PLAIN, **{"id": uuid.uuid4().hex, **fields})


def long_calls() -> list[Event]:
    """Calls that took any time, from none to 30 years, about each place where it gets another digit."""
    edges = [10**digits * first for digits in range(14) for first in (1, 5, 25, 95, 99)]
    return [event(duration_us=max(0, edge + step)) for edge in edges for step in (-1, 0, 1)]


def before_durations() -> list[str]:
    """The statements that make a ledger as it was before it had a table of durations."""
    return ["DROP TABLE sums_by_duration", f"UPDATE ledger_schema SET version = {len(MIGRATIONS) - 1}"]


_OPEN: list[Ledger] = []


def book(folder: Path) -> Ledger:
    """The ledger in a folder, open until the end of the test."""
    found = Ledger(SqliteBackend(str(folder / "ledger.sqlite3")))
    _OPEN.append(found)
    return found


def empty_folder(base: Path) -> Path:
    """A folder for the ledger of one example, of many in one test."""
    folder = base / "one"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def close_books() -> None:
    """Close those that a test opened; a second time does nothing."""
    while _OPEN:
        _OPEN.pop().close()
