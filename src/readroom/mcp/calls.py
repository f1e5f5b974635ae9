"""Calls in threads: bounded in number, shared fairly by tokens, cancelled together at the end.

A token with many or long calls waits for its own work. A quarter of the threads and of the queue is always
for others, and tokens that wait take turns, whoever came first. Callers without a token are not limited:
they have no others to leave threads to. So a server with one client is the case of one token.

Knows: threads, and the turns of tokens.
Does not know: the work of a call, and how its answer is sent.
May be touched: freely.
"""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, final

import msgspec

from readroom.core.limits import MCP_WORKERS, SERVE_QUEUE
from readroom.core.log import log

if TYPE_CHECKING:  # imported by a server before it has listed its tools
    from readroom.core.deadline import Deadline

T = TypeVar("T")


def share(number: int) -> int:
    """The share of one token."""
    return number - number // 4


class Failed(Exception):
    """A call ended without a result; only the log has the reason."""


class _Call(msgspec.Struct, frozen=True, eq=False):
    token: str
    work: Callable[[], Any]
    finish: Callable[[Any], object]
    deadline: Deadline | None


@final
class Calls:
    """The calls of one process: `threads` run at once, and `queue` more wait. Safe to share between threads.

    `on_open` is called with the number of running and waiting calls whenever it changes.
    """

    def __init__(
        self,
        *,
        threads: int = MCP_WORKERS,
        queue: int = SERVE_QUEUE,
        on_open: Callable[[int], object] | None = None,
    ) -> None:
        """No thread starts before there is work."""
        self._most, self._share = threads, share(threads)
        self._room, self._room_of_one = threads + queue, share(threads) + share(queue)
        self._on_open = on_open
        # Dictionaries keep the order, which is that of the turns.
        self._waiting: dict[str, deque[_Call]] = {}
        self._running: Counter[str] = Counter()
        self._open: Counter[str] = Counter()
        self._deadlines: set[Deadline] = set()
        self._threads: list[threading.Thread] = []
        self._stopped = self._closed = False
        self._turn = threading.Condition(threading.Lock())
        self.open = 0
        """The number of calls that run or wait."""

    def start(
        self,
        token: str,
        work: Callable[[], T],
        finish: Callable[[T | Failed], object],
        deadline: Deadline | None = None,
    ) -> bool:
        """Do `work` in a thread, at the turn of its token, and then `finish`; False if there is no room.

        The call keeps its place until a thread has done its work, even if nobody waits for it any more.
        """
        with self._turn:
            if self.open >= self._room or (token and self._open[token] >= self._room_of_one):
                return False
            if deadline is not None:
                self._deadlines.add(deadline)
                if self._stopped:
                    deadline.cancel()
            self._waiting.setdefault(token, deque()).append(_Call(token, work, finish, deadline))
            self._count(token, +1)
            if len(self._threads) < min(self.open, self._most) and not self._closed:
                self._add_thread()
            self._turn.notify()
        return True

    def stop(self) -> None:
        """Cancel all work, now and from now on."""
        with self._turn:
            self._stopped = True
            deadlines = tuple(self._deadlines)
        for deadline in deadlines:
            deadline.cancel()

    @property
    def stopped(self) -> bool:
        """Whether all work was cancelled."""
        return self._stopped

    def close(self) -> None:
        """Cancel all work, start nothing more, and wait for running work."""
        self.stop()
        with self._turn:
            self._closed = True
            self._waiting.clear()
            self._turn.notify_all()
        for thread in self._threads:
            thread.join()

    def _add_thread(self) -> None:
        # A daemon: a process that ends without closing the calls does not wait for it.
        thread = threading.Thread(target=self._run, name="readroom-call", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system cannot start another thread; the existing ones continue
            if not self._threads:
                raise
        else:
            self._threads.append(thread)

    def _run(self) -> None:
        while (call := self._next()) is not None:
            try:
                self._perform(call)
            except Exception:
                log().exception("the answer to a call could not be sent")

    def _perform(self, call: _Call) -> None:
        result: Any
        try:
            result = call.work()
        except Exception:
            log().exception("the reply to a call could not be made")
            result = Failed()
        with self._turn:
            self._running[call.token] -= 1
            if call.deadline is not None:
                self._deadlines.discard(call.deadline)
            self._count(call.token, -1)
        call.finish(result)

    def _next(self) -> _Call | None:
        """The next call of the next token that may have a thread; None at the end."""
        with self._turn:
            while not self._closed:
                for token, waiting in self._waiting.items():
                    if not token or self._running[token] < self._share:
                        call = waiting.popleft()
                        del self._waiting[token]
                        if waiting:
                            self._waiting[token] = waiting  # after the others
                        self._running[token] += 1
                        return call
                self._turn.wait()
        return None

    def _count(self, token: str, by: int) -> None:
        self.open += by
        self._open[token] += by
        if not self._open[token]:
            del self._open[token], self._running[token]
        if self._on_open is not None:
            self._on_open(self.open)
