"""A database of another program, opened to be read and nothing more.

The file may be hostile: views and triggers of its own schema are not run, no value, row or schema takes more
memory than a record may, a query takes so many steps for each byte of the file and no more, and the
write-ahead log beside it is read where there is one, without leaving files behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from readroom.lens.records.values import NotReadable
from readroom.limits.lens import (
    RECORD_DATABASE_MEMORY_BYTES,
    RECORD_DATABASE_SCHEMA_STEPS,
    RECORD_DATABASE_STEPS,
    RECORD_DATABASE_STEPS_OF_BYTE,
    RECORD_LINE_BYTES,
)

MAGIC = b"SQLite format 3\0"

_STEPS_AT_ONCE = 1_000_000
_SCHEMA_STEPS_AT_ONCE = 1_000


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database at `path`, read only.

    Raises:
        NotReadable: It is not a database, or it is damaged where it was read, or takes too much.
    """
    # Without a log beside it nobody writes: `immutable` then keeps SQLite from making files in a folder of
    # somebody else.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            _bound(connection, path.stat().st_size)
            # Texts that are not UTF-8 are shown with marks in place of what is wrong.
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
    except MemoryError as error:
        raise NotReadable("a database whose tables take too much memory") from error
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise NotReadable("a database whose rows take too many steps, read up to there") from error
        raise NotReadable(f"not a database that can be read ({type(error).__name__})") from error


def _bound(connection: sqlite3.Connection, size: int) -> None:
    # A longer value ends its query with an error, and is never in memory.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, RECORD_LINE_BYTES + 1)
    # The schema is read whole before the first query, whatever it holds.
    connection.execute(f"PRAGMA hard_heap_limit = {RECORD_DATABASE_MEMORY_BYTES}")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA cell_size_check = ON")
    _load_schema(connection)
    connection.execute("PRAGMA cache_size = -8192")
    # A table without the client's indexes, or a join of everything with everything, takes steps that grow
    # with the square of the file: counted, so that the answer does not depend on the machine.
    left = (RECORD_DATABASE_STEPS + RECORD_DATABASE_STEPS_OF_BYTE * size) // _STEPS_AT_ONCE

    def more() -> int:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(more, _STEPS_AT_ONCE)


def _load_schema(connection: sqlite3.Connection) -> None:
    # SQLite looks for a name among all others in chains: a schema takes time with the square of its tables.
    left = RECORD_DATABASE_SCHEMA_STEPS // _SCHEMA_STEPS_AT_ONCE

    def more() -> int:
        nonlocal left
        left -= 1
        return left < 0

    connection.set_progress_handler(more, _SCHEMA_STEPS_AT_ONCE)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise NotReadable("a database with too many tables") from error
        raise


def row_of(connection: sqlite3.Connection, table: str, wanted: list[str], row: int) -> dict[str, Any]:
    """Some columns of one row; a value that is longer than a line of a record may be is None.

    Table and columns are names that this program chose.
    """
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
    """The names of real tables: a view of that name could be anything."""
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    return {str(name) for (name,) in rows}


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table whose name this program chose."""
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
