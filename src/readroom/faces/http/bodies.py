"""Bodies of requests while they are taken: bounded in size, in time, and in what all of them hold together.

A body stays in memory until its request is answered, and a client may send many at
once, slowly.  So what bodies have beyond a small beginning is counted, by caller and
for all: one caller cannot fill the memory, nor take from others the room for an
ordinary call, which is not counted at all.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import final

from starlette.types import Message, Receive

from readroom.errors import BodyTooLarge, Busy, ReadroomError, SlowRequest
from readroom.limits import MCP_MESSAGE_BYTES, SERVE_BODY_S
from readroom.limits.session import SERVE_BODIES_BYTES, SERVE_CALLER_BODIES_BYTES, SERVE_SMALL_BODY_BYTES

_Refuse = Callable[[ReadroomError], Awaitable[None]]


@final
class Bodies:
    """The bodies of one server. Used from its event loop only."""

    def __init__(
        self,
        *,
        small: int = SERVE_SMALL_BODY_BYTES,
        own: int = SERVE_CALLER_BODIES_BYTES,
        total: int = SERVE_BODIES_BYTES,
    ) -> None:
        """What is not counted of each, and how much may be held for one caller and for all."""
        self._small = small
        self._own = own
        self._most = total
        self._held: Counter[str] = Counter()
        self._total = 0

    def begun(
        self, declared: bytes, receive: Receive, refuse: _Refuse, caller: str, *, came: bool = False
    ) -> Body:
        """The body of a request, of which nothing was taken yet; `came` says that all of it is here.

        `declared` is the length that its headers say.

        Raises:
            BodyTooLarge: It says that it is.
        """
        if not declared.isdigit() or int(declared) > MCP_MESSAGE_BYTES:
            raise BodyTooLarge(MCP_MESSAGE_BYTES)
        return Body(self, receive, refuse, caller, came=came)

    def take(self, caller: str, before: int, now: int) -> bool:
        """Have room for a body that grows from one size to another; False when there is none."""
        more = max(0, now - self._small) - max(0, before - self._small)
        if more and (self._held[caller] + more > self._own or self._total + more > self._most):
            return False
        self._total += more
        if more:
            self._held[caller] += more
        return True

    def free(self, caller: str, size: int) -> None:
        """A body of that size is not needed any more."""
        held = size - self._small
        if held > 0:
            self._total -= held
            self._held[caller] -= held
            if not self._held[caller]:
                del self._held[caller]


@final
class Body:
    """One body; its room is taken until it is free."""

    def __init__(self, bodies: Bodies, receive: Receive, refuse: _Refuse, caller: str, *, came: bool) -> None:
        self._came = came
        self._bodies = bodies
        self._receive = receive
        self._refuse = refuse
        self._caller = caller
        self._ends = 0.0 if came else time.monotonic() + SERVE_BODY_S
        self._size = 0
        self._complete = False

    def free(self) -> None:
        """It is not needed any more."""
        self._bodies.free(self._caller, self._size)

    async def receive(self) -> Message:
        """The next message of the server about it; a disconnection when it was refused."""
        if self._complete:
            return await self._receive()
        if self._came:  # to set a timer takes longer than to take what is here
            message = await self._receive()
        else:
            try:
                async with asyncio.timeout(max(0.0, self._ends - time.monotonic())):
                    message = await self._receive()
            except TimeoutError:
                return await self._refused(SlowRequest(SERVE_BODY_S))
        if message["type"] != "http.request":
            return message
        size = self._size + len(message.get("body", b""))
        if size > MCP_MESSAGE_BYTES:
            return await self._refused(BodyTooLarge(MCP_MESSAGE_BYTES))
        if not self._bodies.take(self._caller, self._size, size):
            return await self._refused(Busy())
        self._size = size
        self._complete = not message.get("more_body", False)
        return message

    async def _refused(self, error: ReadroomError) -> Message:
        await self._refuse(error)
        return {"type": "http.disconnect"}
