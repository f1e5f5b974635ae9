"""A running call: its deadline, and messages to its client before the answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeAlias, final

from readroom.core.deadline import Deadline
from readroom.mcp.protocol.connection import Connection, ToolCall

Tell: TypeAlias = Callable[[bytes], object]
"""Sends the client a message about its request, before the answer; from any thread, and does not wait."""


@final
class PendingCall:
    """A call, its deadline, and how to send its client messages before the answer."""

    def __init__(
        self, connection: Connection, call: ToolCall, tell: Tell, seconds: float | None = None
    ) -> None:
        """Its time, of that length, begins here."""
        self.connection = connection
        self.call = call
        self.failed = ""
        """The code of the error that it has ended with."""
        self.busy = False
        """Whether the server is too busy for it."""
        self._tell = tell
        self._progress = None if call.token is None else _Progress(self._report)
        report = None if self._progress is None else self._progress.report
        self.deadline = Deadline(seconds, progress=report)

    def done(self) -> None:
        """Send the last progress."""
        if self._progress is not None:
            self._progress.end()

    def log(self, level: str, words: str) -> None:
        """Send a log message about the call, if the client wants that."""
        self._send(self.connection.log(self.call, level, words))

    def _report(self, done: float, total: float | None, words: str) -> None:
        self._send(self.connection.progress(self.call, done, total, words))

    def _send(self, message: bytes | None) -> None:
        if message is not None:
            self._tell(message)


MCP_PROGRESS_S = 0.25
"""Seconds between two progress messages of a call: four a second is what a person can follow."""


@final
class _Progress:
    """The progress of one call, from any thread of it: each value above the one before, and not too often."""

    def __init__(self, send: Callable[[float, float | None, str], object]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._next_at = 0.0
        self._furthest: dict[str, int] = {}
        self._latest: tuple[int, int | None, str] = (0, None, "")
        self._ended = False

    def report(self, done: int, total: int | None, unit: str) -> None:
        """The callback of a `Deadline`, for any number of calls."""
        self._latest = (done, total, unit)  # always: quick work ends before the next one is due
        now = time.monotonic()
        if now >= self._next_at:
            self._next_at = now + MCP_PROGRESS_S
            self._send_latest()

    def end(self) -> None:
        """Send the last value, so that quick work also shows progress."""
        self._send_latest()
        self._ended = True

    def _send_latest(self) -> None:
        with self._lock:
            done, total, unit = self._latest
            counted = unit.partition(";")[0]  # the rest only adds detail
            # The protocol requires increasing values; a second pass starts from zero again.
            if self._ended or done <= self._furthest.get(counted, 0):
                return
            self._furthest[counted] = done
            words = f"{done:,} {unit}" if total is None else f"{done:,} of {total:,} {unit}"
            # Work counted in one unit and then in another continues the sum.
            self._send(sum(self._furthest.values()), total if len(self._furthest) == 1 else None, words)
