"""The ledger: an append-only, hash-chained record of calls, without any file content.

Knows: rows about calls: who, what, how much, and the hash of the row before.
Does not know: content: no text of a file or of a reply is ever in a row.
May be touched: a new column is a migration; what is written is never changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from readroom.ledger.ledger import Ledger

# -----------------------------------------------------------------------------
# Whether and where a ledger is kept, as configuration says it; opened when first needed.
# -----------------------------------------------------------------------------

FILE = "ledger.sqlite3"
"""Its name in the user's state folder."""


class LedgerPolicy(Struct, frozen=True):
    """How calls are recorded.

    Attributes:
        enabled: Whether they are; None leaves it to the face: servers do, commands and the library do not.
        required: A call that cannot be recorded is refused; otherwise it is answered, with a warning.
        file: The SQLite file, absolute; None when the user's state folder is not known.
        url: A PostgreSQL database instead, as libpq takes it.
        full_sync: Wait for the disk on every call, so that a power cut loses nothing.
        hide: Arguments whose length and hash alone are kept.
        keep_days: Rows that are older are removed when a server starts; None keeps all.
    """

    enabled: bool | None = None
    required: bool = False
    file: str | None = None
    url: str | None = None
    full_sync: bool = False
    hide: frozenset[str] = frozenset()
    keep_days: float | None = None

    def __repr__(self) -> str:
        """Without the address, which may hold a password."""
        names = (name for name in self.__struct_fields__ if name != "url")
        return f"LedgerPolicy({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"


Opener = Callable[[], "Ledger"]
"""Opens a ledger. Raises LedgerFailed."""


def open_book(policy: LedgerPolicy, *, make: bool = True) -> Ledger:
    """The ledger that a policy names.

    Args:
        policy: Where it is.
        make: Make it when it is not there.

    Raises:
        LedgerFailed: It cannot be opened.
        MissingProgram: It is PostgreSQL and the driver is not installed.
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
