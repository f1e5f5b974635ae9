"""The file of the history: a database of this user, which nobody else may have prepared.

Write-ahead log, so that what is committed survives the death of the process at any moment, and lists do not
wait for changes.  Deleted rows are overwritten.  The file is used only if it and its folder belong to this
user, nobody else may write there, and it has exactly the tables that this version makes: no trigger or view
of somebody else ever runs.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import threading
from collections.abc import Iterator, Sequence
from typing import Any, final

from readroom.core.errors import reason_of
from readroom.core.errors.history import HistoryFailed

FILE = "history.sqlite3"

_APPLICATION, _VERSION = 0x52645061, 1

_TABLES = (
    "CREATE TABLE workspaces (id INTEGER PRIMARY KEY, path BLOB NOT NULL, inode INTEGER NOT NULL,"
    " UNIQUE (path, inode))",
    "CREATE TABLE changes (id INTEGER PRIMARY KEY AUTOINCREMENT, workspace INTEGER NOT NULL,"
    " at_ns INTEGER NOT NULL, run TEXT, agent TEXT NOT NULL, token TEXT NOT NULL, session TEXT NOT NULL,"
    " record BLOB NOT NULL, proof BLOB NOT NULL, undoes INTEGER, interrupted INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX changes_of ON changes (workspace, id)",
    "CREATE INDEX changes_in ON changes (workspace, session, id)",
    "CREATE INDEX changes_begun ON changes (run) WHERE run IS NOT NULL",
    "CREATE TABLE names (change INTEGER NOT NULL, number INTEGER NOT NULL, workspace INTEGER NOT NULL,"
    " path BLOB NOT NULL, other BLOB, record BLOB NOT NULL, proof BLOB NOT NULL, before INTEGER,"
    " after INTEGER, undone INTEGER, PRIMARY KEY (change, number)) WITHOUT ROWID",
    "CREATE INDEX names_at ON names (workspace, path, change)",
    "CREATE INDEX names_to ON names (workspace, other, change) WHERE other IS NOT NULL",
    "CREATE TABLE contents (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, size INTEGER NOT NULL,"
    " uses INTEGER NOT NULL)",
    "CREATE TABLE bytes (id INTEGER PRIMARY KEY, packed BLOB NOT NULL)",
)

_WAIT_S = 20.0
"""How long to wait for other writers; a transaction takes a hundredth of a second, and a queue of a hundred
of them is not served in order."""

LOG_BYTES = 4 * 1024 * 1024
"""The size from which the write-ahead log is merged, and what it may keep on disk then."""

_PAGE_BYTES = 4096

_LONGEST_BYTES = 256 * 1024 * 1024
"""More than any value that this version stores."""

_INHERITED: list[sqlite3.Connection] = []
"""Connections from before a fork, which SQLite wants neither used nor closed in the child."""

_FULL = ("disk is full", "database or disk is full")


@final
class Database:
    """One connection per process. Safe to share between threads."""

    def __init__(self, folder: str | None, log_bytes: int = LOG_BYTES) -> None:
        """Open the file in a folder, made if missing; None for a database in memory. Raises HistoryFailed.

        `log_bytes` is the size from which its log is merged.
        """
        self.folder = folder
        self._log_bytes = log_bytes
        self.path = ":memory:" if folder is None else os.path.join(folder, FILE)
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._file: tuple[int, int] | None = None
        self._connection: sqlite3.Connection | None = None
        with self._failing():
            self._open()

    @contextlib.contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """A transaction, rolled back by any exception. Raises HistoryFailed."""
        if not self._lock.acquire(timeout=_WAIT_S):
            raise HistoryFailed(self.path, "another call is using it", busy=True)
        try:
            with self._failing():
                connection = self._current()
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
        finally:
            self._lock.release()

    def used_bytes(self) -> int:
        """The size of the database in its file, without pages that are free."""
        with self._lock, self._failing():
            connection = self._current()
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        return int((pages - free) * _PAGE_BYTES)

    def cleared(self) -> bool:
        """Give free pages back and empty the log, so that nothing deleted is left; whether that worked."""
        with self._lock, self._failing():
            connection = self._current()
            connection.execute("PRAGMA incremental_vacuum").fetchall()
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def close(self) -> None:
        """Release the file."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            connection, self._connection = self._connection, None
            if connection is not None and self._pid == os.getpid():
                connection.close()

    def _current(self) -> sqlite3.Connection:
        """The connection, made again after a fork or when another file has the name."""
        connection = self._connection
        if self._pid != os.getpid():
            if connection is not None:
                _INHERITED.append(connection)
            self._pid, connection = os.getpid(), None
        if connection is not None and self._file is not None and self._file != _identity(self.path):
            connection.close()
            connection = None
        if connection is None:
            self._open()
        assert self._connection is not None
        return self._connection

    def _open(self) -> None:
        if self.folder is not None:
            _require_own(self.folder)
        connection = sqlite3.connect(
            self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False, cached_statements=256
        )
        try:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_BYTES)
            connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "temp_store = MEMORY"):
                connection.execute(f"PRAGMA {pragma}")
            _prepare(connection, self.path)
            for pragma in (
                "synchronous = NORMAL",
                "secure_delete = ON",
                f"wal_autocheckpoint = {self._log_bytes // _PAGE_BYTES}",
                f"journal_size_limit = {self._log_bytes}",
            ):
                connection.execute(f"PRAGMA {pragma}").fetchall()
            self._file = None if self.folder is None else _identity(self.path)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith(
                "SQLITE_BUSY"
            ):  # Python has errors of its own
                raise HistoryFailed(self.path, "another program is using it", busy=True) from None
            raise HistoryFailed(self.path, str(error)) from None
        except OSError as error:
            raise HistoryFailed(self.path, reason_of(error)) from None


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    """Make the tables of a new file, and refuse one with others."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if (version, application) == (0, 0) and not _schema(connection):
        _make(connection)
    elif application != _APPLICATION:
        raise HistoryFailed(path, "it is not a history")
    elif version != _VERSION:
        raise HistoryFailed(path, f"it has version {version}; this readroom keeps version {_VERSION}")
    if sorted(_schema(connection)) != sorted(_TABLES):
        raise HistoryFailed(path, "it has other tables than readroom made")


def _make(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL").fetchall()
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _schema(connection):  # another process may have been faster
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _schema(connection: sqlite3.Connection) -> Sequence[Any]:
    """The statements that made the tables, indexes, views and triggers; not those that SQLite adds."""
    rows = connection.execute(
        "SELECT coalesce(sql, name) FROM sqlite_master"
        " WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' OR type NOT IN ('table', 'index')"
    )
    return [text for (text,) in rows]


# -----------------------------------------------------------------------------
# Whose file it is.
# -----------------------------------------------------------------------------

_OTHERS = 0o077


def _require_own(folder: str) -> None:
    """Make folder and file, private to this user. Raises HistoryFailed where somebody else prepared them."""
    os.makedirs(folder, 0o700, exist_ok=True)
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))  # SQLite says less
    _require_private(folder, folder=True)
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
        path = os.path.join(folder, name)
        if name == FILE:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        with contextlib.suppress(FileNotFoundError):
            _require_private(path, folder=False)


def _require_private(path: str, *, folder: bool) -> None:
    status = os.lstat(path)
    if not (stat.S_ISDIR if folder else stat.S_ISREG)(status.st_mode):
        raise HistoryFailed(path, f"it is not a {'folder' if folder else 'file'} of its own")
    if status.st_uid != os.geteuid():
        raise HistoryFailed(path, f"it belongs to user {status.st_uid}")
    if not folder and status.st_nlink > 1:
        raise HistoryFailed(path, "it has several names")
    if status.st_mode & _OTHERS:
        os.chmod(path, 0o700 if folder else 0o600)
