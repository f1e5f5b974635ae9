"""Where a ledger is kept: one transaction at a time, whatever the database.

SQL is written once with `?` for values; it is the part that SQLite and PostgreSQL share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Execute(Protocol):
    """Statements of one transaction; SQL with `?` for values."""

    def __call__(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one statement, if it has any."""

    def many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        """The same statement once for each row, on one way to the database."""


class Backend(Protocol):
    """A database that holds one ledger. Safe to share between threads."""

    @property
    def name(self) -> str:
        """Where it is, for people; without a password."""

    def run(self, work: Callable[[Execute], T], *, write: bool) -> T:
        """Perform `work` in one transaction; with `write` nobody else writes meanwhile.

        It may be performed again when a connection was lost, so it has to find out what is done.

        Raises:
            LedgerFailed: The database cannot be used.
        """

    def migrate(self, statements: Sequence[str]) -> Sequence[str]:
        """Statements as this database writes them."""

    def close(self) -> None:
        """Release it."""
