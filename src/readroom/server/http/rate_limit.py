"""Rate limits: requests per minute of an address and of a token, in a sliding window.

Each has two counts, of this minute and of the one before, weighted by the part of it that the last sixty
seconds still cover: the count is off by how unevenly a burst was spread, and no request has to be stored.
Minutes end for all at once, so that no timer is needed to forget clients that have left.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeAlias, final

from msgspec.structs import replace

from readroom.core.errors import TooManyRequests
from readroom.core.lru import LruCache
from readroom.server.http.asking import Ask
from readroom.server.shared.accounts import MINUTE_S, Lease, SharedWindows, left, wait_s

_REMEMBERED = 10_000
"""The maximum addresses and tokens with requests counted ahead, or known to exceed their rate."""

Counting: TypeAlias = Awaitable[None] | None
"""An awaitable if a request is not counted yet; most are counted at once."""


SERVE_FAILED_RATE = 60
"""Requests per minute from one address without a valid token, where tokens are required: guessing is
hopeless, and this keeps it from filling the log."""


@final
class OwnRates:
    """The rate limits of a server with one process; 0 is no limit. Used from its event loop only."""

    def __init__(
        self,
        *,
        token: int,
        address: int,
        failed: int = SERVE_FAILED_RATE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Requests per minute of one token, of one address, and of one address without a valid token."""
        self._token = _Window(token, clock)
        self._address = _Window(address, clock)
        self._failed = _Window(failed, clock)

    def address(self, address: str) -> None:
        """Count a request. Raises TooManyRequests."""
        self._address.hit(address)

    def token(self, token: str) -> None:
        """Count a request with a valid token. Raises TooManyRequests."""
        self._token.hit(token)

    def failure(self, address: str) -> None:
        """Count a request without a valid token. Raises TooManyRequests."""
        self._failed.hit(address)

    def health(self, address: str) -> None:
        """Count a health check like other requests. Raises TooManyRequests."""
        self._address.hit(address)


class _Window:
    """The requests of the last minute."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._most = most
        self._clock = clock
        self._began = clock()
        self._now: Counter[str] = Counter()
        self._before: Counter[str] = Counter()

    def hit(self, who: str) -> None:
        if not self._most:
            return
        passed = self._passed()
        now, before = self._now[who], self._before[who]
        if not left(self._most, now, before, passed):
            raise TooManyRequests(wait_s(self._most, now, before, passed))
        self._now[who] = now + 1

    def _passed(self) -> float:
        """Seconds since this minute began."""
        passed = self._clock() - self._began
        if passed >= MINUTE_S:
            self._before = self._now if passed < 2 * MINUTE_S else Counter()
            self._now = Counter()
            self._began += passed // MINUTE_S * MINUTE_S
            passed %= MINUTE_S
        return passed


# -----------------------------------------------------------------------------
# Rate limits of a server with several processes.
#
# A process counts some requests ahead (a lease) and admits them without another query; it soon
# gives back what it has not used. Near the limit a lease is one request: the count is exact
# where it decides.
# -----------------------------------------------------------------------------


class _Ahead:
    """How many requests a process may still admit, or how long it need not ask."""

    __slots__ = ("asking", "lease", "left", "refused_until", "wait_s")

    def __init__(self) -> None:
        self.left = 0
        self.lease = Lease(0, 0)
        self.refused_until = 0.0
        self.wait_s = 0
        self.asking: asyncio.Task[None] | None = None


RATE_LEASE = 32
"""Requests that a process may let in before it asks the database again: one query for 32 requests."""

RATE_LEASE_S = 0.1
"""Time after which it returns what it has not used."""


@final
class SharedRates:
    """Rate limits in the shared state. Used from one event loop only."""

    def __init__(
        self,
        windows: SharedWindows,
        ask: Ask,
        *,
        token: int,
        address: int,
        failed: int = SERVE_FAILED_RATE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`ask` runs queries in another thread; 0 requests per minute is no limit."""
        self._windows = windows
        self._ask = ask
        self._most = {"token": token, "address": address, "failed": failed}
        self._clock = clock
        self._ahead: LruCache[str, _Ahead] = LruCache(_REMEMBERED)
        self._here = _Window(address, time.monotonic)

    def address(self, address: str) -> Counting:
        """Count a request. Raises TooManyRequests or StateFailed."""
        return self._hit("address", address)

    def token(self, token: str) -> Counting:
        """Count a request with a valid token. Raises TooManyRequests or StateFailed."""
        return self._hit("token", token)

    def failure(self, address: str) -> Counting:
        """Count a request without a valid token. Raises TooManyRequests or StateFailed."""
        return self._hit("failed", address)

    def health(self, address: str) -> None:
        """Count a health check in this process alone: it is answered even if the state is unavailable."""
        self._here.hit(address)

    def _hit(self, kind: str, who: str) -> Counting:
        most = self._most[kind]
        if not most:
            return None
        name = f"{kind} {who}"
        ahead = self._ahead.get_or_put(name, _Ahead)
        if ahead.left:
            ahead.left -= 1
            return None
        if self._clock() < ahead.refused_until:
            raise TooManyRequests(ahead.wait_s)
        return self._counted(name, most, ahead)

    async def _counted(self, name: str, most: int, ahead: _Ahead) -> None:
        while not ahead.left:
            if self._clock() < ahead.refused_until:
                raise TooManyRequests(ahead.wait_s)
            if ahead.asking is None:
                ahead.asking = asyncio.create_task(self._lease(name, most, ahead))
            # A client that leaves must not cancel the lease of the others.
            await asyncio.shield(ahead.asking)
        ahead.left -= 1

    async def _lease(self, name: str, most: int, ahead: _Ahead) -> None:
        try:
            now = self._clock()
            lease = await self._ask(partial(self._windows.take, name, most, RATE_LEASE))
            if not lease.count:
                # Ask again soon: other processes may give back what they counted ahead.
                ahead.wait_s, ahead.refused_until = lease.wait_s, now + RATE_LEASE_S / 2
                return
            ahead.left, ahead.lease = lease.count, lease
            if lease.count > 1:
                asyncio.get_running_loop().call_later(RATE_LEASE_S, self._return, name, ahead, lease)
        finally:
            ahead.asking = None

    def _return(self, name: str, ahead: _Ahead, lease: Lease) -> None:
        if ahead.lease is not lease or not ahead.left:
            return
        unused, ahead.left = replace(lease, count=ahead.left), 0
        task = asyncio.ensure_future(self._ask(partial(self._windows.give_back, name, unused)))
        # Requests that cannot be given back count as used.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())


Rates: TypeAlias = OwnRates | SharedRates
"""The rate limits of one server."""
