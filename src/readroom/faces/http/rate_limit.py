"""How often: requests a minute of an address and of a token, in a sliding window.

Two counts for each of them, of this minute and of the one before, which counts for
the part of it that the last sixty seconds still cover: that of a burst is off by what
came unevenly in it, and nothing of a request has to be kept.  A minute ends for all
at once, so that no timer is needed to forget those who have gone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from math import ceil
from typing import final

from readroom.errors import TooManyRequests
from readroom.limits import SERVE_FAILED_RATE

_MINUTE_S = 60.0


@final
class Rates:
    """The rate limits of one server; 0 is none. Used from its event loop only."""

    def __init__(
        self,
        *,
        token: int,
        address: int,
        failed: int = SERVE_FAILED_RATE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Requests a minute of one token, one address, and of one address without a token that works."""
        self._token = _Window(token, clock)
        self._address = _Window(address, clock)
        self._failed = _Window(failed, clock)

    def address(self, address: str) -> None:
        """Count a request. Raises TooManyRequests."""
        self._address.hit(address)

    def token(self, token: str) -> None:
        """Count a request of a token that works. Raises TooManyRequests."""
        self._token.hit(token)

    def failure(self, address: str) -> None:
        """Count a request without a token that works. Raises TooManyRequests."""
        self._failed.hit(address)


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
        if before * (1 - passed / _MINUTE_S) + now > self._most - 1:
            raise TooManyRequests(max(1, ceil(self._wait(now, before) - passed)))
        self._now[who] = now + 1

    def _passed(self) -> float:
        """Seconds of this minute."""
        passed = self._clock() - self._began
        if passed >= _MINUTE_S:
            self._before = self._now if passed < 2 * _MINUTE_S else Counter()
            self._now = Counter()
            self._began += passed // _MINUTE_S * _MINUTE_S
            passed %= _MINUTE_S
        return passed

    def _wait(self, now: int, before: int) -> float:
        """Seconds from the beginning of this minute until there is room for one more."""
        room = self._most - 1
        if now <= room:
            return _MINUTE_S * (1 - (room - now) / before)
        return _MINUTE_S + _MINUTE_S * (1 - room / now)
