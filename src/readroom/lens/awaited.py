"""Calls whose results have not come yet: in bounds, so that a record full of calls takes little memory."""

from __future__ import annotations

from typing import final

import msgspec

from readroom.lens.arguments import argument_bytes
from readroom.lens.bounds import BOUNDS, Bounds
from readroom.lens.records.events import Called
from readroom.lens.records.values import text_bytes


class Pending(msgspec.Struct, frozen=True):
    """A call, the turn it was made in, and the whole result where a record has that elsewhere."""

    called: Called
    turn: int
    whole: str = ""
    chars: int = 0
    """Bytes that it keeps."""


def awaited(called: Called, turn: int, whole: str = "") -> Pending:
    """One with what it keeps."""
    return Pending(called, turn, whole, argument_bytes(called.arguments) + text_bytes(whole))


@final
class AwaitedCalls:
    """Those of one session, by their ids, the oldest first."""

    def __init__(self, bounds: Bounds = BOUNDS) -> None:
        self._bounds = bounds
        self._calls: dict[str, Pending] = {}
        self.chars = 0
        """Bytes that all of them keep."""

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, pending: Pending) -> list[Pending]:
        """Wait for one more; those that are given up for it, the oldest."""
        self.take(pending.called.id)
        given_up = []
        most = self._bounds.pending_chars - pending.chars
        while self._calls and (len(self._calls) >= self._bounds.pending_calls or self.chars > most):
            given_up += self._taken(next(iter(self._calls)))
        self._calls[pending.called.id] = pending
        self.chars += pending.chars
        return given_up

    def put_whole(self, id: str, text: str) -> list[Pending]:
        """Keep the whole result of a call; the calls that are given up for it."""
        return [
            given_up
            for pending in self._taken(id)
            for given_up in self.add(
                msgspec.structs.replace(
                    pending, whole=text, chars=pending.chars - text_bytes(pending.whole) + text_bytes(text)
                )
            )
        ]

    def take(self, id: str) -> Pending | None:
        """The call with this id, which is awaited no longer."""
        return next(iter(self._taken(id)), None)

    def take_all(self) -> list[Pending]:
        """All of them."""
        return [pending for id in list(self._calls) for pending in self._taken(id)]

    def _taken(self, id: str) -> list[Pending]:
        pending = self._calls.pop(id, None)
        if pending is None:
            return []
        self.chars -= pending.chars
        return [pending]
