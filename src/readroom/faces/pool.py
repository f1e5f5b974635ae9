"""Threads that calls run in: a queue, and as many threads behind it as were needed at once so far.

To hand work to a pool of the standard library, which makes a promise for each piece of it, takes as long
as a third of the reading of a small file.  Nobody here waits for a promise: work says itself what came
of it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeAlias, final

from readroom.log import log

Work: TypeAlias = Callable[[], None]


@final
class Pool:
    """Threads for work that comes in order. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """`name` is that of its threads; none is started before there is work."""
        self._name = name
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._own: set[int] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def is_here(self) -> bool:
        """Whether the thread that asks is one of these."""
        return threading.get_ident() in self._own

    def submit(self, work: Work, threads: int) -> None:
        """Have `work` done; `threads` is how many pieces are begun and not done, with this one."""
        self._queue.put(work)
        if len(self._threads) < threads:
            self._start(threads)

    def close(self) -> None:
        """Begin nothing more, and wait for what was begun."""
        with self._lock:
            self._closed = True
            threads, self._threads = self._threads, []
        try:
            while True:
                self._queue.get_nowait()
        except Empty:
            pass
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join()

    def _start(self, threads: int) -> None:
        with self._lock:
            if len(self._threads) < threads and not self._closed:
                # A daemon: who ends without closing it does not wait for it.
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no room for one more; those there are go on
                    if not self._threads:
                        raise
                else:
                    self._threads.append(thread)

    def _run(self) -> None:
        self._own.add(threading.get_ident())
        while (work := self._queue.get()) is not None:
            try:
                work()
            except Exception:
                log().exception("the work for a call could not be done")
