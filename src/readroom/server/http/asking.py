"""Work that may block, such as database queries, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar, final

T = TypeVar("T")


class Ask(Protocol):
    """Runs work that may block."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """Return the result of `work`, or raise its exception."""


STATE_THREADS = 4
"""Threads of one process for database queries over a network, which do not block its event loop."""


@final
class QueryThreads:
    """Runs it in threads. Used from one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(STATE_THREADS, thread_name_prefix="readroom-state")

    async def __call__(self, work: Callable[[], T]) -> T:
        """See `Ask`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """End the threads once they have finished the waiting work."""
        self._pool.shutdown(wait=True)


async def here(work: Callable[[], T]) -> T:
    """Return the result of `work` at once: for work of microseconds."""
    return work()
