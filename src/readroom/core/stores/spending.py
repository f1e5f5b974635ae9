"""The requests and bytes that one call may cost where reading is not free: a bucket, another machine.

Stores count what they send and receive; the engine sets the bound of a call, or of a part of it.  Work in
other threads than the call's own is not counted here, but for what the call asks for ahead (`Ahead`).

Knows: numbers, and the error of a call that has used them up.
Does not know: stores.
May be touched: freely.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Protocol, TypeVar

from msgspec.structs import replace

from readroom.core.errors import TransferLimit
from readroom.core.values import FindResult, GrepResult, ListResult, ReadResult
from readroom.core.values.files import Warn

CALL_REQUESTS: Final = 500
"""Requests of one search or listing: half a cent per hundred calls where requests cost most."""

CALL_BYTES: Final = 64 * 1024 * 1024
"""Bytes that one search fetches: some seconds."""

FETCHED_BYTES: Final = 16 * 1024 * 1024
"""Bytes that one call keeps to look at them again."""

COUNTED_BYTES: Final = 256 * 1024 * 1024
"""Bytes in which one read counts lines to get to a page, and the same call continues from there; also the
most that is fetched of a document or an archive for one call."""


_R = TypeVar("_R", bound=GrepResult | FindResult | ListResult | ReadResult)


_LOCK = threading.Lock()
"""One for all, which also those above count with."""


class Spending:
    """The cost of a call so far, and the most that it may cost. Safe to share between threads.

    Attributes:
        expected: Bytes that were asked for and have not arrived.
    """

    __slots__ = (
        "above",
        "bound",
        "expected",
        "is_call",
        "most_bytes",
        "most_requests",
        "received",
        "requests",
    )

    def __init__(self, most_requests: int, most_bytes: int, above: Spending | None = None) -> None:
        self.most_requests = most_requests
        self.most_bytes = most_bytes
        self.above = above
        self.bound: Spending | None = self
        self.is_call = False
        self.requests = 0
        self.received = 0
        self.expected = 0

    def request(self) -> None:
        """Count a request that is about to be sent. Raises TransferLimit."""
        with _LOCK:
            for each in self._all():
                if each.requests >= each.most_requests:
                    raise TransferLimit(bound=f"{each.most_requests:,} requests")
                if each.received >= each.most_bytes:
                    raise TransferLimit(bound=f"{each.most_bytes:,} bytes")
            for each in self._all():
                each.requests += 1

    def unsent(self) -> None:
        """Count a request no more, as it was not sent."""
        with _LOCK:
            for each in self._all():
                each.requests -= 1

    def expect(self, size: int) -> None:
        """Count bytes that are about to be asked for, until `release`. Raises TransferLimit."""
        with _LOCK:
            for each in self._all():
                if each.received + each.expected + size > each.most_bytes:
                    raise TransferLimit(bound=f"{each.most_bytes:,} bytes")
            for each in self._all():
                each.expected += size

    def receive(self, size: int) -> None:
        """Count bytes of content that have arrived."""
        with _LOCK:
            for each in self._all():
                each.received += size

    def release(self, size: int) -> None:
        """Expect those bytes no more: what arrived of them was counted."""
        with _LOCK:
            for each in self._all():
                each.expected -= size

    @property
    def left(self) -> int:
        """The bytes that may still be asked for."""
        with _LOCK:
            return min(each.most_bytes - each.received - each.expected for each in self._all())

    def _all(self) -> Iterator[Spending]:
        each: Spending | None = self
        while each is not None:
            yield each
            each = each.above

    def told(self, result: _R) -> _R:
        """The result with a warning of what it cost, and may cost at most; as it is if it cost nothing."""
        if not self.requests or self.bound is None or any(warn.code == "cost" for warn in result.warnings):
            return result
        used = f"{self.requests:,} requests and {self.received:,} bytes"
        most = f"at most {self.bound.most_requests:,} and {self.bound.most_bytes:,} a call"
        return replace(result, warnings=[*result.warnings, Warn("cost", f"{used} of {most}")])


_CURRENT: ContextVar[Spending | None] = ContextVar("readroom_spending", default=None)


class Ahead(Protocol):
    """Contents that a call has asked for and not used; a store brings it (`bucket.ahead`)."""

    def close(self) -> None:
        """Begin nothing more, and wait for what is under way."""


_A = TypeVar("_A", bound=Ahead)


class Fetched:
    """Contents that a call has fetched and may look at again: a ranking opens each file three times."""

    __slots__ = ("_ahead", "_left", "_parts")

    def __init__(self) -> None:
        self._left = FETCHED_BYTES
        self._parts: dict[tuple[object, ...], Any] = {}
        self._ahead: Any = None

    def ahead(self, make: Callable[[], _A]) -> _A:
        """The contents that the call asks for ahead, made when it is first needed."""
        if self._ahead is None:
            self._ahead = make()
        ahead: _A = self._ahead
        return ahead

    def close(self) -> None:
        """End what was asked for ahead."""
        if self._ahead is not None:
            self._ahead.close()

    def get(self, key: tuple[object, ...]) -> Any:
        """The part that was put under a key; None if there is none, or no room was left for it."""
        return self._parts.get(key)

    def put(self, key: tuple[object, ...], part: object, size: int) -> None:
        """Keep a part of so many bytes, if there is room."""
        if size <= self._left:
            self._left -= size
            self._parts[key] = part

    def forget(self, key: tuple[object, ...]) -> None:
        """Drop what was put under that key."""
        self._parts.pop(key, None)


_FETCHED: ContextVar[Fetched | None] = ContextVar("readroom_fetched", default=None)

CHECKED_LATER: ContextVar[bool] = ContextVar("readroom_checked_later", default=False)
"""Whether a file may be opened as it was last seen: the caller asks for `Source.current` before it uses what
it has read, and begins again when that is another version."""


def fetched() -> Fetched | None:
    """The contents that the running call has fetched; None if nothing bounds it."""
    return _FETCHED.get()


def current() -> Spending | None:
    """The bound of the running call; None if there is none."""
    return _CURRENT.get()


@contextmanager
def spending(most_bytes: int | None = None, *, share: float = 1.0) -> Iterator[Spending]:
    """Count what is done inside, and bound it, by a share of a call's bound; also by the bound outside."""
    size = CALL_BYTES if most_bytes is None else most_bytes
    own = Spending(int(CALL_REQUESTS * share), int(size * share), _CURRENT.get())
    above = _FETCHED.get()
    fetched = above or Fetched()
    token, kept = _CURRENT.set(own), _FETCHED.set(fetched)
    try:
        yield own
    finally:
        if above is None:
            fetched.close()
        _CURRENT.reset(token)
        _FETCHED.reset(kept)


