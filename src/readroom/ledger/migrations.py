"""The tables of a ledger, version by version. A version that was released is never changed.

`{big}` is the database's integer of 64 bits.
"""

from __future__ import annotations

from readroom.errors import LedgerFailed
from readroom.ledger.backend import Backend, Execute
from readroom.ledger.rows import START

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE calls (
            number {big} NOT NULL PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            time_us {big} NOT NULL,
            workspace TEXT NOT NULL,
            agent TEXT NOT NULL,
            session TEXT NOT NULL,
            token TEXT NOT NULL,
            face TEXT NOT NULL,
            epoch {big} NOT NULL,
            contract TEXT NOT NULL,
            tool TEXT NOT NULL,
            path TEXT,
            arguments TEXT NOT NULL,
            decision TEXT NOT NULL,
            rule TEXT,
            outcome TEXT NOT NULL,
            kind TEXT,
            shown TEXT NOT NULL,
            tokens {big} NOT NULL,
            counter TEXT NOT NULL,
            duration_us {big} NOT NULL,
            previous TEXT NOT NULL,
            hash TEXT NOT NULL
        )""",
        "CREATE TABLE head (one {big} NOT NULL PRIMARY KEY, number {big} NOT NULL, hash TEXT NOT NULL)",
        f"INSERT INTO head (one, number, hash) VALUES (1, 0, '{START}')",
        """CREATE TABLE checkpoints (
            number {big} NOT NULL PRIMARY KEY,
            hash TEXT NOT NULL,
            time_us {big} NOT NULL,
            removed {big} NOT NULL
        )""",
    ),
    (
        "CREATE INDEX calls_by_time ON calls (time_us)",
        "CREATE INDEX calls_by_session ON calls (session, number)",
    ),
)
"""Statements of version 1, of version 2, and so on."""

VERSION = len(MIGRATIONS)


def migrate(backend: Backend) -> None:
    """Bring a ledger, or an empty database, to the present version.

    Raises:
        LedgerFailed: It was made by a later version of readroom.
    """
    backend.run(lambda execute: _migrate(backend, execute), write=True)


def _migrate(backend: Backend, execute: Execute) -> None:
    execute("CREATE TABLE IF NOT EXISTS ledger_schema (version INTEGER NOT NULL)")
    found = execute("SELECT version FROM ledger_schema")
    version = found[0][0] if found else 0
    if version > VERSION:
        raise LedgerFailed(
            backend.name,
            f"it has version {version}, and this readroom knows versions up to {VERSION}",
            "Update readroom.",
        )
    if not found:
        execute("INSERT INTO ledger_schema (version) VALUES (0)")
    for statements in MIGRATIONS[version:]:
        for statement in backend.migrate(statements):
            execute(statement)
    if version < VERSION:
        execute("UPDATE ledger_schema SET version = ?", (VERSION,))
