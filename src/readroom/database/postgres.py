"""The PostgreSQL backend, for servers on several machines.

Writers take turns by an advisory lock, held to the end of a transaction.  When a
connection is lost, the work is done again on a new one; what was committed and not
acknowledged has to be found by its id, so that it is not done twice.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, final

from readroom.database import Execute
from readroom.errors import DatabaseFailed, LedgerFailed, MissingProgram
from readroom.extras import install
from readroom.limits.session import LEDGER_RETRY_S, LEDGER_WAIT_S, STATE_CLOCK_S

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

LEDGER_LOCK = 0x72656164726F6F6D
"""The advisory lock "readroom", held by a process that writes a ledger in this database."""


class _ServersClock:
    """The server's clock, which all machines share.

    It is read now and then; in between, the monotonic clock continues from there.
    """

    def __init__(self) -> None:
        self._ahead_us = self._until_us = 0

    def now_us(self, execute: Execute) -> int:
        here = time.monotonic_ns() // 1000
        if here >= self._until_us:
            sql = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)"
            self._ahead_us = int(execute(sql)[0][0]) - here
            self._until_us = here + int(STATE_CLOCK_S * 1_000_000)
        return here + self._ahead_us


class _PostgresStatements:
    """The statements of one transaction."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]], clock: _ServersClock) -> None:
        self._cursor = cursor
        self._clock = clock

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        self._cursor.execute(sql.replace("?", "%s").encode(), values)
        return self._cursor.fetchall() if self._cursor.description else []

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        statement = sql.replace("?", "%s").encode()
        if len(rows) == 1:  # a pipeline would cost more than it saves
            self._cursor.execute(statement, rows[0])
        else:
            # A pipeline of psycopg sends the rows without waiting for an answer to each.
            self._cursor.executemany(statement, rows)

    def now_us(self) -> int:
        return self._clock.now_us(self)


@final
class PostgresBackend:
    """One database, one connection per process. Safe to share between threads."""

    def __init__(
        self,
        url: str,
        *,
        wait_s: float = LEDGER_WAIT_S,
        lock: int = LEDGER_LOCK,
        failure: type[DatabaseFailed] = LedgerFailed,
    ) -> None:
        """Connects on first use.

        Args:
            url: A connection string of libpq, which takes the rest from its own variables and files.
            wait_s: How long to try to reach the server, and to get the lock.
            lock: The lock of writers.
            failure: The error to raise if it cannot be used.

        Raises:
            MissingProgram: psycopg is not installed.
        """
        try:
            import psycopg
        except ImportError:
            raise MissingProgram("psycopg", install("postgres")) from None
        self._driver = psycopg
        self._url = url
        self._wait_s = wait_s
        self._away = False
        """Waiting was in vain: until it answers, each use makes one attempt without waiting."""
        self._number = lock
        self.failure = failure
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._clock = _ServersClock()
        self._pid = os.getpid()
        self.name = _shown(url)

    def run(self, work: Callable[[Execute], T], *, write: bool) -> T:
        """Run `work` in one transaction, again if the connection is lost. Raises DatabaseFailed."""
        until = time.monotonic() + self._wait_s
        with self._lock:
            while True:
                try:
                    done = self._once(work, write)
                    self._away = False
                    return done
                except (self._driver.OperationalError, self._driver.InterfaceError) as error:
                    self._drop()
                    if self._away or time.monotonic() >= until:
                        self._away = True
                        raise self.failure(self.name, _problem(error)) from None
                    time.sleep(LEDGER_RETRY_S)
                except self._driver.Error as error:
                    self._drop()
                    raise self.failure(self.name, _problem(error)) from None

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements in the dialect of PostgreSQL."""
        return [statement.replace("{big}", "BIGINT").replace("{bytes}", "BYTEA") for statement in statements]

    def close(self) -> None:
        """Release the connection."""
        with self._lock:
            self._drop()

    def _once(self, work: Callable[[Execute], T], write: bool) -> T:
        if self._pid != os.getpid():
            # A connection must not cross a fork; closing it here would end that of the parent.
            self._pid, self._connection = os.getpid(), None
        if self._connection is None:
            wait_s = 1 if self._away else max(1, int(self._wait_s))
            self._connection = self._driver.connect(
                self._url, connect_timeout=wait_s, application_name="readroom"
            )
        with self._connection.transaction(), self._connection.cursor() as cursor:
            execute = _PostgresStatements(cursor, self._clock)
            if write:
                execute(f"SET LOCAL lock_timeout = {int(self._wait_s * 1000)}")
                execute("SELECT pg_advisory_xact_lock(?)", (self._number,))
            else:
                execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return work(execute)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(self._driver.Error, OSError):
                connection.close()


def _problem(error: Exception) -> str:
    """The first line of an error message; libpq never puts a password into it.

    The following lines are guesses and questions, such as whether the server is running.
    """
    first = str(error).strip().partition("\n")[0]
    return " ".join(first.split()).rstrip(".") or type(error).__name__


def _shown(url: str) -> str:
    """The location without user, password and options."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        if parts.scheme in ("postgresql", "postgres"):
            return f"{parts.scheme}://{parts.hostname or 'localhost'}{parts.path}"
    except ValueError:
        pass
    return "PostgreSQL"
