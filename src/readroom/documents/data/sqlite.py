"""SQLite databases: tables and views, read-only and immutable.

    opened      from memory if small; else as a file, by the descriptor that was checked confined    SQL in
    the file itself (views, generated columns) runs under an authorizer, without extensions,
                writing or other databases, within the memory and time of the child
    immutable   no locks, and no journal, -wal or -shm file is read or made: changes of a database in WAL mode
                that are not in the main file yet are missing, which a note says

Values are cut inside SQL, so that a gigabyte in a cell never leaves the database.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import BinaryIO
from urllib.parse import quote as escaped

from msgspec import Struct, field

from readroom.core.quoting import joined, quote
from readroom.documents.data import Clipped, Column, Database, Rows
from readroom.documents.formats import Unreadable
from readroom.documents.limits import BLOB_BYTES, COUNT_CPU_S, SCHEMA_COLUMNS

REOPENS = True
"""To the process that reads it: a large database is opened a second time, by SQLite."""

MAGIC = b"SQLite format 3\0"
_ANOTHER = "Ask for another copy, or for an export as SQL or CSV."
_WRITTEN_BACK = "Ask the user to have it written back (PRAGMA wal_checkpoint), or for a copy (.backup)."
_HEADER_BYTES = 100
_VERSIONS = slice(18, 20)
"""Versions of the format for writing and reading: 2 is WAL mode, 1 is not."""

_VIRTUAL = re.compile(
    r"\s*CREATE\s+VIRTUAL\s+TABLE\b.{0,2000}?\bUSING\s+(\w{1,40})", re.IGNORECASE | re.DOTALL
)

_STEPS = 20_000
"""Instructions of SQLite between two looks at the clock."""

_TURNS = 3
"""Times that rows are asked for where none come: SQLite refuses a damaged page as a whole to the question
that meets it first, and reads it up to its damage for the next ones.
"""

_FAILURES = (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError)
"""Failures of a damaged database; names in SQLite's messages need not be UTF-8."""

_PRAGMAS = frozenset({"table_xinfo", "foreign_key_list", "index_list", "index_info", "table_list"})


SQLITE_COPIED_BYTES = 48 * 1024 * 1024
"""A database up to this size is read into memory, where no name, lock or journal matters; that takes twice
its size. Larger ones are opened as a file, by the descriptor that was checked."""


def open_document(file: BinaryIO) -> Database:
    """The database in `file`. Raises Unreadable."""
    file.seek(0)
    header = file.read(_HEADER_BYTES)
    if not header.startswith(MAGIC) or len(header) < _HEADER_BYTES:
        raise Unreadable("it is not an SQLite database, or it is encrypted or cut short", _ANOTHER)
    size = file.seek(0, os.SEEK_END)
    stated = _said_bytes(header)
    with _translated():
        connection = _from_memory(file, stated) if size <= SQLITE_COPIED_BYTES else _from_file(file)
        notes = _confine(connection)
        tables = _tables(connection)
    _count(tables)
    in_wal = header[_VERSIONS] != b"\1\1"
    if in_wal and not tables:
        raise Unreadable("it has no tables yet: its content is still in its -wal file", _WRITTEN_BACK)
    if in_wal:
        notes.append("It is in WAL mode: changes that are still in its -wal file are not shown.")
    if size < stated:
        notes.append(f"It is cut short: it has {size:,} of {stated:,} bytes.")
    return Database(tables, notes, _triggers(connection))


# --- opening -----------------------------------------------------------------------------------


def _said_bytes(header: bytes) -> int:
    """The declared size of the database; 0 if an old program did not write it."""
    page = int.from_bytes(header[16:18], "big")
    return int.from_bytes(header[28:32], "big") * (65_536 if page == 1 else page)


def _from_memory(file: BinaryIO, size: int) -> sqlite3.Connection:
    file.seek(0)
    data = bytearray(file.read())
    # SQLite refuses a truncated file as a whole; padded with zeros, all before the cut can be read.
    data += b"\0" * (min(size, SQLITE_COPIED_BYTES) - len(data))
    data[_VERSIONS] = b"\1\1"  # a database in memory cannot be in WAL mode
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.deserialize(bytes(data))
    return connection


def _from_file(file: BinaryIO) -> sqlite3.Connection:
    """The database by its name now, if that is still the file that was opened."""
    fd = file.fileno()
    wanted = os.fstat(fd)
    name = _name(fd)
    before = _descriptors()
    try:
        connection = sqlite3.connect(
            f"file:{escaped(os.fsencode(name))}?mode=ro&immutable=1", uri=True, isolation_level=None
        )
    except _FAILURES:
        raise Unreadable(
            f"it has more than {SQLITE_COPIED_BYTES:,} bytes and is not in a file that can be opened",
            "Read an unpacked copy.",
        ) from None
    # SQLite opens by name; nothing is read of it before it is known to be the file that was checked.
    opened = [os.fstat(status) for status in _descriptors() - before if status != fd]
    if not any((status.st_dev, status.st_ino) == (wanted.st_dev, wanted.st_ino) for status in opened):
        connection.close()
        raise Unreadable("it was replaced by another file while it was opened", "Read it again.")
    return connection


