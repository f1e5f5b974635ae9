"""A receipt for a call whose ledger row is not written yet.

A face that answers many callers at once gives each call a receipt.  The call then returns without waiting
for its row, and the face sends the reply when the receipt says so: once the row is durable, or with a
warning that it could not be written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeAlias, final

from readroom.errors import ReadroomError
from readroom.values import Reply

Write: TypeAlias = Callable[[bool], None]
"""Has the rows written that wait: here and now if it is told so and nobody else writes, or else soon."""

Hold: TypeAlias = Callable[[Write], None]
"""Receives what writes rows, and calls it soon, once for many."""

Amend: TypeAlias = Callable[[ReadroomError], Reply]
"""Returns the reply to send if the call could not be recorded."""

Leave: TypeAlias = Callable[[Reply | None], None]
"""Sends the reply; an argument is sent instead of the original one."""


@final
class Receipt:
    """The receipt of one call. `expect` comes first, if at all; `settle` and `then` in any order."""

    def __init__(self, hold: Hold | None = None) -> None:
        """With `hold`, the row is written together with those of other calls, when that says so."""
        self.hold = hold
        self._lock = threading.Lock()
        self._amend: Amend | None = None
        self._leave: Leave | None = None
        self._settled = True
        self._failure: ReadroomError | None = None

    def expect(self, amend: Amend) -> None:
        """Called when a row is about to be written."""
        self._amend, self._settled = amend, False

    def settle(self, failure: ReadroomError | None) -> None:
        """Called when the row is durable, or lost."""
        with self._lock:
            self._settled, self._failure = True, failure
            leave = self._leave
        if leave is not None:
            leave(self._instead())

    def then(self, leave: Leave) -> None:
        """Call `leave` once: now, or when the row is settled, from the thread that settles it."""
        with self._lock:
            if not self._settled:
                self._leave = leave
                return
        leave(self._instead())

    def _instead(self) -> Reply | None:
        if self._failure is None:
            return None
        assert self._amend is not None
        return self._amend(self._failure)
