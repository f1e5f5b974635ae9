"""A receipt for a call whose ledger row is not written yet.

A face that answers many callers at once gives each call a receipt.  The call then returns without waiting
for its row, and the face sends the reply when the receipt says so: once the row is durable, or with a
warning that it could not be written.
"""

from __future__ import annotations

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
        self._meet = [True]
        """Who takes this is the first of two that meet here; the second one goes on."""
        self._amend: Amend | None = None
        self._leave: Leave | None = None
        self._failure: ReadroomError | None = None

    def expect(self, amend: Amend) -> None:
        """Called when a row is about to be written."""
        self._amend = amend

    def settle(self, failure: ReadroomError | None) -> None:
        """Called when the row is durable, or lost."""
        self._failure = failure
        if self._is_second():
            assert self._leave is not None
            self._leave(self._instead())

    def then(self, leave: Leave) -> None:
        """Call `leave` once: now, or when the row is settled, from the thread that settles it."""
        self._leave = leave
        if self._amend is None or self._is_second():
            leave(self._instead())

    def _is_second(self) -> bool:
        try:
            self._meet.pop()  # in one step, whatever other threads do
        except IndexError:
            return True
        return False

    def _instead(self) -> Reply | None:
        if self._failure is None:
            return None
        assert self._amend is not None
        return self._amend(self._failure)
