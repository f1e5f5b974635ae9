"""Request bodies while they are received: bounded in size, in time, and in their total memory.

A body stays in memory until its request is answered, and a client may send many at once, slowly. So bytes
beyond a small allowance for each body are counted, by caller and in total: one caller can neither fill the
memory nor take the room that others need for ordinary calls, which fit in the allowance.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import final

from starlette.types import Message, Receive

from readroom.core.errors import BodyTooLarge, Busy, ReadroomError, SlowRequest
from readroom.core.limits import MCP_MESSAGE_BYTES

_Refuse = Callable[[ReadroomError], Awaitable[None]]


SERVE_SMALL_BODY_BYTES = 64 * 1024
"""Size of a request's body that any connection may hold: more than most calls have."""

SERVE_CALLER_BODIES_BYTES = 128 * 1024 * 1024
"""Bodies beyond that, of one token or, without a token, of one address: four of the longest."""

SERVE_BODIES_BYTES = 256 * 1024 * 1024
"""The same for all callers; above it, clients are asked to try again."""


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
        """Set the allowance of each body, and the room for one caller and for all."""
        self._small = small
        self._own = own
        self._most = total
        self._held: Counter[str] = Counter()
        self._total = 0

    def begun(
        self, declared: bytes, receive: Receive, refuse: _Refuse, caller: str, *, came: bool = False
    ) -> Body:
        """Begin an unread body; `came` means that it has arrived completely.

        `declared` is the length in its headers. Raises BodyTooLarge.
        """
        if not declared.isdigit() or int(declared) > MCP_MESSAGE_BYTES:
            raise BodyTooLarge(MCP_MESSAGE_BYTES)
        return Body(self, receive, refuse, caller, came=came)

    def take(self, caller: str, before: int, now: int) -> bool:
        """Reserve memory for a body that grows from one size to another; False if there is none."""
        more = max(0, now - self._small) - max(0, before - self._small)
        if more and (self._held[caller] + more > self._own or self._total + more > self._most):
            return False
        self._total += more
        if more:
            self._held[caller] += more
        return True

    def free(self, caller: str, size: int) -> None:
        """Release the room of a body of that size."""
        held = size - self._small
        if held > 0:
            self._total -= held
            self._held[caller] -= held
            if not self._held[caller]:
                del self._held[caller]


SERVE_BODY_S = 30.0
"""Time for the whole body of a request to arrive: 1 MB/s for the largest. nginx: 60 s between two pieces."""


@final
class Body:
    """One body; it occupies room until it is freed."""

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
        """Release its room."""
        self._bodies.free(self._caller, self._size)

    async def receive(self) -> Message:
        """The next message of the server for this body; a disconnect if the body was refused."""
        if self._complete:
            return await self._receive()
        if self._came:  # setting a timer takes longer than reading the available bytes
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
