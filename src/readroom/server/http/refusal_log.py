"""Requests refused before they became calls, written to the ledger of their workspace.

A thread writes them after the answer: the event loop does not wait for a disk. A flood must neither fill the
disk nor go unnoticed: `RefusalSampler` decides which are entries of their own, and the sums of the others
are entries after a minute.
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

from readroom.core.caller import HTTP_FACE, Caller, conversation
from readroom.core.session.journal import Entry
from readroom.core.values import Fact
from readroom.server.http.access_log import Exchange
from readroom.server.http.workspaces import Workspaces

# -----------------------------------------------------------------------------
# Which refusals are logged one by one, and which are only counted: a flood must not fill a disk.
#
# Pure; the owner says when an interval ends.
# -----------------------------------------------------------------------------

NOBODY = Caller(face=HTTP_FACE)


class Refusal(Struct, frozen=True):
    """A request that was refused before it was a call, or many similar ones.

    Attributes:
        code: The code of the refusal.
        status: Status of the answer; 0 if the client had left, or for many.
        workspace: Its name, empty if none was reached.
        caller: The caller, as far as known.
        address: The client's address; empty for several addresses.
        method: The method as sent, if it is one; empty for many.
        target: The address it was sent to, without possible secrets; empty for many.
        times: The number of requests.
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
        """The fields that similar refusals share."""
        caller = replace(NOBODY, token=self.caller.token)
        return Refusal(self.code, workspace=self.workspace, caller=caller, address=self.address)


LEDGER_REFUSALS = 300
"""Requests per minute refused before they are calls that are recorded individually; more are only counted. A
day's flood from everywhere writes some 200 MB, one from a single address some 10."""

LEDGER_REFUSALS_ALIKE = 20
"""The same for those with the same address, token and code: a client that errs by mistake is recorded
completely, and one that floods leaves room for others."""


@final
class RefusalSampler:
    """The refusals of one interval."""

    def __init__(self, *, most: int = LEDGER_REFUSALS, alike: int = LEDGER_REFUSALS_ALIKE) -> None:
        """Log up to `most` one by one, and up to `alike` of each kind."""
        self._most = most
        self._alike = alike
        self._told: Counter[Refusal] = Counter()
        self._counted: Counter[Refusal] = Counter()

    @property
    def counted(self) -> bool:
        """Whether there are sums to write."""
        return bool(self._counted)

    def add(self, refusal: Refusal, *, room: bool = True) -> bool:
        """Whether to log it by itself; otherwise, and without `room`, it is counted."""
        kind = refusal.kind
        used_up = self._told[kind] >= self._alike
        if room and not used_up and self._told.total() < self._most:
            self._told[kind] += 1
            return True
        # Kinds are unbounded, like addresses; kinds that used up their entries are bounded, and so are codes.
        self._counted[kind if used_up else Refusal(refusal.code)] += refusal.times
        return False

    def settle(self) -> list[Refusal]:
        """The sums of refusals that were only counted; a new interval begins."""
        counted, self._counted, self._told = self._counted, Counter(), Counter()
        return [replace(kind, times=times) for kind, times in counted.items()]


LEDGER_REFUSALS_S = 60.0
"""The minute of both."""


@final
class Refusals:
    """The refused requests of one server. Used from its event loop only."""

    def __init__(
        self, workspaces: Workspaces, *, processes: int = 1, seconds: float = LEDGER_REFUSALS_S
    ) -> None:
        """Each of `processes` logs its share; an interval lasts `seconds`."""
        self._workspaces = workspaces
        self._seconds = seconds
        most, alike = (max(1, number // processes) for number in (LEDGER_REFUSALS, LEDGER_REFUSALS_ALIKE))
        self._tally = RefusalSampler(most=most, alike=alike)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="readroom-refusals")
        # Entries that wait while another process locks the ledger take memory.
        self._places = threading.Semaphore(LEDGER_REFUSALS)
        self._next: asyncio.TimerHandle | None = None
        self._failed = self._closed = False

    def note(self, exchange: Exchange) -> None:
        """Record a finished exchange, if it was refused and is not recorded yet."""
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
        """Write what is left, after the event loop has ended."""
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
        """Write the sums, unless too much is waiting; then they keep growing."""
        if self._places.acquire(blocking=False):
            self._thread.submit(self._write, self._tally.settle())

    def _write(self, refusals: list[Refusal]) -> None:
        by_workspace: dict[str, list[Entry]] = {}
        for refusal in refusals:
            by_workspace.setdefault(refusal.workspace, []).append(_entry(refusal))
        try:
            for workspace, refused in by_workspace.items():
                # A locked ledger would hold up the server's exit forever.
                if not (self._closed and self._failed):
                    # By name: the workspace of a token with a policy may be closed by now.
                    journal = self._workspaces.get(workspace or None, None).gatekeeper.journal
                    self._failed = journal is not None and journal.write(*refused) is not None
        finally:
            self._places.release()


def _entry(refusal: Refusal) -> Entry:
    facts: dict[str, Fact] = {"method": refusal.method, "status": refusal.status, "address": refusal.address}
    facts = {name: value for name, value in facts.items() if value}
    if refusal.times > 1:
        facts["times"] = refusal.times
    return Entry(
        refusal.caller, 0, "", refusal.target, {}, facts=facts, outcome=refusal.code, decision="refused"
    )


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
