"""The ledger: an append-only, hash-chained record of calls, without any file content.

Knows: rows about calls: who, what, how much, and the hash of the row before.
Does not know: content: no text of files or replies is ever in a row.
May be touched: new columns need a migration; rows never change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.session.journal import Journal
from readroom.core.values.verbs import function

if TYPE_CHECKING:
    from readroom.server.ledger.ledger import Ledger

# -----------------------------------------------------------------------------
# The configuration of a ledger, opened when first needed.
# -----------------------------------------------------------------------------


class LedgerPolicy(Struct, frozen=True):
    """The recording of calls.

    Attributes:
        enabled: Whether calls are recorded; None is the default: servers record, commands and the
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

    def served(self) -> LedgerPolicy:
        """This policy for a server, which records calls unless it disables that."""
        return replace(self, enabled=True) if self.enabled is None else self

    def journal(self, workspace: str, counter: str) -> Journal | None:
        """The recorder of a workspace's calls; None if there is none. Raises LedgerFailed."""
        if not self.enabled:
            return None
        # By its name, because it knows this policy.
        recorder: Journal = function("readroom.server.ledger.recorder:Recorder")(self, workspace, counter)
        return recorder


def open_book(policy: LedgerPolicy, *, make: bool = True) -> Ledger:
    """The ledger of a policy, created with `make` if there is none. Raises LedgerFailed or MissingProgram."""
    from readroom.core.errors import LedgerFailed
    from readroom.server.ledger.ledger import Ledger

    if policy.url is not None:
        from readroom.server.database.postgres import PostgresBackend

        return Ledger(PostgresBackend(policy.url))
    if policy.file is None:
        raise LedgerFailed("file", "there is no home folder", "Set [ledger] file in the configuration.")
    from readroom.server.database.sqlite import SqliteBackend

    return Ledger(SqliteBackend(policy.file, full_sync=policy.full_sync, make=make))
