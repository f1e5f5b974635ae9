"""Another program's SQLite database, opened read-only.

The file may be hostile: its views and triggers are not run, no value, row or schema takes more memory than a
record may, and the steps of a query are bounded by the size of the file. Its write-ahead log is read,
and no files remain.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from readroom.lens.limits import RECORD_LINE_BYTES
from readroom.lens.records.values import NotReadable

RECORD_DATABASE_MEMORY_BYTES = 80 * 1024 * 1024
"""Memory of SQLite while it reads a record: a larger schema is not read. Usual ones take 1 MB,
in addition to 8 MB of pages.
"""

RECORD_DATABASE_SCHEMA_STEPS = 100_000
"""Steps of SQLite for the schema of a database: some 10,000 tables, and clients have 40."""

RECORD_DATABASE_STEPS = 10_000_000
"""Steps of SQLite for one record, some 0.2 s, plus RECORD_DATABASE_STEPS_OF_BYTE for each byte of it."""

RECORD_DATABASE_STEPS_OF_BYTE = 20
"""A row of 200 bytes takes some 300; without the client's indexes each session takes those of all rows."""


MAGIC = b"SQLite format 3\0"

_STEPS_AT_ONCE = 1_000_000
_SCHEMA_STEPS_AT_ONCE = 1_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database at `path`, read only. Raises NotReadable."""
    # Without a write-ahead log there is no writer: `immutable` then keeps SQLite from making other files.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            _bound(connection, path.stat().st_size)
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
    except MemoryError as error:
        raise NotReadable("a database whose tables take too much memory") from error
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise NotReadable("a database whose rows take too many steps, read up to there") from error
        raise NotReadable(f"not a database that can be read ({type(error).__name__})") from error


def _bound(connection: sqlite3.Connection, size: int) -> None:
    # A query for a longer value fails before the value is in memory.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, RECORD_LINE_BYTES + 1)
    # The schema is read whole before the first query, whatever its size.
    connection.execute(f"PRAGMA hard_heap_limit = {RECORD_DATABASE_MEMORY_BYTES}")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    _load_schema(connection)
    connection.execute("PRAGMA cache_size = -8192")
    # Without the client's indexes, or with a join of everything, steps grow with the square of the file. They
    # are counted, not timed, so that the answer does not depend on the machine.
    _allow(connection, RECORD_DATABASE_STEPS + RECORD_DATABASE_STEPS_OF_BYTE * size, _STEPS_AT_ONCE)


def _load_schema(connection: sqlite3.Connection) -> None:
    # SQLite finds a name by walking chains: the time for a schema grows with the square of its tables.
    _allow(connection, RECORD_DATABASE_SCHEMA_STEPS, _SCHEMA_STEPS_AT_ONCE)
    try:
        try:
            connection.execute(_ANY_TABLE).fetchone()
        except sqlite3.DatabaseError as error:
            if _UNTRUSTED not in str(error):
                raise
            _load_expressions(connection)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise NotReadable("a database with too many tables") from error
        raise


_ANY_TABLE = "SELECT 1 FROM sqlite_schema LIMIT 1"
_UNTRUSTED = "unsafe use of "


def _load_expressions(connection: sqlite3.Connection) -> None:
    """Load a schema with indexes over functions of JSON, which SQLite refuses if it is not trusted.

    A query that only reads calls a function of the schema for a computed column: `tables` leaves these out.
    """
    connection.execute("PRAGMA trusted_schema = ON")
    connection.execute(_ANY_TABLE).fetchone()


def _allow(connection: sqlite3.Connection, steps: int, at_once: int) -> None:
    """Interrupt queries with more steps than these; SQLite counts them `at_once` by `at_once`."""
    left = steps // at_once

    def is_too_many() -> bool:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(is_too_many, at_once)


def row_of(connection: sqlite3.Connection, table: str, wanted: list[str], row: int) -> dict[str, Any]:
    """Some columns of one row; a value that is too long is None. Table and columns must be trusted names."""
    values: dict[str, Any] = {}
    with suppress(sqlite3.DataError):
        query = f"SELECT {', '.join(wanted)} FROM {table} WHERE rowid = ?"
        return dict(zip(wanted, connection.execute(query, (row,)).fetchone() or (), strict=False))
    for name in wanted:
        values[name] = None
        with suppress(sqlite3.DataError):
            query = f"SELECT {name} FROM {table} WHERE rowid = ?"
            values[name] = (connection.execute(query, (row,)).fetchone() or (None,))[0]
    return values


def tables(connection: sqlite3.Connection) -> set[str]:
    """The names of real tables, without views, virtual tables, and tables with computed columns."""
    rows = connection.execute(
        "SELECT name FROM sqlite_schema AS one WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' "
        f"AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(one.name) WHERE hidden = {_COMPUTED})"
    )
    return {str(name) for (name,) in rows}


_COMPUTED = 2


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table, whose name must be trusted."""
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
