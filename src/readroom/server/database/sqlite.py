"""The SQLite backend: one file, for any number of processes of one user on one machine.

Write-ahead log, so that readers and the writer do not wait for each other.  What
is committed survives the death of the process at any moment.  It survives a power
cut too with synchronous=FULL, at some milliseconds a call; with NORMAL, the
default, the last calls before the cut may be gone, and what is left is whole.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, final

from readroom.core.errors import DatabaseFailed, LedgerFailed, reason_of
from readroom.core.limits.session import LEDGER_WAIT_S
from readroom.server.database import Damaged, Execute, Turn, not_kept

T = TypeVar("T")

_INHERITED: list[sqlite3.Connection] = []
"""Connections from before a fork, which SQLite wants neither used nor closed in the child."""

_OPENING = threading.Lock()
"""Held from the creation of a file to the closing of that descriptor, so that no thread connects between."""


_NOT_KEPT = (sqlite3.DataError, UnicodeEncodeError, OverflowError)
"""Raised for values that it cannot hold."""


class _SqliteStatements:
    """The statements of one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except _NOT_KEPT as error:
            raise not_kept(error) from None

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        try:
            self._connection.executemany(sql, rows)
        except _NOT_KEPT as error:
            raise not_kept(error) from None

    def now_us(self) -> int:
        return time.time_ns() // 1000


LEDGER_LOG_PAGES = 4000
"""Pages of a write-ahead log of SQLite, 16 MB, after which they are moved into the file; a call waits for
that. SQLite: 1,000, which is every 200 calls."""


LEDGER_MOMENT_S = 0.1
"""How long to wait for a lock that was already waited for in vain; a transaction takes a hundredth."""


@final
class SqliteBackend:
    """One file, one connection per process. Safe to share between threads."""

    def __init__(
        self,
        path: str,
        *,
        full_sync: bool = False,
        make: bool = True,
        wait_s: float = LEDGER_WAIT_S,
        shares: bool = False,
        failure: type[DatabaseFailed] = LedgerFailed,
    ) -> None:
        """Open the file. Raises DatabaseFailed.

        Args:
            path: The absolute path.
            full_sync: Wait for the disk on every call.
            make: Create it, private to this user, if it does not exist.
            wait_s: How long to wait for other writers.
            shares: Threads that waited while another one failed share its failure.
            failure: The error to raise if it cannot be used.
        """
        self._path = path
        self._wait_s = wait_s
        self.failure = failure
        self._full_sync = full_sync
        self._turn = Turn(wait_s, shares=shares)
        self._locked = False
        """Waiting for another process was in vain: until it ends its transaction, each use waits a moment."""
        self._pid = os.getpid()
        with _OPENING:
            self._file = _own_file(path, failure, make=make)
            self._connection = self._opened()

    @property
    def name(self) -> str:
        """Its path."""
        return self._path

    def run(self, work: Callable[[Execute], T], *, write: bool, long: bool = False) -> T:
        """Run `work` in one transaction. Raises DatabaseFailed or BadRequest."""
        with self._turn.taken(self._path, self.failure):
            self._check()
            try:
                self._connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    result = work(_SqliteStatements(self._connection))
                    self._connection.execute("COMMIT")
                    if write:
                        self._wait(locked=False)
                    return result
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        self._connection.execute("ROLLBACK")
                    raise
            except sqlite3.Error as error:
                if _is_busy(error):
                    self._wait(locked=True)
                raise self.failure(self._path, str(error)) from None
            except Damaged as error:
                raise self.failure(self._path, str(error), error.advice) from None

    def _wait(self, *, locked: bool) -> None:
        """Wait as long as a caller may, or a moment for a file that another process keeps locked."""
        if self._locked != locked:
            self._locked = locked
            wait_ms = int((LEDGER_MOMENT_S if locked else self._wait_s) * 1000)
            self._connection.execute(f"PRAGMA busy_timeout = {wait_ms}")

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements in the dialect of SQLite."""
        return [statement.replace("{big}", "INTEGER").replace("{bytes}", "BLOB") for statement in statements]

    def close(self) -> None:
        """Release the file."""
        with self._turn.lock, contextlib.suppress(sqlite3.Error):
            if self._pid == os.getpid():
                self._connection.close()

    def _check(self) -> None:
        """Reconnect after a fork, and refuse a file that was removed or replaced."""
        if self._pid != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = self._opened()
            self._pid, self._locked = os.getpid(), False
        try:
            status = os.stat(self._path)
        except OSError as error:
            raise self.failure(self._path, reason_of(error)) from None
        if (status.st_dev, status.st_ino) != self._file:
            raise self.failure(self._path, "another file has taken its place", "Start readroom again.")

    def _opened(self) -> sqlite3.Connection:
        connection = None
        try:
            connection = sqlite3.connect(
                self._path, timeout=self._wait_s, isolation_level=None, check_same_thread=False
            )
            _keep_log(connection)
            connection.execute(f"PRAGMA wal_autocheckpoint = {LEDGER_LOG_PAGES}")
            connection.execute(f"PRAGMA synchronous = {'FULL' if self._full_sync else 'NORMAL'}")
        except BaseException as error:
            if connection is not None:
                connection.close()
            if isinstance(error, sqlite3.Error):
                raise self.failure(self._path, str(error)) from None
            raise
        return connection


LEDGER_SWITCH_S = 0.01
"""Pause between attempts to switch a new ledger to a write-ahead log, while another process does it."""


def _keep_log(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; SQLite refuses concurrent switches without waiting, so retry."""
    ends = time.monotonic() + LEDGER_WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            return
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > ends:
                raise
        time.sleep(LEDGER_SWITCH_S)


def _is_busy(error: sqlite3.Error) -> bool:
    # Errors of the module itself have no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


_NOT_MADE = "The first call to `readroom mcp` or `readroom serve` makes it; --file names another."


def _own_file(path: str, failure: type[DatabaseFailed], *, make: bool) -> tuple[int, int]:
    """The device and inode of the file, made private to this user; SQLite's other files get its mode.

    An existing file is checked without opening it: closing a descriptor of it would end the locks
    of every connection that this process has to it (https://sqlite.org/howtocorrupt.html, 2.2), and
    another process that closes its own would take the log of these connections away.
    """
    try:
        if make:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_EXCL, 0o600))
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise failure(path, "it is not a regular file")
        if status.st_uid != os.geteuid():
            raise failure(path, "it belongs to another user")
        if stat.S_IMODE(status.st_mode) & 0o077:
            os.chmod(path, 0o600)
    except FileNotFoundError:
        raise failure(path, "there is no such file", _NOT_MADE) from None
    except OSError as error:
        raise failure(path, reason_of(error)) from None
    return status.st_dev, status.st_ino
