"""Events and ledgers for the tests."""

from __future__ import annotations

import shutil
import uuid
from pathlib import Path

from msgspec.structs import replace

from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import Ledger
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
