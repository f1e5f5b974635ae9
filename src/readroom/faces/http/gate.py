"""Who gets in: address, host, rate and token are settled before a byte of a body is read.

An ASGI application around another.  It answers refusals itself, gives what passes
an `Access` in the scope, bounds the time and the size of bodies, and ends the work
for a request when its exchange is over, however it ended.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import final
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from readroom.caller import Caller, conversation
from readroom.errors import (
    BadRequest,
    BodyTooLarge,
    Busy,
    Closing,
    ReadroomError,
    RepeatedHeader,
    SlowRequest,
    TokenInAddress,
    Unauthorized,
)
from readroom.faces.calls import Access, Waiter
from readroom.faces.http import addresses
from readroom.faces.http.crowd import Crowd
from readroom.faces.http.exchange import Exchange, Metrics
from readroom.faces.http.hosts import Hosts
from readroom.faces.http.rates import Rates
from readroom.faces.http.refusals import Refusals
from readroom.faces.http.replies import refused
from readroom.faces.http.rooms import Rooms
from readroom.limits import (
    MCP_MESSAGE_BYTES,
    SERVE_BODY_S,
    SERVE_CALL_S,
    SERVE_LINGER_BYTES,
    SERVE_LINGER_S,
)
from readroom.session.admission import Admission
from readroom.session.tokens import SECRET, Grant

ACCESS = "readroom.access"
WAITER = "readroom.waiter"
EXCHANGE = "readroom.exchange"
OPENS = "readroom.opens"
"""Where the gate keeps an `Access`, a `Waiter`, an `Exchange` and the names of the workspaces that the
caller may open in a request's scope."""

MCP_PATH = "/mcp"
"""Where MCP is served, of the default workspace and below each named one."""

_OPEN = frozenset(("/healthz",))
"""Answered without a token: what a load balancer asks."""

CONNECTION = "readroom.connection"
"""Where the state of a request's scope has the connection that it came on."""

_DECIDING = frozenset(
    (
        *(b"authorization", b"host", b"origin", b"content-length", b"transfer-encoding", b"content-type"),
        *(b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"last-event-id"),
        *(b"readroom-agent", b"readroom-session"),
    )
)
"""They say who asks, for what, and how long it is: of two, a proxy before us may have read the other one."""

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


