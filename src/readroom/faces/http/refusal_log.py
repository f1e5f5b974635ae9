"""Requests that were refused before they were calls, written into the ledger of the workspace they were for.

By a thread of its own, after the answer: the event loop does not wait for a disk.
A flood must neither fill the disk nor pass in silence: `Tally` says which are entries
of their own, and the sums of the others are entries after a minute.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http import HTTPMethod
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.caller import Caller, conversation
from readroom.faces.http.access_log import Exchange
from readroom.faces.http.workspaces import Workspaces
from readroom.limits.session import LEDGER_REFUSALS, LEDGER_REFUSALS_ALIKE, LEDGER_REFUSALS_S
from readroom.session.gatekeeper import TurnedAway
from readroom.values import Fact

# -----------------------------------------------------------------------------
# Which of many refusals are logged one by one, and which only counted: a flood must not fill a disk.
#
# Pure; a stretch of time ends when its owner says so.
# -----------------------------------------------------------------------------

NOBODY = Caller(face="http")


class Refusal(Struct, frozen=True):
    """A request that was refused before it was a call, or many that were alike.

    Attributes:
        code: Of the refusal.
        status: Of the answer; 0 when the client had left, or of many.
        workspace: Its name, empty where it was not reached.
        caller: As far as it is known.
        address: Of the client; empty for many addresses.
        method: As sent, if it is one; empty of many.
        target: The address that it was sent to, without what could be a secret; empty of many.
        times: How many.
    """

    code: str
    status: int = 0
    workspace: str = ""
    caller: Caller = NOBODY
    address: str = ""
    method: str = ""
    target: str = ""
    times: int = 1

    @property
    def kind(self) -> Refusal:
        """What those that are alike have in common."""
        caller = replace(NOBODY, token=self.caller.token)
        return Refusal(self.code, workspace=self.workspace, caller=caller, address=self.address)


@final
class RefusalSampler:
    """The refusals of one stretch of time."""

    def __init__(self, *, most: int = LEDGER_REFUSALS, alike: int = LEDGER_REFUSALS_ALIKE) -> None:
        """`most` are logged one by one, and of each kind no more than `alike`."""
        self._most = most
        self._alike = alike
        self._told: Counter[Refusal] = Counter()
        self._counted: Counter[Refusal] = Counter()

    @property
    def counted(self) -> bool:
        """Whether there is something to settle."""
        return bool(self._counted)

    def add(self, refusal: Refusal, *, room: bool = True) -> bool:
        """Whether it is logged by itself; otherwise it is counted, as it is when there is no `room`."""
        kind = refusal.kind
        used_up = self._told[kind] >= self._alike
        if room and not used_up and self._told.total() < self._most:
            self._told[kind] += 1
            return True
        # Kinds have no bound, as addresses have none; those that were logged so often have, and codes.
        self._counted[kind if used_up else Refusal(refusal.code)] += refusal.times
        return False

    def settle(self) -> list[Refusal]:
        """The sums of what was only counted; another stretch begins."""
        counted, self._counted, self._told = self._counted, Counter(), Counter()
        return [replace(kind, times=times) for kind, times in counted.items()]


@final
class Refusals:
    """The refused requests of one server. Used from its event loop only."""

    def __init__(
        self, workspaces: Workspaces, *, processes: int = 1, seconds: float = LEDGER_REFUSALS_S
    ) -> None:
        """Each of so many `processes` tells its share; after so many `seconds` another stretch begins."""
        self._workspaces = workspaces
        self._seconds = seconds
        most, alike = (max(1, number // processes) for number in (LEDGER_REFUSALS, LEDGER_REFUSALS_ALIKE))
        self._tally = RefusalSampler(most=most, alike=alike)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readroom-refusals")
        # What waits while the ledger is locked by another process takes memory.
        self._places = threading.Semaphore(LEDGER_REFUSALS)
        self._next: asyncio.TimerHandle | None = None
        self._failed = self._closed = False

    def note(self, exchange: Exchange) -> None:
        """Record an exchange that is over, if it was refused and that is not recorded yet."""
        if not exchange.code or exchange.reached:
            return
        self._begin()
        refusal = _refusal(exchange)
        room = self._places.acquire(blocking=False)
        if self._tally.add(refusal, room=room):
            self._thread.submit(self._write, [refusal])
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

    def _write(self, refusals: list[Refusal]) -> None:
        by_workspace: dict[str, list[TurnedAway]] = {}
        for refusal in refusals:
            by_workspace.setdefault(refusal.workspace, []).append(_turned_away(refusal))
        try:
            for workspace, refused in by_workspace.items():
                # A ledger that is locked would hold up the end of the server for ever.
                if not (self._closed and self._failed):
                    # By name: the workspace of a token with a policy may be closed by now.
                    gatekeeper = self._workspaces.get(workspace or None, None).gatekeeper
                    self._failed = gatekeeper.turned_away(*refused) is not None
        finally:
            self._places.release()


def _turned_away(refusal: Refusal) -> TurnedAway:
    facts: dict[str, Fact] = {"method": refusal.method, "status": refusal.status, "address": refusal.address}
    facts = {name: value for name, value in facts.items() if value}
    if refusal.times > 1:
        facts["times"] = refusal.times
    return TurnedAway(refusal.caller, refusal.target, refusal.code, facts)


def _refusal(exchange: Exchange) -> Refusal:
    session = conversation(exchange.token, exchange.session)
    return Refusal(
        exchange.code,
        exchange.status,
        exchange.workspace,
        Caller(exchange.agent, session, exchange.token, NOBODY.face),
        exchange.address,
        exchange.method if exchange.method in HTTPMethod.__members__ else "",
        exchange.target,
    )
