"""The HTTP answer to one MCP message: JSON, unless something was said before it; then a stream of events."""

from __future__ import annotations

import asyncio
from typing import Any, final

from starlette.types import Send

from readroom.limits import HTTP_STILL_S
from readroom.protocol import eras, headers
from readroom.protocol.messages import Answer, encode, refusal


@final
class Reply:
    """What is sent to one request."""

    def __init__(self, send: Send) -> None:
        self.session: str | None = None
        """What the client has to name in its next requests."""
        self.left = False
        """The client waits no longer."""
        self._send = send
        self._streams = False
        self._one = asyncio.Lock()

    async def answer(self, answer: Answer, status: int) -> None:
        """Send the answer, and no more after it; in a stream it has no status of its own."""
        if not self._streams:
            await self._whole(status, encode(answer), ("content-type", headers.JSON))
            return
        async with self._one:
            await self._send({"type": "http.response.body", "body": headers.event(encode(answer))})

    async def refuse(
        self, status: int, words: str, code: int = eras.INVALID_REQUEST, *, allow: str | None = None
    ) -> None:
        """Send a failure of the protocol that names no request."""
        more = [("content-type", headers.JSON)]
        more += [] if allow is None else [("allow", allow)]
        more += [("retry-after", "1")] if status == 503 else []
        await self._whole(status, encode(refusal(None, code, words)), *more)

    async def empty(self, status: int) -> None:
        """Send nothing but a status."""
        await self._whole(status, b"")

    async def tell(self, message: bytes) -> None:
        """Send a message before the answer, which makes a stream of it."""
        await self._stream(headers.event(message))

    async def wait_for(self, task: asyncio.Task[Any]) -> None:
        """Wait for what makes the answer, and let nothing between believe that the connection is dead."""
        while not (await asyncio.wait({task}, timeout=HTTP_STILL_S))[0]:
            await self._stream(headers.STILL_HERE)

    async def _stream(self, data: bytes) -> None:
        async with self._one:
            if not self._streams:
                self._streams = True
                still = [("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no")]
                await self._start(200, ("content-type", headers.EVENTS), *still)
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def _whole(self, status: int, body: bytes, *more: tuple[str, str]) -> None:
        await self._start(status, ("content-length", str(len(body))), *more)
        await self._send({"type": "http.response.body", "body": body})

    async def _start(self, status: int, *more: tuple[str, str]) -> None:
        named = more if self.session is None else (*more, (headers.SESSION, self.session))
        sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
