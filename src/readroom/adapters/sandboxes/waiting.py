"""Calls of clients that may hang: each ends in time, in an event loop or in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotDone
from typing import Any, TypeVar, final

from readroom.core.stores.environment.base import failed

T = TypeVar("T")

_GRACE_S = 5.0
"""How much longer than its own limit a call may take: the client knows best what has ended."""


@final
class Loop:
    """The event loop in which the client of an environment is awaited. Safe to share between threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        """`loop` is a running one that the client belongs to; without it the client gets its own."""
        self._given = loop
        self._own: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()

    def run(self, call: Callable[[], Coroutine[Any, Any, T]], name: str, seconds: float) -> T:
        """The result of a call, or what it raises.

        Raises:
            StoreFailed: It does not end in time, or this is the thread of its own loop.
        """
        loop = self._given or self._started()
        if _runs_here(loop):
            raise failed(
                name,
                "it is asked from the event loop that it needs itself",
                "Use readroom.AsyncWorkspace, or call it in a thread.",
            )
        future = asyncio.run_coroutine_threadsafe(call(), loop)
        try:
            return future.result(seconds + _GRACE_S)
        except NotDone:
            if future.done():
                raise
            future.cancel()
            raise late(name, seconds) from None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._own is None:
                self._own = asyncio.new_event_loop()
                threading.Thread(
                    target=_serve, args=(self._own,), name="readroom-sandbox", daemon=True
                ).start()
            return self._own

    def close(self) -> None:
        """End the loop that was started here."""
        with self._lock:
            own, self._own = self._own, None
        if own is not None:
            own.call_soon_threadsafe(own.stop)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _runs_here(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def in_time(call: Callable[[], T], name: str, seconds: float) -> T:
    """The result of a call that blocks, or what it raises. Raises StoreFailed if it does not end in time."""
    future: Future[T] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, name="readroom-sandbox", daemon=True).start()
    try:
        return future.result(seconds + _GRACE_S)
    except NotDone:
        if future.done():
            raise
        raise late(name, seconds) from None


def late(name: str, seconds: float) -> Exception:
    """The failure of what does not answer."""
    return failed(name, f"it did not answer within {seconds:g} s")


def brief(error: BaseException) -> str:
    """An error of a client in one line."""
    said = " ".join(str(error).split())
    return f"{type(error).__name__}: {said[:200]}" if said else type(error).__name__
