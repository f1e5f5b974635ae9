"""The PostgreSQL backend, for servers on several machines.

Writers take turns by an advisory lock, held to the end of a transaction.  When a
connection is lost, the work is done again on a new one; what was committed and not
acknowledged has to be found by its id, so that it is not done twice.

Everything that waits has a limit: for the turn at the connection, for a lock, for a statement by the
server's clock, and for any answer by ours, since a server that hangs keeps no clock.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, final

from readroom.core.errors import DatabaseFailed, LedgerFailed, MissingProgram
from readroom.core.extras import install
from readroom.core.limits.session import LEDGER_WAIT_S
from readroom.server.database import Damaged, Execute, Turn, not_kept

if TYPE_CHECKING:
    import psycopg

    from readroom.server.database.bounded import BoundedConnection

T = TypeVar("T")

LEDGER_LOCK = 0x72656164726F6F6D
"""The advisory lock "readroom", held by a process that writes a ledger in this database."""


_READS = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITES = "SET TRANSACTION READ WRITE"


STATE_CLOCK_S = 10.0
"""Interval between queries of a database server's clock, which counts for all machines."""


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

    def __init__(
        self,
        cursor: psycopg.Cursor[tuple[Any, ...]],
        clock: _ServersClock,
        refused: tuple[type[Exception], ...],
    ) -> None:
        self._cursor = cursor
        self._clock = clock
        self._refused = refused

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            self._cursor.execute(sql.replace("?", "%s").encode(), values)
            return self._cursor.fetchall() if self._cursor.description else []
        except self._refused as error:
            raise not_kept(error) from None

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        statement = sql.replace("?", "%s").encode()
        try:
            if len(rows) == 1:  # a pipeline would cost more than it saves
                self._cursor.execute(statement, rows[0])
            else:
                # A pipeline of psycopg sends the rows without waiting for an answer to each.
                self._cursor.executemany(statement, rows)
        except self._refused as error:
            raise not_kept(error) from None

    def now_us(self) -> int:
        return self._clock.now_us(self)


LEDGER_RETRY_S = 0.1
"""Pause between attempts to reach a lost database."""

DATABASE_LONG_S = 600.0
"""Longest change of whole tables: a new index over millions of rows takes minutes."""

DATABASE_KEEPALIVE_S = 10
"""Interval of signs of life on a connection to a database server; Linux: two hours, then 75 s."""


@final
class PostgresBackend:
    """One database, one connection per process. Safe to share between threads."""

    def __init__(
        self,
        url: str,
        *,
        wait_s: float = LEDGER_WAIT_S,
        lock: int = LEDGER_LOCK,
        shares: bool = False,
        failure: type[DatabaseFailed] = LedgerFailed,
    ) -> None:
        """Connects on first use. Raises MissingProgram.

        Args:
            url: A connection string of libpq, which takes the rest from its own variables and files.
            wait_s: How long a caller may wait: for other threads, the server, the lock and each answer.
            lock: The lock of writers.
            shares: Threads that waited while another one failed share its failure.
            failure: The error to raise if it cannot be used.
        """
        try:
            import psycopg
            from psycopg import errors

            from readroom.server.database.bounded import BoundedConnection
        except ImportError:
            raise MissingProgram("psycopg", install("postgres")) from None
        self._driver = psycopg
        self._connect = BoundedConnection.connect
        self._refused = (
            *(psycopg.DataError, UnicodeEncodeError, OverflowError),
            # A key that no index takes, or a statement that is too complex.
            *(errors.ProgramLimitExceeded, errors.StatementTooComplex),
        )
        self._url = url
        self._wait_s = wait_s
        self._away = False
        """Waiting was in vain: until it answers, each use makes one attempt without waiting."""
        self._number = lock
        self.failure = failure
        self._turn = Turn(wait_s, shares=shares)
        self._connection: BoundedConnection | None = None
        self._clock = _ServersClock()
        self._pid = os.getpid()
        self.name = _shown(url)

    def run(self, work: Callable[[Execute], T], *, write: bool, long: bool = False) -> T:
        """Run `work` in one transaction, again if the connection is lost.

        Raises:
            DatabaseFailed: It cannot be used, or did not answer in time.
            BadRequest: It cannot hold a value.
        """
        with self._turn.taken(self.name, self.failure) as until:
            while True:
                try:
                    done = self._once(work, write, until, long)
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
                except Damaged as error:
                    raise self.failure(self.name, str(error), error.advice) from None

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements in the dialect of PostgreSQL."""
        return [statement.replace("{big}", "BIGINT").replace("{bytes}", "BYTEA") for statement in statements]

    def close(self) -> None:
        """Release the connection."""
        with self._turn.lock:
            self._drop()

    def _once(self, work: Callable[[Execute], T], write: bool, until: float, long: bool) -> T:
        if self._pid != os.getpid():
            # A connection must not cross a fork; closing it here would end that of the parent.
            self._pid, self._connection = os.getpid(), None
        if self._connection is None:
            self._connection = self._connected(until)
        connection = self._connection
        connection.until = until + DATABASE_LONG_S if long else until
        with connection.transaction(), connection.cursor() as cursor:
            execute = _PostgresStatements(cursor, self._clock, self._refused)
            # In one round trip with the statements that the transaction needs anyway.
            execute(f"{_WRITES if write else _READS}; {self._limits(long)}")
            if write:
                execute("SELECT pg_advisory_xact_lock(?)", (self._number,))
            return work(execute)

    def _limits(self, long: bool) -> str:
        """The statement that bounds the others of a transaction; the server also ends one left by a dead
        machine, which would keep its locks for hours."""
        wait_ms = int(self._wait_s * 1000)
        limits = {
            "lock_timeout": wait_ms,
            "statement_timeout": int(DATABASE_LONG_S * 1000) if long else wait_ms,
            "idle_in_transaction_session_timeout": int(DATABASE_LONG_S * 1000) if long else wait_ms,
        }
        return "; ".join(f"SET LOCAL {name} = {number}" for name, number in limits.items())

    def _connected(self, until: float) -> BoundedConnection:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        wait_s = 1 if self._away else max(1, int(until - time.monotonic()))
        given = conninfo_to_dict(self._url)
        # For a network that drops packets. An operator's own numbers, in the address, come first.
        network = {
            "keepalives_idle": DATABASE_KEEPALIVE_S,
            "keepalives_interval": DATABASE_KEEPALIVE_S,
            "keepalives_count": 3,
            "tcp_user_timeout": int(self._wait_s * 1000),
        }
        own = {name: number for name, number in network.items() if name not in given}
        return self._connect(
            make_conninfo(self._url, **own, connect_timeout=wait_s, client_encoding="utf8"),
            application_name="readroom",
        )

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
