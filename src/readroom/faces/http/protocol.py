"""HTTP/1.1 connections: uvicorn after a second httptools parser, for malformed and unfinished requests.

uvicorn reads with a parser in C, answers malformed HTTP in plain text, and waits for headers forever. So
`Framing`, which is stricter, and a second parser of the same kind see every byte first:

1. They answer a request that they refuse, or that uvicorn would fail on, in our format, and record it; it
   never reaches uvicorn.
2. They know whether a request has begun, so that the size of its head and the time for it can be bounded;
   httptools bounds neither.
3. uvicorn reads an accepted request the same way, because the parser is the same.

Only public interfaces are used: `asyncio.Protocol` towards uvicorn, and the callbacks of httptools here.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections import deque
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, final

import httptools
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from readroom.errors import BadRequest, Busy, ReadroomError, SlowRequest
from readroom.faces.http.access_log import Exchange
from readroom.faces.http.awaiting import ClientScope
from readroom.faces.http.errors import refused
from readroom.faces.http.framing import WELL_FORMED, Framing
from readroom.faces.http.gate import CONNECTION, Gate
from readroom.limits import SERVE_HEADER_S, SERVE_IDLE_S
from readroom.limits.session import SERVE_HALF_S, SERVE_JOINED_BYTES, SERVE_UNREAD_S

_OFFER = re.compile(rb"^upgrade:[^\n]*\n", re.IGNORECASE | re.MULTILINE)

_AT_ONCE = struct.pack("ii", 1, 0)
"""The linger option of a socket that is reset, not closed."""


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
        self._turn: Turn = app_state.setdefault(_TURN, Turn(self._loop))
        self._inner = HttpToolsProtocol(config, server_state, {**app_state, CONNECTION: self}, _loop)
        self._parser = _parser(self)
        self._transport: JoinedWrites | None = None
        self._client: str | None = None
        self._watch: asyncio.TimerHandle | None = None
        self._since = 0.0
        """The time when it was last busy."""
        self._taken, self._took = 0, 0.0
        """How much of its answers the client has read, and when it last read some or had none to read."""
        self._waiting: set[ClientScope] = set()
        """The clients of requests that are being answered."""
        self._framing = Framing()
        self._begun = self._in_head = False
        """Whether a request has begun, and whether its head is incomplete."""
        self._half = False
        """Whether the client has sent EOF while answers are still due."""
        self._url = b""
        self._served = 0
        self._held = b""
        """The beginning of a head, which uvicorn gets once the head is complete."""
        self._whole, self._heads = True, 0
        """Whether the held or latest bytes begin with a request, and how many requests begin in them."""

    @property
    def address(self) -> str:
        """The remote address."""
        return self._client or "local"

    @property
    def idle(self) -> bool:
        """Whether no request on it is being answered."""
        return not self._waiting

    @property
    def whole(self) -> bool:
        """Whether all requests on it have arrived completely."""
        return not self._begun

    def answering(self, client_scope: ClientScope) -> None:
        """A request on it is being answered."""
        self._waiting.add(client_scope)
        self._served += 1

    def answered(self, client_scope: ClientScope) -> None:
        """The request was answered."""
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
        """Wait for a request, but not forever: a silent connection holds a place."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = JoinedWrites(transport, self._turn)
        self._since = self._took = self._loop.time()
        self._inner.connection_made(self._transport)
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
        if not self._held:
            self._whole, self._heads = not self._begun, 0
        unparsed = self._held + data
        try:
            self._framing.feed(data)
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as error:
            self._pass_over(unparsed, len(self._held) + error.args[0])
            return
        except ReadroomError as error:
            self._refuse(error)
            return
        except httptools.HttpParserError as error:
            raised = error.__context__  # raised by a callback
            if not isinstance(raised, ReadroomError):
                raised = BadRequest("it is not HTTP/1.1", WELL_FORMED)
            self._refuse(raised)
            return
        self._held = b""
        if not self._in_head:
            self._inner.data_received(unparsed)
            return
        if self._whole and self._heads == 1:
            self._held = unparsed
        else:
            self._inner.data_received(unparsed)

    def _pass_over(self, unparsed: bytes, head: int) -> None:
        """Read a request without its offer to upgrade, which clients in Java send with their first one.

        httptools takes its body for the other protocol, and so would uvicorn.
        """
        self._held = b""
        plain, count = _OFFER.subn(b"", unparsed[:head])
        if not (self._whole and self._heads == 1 and count):
            self._refuse(BadRequest("it offers another protocol behind another request", "Send it alone."))
            return
        self._parser, self._framing = _parser(self), Framing()
        self._begun = self._in_head = False
        self.data_received(plain + unparsed[head:])

    def eof_received(self) -> bool:
        """The client sends no more. Only time tells whether it has left or waits for answers."""
        assert self._transport is not None
        self._inner.eof_received()
        self._half = not self.idle and not self._begun
        if self._half:
            assert self._watch is not None
            self._watch.cancel()
            self._watch = self._loop.call_later(SERVE_HALF_S, self._transport.abort)
        else:
            self._transport.flush()  # answers of this very turn; asyncio closes the transport now
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
        self._inner.resume_writing()

    # --- callbacks of httptools --------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """The first byte of a request."""
        self._begun = self._in_head = True
        self._heads += 1
        self._url = b""
        if self.idle:
            self._since = self._loop.time()

    def on_url(self, url: bytes) -> None:
        """A part of the request target."""
        self._url += url

    def on_headers_complete(self) -> None:
        """The end of a head; raises BadRequest for a target that two parsers could read differently."""
        self._in_head = False
        if not _is_path(self._url) or self._parser.get_method() == b"CONNECT":
            raise BadRequest("its address is not a path", "Send a path in ASCII, such as /docs.")

    def on_message_complete(self) -> None:
        """The last byte of a request."""
        self._begun = False

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
        allowed = SERVE_IDLE_S if self._served and not self._begun else SERVE_HEADER_S
        busy = transport.is_closing() or not self.idle
        left = allowed if busy else self._since + allowed - now
        self._watch = self._loop.call_later(left if left > 0 else allowed, self._look)
        if left > 0:
            return
        if self._begun:
            self._refuse(SlowRequest(SERVE_HEADER_S))
        else:
            transport.close()  # which waits until the client has read everything

    def _takes_nothing(self, transport: JoinedWrites, now: float) -> bool:
        """Whether answers are due and the client has read none of them for too long."""
        taken, unread = transport.taken, transport.get_write_buffer_size()
        if not unread or taken > self._taken:
            self._taken, self._took = taken, now
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


