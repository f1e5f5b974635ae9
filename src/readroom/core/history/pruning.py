"""One rule says what goes: changes older than the days that are kept, then the oldest until the rest fits.

The oldest is the one with the smallest number, since clocks go back: what was made after a change that stays
stays as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from readroom.core.history import contents
from readroom.core.history.database import LOG_BYTES, Database
from readroom.core.history.settings import HistoryPolicy

if TYPE_CHECKING:
    import sqlite3

_DAY_NS = 86_400 * 1_000_000_000

_AT_ONCE = 10
"""Changes removed before it is looked again whether the rest fits."""

_SPARE = 64
"""A part of that is freed at once, so that not every change removes another one."""

_BESIDE = 8
"""A part of all is for the log next to the database, which has deleted pages as well until it is merged."""


def log_bytes(policy: HistoryPolicy) -> int:
    """The size from which the log of the database is merged."""
    return min(LOG_BYTES, policy.most_bytes // _BESIDE // 4)


def room(policy: HistoryPolicy) -> int:
    """How much the database itself may have."""
    return policy.most_bytes - policy.most_bytes // _BESIDE


def content_bytes(policy: HistoryPolicy) -> int:
    """The largest file whose bytes are kept."""
    return min(policy.file_bytes, policy.most_bytes // _BESIDE // 2)


def prune(connection: sqlite3.Connection, database: Database, policy: HistoryPolicy, now_ns: int) -> None:
    """Remove what is too old or too much. Changes that are being made stay."""
    while old := _old(connection, now_ns - policy.days * _DAY_NS, now_ns):
        removed(connection, old)
    maximum = room(policy)
    if database.used_bytes() <= maximum:
        return
    first = "SELECT id FROM changes WHERE run IS NULL ORDER BY id LIMIT ?"
    while database.used_bytes() > maximum - maximum // _SPARE:
        found = connection.execute(first, (_AT_ONCE,)).fetchall()
        if not found:
            return
        removed(connection, [change for (change,) in found])


def _old(connection: sqlite3.Connection, limit_ns: int, now_ns: int) -> list[int]:
    """The first changes that are older than the limit, with those before them.

    A time in the future says nothing; one in the past counts only where no earlier change is younger.
    """
    first = "SELECT id, at_ns FROM changes WHERE run IS NULL ORDER BY id LIMIT ?"
    passed, old = list[int](), list[int]()
    for change, at_ns in connection.execute(first, (_AT_ONCE,)):
        passed.append(change)
        if limit_ns <= at_ns <= now_ns:
            break
        if at_ns < limit_ns:
            old = passed.copy()
    return old


def removed(connection: sqlite3.Connection, changes: Sequence[int]) -> int:
    """Remove changes with their names and what only they keep; the bytes of files that went."""
    freed = 0
    for change in changes:
        rows = connection.execute("SELECT before, after FROM names WHERE change = ?", (change,)).fetchall()
        freed += contents.release(
            connection, [number for row in rows for number in row if number is not None]
        )
        connection.execute("DELETE FROM names WHERE change = ?", (change,))
        connection.execute("DELETE FROM changes WHERE id = ?", (change,))
    return freed
