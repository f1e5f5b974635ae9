"""Rows that wait are written together: each once, in the chain, and durable when its writer goes on."""

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
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.core.errors import BadRequest, LedgerFailed
from readroom.core.limits.session import LEDGER_GROUP_ROWS
from readroom.server.database import Execute
from readroom.server.database.sqlite import SqliteBackend
from readroom.server.ledger.ledger import LEDGER_FOLD_EVERY, Ledger
from readroom.server.ledger.rows import FIELDS, digest
from readroom.server.ledger.verify import verify

from .events import book, event

ROOT = Path(__file__).parents[3]


class Held:
    """A real ledger whose transactions can be held up and are counted."""

    def __init__(self, folder: Path) -> None:
        self._backend = SqliteBackend(str(folder / "ledger.sqlite3"))
        self.name = self._backend.name
        self.migrate = self._backend.migrate
        self.close = self._backend.close
        self.may_write = threading.Event()
        self.may_write.set()
        self.writes = 0

    def run(self, work: Callable[[Execute], object], *, write: bool, long: bool = False) -> object:
        if write:
            assert self.may_write.wait(60)
            self.writes += 1
        return self._backend.run(work, write=write, long=long)


@pytest.fixture
def held(tmp_path: Path) -> Held:
    return Held(tmp_path)


def test_what_waits_is_one_transaction(held: Held) -> None:
    with closing(Ledger(held)) as ledger:  # type: ignore[arg-type]  # its `run` gives what that of a backend gives
        held.writes = 0
        ledger.append_all([event(path=f"f{number}") for number in range(200)])
        assert held.writes <= 200 // LEDGER_GROUP_ROWS + 1
        assert [row.event.path for row in ledger.rows()] == [f"f{number}" for number in range(200)]
        assert verify(ledger).problems == ()


def test_those_who_wait_for_their_turn_are_written_by_one_of_them(held: Held) -> None:
    with closing(Ledger(held)) as ledger, ThreadPoolExecutor(8) as pool:  # type: ignore[arg-type]  # as above
        held.writes = 0
        held.may_write.clear()
        rows = [pool.submit(ledger.append, event(path=f"f{number}")) for number in range(8)]
        held.may_write.set()
        found = {row.result(60).event.path: row.result().number for row in rows}
        assert set(found) == {f"f{number}" for number in range(8)}
        assert sorted(found.values()) == list(range(1, 9))
        assert held.writes <= 8


def test_sums_are_brought_up_to_date_when_rows_are_durable(held: Held) -> None:
    with closing(Ledger(held)) as ledger:  # type: ignore[arg-type]  # as above
        ledger.append_all([event() for _ in range(LEDGER_FOLD_EVERY + 10)])
        assert ledger.unsummed() <= LEDGER_FOLD_EVERY
        assert verify(ledger).problems == ()


def test_a_row_that_cannot_be_summed_up_stops_no_others(tmp_path: Path) -> None:
    with closing(book(tmp_path)) as ledger:
        ledger.append_all([event() for _ in range(LEDGER_FOLD_EVERY - 10)])
        with closing(sqlite3.connect(tmp_path / "ledger.sqlite3")) as other, other:
            other.execute("UPDATE calls SET tokens = 'many' WHERE number = 3")
        for _ in range(3):
            ledger.append_all([event() for _ in range(LEDGER_FOLD_EVERY)])
        assert ledger.append(event()).number == 4 * LEDGER_FOLD_EVERY - 9
        assert verify(ledger).problems


def test_all_of_a_group_hear_of_its_failure_and_nothing_of_it_is_written(tmp_path: Path) -> None:
    ledger = book(tmp_path)
    ledger.append(event())
    os.rename(tmp_path / "ledger.sqlite3", tmp_path / "elsewhere")
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(ledger.append, event()) for _ in range(20)]
        assert {type(one.exception(60)) for one in waiting} == {LedgerFailed}
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
    chained = [1, number, texts[3], *(getattr(one, name) for name in FIELDS[:-2])]
    data = json.dumps(chained, separators=(",", ":")).encode("ascii")
    assert digest(number, texts[3], one) == hashlib.sha256(data).hexdigest()


WRITER = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.server.ledger.events import book, event
ledger = book(Path(sys.argv[1]))
def write(_):
    os.write(1, f"{ledger.append(event()).event.id}\\n".encode())
with ThreadPoolExecutor(8) as pool:
    list(pool.map(write, range(100_000)))
"""


def test_what_was_told_survives_the_death_of_the_writer(tmp_path: Path) -> None:
    """Threads of two processes write as fast as they can, and are killed amid their groups."""
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
        with ThreadPoolExecutor(5) as pool:
            waiting = [pool.submit(ledger.append, event()) for _ in range(5)]
            assert other.execute("SELECT COUNT(*) FROM calls").fetchone() == (0,)
            assert not any(one.done() for one in waiting)
            other.execute("ROLLBACK")
            assert sorted(one.result(60).number for one in waiting) == [1, 2, 3, 4, 5]
