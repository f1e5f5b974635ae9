"""The HTTP answer to one MCP message: JSON, or a stream of events if messages precede it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import final

from starlette.types import Send

from readroom.mcp.protocol import eras, headers, messages


class _Every:
    """Calls a function in the event loop at intervals, until it is stopped."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._seconds = seconds
        self._call = call
        self._timer = asyncio.get_running_loop().call_later(seconds, self._again)

    def stop(self) -> None:
        self._timer.cancel()

    def _again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._again)
        self._call()


HTTP_STILL_S = 15.0
"""Seconds until a client that waits for an MCP answer gets a sign of life: half of
the shortest timeout of common proxies. As the SDK."""


@final
class Reply:
    """The answer to one request."""

    def __init__(self, send: Send, *, still_s: float = HTTP_STILL_S) -> None:
        self.session: str | None = None
        """The session id that the client must send with its next requests."""
        self.left = False
        """Whether the client has left."""
        self._send = send
        self._still_s = still_s
        self._loop = asyncio.get_running_loop()
        self._streams = self._over = False
        self._unsent: list[bytes] = []
        self._sending: asyncio.Task[None] | None = None

    async def answer(self, answer: messages.Answer, status: int) -> None:
        """Send the answer as the last message; in a stream it has no status of its own."""
        await self._last(messages.encode(answer), status)

    async def answer_all(self, answers: Sequence[messages.Answer]) -> None:
        """Send the answers to a batch as the last message."""
        await self._last(b"[%s]" % b",".join(map(messages.encode, answers)), 200)

    async def _last(self, message: bytes, status: int) -> None:
        self._over = True
        if self._sending is not None:
            await self._sending
        if self._streams:
            await self._send({"type": "http.response.body", "body": headers.event(message)})
        else:
            await self._whole(status, message, ("content-type", headers.JSON))

    async def refuse(
        self, status: int, words: str, code: int = eras.INVALID_REQUEST, *, allow: str | None = None
    ) -> None:
        """Send a protocol error that names no request."""
        more = [("content-type", headers.JSON)]
        more += [] if allow is None else [("allow", allow)]
        more += [("retry-after", "1")] if status == 503 else []
        await self._whole(status, messages.encode(messages.refusal(None, code, words)), *more)

    async def empty(self, status: int) -> None:
        """Send a status without a body."""
        await self._whole(status, b"")

    def open(self) -> None:
        """Begin a stream at once, although there is nothing to send yet."""
        self._put(headers.STILL_HERE)

    async def end(self) -> None:
        """End a stream that has no answer."""
        self._over = True
        if self._sending is not None:
            await self._sending
        await self._send({"type": "http.response.body", "body": b""})

    def tell(self, message: bytes) -> None:
        """Send a message before the answer, which starts a stream; from any thread."""
        with suppress(RuntimeError):  # the loop has ended, and its clients with it
            self._loop.call_soon_threadsafe(self._put, headers.event(message))

    @contextmanager
    def still_here(self) -> Iterator[None]:
        """Keep the connection alive for proxies while the answer is made."""
        timer = _Every(self._still_s, self._say)
        try:
            yield
        finally:
            timer.stop()

    def _say(self) -> None:
        if not self._unsent:
            self._put(headers.STILL_HERE)

    def _put(self, data: bytes) -> None:
        if self._over:
            return
        self._unsent.append(data)
        if self._sending is None or self._sending.done():
            # It ends by itself: cancelling it could cut off a half-sent event.
            self._sending = asyncio.create_task(self._stream())

    async def _stream(self) -> None:
        if not self._streams:
            self._streams = True
            still = [("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no")]
            await self._start(200, ("content-type", headers.EVENTS), *still)
        while self._unsent:
            await self._send({"type": "http.response.body", "body": self._unsent.pop(0), "more_body": True})

    async def _whole(self, status: int, body: bytes, *more: tuple[str, str]) -> None:
        await self._start(status, ("content-length", str(len(body))), *more)
        await self._send({"type": "http.response.body", "body": body})

    async def _start(self, status: int, *more: tuple[str, str]) -> None:
        named = more if self.session is None else (*more, (headers.SESSION, self.session))
        sent = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named]
        await self._send({"type": "http.response.start", "status": status, "headers": sent})
