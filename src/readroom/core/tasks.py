"""Work in a thread, on behalf of a task of asyncio that can be cancelled."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar

from readroom.core.deadline import Deadline

T = TypeVar("T")


async def in_thread(work: Callable[[], T], deadline: Deadline) -> T:
    """Run `work` in a thread and return its result.

    When this task is cancelled so is the deadline, and `work` ends before the cancellation is raised.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done = loop.run_in_executor(None, context.run, work)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        deadline.cancel()
        while not done.done():
            await asyncio.wait([done])
        if not done.cancelled():
            done.exception()  # marks it as retrieved; it only reports the cancellation
        raise
