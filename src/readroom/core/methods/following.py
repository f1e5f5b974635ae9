"""The call that continues a reply, made as the first one was."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, final

from readroom.core.deadline import Deadline
from readroom.core.values import Call, Reply


@final
class AsBefore:
    """Makes calls with the options of an earlier one: its contract, caller and size, and a new deadline."""

    __slots__ = ("_make", "_options")

    def __init__(self, make: Callable[..., Reply], **options: Any) -> None:
        """`make` is the method of a workspace that made the reply, `options` are those it was given."""
        self._make = make
        self._options = options

    def now(self, call: Call) -> Reply:
        return self._make(call.tool, call.arguments, **self._options)

    async def awaited(self, call: Call) -> Reply:
        from readroom.core.tasks import in_thread  # asyncio, which few programs have

        deadline = Deadline()
        work = partial(self._make, call.tool, call.arguments, deadline=deadline, **self._options)
        return await in_thread(work, deadline)
