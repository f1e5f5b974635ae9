"""Whose turn it is: work in threads, of which one caller never has all.

Who asks for much, or for what takes long, waits behind its own work.  A quarter of the
threads is always for others, and those who wait take turns, whoever came first.  Callers
without a name are nobody in particular, and have no others to leave threads to.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import final

from readroom.faces.pool import Pool, Work
from readroom.log import log


def shared(number: int) -> int:
    """How many of so many one caller may have."""
    return number - number // 4


@final
class Turns:
    """So many threads, shared by callers. Safe to share between threads."""

    def __init__(self, threads: int) -> None:
        """Three of four threads, rounded up, may work for one caller."""
        self._all, self._share = threads, shared(threads)
        self._pool = Pool("readroom-call")
        self._free = threads
        self._running: dict[str, int] = {}
        # Dictionaries keep an order: it is that of the turns.
        self._waiting: dict[str, deque[Work]] = {}
        self._lock = threading.Lock()

    def submit(self, caller: str, work: Work, *, wake: bool = True) -> None:
        """Have `work` done in a thread when it is its caller's turn; without `wake`, in one that works."""
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
        """Have as many threads do what waits as may."""
        while True:
            with self._lock:
                turn = self._take() if self._free else None
                if turn is None:
                    return
                self._free -= 1
                running = self._all - self._free
            self._pool.submit(partial(self._work, *turn), running)

    def close(self) -> None:
        """Do nothing that has not begun, and wait for the rest."""
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
        """What a thread does next that has worked for a caller; None when nobody waits who may go on."""
        with self._lock:
            self._running[done] -= 1
            if not self._running[done]:
                del self._running[done]
            turn = self._take()
            if turn is None:
                self._free += 1
            return turn

    def _take(self) -> tuple[str, Work] | None:
        """The work of whoever is next and may go on."""
        for caller, waiting in self._waiting.items():
            if self._may(caller):
                work = waiting.popleft()
                del self._waiting[caller]
                if waiting:
                    self._waiting[caller] = waiting  # behind the others
                self._running[caller] = self._running.get(caller, 0) + 1
                return caller, work
        return None
