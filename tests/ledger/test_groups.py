"""Rows that wait are written together: each once, in the chain, and told of when it is durable."""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.database import Execute
from readroom.database.sqlite import SqliteBackend
from readroom.errors import BadRequest, LedgerFailed, ReadroomError
from readroom.ledger.ledger import Ledger
from readroom.ledger.rows import FIELDS, Event, digest
from readroom.ledger.verify import verify
from readroom.limits.session import LEDGER_FOLD_EVERY, LEDGER_GROUP_ROWS
from readroom.session.receipt import Write

from .events import book, event

ROOT = Path(__file__).parents[2]


class Held:
    """A real ledger whose transactions can be held up and are counted."""

    def __init__(self, folder: Path) -> None:
        self._backend = SqliteBackend(str(folder / "ledger.sqlite3"))
        self.name = self._backend.name
        self.migrate = self._backend.migrate
        self.close = self._backend.close
        self.may_write = threading.Event()
        self.may_write.set()
        self.writing = threading.Event()
        self.writes = 0

    def run(self, work: Callable[[Execute], object], *, write: bool, long: bool = False) -> object:
        if write:
            self.writing.set()
            assert self.may_write.wait(60)
            self.writes += 1
        return self._backend.run(work, write=write, long=long)


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def submitted(ledger: Ledger, events: Sequence[Event]) -> tuple[list[ReadroomError | None], threading.Event]:
    """What each owner is told, as it is told; the event is set when all were."""
    told: list[ReadroomError | None] = []
    all_told = threading.Event()

    def done(failure: ReadroomError | None) -> None:
        told.append(failure)
        if len(told) == len(events):
            all_told.set()

    for one in events:
        ledger.submit(one, done)
    return told, all_told


def test_what_waits_is_one_transaction(held: Held) -> None:
    with closing(Ledger(held)) as ledger:  # type: ignore[arg-type]  # its `run` gives what that of a backend gives
        held.writes = 0
        held.may_write.clear()
        held.writing.clear()
        told, all_told = submitted(ledger, [event(path=f"f{number}") for number in range(200)])
        assert held.writing.wait(60)
        assert told == []
        held.may_write.set()
        assert all_told.wait(60)
        assert told == [None] * 200
        assert held.writes <= 2 + 200 // LEDGER_GROUP_ROWS + 1
        assert [row.event.path for row in ledger.rows()] == [f"f{number}" for number in range(200)]
        assert verify(ledger).problems == ()


def test_those_who_wait_for_their_turn_are_written_by_the_first(held: Held) -> None:
    with closing(Ledger(held)) as ledger, ThreadPoolExecutor(8) as pool:  # type: ignore[arg-type]  # as above
        held.writes = 0
        held.may_write.clear()
        rows = [pool.submit(ledger.append, event(path=f"f{number}")) for number in range(8)]
        held.may_write.set()
        found = {row.result(60).event.path: row.result().number for row in rows}
        assert set(found) == {f"f{number}" for number in range(8)}
        assert sorted(found.values()) == list(range(1, 9))
        assert held.writes <= 8


def test_who_holds_rows_back_writes_them_or_waits_for_nobody(held: Held) -> None:
    """All rows that wait are written by the thread that is asked to, unless another one writes."""
    told: list[int] = []
    writes: list[Write] = []

    def done(failure: ReadroomError | None) -> None:
        assert failure is None
        told.append(threading.get_ident())

    with closing(Ledger(held)) as ledger, ThreadPoolExecutor(1) as pool:  # type: ignore[arg-type]  # as above
        held.writes = 0
        for _ in range(20):
            ledger.submit(event(), done, writes.append)
        assert held.writes == 0
        writes[0](True)
        assert told == [threading.get_ident()] * 20
        assert held.writes == 1
        held.may_write.clear()
        held.writing.clear()
        other = pool.submit(ledger.append, event())
        assert held.writing.wait(60)
        ledger.submit(event(), done, writes.append)
        writes[-1](True)  # comes back while the other one writes
        assert len(told) == 20
        held.may_write.set()
        assert other.result(60).number == 21
    assert len(told) == 21
    assert told[-1] != threading.get_ident()
    assert held.writes == 3


def test_sums_are_brought_up_to_date_when_rows_are_durable_and_told(held: Held) -> None:
    with closing(Ledger(held)) as ledger:  # type: ignore[arg-type]  # as above
        told, all_told = submitted(ledger, [event() for _ in range(LEDGER_FOLD_EVERY + 10)])
        assert all_told.wait(60)
        assert told == [None] * (LEDGER_FOLD_EVERY + 10)
        ends = time.monotonic() + 60
        while ledger.unsummed() > LEDGER_FOLD_EVERY:
            assert time.monotonic() < ends
        assert verify(ledger).problems == ()


