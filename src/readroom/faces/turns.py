"""Fair scheduling of work in threads: one caller never has all of them.

A caller with many or long calls waits behind its own work. A quarter of the threads is always for others, and
waiting callers take turns, whoever came first. Callers without a name are not limited: they have no others to
leave threads to.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import final

from readroom.faces.pool import Pool, Work
from readroom.log import log


def shared(number: int) -> int:
    """The share of one caller."""
    return number - number // 4


@final
class Turns:
    """A number of threads, shared by callers. Safe to share between threads."""

    def __init__(self, threads: int) -> None:
        """One caller may use three of four threads, rounded up."""
        self._all, self._share = threads, shared(threads)
        self._pool = Pool("readroom-call")
        self._free = threads
        self._running: dict[str, int] = {}
        # Dictionaries keep the order, which is that of the turns.
        self._waiting: dict[str, deque[Work]] = {}
        self._lock = threading.Lock()

    def submit(self, caller: str, work: Work, *, wake: bool = True) -> None:
        """Run `work` in a thread at its caller's turn; without `wake`, in one that is working."""
        with self._lock:
            idle = self._free == self._all
            if not (wake or idle) or caller in self._waiting or not self._free or not self._may(caller):
                self._waiting.setdefault(caller, deque()).append(work)
                return
            self._free -= 1
            self._running[caller] = self._running.get(caller, 0) + 1
            running = self._all - self._free
        self._pool.submit(partial(self._work, caller, work), running)

    def widen(self) -> None:
        """Start as many threads for the waiting work as allowed."""
        while True:
            with self._lock:
                turn = self._take() if self._free else None
                if turn is None:
                    return
                self._free -= 1
                running = self._all - self._free
            self._pool.submit(partial(self._work, *turn), running)

    def close(self) -> None:
        """Start nothing more, and wait for running work."""
        with self._lock:
            self._waiting.clear()
        self._pool.close()

    def _work(self, caller: str, work: Work) -> None:
        turn: tuple[str, Work] | None = (caller, work)
        while turn is not None:
            caller, work = turn
            try:
                work()
            except Exception:
                log().exception("the work for a call could not be done")
            turn = self._next(caller)

    def _may(self, caller: str) -> bool:
        return self._running.get(caller, 0) < (self._share if caller else self._all)

    def _next(self, done: str) -> tuple[str, Work] | None:
        """The next work for a thread that has finished one of `done`; None if no waiting caller may go on."""
        with self._lock:
            self._running[done] -= 1
            if not self._running[done]:
                del self._running[done]
            turn = self._take()
            if turn is None:
                self._free += 1
            return turn

    def _take(self) -> tuple[str, Work] | None:
        """The work of the next caller that may go on."""
        for caller, waiting in self._waiting.items():
            if self._may(caller):
                work = waiting.popleft()
                del self._waiting[caller]
                if waiting:
                    self._waiting[caller] = waiting  # after the others
                self._running[caller] = self._running.get(caller, 0) + 1
                return caller, work
        return None
