"""Requests that were refused before they were calls, written into the ledger of the workspace they were for.

By a thread of its own, after the answer: the event loop does not wait for a disk.
A flood must neither fill the disk nor pass in silence: `Tally` says which are entries
of their own, and the sums of the others are entries after a minute.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from http import HTTPMethod
from typing import final

from readroom.caller import Caller, conversation
from readroom.faces.http.exchange import Exchange
from readroom.faces.http.rooms import Rooms
from readroom.faces.http.tally import NOBODY, Refusal, Tally
from readroom.limits_keeping import LEDGER_REFUSALS, LEDGER_REFUSALS_S
from readroom.model import Fact


@final
class Refusals:
    """The refused requests of one server. Told from its event loop only."""

    def __init__(self, rooms: Rooms, *, seconds: float = LEDGER_REFUSALS_S) -> None:
        """`seconds` is the time after which sums are written and another stretch begins."""
        self._rooms = rooms
        self._seconds = seconds
        self._tally = Tally()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readroom-refusals")
        # What waits while the ledger is locked by another process takes memory.
        self._places = threading.Semaphore(LEDGER_REFUSALS)
        self._next: asyncio.TimerHandle | None = None
        self._failed = self._closed = False

    def note(self, exchange: Exchange) -> None:
        """Record an exchange that is over, if it was refused and nobody else has recorded that."""
        if not exchange.code or exchange.reached:
            return
        self._begin()
        one = _refusal(exchange)
        room = self._places.acquire(blocking=False)
        if self._tally.add(one, room=room):
            self._thread.submit(self._write, [one])
        elif room:
            self._places.release()

    def close(self) -> None:
        """Write what is left. The event loop has ended."""
        self._closed = True
        self._places.release()
        self._settle()
        self._thread.shutdown(wait=True)

    def _begin(self) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(self._seconds, self._end)

    def _end(self) -> None:
        self._next = None
        self._settle()
        if self._tally.counted:
            self._begin()

    def _settle(self) -> None:
        """Write the sums, unless so much waits already; then they grow."""
        if self._places.acquire(blocking=False):
            self._thread.submit(self._write, self._tally.settle())

    def _write(self, many: list[Refusal]) -> None:
        try:
            for one in many:
                # A ledger that is locked would hold up the end of the server for ever.
                if not (self._closed and self._failed):
                    self._failed = self._record(one)
        finally:
            self._places.release()

    def _record(self, one: Refusal) -> bool:
        """Whether it failed."""
        facts: dict[str, Fact] = {"method": one.method, "status": one.status, "address": one.address}
        facts = {name: value for name, value in facts.items() if value}
        if one.times > 1:
            facts["times"] = one.times
        # By name: the workspace of a token with a policy may be closed by now.
        keeper = self._rooms.get(one.workspace or None, None).keeper
        return keeper.turned_away(one.caller, one.asked, one.code, facts) is not None


def _refusal(exchange: Exchange) -> Refusal:
    session = conversation(exchange.token, exchange.session)
    return Refusal(
        exchange.code,
        exchange.status,
        exchange.workspace,
        Caller(exchange.agent, session, exchange.token, NOBODY.face),
        exchange.address,
        exchange.method if exchange.method in HTTPMethod.__members__ else "",
        exchange.asked,
    )
