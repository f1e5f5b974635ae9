"""Looks into what processes share, without the event loop waiting for a database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar, final

from readroom.limits.session import STATE_THREADS

T = TypeVar("T")


class Ask(Protocol):
    """Performs what may wait."""

    async def __call__(self, work: Callable[[], T]) -> T:
        """What `work` returns; it raises what that raises."""


@final
class Asking:
    """Threads for that. Used from one event loop."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(STATE_THREADS, thread_name_prefix="readroom-state")

    async def __call__(self, work: Callable[[], T]) -> T:
        """See `Ask`."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)

    def close(self) -> None:
        """End the threads when they have done what waits."""
        self._pool.shutdown(wait=True)


async def here(work: Callable[[], T]) -> T:
    """What `work` returns, at once: for what takes microseconds."""
    return work()