def _name(fd: int) -> str:
    if sys.platform == "darwin":
        import fcntl

        return os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, b"\0" * 1024).split(b"\0")[0])
    return os.readlink(f"/proc/self/fd/{fd}")


def _descriptors() -> set[int]:
    descriptors = set()
    for fd in range(os.sysconf("SC_OPEN_MAX") if os.sysconf("SC_OPEN_MAX") < 1024 else 1024):
        try:
            os.fstat(fd)
        except OSError:
            continue
        descriptors.add(fd)
    return descriptors


SQLITE_VALUE_BYTES = 32 * 1024 * 1024
"""A value or statement that SQLite may build; a larger one is an error of its row."""


def _confine(connection: sqlite3.Connection) -> list[str]:
    """Let a connection only read, and within bounds; notes about damage of its schema."""
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SQLITE_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    notes = _schema_problems(connection)
    for statement in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {statement}")
    connection.execute("PRAGMA mmap_size=0")
    connection.execute("PRAGMA cache_size=-8000")
    connection.set_authorizer(_authorized)
    return notes


_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}


def _authorized(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Allowed SQL: read, and call functions that only compute."""
    if action in _READING:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first in _PRAGMAS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in (
        "load_extension",
        "fts3_tokenizer",
    ):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        raise Unreadable(_problem(error), _ANOTHER) from None


def _problem(error: Exception) -> str:
    words = str(error)
    if "malformed" in words or "disk image" in words:
        return "it is damaged"
    if "not a database" in words:
        return "it is not an SQLite database, or it is encrypted"
    return f"SQLite reports: {words[:200]}"


# --- tables ------------------------------------------------------------------------------------


def _schema_problems(connection: sqlite3.Connection) -> list[str]:
    """Notes about damaged definitions; SQLite skips them from then on."""
    try:
        connection.execute("SELECT name FROM sqlite_schema LIMIT 1").fetchall()
    except sqlite3.DatabaseError as error:
        if "malformed database schema" not in str(error):
            raise
    else:
        return []
    connection.execute("PRAGMA writable_schema=ON")  # nothing is written: the connection will only query
    return ["Definitions in its schema are damaged: their tables and views cannot be read."]


SCHEMA_TABLES = 2_000
"""Maximum readable tables of a database; applications have a few hundred."""

SQL_CHARS = 600
"""The text of a view or trigger in an outline."""


def _tables(connection: sqlite3.Connection) -> list[_SqliteTable]:
    rows = connection.execute(
        "SELECT type, name, substr(sql, 1, ?) FROM sqlite_schema WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite^_%' ESCAPE '^' ORDER BY type, name LIMIT ?",
        (SQL_CHARS + 1, SCHEMA_TABLES),
    ).fetchall()
    return [_SqliteTable(connection, str(name), str(kind), str(sql or "")) for kind, name, sql in rows]


def _triggers(connection: sqlite3.Connection) -> list[str]:
    try:
        rows = connection.execute(
            "SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger' ORDER BY name LIMIT 200"
        ).fetchall()
    except _FAILURES:
        return []
    return [f"trigger {quote(str(name))} on {quote(str(table))}" for name, table in rows]


def _count(tables: Sequence[_SqliteTable]) -> None:
    """Count rows as long as that is quick, all tables together."""
    until = time.process_time() + COUNT_CPU_S
    for table in tables:
        if table.kind != "table" or time.process_time() >= until:
            continue
        connection = table.connection
        connection.set_progress_handler(lambda: time.process_time() >= until, _STEPS)
        try:
            table.counted.append(
                connection.execute(f"SELECT count(*) FROM {_name_of(table.title)}").fetchone()[0]
            )
        except _FAILURES:
            continue  # too slow, or damaged: reading reports it
        finally:
            connection.set_progress_handler(None, 0)


def _name_of(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class _SqliteTable(Struct, frozen=True, dict=True):
    """A table or view."""

    connection: sqlite3.Connection
    title: str
    kind: str
    sql: str
    counted: list[int] = field(default_factory=list)

    @property
    def total(self) -> int | None:
        return self.counted[0] if self.counted else None

    @cached_property
    def columns(self) -> Sequence[Column]:
        if self._module:
            raise Unreadable(
                f"it is a virtual table ({self._module}), which is not run here", self._kept_elsewhere
            )
        with _translated():
            rows = self.connection.execute(f"PRAGMA table_xinfo({_name_of(self.title)})").fetchall()
        if not rows:
            raise Unreadable("its columns cannot be read", _ANOTHER)
        keys = self._foreign_keys()
        alone = sum(bool(row[5]) for row in rows) == 1
        return [
            Column(str(row[1]), str(row[2]), _detail(row, alone, keys.get(str(row[1]), "")))
            for row in rows
            if row[6] != 1  # hidden columns of virtual tables
        ]

    @property
    def _module(self) -> str:
        """The module of a virtual table; empty for a stored table."""
        match = _VIRTUAL.match(self.sql)
        return "" if match is None else match[1]

    @property
    def _kept_elsewhere(self) -> str:
        """The storage tables of a virtual one."""
        start = f"{self.title}_"
        rows = self.connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, ?) = ? "
            "ORDER BY name LIMIT 20",
            (len(start), start),
        ).fetchall()
        if not rows:
            return "Read the table that it is based on."
        return f"Read its stored tables: {joined([str(name) for (name,) in rows])}."

    def _foreign_keys(self) -> dict[str, str]:
        """Targets of foreign keys by column."""
        targets: dict[str, str] = {}
        with _translated():
            for row in self.connection.execute(f"PRAGMA foreign_key_list({_name_of(self.title)})"):
                targets.setdefault(
                    str(row[3]), f"{quote(str(row[2]))}{'' if row[4] is None else f'({row[4]})'}"
                )
        return targets

    @cached_property
    def details(self) -> Sequence[str]:
        if self.kind == "view":
            return [f"as {' '.join(self.sql[:SQL_CHARS].split())}{' …' if len(self.sql) > SQL_CHARS else ''}"]
        details = []
        try:
            for row in self.connection.execute(f"PRAGMA index_list({_name_of(self.title)})").fetchall():
                parts = self.connection.execute(f"PRAGMA index_info({_name_of(str(row[1]))})").fetchall()
                names = ", ".join(
                    "(expression)" if part[2] is None else quote(str(part[2])) for part in parts
                )
                marks = [word for word, is_so in (("unique", row[2]), ("partial", row[4])) if is_so]
                if row[3] == "pk":
                    marks.append("primary key")
                details.append(" ".join([f"index {quote(str(row[1]))} ({names})", *marks]))
        except _FAILURES as error:
            details.append(f"[its indexes cannot be read: {_problem(error)}]")
        if self._module:
            details.append(" ".join(self.sql[:SQL_CHARS].split()))
        return details[:SCHEMA_COLUMNS]

    def rows(self, first: int, count: int, columns: Sequence[int], chars: int) -> Rows:
        chosen = ", ".join(
            f"CASE typeof({name}) "
            # Functions on texts end at a NUL, which a text can have.
            f"WHEN 'text' THEN CASE WHEN instr({name}, char(0)) AND {_bytes(name)} <= {4 * chars} "
            f"THEN {name} ELSE substr({name}, 1, {chars + 1}) END "
            # The length of bytes is known without them, which may be more than SQLite may build.
            # Of no bytes `substr` makes NULL.
            f"WHEN 'blob' THEN CASE WHEN length({name}) NOT BETWEEN 1 AND {SQLITE_VALUE_BYTES} THEN x'' "
            f"ELSE substr({name}, 1, {BLOB_BYTES}) END ELSE {name} END AS {name}, "
            f"CASE typeof({name}) "
            f"WHEN 'text' THEN CASE WHEN instr({name}, char(0)) THEN {_bytes(name)} ELSE length({name}) END "
            f"WHEN 'blob' THEN length({name}) END AS {name}"
            for name in (f"c{at}" for at in columns)
        )
        # By their places: SQLite takes a name that it does not find for a text, and shows that.
        places = ", ".join(f"c{at}" for at in range(len(self.columns)))
        whole = f"WITH w({places}) AS (SELECT * FROM {_name_of(self.title)})"
        asked = f"{whole} SELECT {chosen} FROM w LIMIT ? OFFSET ?"
        for _ in range(_TURNS):
            rows, error = self._answered(asked, count + 1, first - 1)
            if rows or getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_CORRUPT:
                break
        if error is None:
            return Rows(rows[:count], [], len(rows) > count)
        if not rows:
            raise Unreadable(_problem(error), _ANOTHER) from None
        note = f"Row {first + len(rows):,} and the rest cannot be read: {_problem(error)}."
        return Rows(rows[:count], [note], len(rows) > count)

    def _answered(self, query: str, *values: int) -> tuple[list[list[object]], Exception | None]:
        """The rows that came, and the failure that ended them, if any."""
        rows = list[list[object]]()
        try:
            cursor = self.connection.execute(query, values)
            rows.extend([_value(row[at], row[at + 1]) for at in range(0, len(row), 2)] for row in cursor)
        except _FAILURES as error:
            return rows, error
        return rows, None


def _bytes(name: str) -> str:
    return f"length(CAST({name} AS BLOB))"


def _value(value: object, size: object) -> object:
    if isinstance(value, str) and isinstance(size, int) and "\0" in value and len(value) >= size // 4:
        return value  # its size is one of bytes
    if isinstance(value, str | bytes) and isinstance(size, int) and size > len(value):
        return Clipped(value, size)
    return value


def _detail(row: Sequence[object], alone: bool, leads_to: str) -> str:
    """Constraints of a column, from a row of `table_xinfo`."""
    words = []
    if row[5]:
        words.append("primary key" if alone else f"primary key {row[5]}")
    if row[3]:
        words.append("not null")
    if row[4] is not None:
        words.append(f"default {str(row[4])[:80]}")
    if row[6] in (2, 3):
        words.append("generated")
    if leads_to:
        words.append(f"references {leads_to}")
    return " ".join(words)
