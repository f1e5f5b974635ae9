"""How often: requests a minute of an address and of a token, in a sliding window."""

from __future__ import annotations

import time
from typing import final

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from readroom.errors import TooManyRequests
from readroom.limits import SERVE_FAILED_RATE


@final
class Rates:
    """The rate limits of one server; 0 is none."""

    def __init__(self, *, token: int, address: int, failed: int = SERVE_FAILED_RATE) -> None:
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._token = RateLimitItemPerMinute(token) if token else None
        self._address = RateLimitItemPerMinute(address) if address else None
        self._failed = RateLimitItemPerMinute(failed)

    def address(self, address: str) -> None:
        """Count a request. Raises TooManyRequests."""
        self._hit(self._address, "address", address)

    def token(self, token: str) -> None:
        """Count a request of a token that works. Raises TooManyRequests."""
        self._hit(self._token, "token", token)

    def failure(self, address: str) -> None:
        """Count a request without a token that works. Raises TooManyRequests."""
        self._hit(self._failed, "failed", address)

    def _hit(self, item: RateLimitItem | None, kind: str, who: str) -> None:
        if item is not None and not self._limiter.hit(item, kind, who):
            reset = self._limiter.get_window_stats(item, kind, who).reset_time
            raise TooManyRequests(max(1, int(reset - time.time()) + 1))