@final
class Gate:
    """The gate of one server."""

    def __init__(
        self,
        inner: ASGIApp,
        *,
        rooms: Rooms,
        admission: Admission,
        hosts: Hosts,
        rates: Rates,
        metrics: Metrics,
        refusals: Refusals,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`inner` is what it guards."""
        self._inner = inner
        self._rooms = rooms
        self._admission = admission
        self._hosts = hosts
        self._rates = rates
        self._metrics = metrics
        self._refusals = refusals
        self._clock = clock
        self.crowd = Crowd()
        self.closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The ASGI application."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began = time.perf_counter()
        asked = addresses.told(scope, self._rooms.names(None))
        exchange = Exchange(scope["method"], _address(scope), asked=asked)
        waiter = Waiter()
        out = _Outgoing(receive, send, exchange, rpc=scope["path"].endswith(MCP_PATH))
        try:
            inside = self._admitted(scope, exchange)
            inside[WAITER], inside[EXCHANGE] = waiter, exchange
            await self._inner(inside, _Incoming(scope, receive, out).receive, out.send)
        except ReadroomError as error:
            await out.refuse(error)
        finally:
            waiter.leave()
            exchange.seconds = time.perf_counter() - began
            if waiter.turned_away:
                exchange.code, exchange.reached = Busy.code, False
            elif not exchange.code and exchange.status >= HTTPStatus.BAD_REQUEST:
                # What is no MCP is answered in that protocol's words.
                bad = exchange.status == HTTPStatus.BAD_REQUEST
                exchange.code = BadRequest.code if bad else f"http_{exchange.status}"
            self.over(exchange)

    def over(self, exchange: Exchange) -> None:
        """Count, log and record an exchange that has ended."""
        self._metrics.count(exchange)
        exchange.log()
        self._refusals.note(exchange)

    def _admitted(self, scope: Scope, exchange: Exchange) -> Scope:
        """The scope for the inside; addresses in a workspace look like those of the default one."""
        if self.closing:
            raise Closing
        self._rates.address(exchange.address)
        headers = _headers(scope)
        self._hosts.check(headers)
        path = addresses.checked(scope)
        if path in _OPEN:
            return {**scope}
        _no_token_in(scope["query_string"])
        grant = self._grant(headers, exchange)
        connection = scope.get("state", {}).get(CONNECTION)
        if connection is not None and not self.crowd.let_in(connection):
            raise Busy
        exchange.agent = _name(headers, b"readroom-agent") or exchange.agent
        exchange.session = _name(headers, b"readroom-session")
        if grant is not None:
            self._rates.token(grant.token)
        name, path = addresses.split(path)
        workspace = self._rooms.get(name, grant)
        exchange.workspace = self._rooms.default if name is None else name
        session = conversation(exchange.token, exchange.session)
        caller = Caller(exchange.agent, session, exchange.token, "http")
        access = Access(workspace, "", None if grant is None else grant.tools, caller, SERVE_CALL_S)
        opens = self._rooms.names(grant)
        return {**scope, "path": path, "raw_path": path.encode("ascii"), ACCESS: access, OPENS: opens}

    def _grant(self, headers: dict[bytes, bytes], exchange: Exchange) -> Grant | None:
        given = headers.get(b"authorization")
        try:
            if given is None:
                if self._admission.asks:
                    raise Unauthorized("there is none", presented=False)
                return None
            kind, _, token = given.decode("latin-1").partition(" ")
            if kind.lower() != "bearer":
                raise Unauthorized("it is not of the kind Bearer")
            grant = self._admission.find(token.strip())
            if grant is None:
                raise Unauthorized("it is not known")
            exchange.token, exchange.agent = grant.token, grant.name
            state = grant.state(self._clock())
            if state != "valid":
                raise Unauthorized(f"it is {state}")
            return grant
        except Unauthorized:
            self._rates.failure(exchange.address)
            raise


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers, in small letters. Raises RepeatedHeader or BadRequest where two readers could differ."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in headers and name in _DECIDING:
            raise RepeatedHeader(name.decode("ascii").title())
        headers[name] = value
    if b"content-length" in headers and b"transfer-encoding" in headers:
        raise BadRequest("it has both Content-Length and Transfer-Encoding", "Send one of them.")
    return headers


def _no_token_in(query: bytes) -> None:
    """Raises TokenInAddress: a client that sends one so would get used to it (RFC 6750, 2.3)."""
    if b"_" in query and any(SECRET.fullmatch(value) for _, value in parse_qsl(query.decode("latin-1"))):
        raise TokenInAddress


def within(scope: Scope, contract_name: str) -> Access:
    """What the request may use of a contract."""
    access = scope[ACCESS]
    assert isinstance(access, Access)
    return replace(access, contract_name=contract_name)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "local"


def _name(headers: dict[bytes, bytes], header: bytes) -> str:
    """A name that a client gives itself or its conversation; what is none counts as not given."""
    found = headers.get(header, b"").decode("latin-1").strip()
    return found if _NAME.fullmatch(found) else ""


class _Outgoing:
    """Counts what is sent, and knows whether a refusal can still be."""

    def __init__(self, receive: Receive, send: Send, exchange: Exchange, *, rpc: bool) -> None:
        self._receive = receive
        self._send = send
        self._exchange = exchange
        self._rpc = rpc
        self._refused = False

    async def send(self, message: Message) -> None:
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._exchange.status = message["status"]
            headers = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            self._exchange.sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, error: ReadroomError) -> None:
        """Answer with the error, unless an answer has begun; the inside can send no more."""
        if self._refused or self._exchange.status:
            return
        response = refused(error, rpc=self._rpc)
        self._exchange.code = error.code
        # What is left of the body is not used, so the connection cannot carry another request.
        response.headers["Connection"] = "close"
        start = {"type": "http.response.start", "status": response.status_code}
        await self.send({**start, "headers": response.raw_headers})
        await self.send({"type": "http.response.body", "body": response.body, "more_body": True})
        self._refused = True
        await self._linger()
        await self._send({"type": "http.response.body", "body": b""})

    async def _linger(self) -> None:
        """Throw away what still comes: a socket closed over unread bytes takes the answer away with it."""
        left = SERVE_LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(SERVE_LINGER_S):
                while left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return


class _Incoming:
    """A body, bounded in size and in time."""

    def __init__(self, scope: Scope, receive: Receive, out: _Outgoing) -> None:
        self._receive = receive
        self._out = out
        self._ends = time.monotonic() + SERVE_BODY_S
        self._left = MCP_MESSAGE_BYTES
        self._complete = False
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > MCP_MESSAGE_BYTES:
            raise BodyTooLarge(MCP_MESSAGE_BYTES)

    async def receive(self) -> Message:
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout(max(0.0, self._ends - time.monotonic())):
                message = await self._receive()
        except TimeoutError:
            return await self._refuse(SlowRequest(SERVE_BODY_S))
        if message["type"] != "http.request":
            return message
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            return await self._refuse(BodyTooLarge(MCP_MESSAGE_BYTES))
        self._complete = not message.get("more_body", False)
        return message

    async def _refuse(self, error: ReadroomError) -> Message:
        await self._out.refuse(error)
        return {"type": "http.disconnect"}
