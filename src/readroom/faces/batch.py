"""What comes in one turn of the event loop is worked off by one thread, while the loop waits for it.

Python lets one thread run at a time, and a thread gives that up at every call of the system, of which
a small read makes some ten: threads that all have work to do hand over to each other at each of them.
A hand-over costs as much as a tenth of the read, and there were more than twenty for each.  So:

1. The calls of one turn of the loop go to one thread, in their order, and the loop waits.
2. It writes their rows of the ledger when all of them are performed, in one transaction.
3. The loop sends what has become of them.

Nobody waits for what takes long.  When nothing was done for a moment, or not all of it in some, the loop
goes on, other threads take what is left, rows are written as they come, and for a while every call has a
thread of its own: of its time the loop loses a tenth at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar, final

from readroom.session.receipt import Write

T = TypeVar("T")

MOMENT_S = 0.002
"""In which one of them has to be done: ten small reads take as long."""

MOST_S = 0.02
"""For all of them: as long as a search takes, and who waits for nothing but the loop hardly feels it."""

APART_S = 10 * MOMENT_S
"""How long calls have threads of their own after the loop has waited in vain."""


@final
class Batch:
    """The calls of one turn. `add` and `wait` are for the event loop, the rest for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._to_perform = self._to_answer = self._steps = 0
        self._rows: set[Write] = set()
        self._at_once = False
        # Held until all are answered.
        self._answered = threading.Lock()

    def add(self) -> bool:
        """Count one more; whether a thread is needed for it, as for the first that is open."""
        with self._lock:
            if not self._to_answer:
                self._answered.acquire(blocking=False)  # those before are answered already
            first = not self._to_perform
            self._to_perform += 1
            self._to_answer += 1
        return first

    def perform(self, work: Callable[[], None]) -> None:
        """Do the work of one."""
        try:
            work()
        finally:
            with self._lock:
                self._steps += 1
                self._to_perform -= 1
                last = not self._to_perform
            if last:
                self._write_rows(here=not self._at_once)

    def answer(self, finish: Callable[[T], None], result: T) -> None:
        """Finish one."""
        finish(result)
        with self._lock:
            self._steps += 1
            self._to_answer -= 1
            if not self._to_answer:
                self._answered.release()

    def hold(self, write: Write) -> None:
        """Take what writes rows, to call it when all are performed; at once if nobody waits for that."""
        self._rows.add(write)
        if self._at_once:
            self._write_rows(here=False)

    def wait(self) -> bool:
        """Wait until all are answered; False when that takes long, and then rows are held no more."""
        ends, steps = time.monotonic() + MOST_S, -1
        if not self._to_answer:
            return True
        while steps != self._steps and time.monotonic() < ends:
            steps = self._steps
            if self._answered.acquire(timeout=MOMENT_S):
                return True
        self._at_once = True
        self._write_rows(here=False)
        return False

    def _write_rows(self, *, here: bool) -> None:
        self._steps += 1  # to begin with that is one
        while self._rows:
            try:
                write = self._rows.pop()
            except KeyError:  # another thread was quicker
                return
            write(here)
