"""Objects that a call asks a bucket for before it uses them: a few at once, in the order of their use.

The requests are those that the call would send one after the other, only earlier.  Each is counted in that
order when it is begun, so the bound of a call ends a search at the same object.  What was counted and never
sent, because the call ended or went past it, is counted no more; what was sent stays counted, used or not.

Little is begun first, and more after each object, so that a page that is full after a few objects
costs about twice as many.  Only the first block of an object is fetched ahead, so memory is bounded by `MOST`
blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias, final

from readroom.core.deadline import Deadline
from readroom.core.errors import Cancelled, TransferLimit
from readroom.core.stores import spending
from readroom.core.stores.base import Begun, passed
from readroom.core.stores.bucket.client import AT_ONCE, Part
from readroom.core.stores.spending import Spending

MOST = 2 * AT_ONCE
"""Objects that are begun and not used: those under way, and as many that wait for a slow one before them."""

_FIRST = 2
"""Objects that are begun first; one more may be for each that is used."""

Key: TypeAlias = tuple[object, ...]


@final
class _Paid(Spending):
    """Counts what is sent for one object, of which the first request and its bytes are counted already."""

    __slots__ = ("_reserved", "_sent", "deadline", "wanted")

    def __init__(self, above: Spending, reserved: int, deadline: Deadline) -> None:
        """Count a request of so many bytes. Raises TransferLimit."""
        super().__init__(above.most_requests, above.most_bytes, above)
        above.request()
        try:
            above.expect(reserved)
        except TransferLimit:
            above.unsent()
            raise
        self.deadline = deadline
        self._reserved = reserved
        self._sent = False
        self.wanted = True

    def request(self) -> None:
        """Count a request, unless nobody waits for it. Raises Cancelled, TransferLimit."""
        if not self.wanted or self.deadline.cancelled or self.deadline.expired:
            raise Cancelled
        if self._sent:
            super().request()
        self._sent = True

    def expect(self, size: int) -> None:
        """Does nothing: they are counted."""

    def release(self, size: int) -> None:
        """Does nothing: `end` does."""

    def end(self) -> None:
        """Correct what was counted by what came of it."""
        assert self.above is not None
        self.above.release(self._reserved)
        if not self._sent:
            self.above.unsent()


@final
class BucketAhead:
    """The objects that one call has asked for and not used. Used by the thread of the call."""

    def __init__(self) -> None:
        self._begun: dict[Key, tuple[Future[Part], _Paid]] = {}
        self._room = min(_FIRST, MOST)
        self._threads: ThreadPoolExecutor | None = None
        self._closed = False

    def begin(self, key: Key, size: int, deadline: Deadline, fetch: Callable[[], Part]) -> Begun | None:
        """Begin to fetch up to `size` bytes. Returns how to go past them, or None if too many are begun."""
        if key in self._begun:
            return passed
        spent = spending.current()
        if spent is None or self._closed or len(self._begun) >= self._room:
            return None
        try:
            paid = _Paid(spent, size, deadline)
        except TransferLimit:
            return None  # the call will say so when it comes to this object
        if self._threads is None:
            self._threads = ThreadPoolExecutor(AT_ONCE, "readroom-bucket")

        def fetched() -> Part:
            try:
                with spending.spending_of(paid):
                    return fetch()
            finally:
                paid.end()

        self._begun[key] = self._threads.submit(fetched), paid
        return lambda: self.drop(key)

    def take(self, key: Key) -> Part | None:
        """The object, once it is there; None if it was not begun. Raises what fetching it raised."""
        future, paid = self._begun.pop(key, (None, None))
        if future is None or paid is None:
            return None
        self._room = min(self._room + 1, MOST)
        try:
            return future.result()
        except Cancelled:
            if paid.deadline.cancelled:
                raise
            return None  # its time is over; the call itself asks, so it comes further than the one before

    def close(self) -> None:
        """Begin nothing more, and wait for what is under way; it is not tried again."""
        self._closed = True
        for key in [*self._begun]:
            self.drop(key)
        if self._threads is not None:
            self._threads.shutdown()

    def drop(self, key: Key) -> None:
        """Go past an object: its request is not sent if it can be helped."""
        future, paid = self._begun.pop(key, (None, None))
        if future is not None and paid is not None:
            paid.wanted = False
            if future.cancel():
                paid.end()
