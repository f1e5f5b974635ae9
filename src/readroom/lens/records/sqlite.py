"""A database of another program, opened to be read and nothing more.

The file may be hostile: views and triggers of its own schema are not run, a query ends when it takes too
long, and the write-ahead log beside it is read where there is one, without leaving files behind.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from readroom.lens.records.values import NotReadable
from readroom.limits.lens import RECORD_LINE_BYTES

MAGIC = b"SQLite format 3\0"


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The database at `path`, read only.

    Raises:
        NotReadable: It is not a database, or it is damaged where it was read.
    """
    # Without a log beside it nobody writes: `immutable` then keeps SQLite from making files in a folder of
    # somebody else.
    mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
    uri = f"file:{quote(str(path.absolute()))}?{mode}"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 8 * RECORD_LINE_BYTES)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA cache_size = -8192")
            # Texts that are not UTF-8 are shown with marks in place of what is wrong.
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            yield connection
    except sqlite3.Error as error:
        raise NotReadable(f"not a database that can be read ({type(error).__name__})") from error


def tables(connection: sqlite3.Connection) -> set[str]:
    """The names of real tables: a view of that name could be anything."""
    rows = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    )
    return {str(name) for (name,) in rows}


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table whose name this program chose."""
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}
