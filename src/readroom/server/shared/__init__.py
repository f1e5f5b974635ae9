"""State that the processes of a server share, so that any of them can take the next request.

A single process keeps it in memory.  Several processes, also on several machines, keep it in one
database: an SQLite file, or PostgreSQL.  Servers of the same folders that share a database act as one
server: they have the same budgets, rates, sessions, conversations and kept outputs.

When the database cannot be used, calls that need it are refused (`StateFailed`): a limit that cannot be
counted is never taken for no limit.

Knows: accounts, rates, sessions, conversations, outputs, tokens and visits as rows.
Does not know: callers, and the form of a refusal.
May be touched: with a security review; a new column is a migration.
"""

from __future__ import annotations

from msgspec import Struct


class StatePolicy(Struct, frozen=True):
    """Where the shared state is stored.

    Attributes:
        file: An SQLite file, absolute; None if the user's state folder is not known.
        url: A PostgreSQL database instead, as a connection string of libpq.
    """

    file: str | None = None
    url: str | None = None

    def __repr__(self) -> str:
        """Without the address, which may hold a password."""
        return f"StatePolicy(file={self.file!r})"