def count() -> None:
    """Count a request that is about to be sent. Raises TransferLimit, Cancelled."""
    if (spent := _CURRENT.get()) is not None:
        spent.request()


@contextmanager
def expecting(size: int) -> Iterator[Callable[[int], None]]:
    """Ask for so many bytes at most, within the bound, and count those that came. Raises TransferLimit."""
    spent = _CURRENT.get()
    if spent is None:
        yield lambda size: None
        return
    spent.expect(size)
    try:
        yield spent.receive
    finally:
        spent.release(size)


@contextmanager
def spending_of(spent: Spending) -> Iterator[None]:
    """Count in a thread of its own what is sent for a call."""
    token = _CURRENT.set(spent)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextmanager
def counting() -> Iterator[Spending]:
    """Count what a whole call costs, without a bound; the reply says it if the call used `reading`."""
    own = Spending(sys.maxsize, sys.maxsize, _CURRENT.get())
    own.bound, own.is_call = None, True
    token = _CURRENT.set(own)
    try:
        yield own
    finally:
        _CURRENT.reset(token)


@contextmanager
def reading() -> Iterator[None]:
    """Bound the read of a document or an archive, which may need any part of it; the reply says its cost."""
    with spending(most_bytes=COUNTED_BYTES) as own:
        call = own.above
        while call is not None and not call.is_call:
            call = call.above
        if call is not None:
            call.bound = own
        yield


@contextmanager
def checked_later() -> Iterator[None]:
    """Set `CHECKED_LATER`."""
    token = CHECKED_LATER.set(True)
    try:
        yield
    finally:
        CHECKED_LATER.reset(token)
