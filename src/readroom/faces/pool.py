"""A thread pool for calls: a queue, and as many threads as were needed at once so far.

Submitting work to a standard library executor, which creates a future for each item, takes a third of the
time of reading a small file. No caller here waits for a future: work reports its own outcome.
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
    """Threads for work in order of arrival. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """`name` is the name of its threads; none starts before there is work."""
        self._name = name
        self._queue: SimpleQueue[Work | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._own: set[int] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def is_here(self) -> bool:
        """Whether the current thread belongs to this pool."""
        return threading.get_ident() in self._own

    def submit(self, work: Work, threads: int) -> None:
        """Run `work` in a thread; `threads` is the number of unfinished items, including this one."""
        self._queue.put(work)
        if len(self._threads) < threads:
            self._start(threads)

    def close(self) -> None:
        """Start nothing more, and wait for running work."""
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
                # A daemon: a process that ends without closing the pool does not wait for it.
                thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system cannot start another thread; the existing ones go on
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