def _parser(callbacks: Protocol) -> httptools.HttpRequestParser:
    """A parser like uvicorn's own: the two must agree in everything."""
    parser = httptools.HttpRequestParser(callbacks)
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


@lru_cache(64)  # clients request the same few again and again, and each may be as long as a head
def _is_path(url: bytes) -> bool:
    """Whether it is a path with a query, not the absolute form for proxies."""
    if not url.startswith(b"/") or b"#" in url:
        return False
    try:
        path = httptools.parse_url(url).path
    except httptools.HttpParserInvalidURLError:
        return False
    return path is not None and path.isascii()


# -----------------------------------------------------------------------------
# Joined writes: the head of an answer and its body are sent at once.
#
# A server writes them one after the other. Each write is a system call, after which the event loop
# waits for the interpreter's lock while threads work; so all writes within one turn of the loop are
# sent as one, and a small answer takes one packet.
# -----------------------------------------------------------------------------


_TURN = "readroom.turn"
"""The key of what the connections of a server share."""


@final
class Turn:
    """Work to do after a turn of the event loop, for all connections at once."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: deque[Callable[[], None]] = deque()

    def behind(self, work: Callable[[], None]) -> None:
        """Do `work` after this turn."""
        if not self._waiting:
            self._loop.call_soon(self._do)
        self._waiting.append(work)

    def _do(self) -> None:
        try:
            while self._waiting:
                self._waiting.popleft()()
        finally:
            if self._waiting:  # one has failed, which the loop reports
                self._loop.call_soon(self._do)


@final
class JoinedWrites(asyncio.Transport):
    """A transport with joined writes around another; reading and closing are the other's."""

    def __init__(self, transport: asyncio.Transport, turn: Turn) -> None:
        super().__init__()
        self._transport = transport
        self._turn = turn
        self._waiting: list[bytes | bytearray | memoryview[Any]] = []
        self._size = self._written = 0

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        """Send it, in this turn of the loop or after it."""
        if not self._waiting:
            self._turn.behind(self.flush)
        self._waiting.append(data)
        self._size += len(data)
        self._written += len(data)
        if self._size > SERVE_JOINED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what is buffered."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if waiting and not self._transport.is_closing():
            self._transport.write(waiting[0] if len(waiting) == 1 else b"".join(waiting))

    def close(self) -> None:
        """Send what is buffered, and close."""
        self.flush()
        self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._waiting = []
        self._transport.abort()

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Information about the connection."""
        return self._transport.get_extra_info(name, default)

    @property
    def taken(self) -> int:
        """How many of the written bytes the kernel has taken."""
        return self._written - self.get_write_buffer_size()

    def get_write_buffer_size(self) -> int:
        """The bytes that were written and not sent."""
        return self._size + self._transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Stop reading from the client."""
        self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading."""
        self._transport.resume_reading()
