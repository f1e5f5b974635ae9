"""The deadline of a call: a time limit, a cancel flag and a progress callback in one object.

It is passed down with every call.  Loops over blocks, files, pages and matches call `check`.  Code that
waits for a child process uses `remaining`, and `charge` where the child's processor time is limited too.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from readroom.core.errors import Cancelled, TimedOut

Progress = Callable[[int, int | None, str], None]
"""Called with (done, total or None if unknown, unit)."""


_HOOKS = threading.Lock()
"""One for all deadlines, which hold it to change a list: to make one for each takes longer."""


class Deadline:
    """The deadline of some work. Safe to share between threads; `cancel` may be called from any."""

    __slots__ = (
        "_cancelled", "_clock", "_ends", "_hooks", "_progress", "_work", "_worked", "seconds",
    )  # fmt: skip

    def __init__(
        self,
        seconds: float | None = None,
        *,
        progress: Progress | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self._clock = clock
        self._ends = None if seconds is None else clock() + seconds
        self._cancelled = False
        self._progress = progress
        self._hooks: list[Callable[[], None]] = []
        self._work: float | None = None
        self._worked = 0.0

    def cancel(self) -> None:
        """Cancel the work: the next `check` raises, and registered child processes are ended now."""
        with _HOOKS:
            self._cancelled = True
            hooks, self._hooks = self._hooks, []
        for hook in hooks:
            hook()

    def on_cancel(self, hook: Callable[[], None]) -> Callable[[], None]:
        """Call `hook` on cancellation, at once if that already happened; returns its removal."""
        with _HOOKS:
            if not self._cancelled:
                self._hooks.append(hook)

                def remove() -> None:
                    with _HOOKS:
                        if hook in self._hooks:
                            self._hooks.remove(hook)

                return remove
        hook()
        return lambda: None

    @property
    def cancelled(self) -> bool:
        """Whether the caller no longer wants the answer."""
        return self._cancelled

    @property
    def expired(self) -> bool:
        """Whether the time limit has passed."""
        return self._ends is not None and self._clock() >= self._ends

    @property
    def remaining(self) -> float | None:
        """Seconds left, never negative; None without a limit."""
        return None if self._ends is None else max(0.0, self._ends - self._clock())

    def within(self, seconds: float) -> Deadline:
        """A shorter deadline for part of the work, cancelled together with this one."""
        if self._ends is not None:
            seconds = min(seconds, max(0.0, self._ends - self._clock()))
        part = Deadline(seconds, progress=self._progress, clock=self._clock)
        with _HOOKS:
            cancelled = self._cancelled
            self._hooks.append(part.cancel)
        if cancelled:
            part.cancel()
        return part

    def of_thread(self, seconds: float) -> Deadline:
        """A limit in processor time of the calling thread, for work that only improves a reply.

        Elapsed time would show less on a busy machine than on a quiet one.  It also ends with this one.
        """

        def clock() -> float:
            return math.inf if self.expired else time.thread_time()

        part = Deadline(seconds, progress=self._progress, clock=clock)
        self.on_cancel(part.cancel)
        return part

    def of_work(self, seconds: float, patience: float) -> Deadline:
        """A limit in processor time, which a busy machine does not consume.

        `patience` says how many times as long it may take by the clock, as a last resort.
        """
        part = self.within(seconds * patience)
        part._work = seconds
        return part

    @property
    def work_s(self) -> float | None:
        """The processor time that children may use in all; None without a limit."""
        return self._work

    def charge(self, seconds: float) -> None:
        """Count processor time that a child has used.

        Raises:
            TimedOut: It is more than it may use.
        """
        self._worked += seconds
        if self._work is not None and self._worked > self._work:
            raise TimedOut(self._work, processor=True)

    @contextmanager
    def share(self, seconds: float) -> Iterator[Deadline]:
        """Like `within`, for one of many parts: leaves nothing registered here."""
        left = self.remaining
        part = Deadline(seconds if left is None else min(seconds, left), clock=self._clock)
        forget = self.on_cancel(part.cancel)
        try:
            yield part
        finally:
            forget()

    def grace(self, seconds: float) -> Deadline:
        """A deadline of its own, for finishing touches after this one has passed."""
        part = Deadline(seconds, clock=self._clock)
        self.on_cancel(part.cancel)
        return part

    def check(self) -> None:
        """Return if the work may continue.

        Raises:
            Cancelled: The caller went away.
            TimedOut: The time limit passed.
        """
        if self._cancelled:
            raise Cancelled
        if self._ends is not None and self._clock() >= self._ends:
            raise TimedOut(self.seconds or 0)

    def tick(self) -> None:
        """Report how much of the time has passed, if nothing else can be counted."""
        left = self.remaining
        if self._progress is not None and self.seconds is not None and left is not None:
            self._progress(int(self.seconds - left), int(self.seconds), "seconds")

    def report(self, done: int, total: int | None, unit: str) -> None:
        """Report how far the work is."""
        if self._progress is not None:
            self._progress(done, total, unit)
