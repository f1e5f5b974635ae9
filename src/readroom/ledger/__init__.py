"""The ledger: an append-only, hash-chained record of calls, without any file content.

Knows: rows about calls: who, what, how much, and the hash of the row before.
Does not know: content: no text of files or replies is ever in a row.
May be touched: new columns need a migration; rows never change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from readroom.ledger.ledger import Ledger

# -----------------------------------------------------------------------------
# The configuration of a ledger, opened when first needed.
# -----------------------------------------------------------------------------

FILE = "ledger.sqlite3"
"""Its name in the user's state folder."""


class LedgerPolicy(Struct, frozen=True):
    """The recording of calls.

    Attributes:
        enabled: Whether calls are recorded; None leaves it to the face: servers record, commands and the
            library do not.
        required: Refuse calls that cannot be recorded; otherwise they are answered, with a warning.
        file: The SQLite file, absolute; None if the user's state folder is not known.
        url: A PostgreSQL database instead, as a connection string of libpq.
        full_sync: Wait for the disk on every call, so that a power cut loses nothing.
        hide: Arguments recorded only as length and hash.
        keep_days: When a server starts, older rows are removed; None keeps all.
    """

    enabled: bool | None = None
    required: bool = False
    file: str | None = None
    url: str | None = None
    full_sync: bool = False
    hide: frozenset[str] = frozenset()
    keep_days: float | None = None

    def __repr__(self) -> str:
        """Omits the URL, which may hold a password."""
        names = (name for name in self.__struct_fields__ if name != "url")
        return f"LedgerPolicy({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


Opener = Callable[[], "Ledger"]
"""Opens a ledger. Raises LedgerFailed."""


def open_book(policy: LedgerPolicy, *, make: bool = True) -> Ledger:
    """The ledger of a policy.

    Args:
        policy: The recording of calls.
        make: Whether to create it if it does not exist.

    Raises:
        LedgerFailed: It cannot be opened.
        MissingProgram: It is PostgreSQL, and the driver is not installed.
    """
    from readroom.errors import LedgerFailed
    from readroom.ledger.ledger import Ledger

    if policy.url is not None:
        from readroom.database.postgres import PostgresBackend

        return Ledger(PostgresBackend(policy.url))
    if policy.file is None:
        raise LedgerFailed("file", "there is no home folder", "Set [ledger] file in the configuration.")
    from readroom.database.sqlite import SqliteBackend

    return Ledger(SqliteBackend(policy.file, full_sync=policy.full_sync, make=make))
