"""What sessions age by: on one machine a clock that nobody sets.

A machine that wakes, or asks a time server, may be hours further by its clock from one request to the next,
and a session that was used a moment before would be idle since then.  So ages are taken from the clock that
only goes on.  It begins with each start of the machine, and where it stood then by the other clock is
a row, which all processes share.
"""

from __future__ import annotations

import time
from contextlib import suppress
from functools import cache
from typing import final

from readroom.database import Execute

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@final
class SteadyClock:
    """Of the processes that share a database."""

    def __init__(self, *, one_machine: bool) -> None:
        """Of several machines, or of one that says nothing of its starts, it is the clock of all."""
        self._boot = _boot() if one_machine else None
        self._offset_us: int | None = None

    def now_us(self, execute: Execute) -> int:
        """The time, in a transaction that may only read."""
        if self._boot is None:
            return execute.now_us()
        offset_us = self._offset_us
        if offset_us is None:
            rows = execute("SELECT offset_us FROM state_clock WHERE boot = ?", (self._boot,))
            if not rows:
                return execute.now_us()
            offset_us = self._offset_us = int(rows[0][0])
        return offset_us + time.monotonic_ns() // 1000

    def set_us(self, execute: Execute) -> int:
        """The time, in a transaction that may write: the first since the start of the machine sets it."""
        if self._boot is not None and self._offset_us is None:
            offset_us = execute.now_us() - time.monotonic_ns() // 1000
            sql = "INSERT INTO state_clock (boot, offset_us) VALUES (?, ?) ON CONFLICT (boot) DO NOTHING"
            execute(sql, (self._boot, offset_us))
            execute("DELETE FROM state_clock WHERE boot <> ?", (self._boot,))
        return self.now_us(execute)


@cache
def _boot() -> str | None:
    """What names this start of the machine."""
    with suppress(OSError, ValueError), open(_BOOT_ID, encoding="ascii") as file:
        return file.read().strip() or None
    return None
