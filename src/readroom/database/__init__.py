"""One transaction at a time, in an SQLite file or in PostgreSQL.

SQL is written once with `?` for values; it is the part that both share.

Knows: connections, transactions, versions of tables, and what becomes of a lost connection.
Does not know: what is kept.
May be touched: with the tests of the ledger and of several processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from readroom.errors import DatabaseFailed

T = TypeVar("T")


class Execute(Protocol):
    """Statements of one transaction; SQL with `?` for values."""

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement, if it has any."""

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """The same statement once for each row, on one way to the database."""

    def now_us(self) -> int:
        """Microseconds since 1970 by the clock that all who use this database have in common."""


class Backend(Protocol):
    """A database. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Where it is, for people; without a password."""

    @property
    def failure(self) -> type[DatabaseFailed]:
        """What is raised when it cannot be used."""

    def run(self, work: Callable[[Execute], T], *, write: bool) -> T:
        """Perform `work` in one transaction; with `write` nobody else writes meanwhile.

        It may be performed again when a connection was lost, so it has to find out what is done.

        Raises:
            DatabaseFailed: The database cannot be used; of the class `failure`.
        """

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements as this database writes them: `{big}` is its integer of 64 bits, `{bytes}` its bytes."""

    def close(self) -> None:
        """Release it."""


# -----------------------------------------------------------------------------
# The tables of a purpose, version by version. A version that was released is never changed.
# -----------------------------------------------------------------------------


def migrate(backend: Backend, table: str, versions: Sequence[Sequence[str]]) -> None:
    """Bring tables, or an empty database, to the present version.

    Args:
        backend: The database.
        table: Where the version stands.
        versions: Statements of version 1, of version 2, and so on.

    Raises:
        DatabaseFailed: They were made by a later version of readroom.
    """
    backend.run(lambda execute: _migrate(backend, table, versions, execute), write=True)


def _migrate(backend: Backend, table: str, versions: Sequence[Sequence[str]], execute: Execute) -> None:
    execute(f"CREATE TABLE IF NOT EXISTS {table} (version INTEGER NOT NULL)")
    rows = execute(f"SELECT version FROM {table}")
    version, present = rows[0][0] if rows else 0, len(versions)
    if version > present:
        raise backend.failure(
            backend.name,
            f"it has version {version}, and this readroom knows versions up to {present}",
            "Update readroom.",
        )
    if not rows:
        execute(f"INSERT INTO {table} (version) VALUES (0)")
    for statements in versions[version:]:
        for statement in backend.migrate(statements):
            execute(statement)
    if version < present:
        execute(f"UPDATE {table} SET version = ?", (present,))
