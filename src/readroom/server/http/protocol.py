"""HTTP/1.1 connections: uvicorn after a stricter look at every byte, and with limits of time.

uvicorn answers malformed HTTP in plain text, and waits for headers forever. So `Framing` sees bytes first:

1. A request that it refuses is answered in our format and recorded, and never reaches uvicorn, which gets
   whole heads only.
2. It knows whether a request has begun, so that the size of its head and the time for it can be bounded.

Only public interfaces are used: `asyncio.Protocol` towards uvicorn.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from http import HTTPStatus
from typing import Any, final

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from readroom.core.errors import Busy, ReadroomError, SlowRequest
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import ClientScope
from readroom.server.http.errors import refused
from readroom.server.http.framing import Framing
from readroom.server.http.gate import CONNECTION, Gate

_AT_ONCE = struct.pack("ii", 1, 0)
"""The linger option of a socket that is reset, not closed."""


SERVE_HEADER_S = 10.0
"""Time for a request's first line and headers. Apache: 20 s and more; a client sends them in one packet."""

SERVE_IDLE_S = 5.0
"""How long an idle connection is kept. uvicorn: 5 s; nginx and Apache: 75 s and 5 s."""

SERVE_UNREAD_S = 60.0
"""How long a client may read nothing of an answer before its connection is closed. nginx: 60 s."""

SERVE_HALF_S = 5.0
"""Time for the calls of a connection that was half closed: some clients do so when they have asked and wait,
and those that have gone away look the same."""


@final
class Protocol(asyncio.Protocol):
    """One connection. The application in its configuration is a `Gate`."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        """Take the arguments of uvicorn's own protocol."""
        gate = config.loaded_app
        assert isinstance(gate, Gate)
        self._gate = gate
        self._loop = asyncio.get_running_loop()
        self._inner = HttpToolsProtocol(config, server_state, {**app_state, CONNECTION: self}, _loop)
        self._transport: asyncio.Transport | None = None
        self._client: str | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._since = 0.0
        """The time when it was last busy."""
        self._unread, self._took = 0, 0.0
        """The bytes of its answers that the client has not read, and when it last read some or had none."""
        self._waiting: set[ClientScope] = set()
        """The clients of requests that are being answered."""
        self._framing = Framing()
        self._half = False
        """Whether the client has sent EOF while answers are still due."""
        self._served = 0

    @property
    def address(self) -> str:
        return self._client or "local"

    @property
    def idle(self) -> bool:
        return not self._waiting

    @property
    def whole(self) -> bool:
        return not self._framing.begun

    def answering(self, client_scope: ClientScope) -> None:
        self._waiting.add(client_scope)
        self._served += 1

    def answered(self, client_scope: ClientScope) -> None:
        self._waiting.discard(client_scope)
        self._since = self._loop.time()
        if self._half:
            self._loop.call_soon(self._close_half)  # a pipelined request may begin first

    def make_way(self) -> None:
        """Close at once: another connection needs the place."""
        if self.idle:  # else its request is recorded by itself
            self._gate.over(Exchange("", self.address, code=Busy.code))
        if self._transport is not None:
            self._transport.abort()

    # --- callbacks of asyncio ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for a request, with a limit: a silent connection occupies a place."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._since = self._took = self._loop.time()
        self._inner.connection_made(transport)
        self._watch = self._loop.call_later(SERVE_HEADER_S, self._look)
        if self._inner.client is None:
            return  # only this account can connect to a Unix socket
        self._client = self._inner.client[0]
        other = self._gate.crowd.came(self)
        if isinstance(other, Protocol):
            other.make_way()

    def data_received(self, data: bytes) -> None:
        """Read more of the connection."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        whole = self.whole
        try:
            ready = self._framing.feed(data)
        except ReadroomError as error:
            self._refuse(error)
            return
        if whole and self.idle and not self.whole:
            self._since = self._loop.time()
        if ready:
            self._inner.data_received(ready)

    def eof_received(self) -> bool:
        """The client sends no more. Only time tells whether it has left or waits for answers."""
        assert self._transport is not None
        self._inner.eof_received()
        self._half = not self.idle and self.whole
        if self._half:
            assert self._watch is not None
            self._watch.cancel()
            self._watch = self._loop.call_later(SERVE_HALF_S, self._transport.abort)
        return self._half

    def _close_half(self) -> None:
        if self.idle and self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection, and cancel the work of its requests."""
        if self._watch is not None:
            self._watch.cancel()
        self._gate.crowd.went(self)
        for scope in tuple(self._waiting):
            scope.leave()
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """The client reads more slowly than the server writes."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._took = self._loop.time()
        self._inner.resume_writing()

    # --- timeouts ----------------------------------------------------------------------------------

    def _look(self) -> None:
        """Close connections that are idle for too long. One timer: setting one per request costs more."""
        transport, now = self._transport, self._loop.time()
        assert transport is not None
        if self._takes_nothing(transport, now):
            # Also drop what the kernel still buffers for it, which would wait for the client as well.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            transport.abort()
            return
        allowed = SERVE_IDLE_S if self._served and self.whole else SERVE_HEADER_S
        busy = transport.is_closing() or not self.idle
        left = allowed if busy else self._since + allowed - now
        self._watch = self._loop.call_later(left if left > 0 else allowed, self._look)
        if left > 0:
            return
        if not self.whole:
            self._refuse(SlowRequest(SERVE_HEADER_S))
        else:
            transport.close()  # which waits until the client has read everything

    def _takes_nothing(self, transport: asyncio.Transport, now: float) -> bool:
        """Whether answers are due and the client has read none of them for too long."""
        unread = transport.get_write_buffer_size()
        if not unread or unread < self._unread:
            self._took = now
        self._unread = unread
        return now - self._took >= SERVE_UNREAD_S

    def _refuse(self, error: ReadroomError) -> None:
        """Answer bytes that never became a request, and close; if an answer is being sent, only close."""
        transport = self._transport
        assert transport is not None
        if self.idle:
            response = refused(error)
            status = response.status_code
            head = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n".encode("ascii")]
            head += [b"%s: %s\r\n" % header for header in response.raw_headers]
            transport.write(b"".join([*head, b"connection: close\r\n\r\n", bytes(response.body)]))
            self._gate.over(Exchange("", self.address, status=status, code=error.code))
        transport.close()
