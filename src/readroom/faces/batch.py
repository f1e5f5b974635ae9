"""Batches: one thread performs the calls of one turn of the event loop, while the loop waits.

Python lets one thread run at a time, and a thread gives up the interpreter's lock at every system call, of
which a small read makes about ten: threads that all have work hand over to each other at each of them. A
hand-over costs a tenth of the read, and there were more than twenty for each. So:

1. The calls of one turn of the loop go to one thread, in order, and the loop waits.
2. The thread writes their ledger rows in one transaction, once all are performed.
3. The loop sends the replies.

Long calls hold up no others: if nothing was done within `MOMENT_S`, or not everything within `MOST_S`, the
loop goes on, other threads take the remaining calls, rows are written as they come, and for a while every
call has a thread of its own: the loop loses a tenth of its time at most.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar, final

Write = Callable[[bool], None]
T = TypeVar("T")

MOMENT_S = 0.002
"""The time in which some step of a call must be done: ten small reads take as long."""

MOST_S = 0.02
"""The time for all calls: as long as a search takes, and hardly noticed by other clients."""

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
        """Count one more call; returns whether it needs a thread, as the first open one does."""
        with self._lock:
            if not self._to_answer:
                self._answered.acquire(blocking=False)  # earlier calls are already answered
            first = not self._to_perform
            self._to_perform += 1
            self._to_answer += 1
        return first

    def perform(self, work: Callable[[], None]) -> None:
        """Perform one call."""
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
        """Finish one call."""
        finish(result)
        with self._lock:
            self._steps += 1
            self._to_answer -= 1
            if not self._to_answer:
                self._answered.release()

    def hold(self, write: Write) -> None:
        """Keep `write` until all calls are performed; call it at once if the loop no longer waits."""
        self._rows.add(write)
        if self._at_once:
            self._write_rows(here=False)

    def wait(self) -> bool:
        """Wait until all are answered; False if that takes long, and then rows are no longer held back."""
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
            except KeyError:  # another thread was faster
                return
            write(here)
