"""Streams of MCP clients that listen for changes: one task looks for all of them, while there are any.

A stream of 2026-07-28 answers the request that opened it; before that, a session has a stream of its own,
opened by GET.  Either ends when its client leaves, when the server closes, and after some time, so that a
token that was revoked hears no more: clients open another one then.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeAlias, final

from msgspec import Struct

from readroom.core.errors import StateFailed
from readroom.core.log import log
from readroom.mcp.calls import Calls
from readroom.mcp.subscriptions import MCP_LISTENING, MCP_POLL_S

LISTENERS = 512
"""Streams of one process: each is an open connection and costs a look every few seconds."""

LISTENED_S = 900.0
"""The longest life of a stream."""

_CLOSING_S = 0.25
"""How soon streams end once the server closes."""

Look: TypeAlias = Callable[[], Sequence[bytes]]
"""The messages for a client by now; may block for a moment."""


async def stays() -> bool:
    """The list of resources stays the same."""
    return True


class Stream(Struct, eq=False):
    """A client that listens.

    Attributes:
        token: Whose it is.
        look: The messages for it by now.
        tell: Sends it a message.
        before: Asked before each look; False if nobody listens any more.
        over: Set when it is to end.
    """

    token: str
    look: Look
    tell: Callable[[bytes], None]
    before: Callable[[], Awaitable[bool]]
    over: asyncio.Event


@final
class Listeners:
    """The streams of one process. Used from the event loop."""

    def __init__(
        self, calls: Calls, every_s: float = MCP_POLL_S, lived_s: float = LISTENED_S, most: int = LISTENERS
    ) -> None:
        """`calls` stop when the server closes, and the streams with them."""
        self._calls = calls
        self._every_s = every_s
        self._lived_s = lived_s
        self._most = most
        self._streams: set[Stream] = set()
        self._tokens: Counter[str] = Counter()
        self._task: asyncio.Task[None] | None = None

    def has_room(self, token: str, maximum: int = MCP_LISTENING) -> bool:
        """Whether a token may have one more stream; callers without a token share the room of all."""
        room = len(self._streams) < self._most and not self._calls.stopped
        return room and (not token or self._tokens[token] < maximum)

    async def hear(self, stream: Stream) -> None:
        """Keep a stream until it is over, its time has passed or the server closes."""
        self._streams.add(stream)
        self._tokens[stream.token] += 1
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(stream.over.wait(), self._lived_s)
        finally:
            self._streams.discard(stream)
            self._tokens[stream.token] -= 1
            if not self._tokens[stream.token]:
                del self._tokens[stream.token]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._every_s
        while self._streams:
            await asyncio.sleep(min(_CLOSING_S, self._every_s))
            if self._calls.stopped:
                for stream in self._streams:
                    stream.over.set()
                return
            if loop.time() >= due:
                await self._look()
                due = loop.time() + self._every_s

    async def _look(self) -> None:
        """Look for all of them, in a thread: a file system may be slow."""
        streams = list(self._streams)
        for stream in streams:
            with suppress(StateFailed):
                if not await stream.before():
                    stream.over.set()
        found = await asyncio.to_thread(lambda: [_looked(stream) for stream in streams])
        for stream, messages in zip(streams, found, strict=True):
            for message in messages:
                if not stream.over.is_set():
                    stream.tell(message)


def _looked(stream: Stream) -> Sequence[bytes]:
    try:
        return stream.look()
    except Exception:
        log().exception("a look at the resources of a subscription failed")
        return ()
