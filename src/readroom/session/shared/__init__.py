"""What several processes of a server know alike, so that any of them can take the next request.

One process keeps all of this in memory, which costs nothing.  Several, and servers on
several machines, keep it in one database: an SQLite file, or PostgreSQL.  Servers of
the same folders that share a database are one server: they have the same budgets,
rates, sessions, conversations and kept outputs.

When the database cannot be used, what it bounds is refused (`StateFailed`): nothing
becomes unlimited because it could not be counted.

Knows: accounts, rates, sessions, conversations, outputs, tokens and visits as rows.
Does not know: who asks, and what a refusal looks like.
May be touched: with a security review; a new column is a migration.
"""

from __future__ import annotations

from msgspec import Struct

FILE = "state.sqlite3"
"""Its name in the user's state folder."""

OUTLINE = "outline"
"""Stands for a hash: the outline of the file was shown."""


class StatePolicy(Struct, frozen=True):
    """Where the shared state is.

    Attributes:
        file: An SQLite file, absolute; None when there is no telling where the user's state folder is.
        url: A PostgreSQL database instead, as libpq takes it.
    """

    file: str | None = None
    url: str | None = None

    def __repr__(self) -> str:
        """Without the address, which may hold a password."""
        return f"StatePolicy(file={self.file!r})"
