"""Requests of the last minute, counted by all processes together.

Two counts for each name, of this minute and of the one before, which counts for the
part of it that the last sixty seconds still cover.
"""

from __future__ import annotations

from math import ceil, floor
from typing import final

from msgspec import Struct

from readroom.database import Database, Execute
from readroom.limits.session import RATE_LEASE_PART

MINUTE_S = 60.0


def left(most: int, hits: int, before: int, passed: float) -> int:
    """How many more requests there is room for, so many seconds into a minute."""
    return max(0, floor(most - hits - before * (1 - passed / MINUTE_S)))


def wait_s(most: int, hits: int, before: int, passed: float) -> int:
    """Whole seconds until there is room for one."""
    room = most - 1
    if hits <= room:
        begins = MINUTE_S * (1 - (room - hits) / before) if before else 0.0
    else:
        begins = MINUTE_S + MINUTE_S * (1 - room / hits)
    return max(1, ceil(begins - passed))


class Lease(Struct, frozen=True):
    """Requests that may be let in, of a minute; when there are none, the seconds to wait."""

    count: int
    minute: int
    wait_s: int = 0


@final
class SharedWindows:
    """Those of one server, in a database."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server
        self._minute = 0

    def take(self, who: str, most: int, wanted: int, now: float | None = None) -> Lease:
        """Count up to `wanted` requests. Raises StateFailed.

        Done again after a lost connection it counts some twice: less is let in, never more.

        Args:
            who: Who asks.
            most: Requests a minute.
            wanted: To be counted together.
            now: Seconds since the epoch; None for the time of the database, which is that of all.
        """
        name = f"{self._server}/{who}"

        def work(execute: Execute) -> Lease:
            time_s = execute.now_us() / 1_000_000 if now is None else now
            before, self._minute = self._minute, int(time_s // MINUTE_S)
            # With each minute those who have gone are forgotten: addresses have no bound.
            return _take(execute, name, most, wanted, time_s, forget=self._minute > before)

        return self._database.change(work)

    def give_back(self, who: str, lease: Lease) -> None:
        """Requests that did not come. Raises StateFailed."""
        values = (lease.count, f"{self._server}/{who}", lease.minute)
        sql = "UPDATE state_windows SET hits = hits - ? WHERE name = ? AND minute = ?"
        self._database.change(lambda execute: execute(sql, values))


def _take(execute: Execute, name: str, most: int, wanted: int, now: float, *, forget: bool) -> Lease:
    found = execute("SELECT minute, hits, before FROM state_windows WHERE name = ?", (name,))
    current = int(now // MINUTE_S)
    if forget:
        execute("DELETE FROM state_windows WHERE minute < ?", (current - 1,))
    minute, hits, before = found[0] if found else (current, 0, 0)
    if current > minute:
        before, hits = (hits if current == minute + 1 else 0), 0
        minute = current
    elif current < minute - 1:
        minute = current  # the clock was set back: what was counted counts now, and is soon over
        execute("UPDATE state_windows SET minute = ? WHERE name = ?", (minute, name))
    passed = now - minute * MINUTE_S if current == minute else 0.0
    room = left(most, hits, before, passed)
    if room == 0:
        return Lease(0, minute, wait_s(most, hits, before, passed))
    count = min(wanted, max(1, room // RATE_LEASE_PART))
    execute(
        "INSERT INTO state_windows (name, minute, hits, before) VALUES (?, ?, ?, ?) ON CONFLICT (name) "
        "DO UPDATE SET minute = excluded.minute, hits = excluded.hits, before = excluded.before",
        (name, minute, hits + count, before),
    )
    return Lease(count, minute)
