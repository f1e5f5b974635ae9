"""What goes: one rule. Changes older than the days that are kept, then the oldest until the rest fits.

The oldest is the one with the smallest number, since clocks go back.
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

_AT_ONCE = 100
"""Changes removed before it is looked again whether the rest fits."""

_ROOM = 16
"""A sixteenth is freed at once, so that not every change prunes."""


def room(policy: HistoryPolicy) -> int:
    """How much the database itself may have: the log next to it counts as well."""
    return max(policy.most_bytes - 2 * LOG_BYTES, policy.most_bytes // 2)


def prune(connection: sqlite3.Connection, database: Database, policy: HistoryPolicy, now_ns: int) -> None:
    """Remove what is too old or too much. Changes that are being made stay."""
    old = "SELECT id FROM changes WHERE at_ns < ? AND run IS NULL ORDER BY id LIMIT ?"
    while found := connection.execute(old, (now_ns - policy.days * _DAY_NS, _AT_ONCE)).fetchall():
        removed(connection, [change for (change,) in found])
    maximum = room(policy)
    if database.used_bytes() <= maximum:
        return
    first = "SELECT id FROM changes WHERE run IS NULL ORDER BY id LIMIT ?"
    while database.used_bytes() > maximum - maximum // _ROOM:
        found = connection.execute(first, (_AT_ONCE,)).fetchall()
        if not found:
            return
        removed(connection, [change for (change,) in found])


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