def test_a_row_that_cannot_be_summed_up_stops_no_others(tmp_path: Path) -> None:
    with closing(book(tmp_path)) as ledger:
        ledger.append_all([event() for _ in range(LEDGER_FOLD_EVERY - 10)])
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other, other:
            other.execute("UPDATE calls SET tokens = 'many' WHERE number = 3")
        for _ in range(3):
            told, all_told = submitted(ledger, [event() for _ in range(LEDGER_FOLD_EVERY)])
            assert all_told.wait(60)
            assert told == [None] * LEDGER_FOLD_EVERY
        assert ledger.append(event()).number == 4 * LEDGER_FOLD_EVERY - 9
        assert verify(ledger).problems


def test_nobody_is_told_before_the_row_can_be_read_by_others(tmp_path: Path) -> None:
    ledger, other = book(tmp_path), book(tmp_path)
    seen: list[bool] = []
    last = threading.Event()
    events = [event() for _ in range(300)]
    for one in events:

        def done(failure: ReadroomError | None, id_: str = one.id) -> None:
            seen.append(failure is None and any(row.event.id == id_ for row in other.rows()))
            if len(seen) == len(events):
                last.set()

        ledger.submit(one, done)
    assert last.wait(60)
    assert all(seen)


def test_what_was_submitted_is_written_when_the_ledger_is_closed(tmp_path: Path) -> None:
    ledger = Ledger(SqliteBackend(str(tmp_path / "ledger.sqlite3")))
    told, all_told = submitted(ledger, [event() for _ in range(50)])
    ledger.close()
    assert all_told.is_set()
    assert told == [None] * 50
    assert book(tmp_path).count() == 50


def test_all_of_a_group_hear_of_its_failure_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    ledger.append(event())
    os.rename(tmp_path / "ledger.sqlite3", tmp_path / "elsewhere")
    told, all_told = submitted(ledger, [event() for _ in range(20)])
    assert all_told.wait(60)
    assert {type(failure) for failure in told} == {LedgerFailed}
    with pytest.raises(LedgerFailed):
        ledger.append_all([event(), event()])
    os.rename(tmp_path / "elsewhere", tmp_path / "ledger.sqlite3")
    assert ledger.append(event()).number == 2


def test_an_event_that_cannot_be_written_takes_no_others_along(tmp_path: Path) -> None:
    """A number beyond what a database holds would be a defect of ours."""
    ledger = book(tmp_path)
    with pytest.raises(BadRequest, match="cannot hold"):
        ledger.append_all([event(path="first"), event(tokens=2**70), event(path="last")])
    assert [row.event.path for row in ledger.rows()] == ["first", "last"]
    assert verify(ledger).problems == ()


def test_an_event_twice_in_a_group_is_recorded_once(tmp_path: Path) -> None:
    ledger, one = book(tmp_path), event()
    first, other, second = ledger.append_all([one, event(), one])
    assert first == second != other
    assert ledger.count() == 2


_TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(st.characters(codec="ascii"))


@given(st.lists(_TEXTS, min_size=4, max_size=4), st.integers(0, 2**63 - 1), st.none() | _TEXTS)
def test_a_hash_is_that_of_the_documented_bytes(texts: list[str], number: int, path: str | None) -> None:
    one = event(agent=texts[0], session=texts[1], tool=texts[2], tokens=number, path=path)
    chained = [1, number, texts[3], *(getattr(one, name) for name in FIELDS[:-1])]
    data = json.dumps(chained, separators=(",", ":")).encode("ascii")
    assert digest(number, texts[3], one) == hashlib.sha256(data).hexdigest()


WRITER = """
import sys
from pathlib import Path
from tests.ledger.events import book, event
ledger = book(Path(sys.argv[1]))
for _ in range(100_000):
    one = event()
    def done(failure, id_=one.id):
        print(id_ if failure is None else failure, flush=True)
    ledger.submit(one, done)
"""


def test_what_was_told_survives_the_death_of_the_writer(tmp_path: Path) -> None:
    """Two processes submit far more than they can write, and are killed amid their groups."""
    told: set[str] = set()
    for round_ in range(3):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        writers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(2)]
        for one in writers:
            assert one.stdout is not None
            for _ in range(30 + 40 * round_):
                told.add(one.stdout.readline().strip())
        for one in writers:
            one.send_signal(signal.SIGKILL)
            out, _ = one.communicate(timeout=60)
            told |= set(re.findall(r"^([0-9a-f]{32})\n", out, re.MULTILINE))
    ledger = book(tmp_path)
    assert verify(ledger).problems == ()
    written = [row.event.id for row in ledger.rows()]
    assert told <= set(written)
    assert len(written) == len(set(written))


def test_a_ledger_that_another_process_holds_is_waited_for(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    with closing(sqlite3.connect(tmp_path / "ledger.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        told, all_told = submitted(ledger, [event() for _ in range(5)])
        assert other.execute("SELECT COUNT(*) FROM calls").fetchone() == (0,)
        assert told == []
        other.execute("ROLLBACK")
    assert all_told.wait(60)
    assert told == [None] * 5
