"""Transactions in a database, which is an SQLite file or PostgreSQL.

SQL is written once, in the part that both share, with `?` for values.

Knows: connections, transactions, schema versions, and how to recover from a lost connection.
Does not know: the content of the tables.
May be touched: with the tests of the ledger and of several processes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, final

from readroom.core.errors import BadRequest, DatabaseFailed, StateFailed

T = TypeVar("T")


class Execute(Protocol):
    """Executes statements in a transaction; SQL uses `?` for values."""

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a statement, if it has any."""

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """Execute a statement once per row, in one round trip."""

    def now_us(self) -> int:
        """Microseconds since 1970, by the clock that all users of the database share."""


class Backend(Protocol):
    """A database. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Its location for people, without a password."""

    @property
    def failure(self) -> type[DatabaseFailed]:
        """The class of its errors."""

    def run(self, work: Callable[[Execute], T], *, write: bool, long: bool = False) -> T:
        """Run `work` in one transaction; with `write` there is no other writer meanwhile.

        It may run again after a lost connection, so it must check for its own result.

        Args:
            work: The statements.
            write: It may write.
            long: It scans whole tables, so that only its waiting has the usual limit.

        Raises:
            DatabaseFailed: The database cannot be used; an instance of `failure`.
            BadRequest: It cannot hold a value; the connection and all others continue.

        `Damaged`, raised by `work`, becomes such a `failure`.
        """

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements in its dialect: `{big}` is a 64-bit integer, `{bytes}` a byte string."""

    def close(self) -> None:
        """Release it."""


class Damaged(Exception):
    """Raised by work for tables that readroom did not write; the backend converts it to its own failure."""

    advice = "Restore it from a backup, or move it away to begin a new one."


def the_row(rows: Sequence[tuple[Any, ...]], *types: type) -> tuple[Any, ...]:
    """The one row that a table has, with values of these types. Raises Damaged."""
    if len(rows) != 1 or not all(map(isinstance, rows[0], types)):
        raise Damaged("it lacks a row that it always has, or has another there")
    return rows[0]


def not_kept(error: Exception) -> BadRequest:
    """The error about a value that a database cannot hold: it is of the call, and not of the database."""
    reason = " ".join(str(error).partition("\n")[0].split())
    return BadRequest(
        f"the database cannot hold one of its values ({reason})",
        "Send text without NUL and halves of surrogate pairs, and numbers of up to 64 bits.",
    )


@final
class Turn:
    """The turn at the one connection of a process; waiting for it counts as waiting for the database."""

    def __init__(self, wait_s: float, *, shares: bool) -> None:
        """With `shares`, threads that waited while another one failed share its failure."""
        self.wait_s = wait_s
        self.lock = threading.Lock()
        self._shares = shares
        self._failed_at, self._problem = 0.0, ""

    @contextmanager
    def taken(self, name: str, failure: type[DatabaseFailed]) -> Iterator[float]:
        """The time, on the monotonic clock, until which its owner may take. Raises `failure`."""
        began = time.monotonic()
        if not self.lock.acquire(timeout=self.wait_s):
            raise failure(name, f"it did not answer within {self.wait_s:g} s")
        try:
            if self._shares and self._failed_at > began:
                raise failure(name, self._problem)
            yield began + self.wait_s
        except failure as error:
            self._failed_at, self._problem = time.monotonic(), str(error.facts["problem"])
            raise
        finally:
            self.lock.release()


# -----------------------------------------------------------------------------
# The tables for a purpose, version by version. A released version never changes.
# -----------------------------------------------------------------------------


def migrate(backend: Backend, table: str, versions: Sequence[Sequence[str]]) -> None:
    """Bring the tables of a database, which may be empty, to the current version. Raises DatabaseFailed.

    Args:
        backend: The database.
        table: The table that holds the version.
        versions: Statements of version 1, of version 2, and so on.
    """
    present = len(versions)
    version = backend.run(lambda execute: _version(table, execute), write=True)
    if version > present:
        raise backend.failure(
            backend.name,
            f"it has version {version}, and this readroom knows versions up to {present}",
            "Update readroom.",
        )
    if version < present:
        backend.run(lambda execute: _migrate(backend, table, versions, execute), write=True, long=True)


def _version(table: str, execute: Execute) -> int:
    execute(f"CREATE TABLE IF NOT EXISTS {table} (version INTEGER NOT NULL)")
    rows = execute(f"SELECT version FROM {table}")
    if rows:
        return int(the_row(rows, int)[0])
    execute(f"INSERT INTO {table} (version) VALUES (0)")
    return 0


def _migrate(backend: Backend, table: str, versions: Sequence[Sequence[str]], execute: Execute) -> None:
    # Another process may have done it, or a part of it, since the version was looked up.
    for statements in versions[_version(table, execute) :]:
        for statement in backend.migrate(statements):
            execute(statement)
    execute(f"UPDATE {table} SET version = ? WHERE version < ?", (len(versions), len(versions)))


# -----------------------------------------------------------------------------
# A database that is not retried with every call while it is unavailable.
# -----------------------------------------------------------------------------


STATE_REST_S = 0.5
"""How long calls are refused after a failure before the database is tried again: each attempt may wait."""


@final
class Database:
    """A database that is left alone for a moment after a failure, since each attempt may wait for seconds."""

    def __init__(self, name: str, open_backend: Callable[[], Backend]) -> None:
        """Opens nothing before its first use."""
        self.name = name
        self._open = open_backend
        self._backend: Backend | None = None
        self._lock = threading.Lock()
        self._failure: str | None = None
        self._rests_until = 0.0

    def look(self, work: Callable[[Execute], T]) -> T:
        """Run read-only work. Raises StateFailed."""
        return self._run(work, write=False)

    def change(self, work: Callable[[Execute], T]) -> T:
        """Run work that may write, and that may be run twice. Raises StateFailed."""
        return self._run(work, write=True)

    def close(self) -> None:
        """Release it."""
        with self._lock:
            backend, self._backend = self._backend, None
        if backend is not None:
            backend.close()

    def _opened(self) -> Backend:
        backend = self._backend
        if backend is None:
            with self._lock:
                backend = self._backend = self._backend or self._open()
        return backend

    def _run(self, work: Callable[[Execute], T], *, write: bool) -> T:
        if self._failure is not None and time.monotonic() < self._rests_until:
            raise StateFailed(self.name, self._failure)
        try:
            done = self._opened().run(work, write=write)
        except StateFailed as failure:
            self._rests_until = time.monotonic() + STATE_REST_S
            self._failure = str(failure.facts["problem"])
            raise
        self._failure = None
        return done
