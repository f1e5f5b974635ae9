"""Append rows to the ledger and read them; rows never change.

The head (number and hash of the last row) is stored next to the rows and written in the same transaction, so
that rows missing at the end are noticed.

Rows are written in group commits: one transaction for all that wait. A transaction costs as much as ten rows,
and only one can run. So events that arrive while others are written wait in a queue, and the thread whose
turn is next writes the whole queue; the others then find theirs written.

Callers hear of success only after the transaction with their row was committed. If it fails, nothing of it is
written, and all of its callers get the failure.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias, TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import DatabaseFailed, ReadroomError
from readroom.core.limits.session import LEDGER_GROUP_ROWS, LEDGER_PAGE_ROWS
from readroom.core.log import log
from readroom.server.database import Backend, Execute, migrate, the_row
from readroom.server.ledger import sums
from readroom.server.ledger.rows import COLUMNS, START, Event, Row, from_values, row

Commit: TypeAlias = Callable[[Sequence[Event]], Sequence[Row]]
"""Writes events in one transaction and returns their rows; if it raises, none of them is written."""


class _Waiting:
    """An event in the queue of the ledger. `over` is set last."""

    __slots__ = ("event", "failure", "over", "row")

    def __init__(self, event: Event) -> None:
        self.event = event
        self.row: Row | None = None
        self.failure: Exception | None = None
        self.over = False


LEDGER_FOLD_EVERY = 500
"""Rows after which a writer updates the sums of a ledger; that takes a hundredth of a millisecond per row,
and reports sum up the rest."""


@final
class Writer:
    """Writes the events of one ledger. Safe to share between threads."""

    def __init__(self, commit: Commit, fold: Callable[[], object]) -> None:
        """`fold` is called now and then, while no caller waits."""
        self._commit = commit
        self._fold = fold
        self._to_fold = False
        self._queue: deque[_Waiting] = deque()
        self._turn = threading.Lock()

    def append(self, events: Sequence[Event]) -> list[Row]:
        """Write events, in order; on return they are durable. Raises the failures of `commit`."""
        mine = [_Waiting(event) for event in events]
        self._queue.extend(mine)
        for waiting in mine:
            while not waiting.over:
                with self._turn:
                    if not waiting.over:  # by another thread, while this one waited for its turn
                        self._write()
        self._fold_if_due()
        return [_row(waiting) for waiting in mine]

    def close(self) -> None:
        """Write the events of an interrupted thread."""
        with self._turn:
            while self._queue:
                self._write()

    def _fold_if_due(self) -> None:
        if self._to_fold:
            self._to_fold = False
            try:
                self._fold()
            except ReadroomError:
                pass  # readers of the sums catch up
            except Exception:  # someone else changed a row, which `verify` reports
                log().exception("the sums of the ledger could not be brought up to date")

    def _write(self) -> None:
        """Commit the head of the queue in one transaction."""
        group: list[_Waiting] = []
        while self._queue and len(group) < LEDGER_GROUP_ROWS:
            group.append(self._queue.popleft())
        try:
            self._written(group)
        except DatabaseFailed as error:
            # The others have waited as long, and would wait as long again.
            while self._queue:
                group.append(self._queue.popleft())
            _failed(group, error)
        except Exception as error:
            if len(group) == 1:
                _failed(group, error)
            for waiting in group:
                # One event cannot be written, because of a defect; the others still are.
                self._alone(waiting)
        except BaseException:
            # The thread was interrupted during its turn. Events written after all are found by their ids.
            self._queue.extendleft(reversed(group))
            raise

    def _written(self, group: Sequence[_Waiting]) -> None:
        if group:
            rows = self._commit([waiting.event for waiting in group])
            for waiting, row in zip(group, rows, strict=True):
                waiting.row = row
                waiting.over = True
            if rows[-1].number // LEDGER_FOLD_EVERY > (rows[0].number - 1) // LEDGER_FOLD_EVERY:
                self._to_fold = True

    def _alone(self, waiting: _Waiting) -> None:
        if not waiting.over:
            try:
                self._written([waiting])
            except Exception as error:
                _failed([waiting], error)


def _failed(group: Sequence[_Waiting], error: Exception) -> None:
    for waiting in group:
        waiting.failure = error
        waiting.over = True


def _row(waiting: _Waiting) -> Row:
    if waiting.failure is not None:
        raise waiting.failure
    assert waiting.row is not None
    return waiting.row


T = TypeVar("T")

# -----------------------------------------------------------------------------
# The tables of a ledger, version by version. A released version never changes.
#
# `{big}` is the database's 64-bit integer.
# -----------------------------------------------------------------------------

MIGRATIONS: Sequence[Sequence[str]] = (
    *[()] * 5,  # versions that were never released; files of the sixth have these tables
    (
        """CREATE TABLE calls (
            number {big} NOT NULL PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            time_us {big} NOT NULL,
            workspace TEXT NOT NULL,
            agent TEXT NOT NULL,
            session TEXT NOT NULL,
            token TEXT NOT NULL,
            face TEXT NOT NULL,
            epoch {big} NOT NULL,
            contract TEXT NOT NULL,
            tool TEXT NOT NULL,
            path TEXT,
            arguments TEXT NOT NULL,
            decision TEXT NOT NULL,
            rule TEXT,
            outcome TEXT NOT NULL,
            kind TEXT,
            shown TEXT NOT NULL,
            tokens {big} NOT NULL,
            counter TEXT NOT NULL,
            duration_us {big} NOT NULL,
            level TEXT,
            previous TEXT NOT NULL,
            hash TEXT NOT NULL
        )""",
        "CREATE INDEX calls_by_time ON calls (time_us)",
        "CREATE INDEX calls_by_session ON calls (session, number)",
        "CREATE TABLE head (one {big} NOT NULL PRIMARY KEY, number {big} NOT NULL, hash TEXT NOT NULL)",
        f"INSERT INTO head (one, number, hash) VALUES (1, 0, '{START}')",
        """CREATE TABLE checkpoints (
            number {big} NOT NULL PRIMARY KEY,
            hash TEXT NOT NULL,
            time_us {big} NOT NULL,
            removed {big} NOT NULL
        )""",
        *sums.TABLES,
    ),
    ("ALTER TABLE calls ADD COLUMN traceparent TEXT",),
    sums.DURATIONS,
)
"""The statements of version 1, then of version 2, and so on."""

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM calls"
_INSERT = f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"


class Head(Struct, frozen=True):
    """The last row: its number, 0 if there is none, and its hash."""

    number: int
    hash: str


class Condition(Struct, frozen=True):
    """A part of a WHERE clause and its values."""

    sql: str
    values: tuple[object, ...]


@final
class Ledger:
    """One ledger. Safe to share between threads."""

    def __init__(self, backend: Backend) -> None:
        """Take over a database, and migrate its tables to the current version. Raises LedgerFailed."""
        self._backend = backend
        self._writer = Writer(self._commit, self._fold)
        try:
            migrate(backend, "ledger_schema", MIGRATIONS)
        except BaseException:
            backend.close()
            raise

    @property
    def name(self) -> str:
        """Its location."""
        return self._backend.name

    def append(self, event: Event) -> Row:
        """Record an event; when this returns, it is recorded. Raises LedgerFailed."""
        return self._writer.append([event])[0]

    def append_all(self, events: Sequence[Event]) -> list[Row]:
        """Record events, many in one transaction. Raises LedgerFailed."""
        return self._writer.append(events)

    def head(self) -> Head:
        """The last row. Raises LedgerFailed."""
        return self._backend.run(_head, write=False)

    def start(self) -> Head:
        """The last pruned row, or the start of the chain. Raises LedgerFailed."""
        return self._backend.run(_start, write=False)

    def rows(self, conditions: Sequence[Condition] = (), *, after: int = 0) -> Iterator[Row]:
        """Rows in order. Raises LedgerFailed."""
        while True:
            page = self.page(conditions, after=after, limit=LEDGER_PAGE_ROWS)
            yield from page
            if len(page) < LEDGER_PAGE_ROWS:
                return
            after = page[-1].number

    def page(
        self, conditions: Sequence[Condition] = (), *, limit: int, after: int = 0, newest: bool = False
    ) -> list[Row]:
        """Up to `limit` rows in order, the first after a number or, with `newest`, the last ones."""
        where, values = _where([*conditions, Condition("number > ?", (after,))])
        sql = f"{_SELECT}{where} ORDER BY number{' DESC' if newest else ''} LIMIT ?"
        rows = self._backend.run(
            lambda execute: [*map(from_values, execute(sql, (*values, limit)))], write=False
        )
        return rows[::-1] if newest else rows

    def count(self, conditions: Sequence[Condition] = ()) -> int:
        """The number of rows. Raises LedgerFailed."""
        where, values = _where(conditions)
        sql = f"SELECT COUNT(*) FROM calls{where}"
        return int(self._backend.run(lambda execute: execute(sql, values), write=False)[0][0])

    def prune(self, before_us: int, event: Event) -> int:
        """Remove the oldest rows, up to the first that is not older; return their number.

        `event` records the removal: its `arguments` are completed here.
        """
        return self._backend.run(lambda execute: _pruned(execute, before_us, event), write=True, long=True)

    def look(self, work: Callable[[Execute], T]) -> T:
        """The result of `work` in one read-only transaction. Raises LedgerFailed."""
        return self._backend.run(work, write=False)

    def sum_up(self, seconds: float) -> int:
        """Add unsummed rows to the sums for some seconds; return how many are left. Raises LedgerFailed."""
        ends = time.monotonic() + seconds
        while self.unsummed():
            self._backend.run(sums.fold, write=True)
            if time.monotonic() > ends:
                break
        return self.unsummed()

    def unsummed(self) -> int:
        """The number of rows that are in no sum yet. Raises LedgerFailed."""
        return self.look(lambda execute: _head(execute).number - sums.up_to(execute))

    def close(self) -> None:
        """Release the database."""
        self._writer.close()
        self._backend.close()

    def _commit(self, events: Sequence[Event]) -> list[Row]:
        return self._backend.run(lambda execute: _appended(execute, events), write=True)

    def _fold(self) -> int:
        return self._backend.run(sums.fold, write=True)


def _where(conditions: Sequence[Condition]) -> tuple[str, tuple[object, ...]]:
    if not conditions:
        return "", ()
    joined = " AND ".join(f"({condition.sql})" for condition in conditions)
    return f" WHERE {joined}", tuple(value for condition in conditions for value in condition.values)


def _head(execute: Execute) -> Head:
    return Head(*the_row(execute("SELECT number, hash FROM head WHERE one = 1"), int, str))


def _start(execute: Execute) -> Head:

    checkpoints = execute("SELECT number, hash FROM checkpoints ORDER BY number DESC LIMIT 1")
    return Head(*the_row(checkpoints, int, str)) if checkpoints else Head(0, START)


def _appended(execute: Execute, events: Sequence[Event]) -> list[Row]:
    """The rows of events, in one transaction; events already recorded keep their rows."""
    ids = [event.id for event in events]
    places = ", ".join("?" * len(ids))
    known = f"(SELECT COUNT(*) FROM calls WHERE id IN ({places}))"
    head = execute(f"SELECT number, hash, {known} FROM head WHERE one = 1", ids)
    start, previous, recorded = the_row(head, int, str, int)
    rows = _recorded(execute, ids, places) if recorded else {}
    number, fresh = start, []
    for event in events:
        if event.id not in rows:
            added = rows[event.id] = row(number + 1, previous, event)
            fresh.append(added.values())
            number, previous = added.number, added.hash
    if fresh:
        execute.many(_INSERT, fresh)
        execute("UPDATE head SET number = ?, hash = ? WHERE one = 1", (number, previous))
    return [rows[event.id] for event in events]


def _recorded(execute: Execute, ids: Sequence[str], places: str) -> dict[str, Row]:
    """Rows by the ids of their events."""
    rows = map(from_values, execute(f"{_SELECT} WHERE id IN ({places})", ids))
    return {row.event.id: row for row in rows}


def _pruned(execute: Execute, before_us: int, event: Event) -> int:
    if execute("SELECT number FROM calls WHERE id = ?", (event.id,)):
        return 0
    kept = execute("SELECT MIN(number) FROM calls WHERE time_us >= ?", (before_us,))[0][0]
    last = _head(execute).number if kept is None else kept - 1
    last_rows = execute("SELECT hash FROM calls WHERE number = ?", (last,))
    if not last_rows:
        return 0
    removed = int(execute("SELECT COUNT(*) FROM calls WHERE number <= ?", (last,))[0][0])
    summary = f'{{"up_to":{last},"hash":"{last_rows[0][0]}","removed":{removed}}}'
    _appended(execute, [replace(event, arguments=summary)])
    execute("DELETE FROM calls WHERE number <= ?", (last,))
    now = time.time_ns() // 1000
    execute(
        "INSERT INTO checkpoints (number, hash, time_us, removed) VALUES (?, ?, ?, ?)",
        (last, last_rows[0][0], now, removed),
    )
    sums.forget(execute, last)
    return removed
