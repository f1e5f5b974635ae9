"""The ledger itself: rows are appended and read; nothing is ever changed.

The head (number and hash of the last row) is kept beside the rows and written in
the same transaction, so that rows missing at the end are noticed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

from readroom.ledger.backend import Backend, Execute
from readroom.ledger.migrations import migrate
from readroom.ledger.rows import COLUMNS, Event, Row, from_values, row
from readroom.limits_keeping import LEDGER_PAGE_ROWS

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM calls"
_INSERT = f"INSERT INTO calls ({', '.join(COLUMNS)}) VALUES ({', '.join('?' for _ in COLUMNS)})"


@dataclass(frozen=True, slots=True)
class Head:
    """The last row: its number, 0 when there is none, and its hash."""

    number: int
    hash: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A part of a WHERE clause and its values."""

    sql: str
    values: tuple[object, ...]


@final
class Book:
    """One ledger. Safe to share between threads."""

    def __init__(self, backend: Backend) -> None:
        """Take over a database, and bring its tables to the present version. Raises LedgerFailed."""
        self._backend = backend
        try:
            migrate(backend)
        except BaseException:
            backend.close()
            raise

    @property
    def name(self) -> str:
        """Where it is."""
        return self._backend.name

    def append(self, event: Event) -> Row:
        """Record an event; when this returns, it is recorded. Raises LedgerFailed."""
        return self._backend.run(lambda execute: _appended(execute, event), write=True)

    def head(self) -> Head:
        """The last row. Raises LedgerFailed."""
        return self._backend.run(_head, write=False)

    def start(self) -> Head:
        """The last row that was pruned; that before the first when none was. Raises LedgerFailed."""
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
        """Up to `limit` rows in order, from the first after a number or, with `newest`, the last ones."""
        where, values = _where([*conditions, Condition("number > ?", (after,))])
        sql = f"{_SELECT}{where} ORDER BY number{' DESC' if newest else ''} LIMIT ?"
        found = self._backend.run(lambda execute: execute(sql, (*values, limit)), write=False)
        rows = [from_values(one) for one in found]
        return rows[::-1] if newest else rows

    def count(self, conditions: Sequence[Condition] = ()) -> int:
        """How many rows there are. Raises LedgerFailed."""
        where, values = _where(conditions)
        sql = f"SELECT COUNT(*) FROM calls{where}"
        return int(self._backend.run(lambda execute: execute(sql, values), write=False)[0][0])

    def prune(self, before_us: int, event: Event) -> int:
        """Remove the oldest rows, up to the first that is not older; how many.

        `event` records that it was done: its `arguments` are completed here.
        """
        return self._backend.run(lambda execute: _pruned(execute, before_us, event), write=True)

    def close(self) -> None:
        """Release the database."""
        self._backend.close()


def _where(conditions: Sequence[Condition]) -> tuple[str, tuple[object, ...]]:
    if not conditions:
        return "", ()
    joined = " AND ".join(f"({one.sql})" for one in conditions)
    return f" WHERE {joined}", tuple(value for one in conditions for value in one.values)


def _head(execute: Execute) -> Head:
    return Head(*execute("SELECT number, hash FROM head WHERE one = 1")[0])


def _start(execute: Execute) -> Head:
    from readroom.ledger.rows import START

    found = execute("SELECT number, hash FROM checkpoints ORDER BY number DESC LIMIT 1")
    return Head(*found[0]) if found else Head(0, START)


def _appended(execute: Execute, event: Event) -> Row:
    done: list[tuple[Any, ...]] = execute(f"{_SELECT} WHERE id = ?", (event.id,))
    if done:
        return from_values(done[0])
    head = _head(execute)
    added = row(head.number + 1, head.hash, event)
    execute(_INSERT, added.values())
    execute("UPDATE head SET number = ?, hash = ? WHERE one = 1", (added.number, added.hash))
    return added


def _pruned(execute: Execute, before_us: int, event: Event) -> int:
    if execute("SELECT number FROM calls WHERE id = ?", (event.id,)):
        return 0
    kept = execute("SELECT MIN(number) FROM calls WHERE time_us >= ?", (before_us,))[0][0]
    last = _head(execute).number if kept is None else kept - 1
    found = execute("SELECT hash FROM calls WHERE number = ?", (last,))
    if not found:
        return 0
    removed = int(execute("SELECT COUNT(*) FROM calls WHERE number <= ?", (last,))[0][0])
    told = f'{{"up_to":{last},"hash":"{found[0][0]}","removed":{removed}}}'
    _appended(execute, replace(event, arguments=told))
    execute("DELETE FROM calls WHERE number <= ?", (last,))
    now = time.time_ns() // 1000
    execute(
        "INSERT INTO checkpoints (number, hash, time_us, removed) VALUES (?, ?, ?, ?)",
        (last, found[0][0], now, removed),
    )
    return removed
