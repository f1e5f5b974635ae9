"""The gate: checks address, host, rate and token before a byte of a body is read.

An ASGI application around another. It answers refusals itself, passes other requests on with an `Access` in
their scope, bounds the time and the size of bodies, and cancels the work for a request when its exchange is
over, however it ended.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache, lru_cache
from http import HTTPStatus
from typing import final
from urllib.parse import parse_qsl

from msgspec.structs import replace
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from readroom.core import errors
from readroom.core.caller import HTTP_FACE, Caller, conversation, trace_of, vendors_of
from readroom.core.contracts import NAMES, contract
from readroom.core.limits import SERVE_CALL_S
from readroom.mcp.access import Access
from readroom.server.http.access_log import Exchange, Metrics
from readroom.server.http.awaiting import ClientScope
from readroom.server.http.bodies import Bodies
from readroom.server.http.connections import Carrier, Crowd
from readroom.server.http.errors import refused
from readroom.server.http.hosts import Hosts
from readroom.server.http.rate_limit import Rates
from readroom.server.http.refusal_log import Refusals
from readroom.server.http.visitors import UI_PATH, PageAddress, SignIn
from readroom.server.http.workspaces import Workspaces
from readroom.server.tokens import SECRET, Grant

# -----------------------------------------------------------------------------
# Addresses of requests: without escapes, and the part of them that may be recorded.
# -----------------------------------------------------------------------------

_PLAIN = re.compile(rb"(?:/[A-Za-z0-9_.:~-]*)+")
_DOTS = re.compile(rb"(?:^|/)\.{1,2}(?:/|$)")
_IN_WORKSPACE = re.compile(r"/w/([^/]+)(/.*)?")

_WORDS = frozenset(
    (
        *(
            "",
            "w",
            "v1",
            "mcp",
            "sessions",
            "compacted",
            "healthz",
            "readyz",
            "metrics",
            "openapi.json",
            "docs",
        ),
        *("api", "v0", "ui", "static", "sign-in", "sign-out", "session", "calls", "call", "files", "file"),
        *("map", "findings", "ledger", "verify", "processes", "start", "list", "output", "signal"),
        *("tool-calls", "cancel", "history", "change", "diff", "undo", "forget"),
        *("review", "accept", "reject", "refused", "money", "search"),
        *("server-card", ".well-known", "ai-catalog.json"),
    )
)
_DEEPEST = 6
"""Segments of our longest address: /w/NAME/v1/CONTRACT/TOOL."""


def checked(scope: Scope) -> str:
    """The path, without escapes: our names need none, and clients that send some are probing.

    A slash at its end means nothing: some clients add one to every address. Raises NoSuchRoute.
    """
    return _checked(_raw(scope))


SERVE_PATH_BYTES = 1024
"""Longest address of a request; ours have two short names."""


@lru_cache(256)  # refused addresses, which may be long, are not kept
def _checked(raw: bytes) -> str:
    if len(raw) > SERVE_PATH_BYTES or not _PLAIN.fullmatch(raw) or b"//" in raw or _DOTS.search(raw):
        raise errors.NoSuchRoute
    return raw.decode("ascii").rstrip("/") or "/"


def split(path: str) -> tuple[str | None, str]:
    """The name of a workspace, if any, and the address in it."""
    match = _IN_WORKSPACE.fullmatch(path)
    return (match[1], match[2] or "/") if match else (None, path)


def target_of(scope: Scope, workspaces: frozenset[str]) -> str:
    """The path for a record: segments that are not our names, and could be secrets, become *."""
    return _spelled(_raw(scope)[:SERVE_PATH_BYTES], workspaces)


@lru_cache(256)  # clients request the same few again and again
def _spelled(raw: bytes, workspaces: frozenset[str]) -> str:
    names = raw.decode("latin-1").split("/")
    kept = [name if name in _WORDS or name in _tools() or name in workspaces else "*" for name in names]
    return "/".join(kept[:_DEEPEST] + ["*"] * (len(kept) > _DEEPEST))


def _raw(scope: Scope) -> bytes:
    raw: bytes = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
    return raw.partition(b"?")[0]


@cache
def _tools() -> frozenset[str]:
    """The names of all contracts and their tools."""
    tools = (tool.name for name in NAMES for tool in contract(name).callable)
    return frozenset((*NAMES, *tools))


ACCESS = "readroom.access"
CLIENT_SCOPE = "readroom.client_scope"
EXCHANGE = "readroom.exchange"
HEADERS = "readroom.headers"
OPENS = "readroom.opens"
PAGE_ADDRESS = "readroom.page_address"
MOVED = "readroom.moved"
"""Where the gate keeps an `Access`, a `ClientScope`, an `Exchange`, the headers by their names, the names of
the workspaces that the caller may open, and for a page of the dashboard its `PageAddress` and the address
where it is instead, in a request's scope."""

MCP_PATH = "/mcp"
"""The address of MCP, for the default workspace and below each named one."""

AGENT_PATH = "/api/v0"
"""The beginning of the addresses of coder's agent, for each workspace as well."""

_OPEN = frozenset(("/healthz", "/readyz"))
"""Answered without a token, for load balancers."""

CONNECTION = "readroom.connection"
"""The key of the connection in the state of a request's scope."""

_DECIDING = frozenset(
    (
        *(b"authorization", b"host", b"origin", b"content-length", b"transfer-encoding", b"content-type"),
        *(b"mcp-session-id", b"mcp-protocol-version", b"mcp-method", b"mcp-name", b"last-event-id"),
        *(b"readroom-agent", b"readroom-session"),
    )
)
"""They decide the caller, the request and the body's length: of two, a proxy before us may use the other."""

NAME = "[A-Za-z0-9_.:~-]{1,128}"
"""The pattern of the names that clients give themselves and their conversations."""

NAME_IN_WORDS = "1 to 128 letters of ASCII, digits, '_', '.', ':', '~' and '-'"


@final
class Gate:
    """The gate of one server."""

    def __init__(
        self,
        inner: ASGIApp,
        *,
        workspaces: Workspaces,
        sign_in: SignIn,
        hosts: Hosts,
        rates: Rates,
        metrics: Metrics,
        refusals: Refusals,
        public: Collection[str] = (),
    ) -> None:
        """Guard the application `inner`; `public` are addresses that every page on the web may read."""
        self._public = public
        self._inner = inner
        self._workspaces = workspaces
        self._names = frozenset(workspaces.names(None))
        self._sign_in = sign_in
        self._hosts = hosts
        self._rates = rates
        self._metrics = metrics
        self._refusals = refusals
        self._bodies = Bodies()
        self.crowd = Crowd()
        self.closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as an ASGI application."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began = time.perf_counter()
        headers = _trimmed(scope)
        scope = {**scope, "headers": headers, HEADERS: dict(headers)}
        exchange = Exchange(scope["method"], _address(scope), target=target_of(scope, self._names))
        client_scope = ClientScope()
        connection: Carrier | None = scope.get("state", {}).get(CONNECTION)
        if connection is not None:
            connection.answering(client_scope)
        out = _Outgoing(receive, send, exchange, scope["path"])
        try:
            inside = await self._admitted(scope, exchange, connection)
            inside[CLIENT_SCOPE], inside[EXCHANGE] = client_scope, exchange
            came = connection is not None and connection.whole
            payer = exchange.token or exchange.address
            declared = scope[HEADERS].get(b"content-length", b"0")
            body = self._bodies.begun(declared, receive, out.refuse, payer, came=came)
            try:
                await self._inner(inside, body.receive, out.send)
            finally:  # a cancelled call keeps it until its thread is done
                client_scope.when_over(body.free)
        except errors.ReadroomError as error:
            await out.refuse(error)
        finally:
            client_scope.leave()
            if connection is not None:
                connection.answered(client_scope)
            exchange.seconds = time.perf_counter() - began
            if client_scope.turned_away:
                exchange.code, exchange.reached = errors.Busy.code, False
            elif not exchange.code and exchange.status >= HTTPStatus.BAD_REQUEST:
                # A message that is not MCP is answered in terms of that protocol.
                bad = exchange.status == HTTPStatus.BAD_REQUEST
                exchange.code = errors.BadRequest.code if bad else f"http_{exchange.status}"
            self.over(exchange)

    def over(self, exchange: Exchange) -> None:
        """Count, log and record a finished exchange."""
        self._metrics.count(exchange)
        exchange.log()
        self._refusals.note(exchange)

    async def _admitted(self, scope: Scope, exchange: Exchange, connection: Carrier | None) -> Scope:
        """The scope for the application; addresses in a workspace look like those of the default one."""
        if self.closing:
            raise errors.Closing
        if scope["path"].rstrip("/") in _OPEN:
            self._rates.health(exchange.address)
            self._hosts.check(_headers(scope))
            return {**scope, "path": checked(scope)}
        if scope["path"].rstrip("/") in self._public:
            self._rates.health(exchange.address)
            self._hosts.check_name(_headers(scope))
            return {**scope, "path": checked(scope)}
        # Clients behind a proxy share its address: holders of a valid token are counted by token.
        presented = _presented(scope)
        known = bool(presented) and self._sign_in.knows(presented)
        if not known:
            await self._count(exchange.address)
        try:
            return await self._inside(scope, exchange, connection)
        except errors.ReadroomError:
            if known:
                await self._count(exchange.address)
            raise

    async def _count(self, address: str) -> None:
        if counting := self._rates.address(address):
            await counting

    async def _inside(self, scope: Scope, exchange: Exchange, connection: Carrier | None) -> Scope:
        headers = _headers(scope)
        self._hosts.check(headers)
        path = checked(scope)
        _no_token_in(scope["query_string"])
        name, inside = split(path)
        if name is not None and (inside == UI_PATH or inside.startswith(f"{UI_PATH}/")):
            # The cookie of visitors is for the other order of the two.
            return self._moved(scope, name, inside.removeprefix(UI_PATH))
        if path == UI_PATH or path.startswith(f"{UI_PATH}/"):
            return await self._visited(
                scope, path.removeprefix(UI_PATH) or "/", headers, exchange, connection
            )
        grant = await self._grant(headers, exchange)
        return await self._let_in(scope, grant, name, inside, headers, exchange, connection)

    def _moved(self, scope: Scope, name: str, path: str) -> Scope:
        """The scope for a page of the dashboard that is at the address of another workspace."""
        page = PageAddress(name, self._workspaces.default)
        query = scope["query_string"].decode("latin-1")
        return {**scope, "path": path, PAGE_ADDRESS: page, OPENS: [], MOVED: page.here(path, query)}

    async def _visited(
        self,
        scope: Scope,
        path: str,
        headers: Mapping[bytes, bytes],
        exchange: Exchange,
        connection: Carrier | None,
    ) -> Scope:
        """The scope for a page of the dashboard: a cookie identifies the visitor; without one, to sign in."""
        if scope["method"] not in ("GET", "HEAD") and b"origin" not in headers:
            # Browsers send the origin of a form, which `Hosts` has checked: SameSite is not enough.
            raise errors.BadRequest("it does not say which page sent it", "Use the dashboard in a browser.")
        name, path = split(path)
        inside = {**scope, "path": path, PAGE_ADDRESS: PageAddress(name, self._workspaces.default), OPENS: []}
        if path.startswith(_DOORS):
            return inside
        grant = None
        if await self._sign_in.asks():
            grant = await self._sign_in.visitor(headers.get(b"cookie", b""), exchange)
            if grant is None:
                return inside
            opened = self._workspaces.names(grant)
            if name is None and opened and self._workspaces.default not in opened:
                return self._moved(scope, opened[0], path)
        exchange.agent = exchange.agent or "browser"
        return {**inside, **await self._let_in(inside, grant, name, path, {}, exchange, connection)}

    async def _let_in(
        self,
        scope: Scope,
        grant: Grant | None,
        name: str | None,
        path: str,
        headers: Mapping[bytes, bytes],
        exchange: Exchange,
        connection: Carrier | None,
    ) -> Scope:
        """The scope, with the caller's access."""
        if connection is not None and not self.crowd.let_in(connection, "" if grant is None else grant.token):
            raise errors.Busy
        exchange.agent = _name(headers, "Readroom-Agent") or exchange.agent
        exchange.session = _name(headers, "Readroom-Session")
        if grant is not None and (counting := self._rates.token(grant.token)):
            await counting
        workspace = self._workspaces.get(name, grant)
        exchange.workspace = self._workspaces.default if name is None else name
        session = conversation(exchange.token, exchange.session)
        trace = trace_of(headers.get(b"traceparent", b"").decode("latin-1"))
        caller = Caller(
            exchange.agent,
            session,
            exchange.token,
            HTTP_FACE,
            traceparent=trace,
            tracestate=vendors_of(headers.get(b"tracestate", b"").decode("latin-1")) if trace else "",
            sees_others=_is_whole(grant),
        )
        access = Access(workspace, "", None if grant is None else grant.tools, caller, SERVE_CALL_S)
        opens = self._workspaces.names(grant)
        return {**scope, "path": path, "raw_path": path.encode("ascii"), ACCESS: access, OPENS: opens}

    async def _grant(self, headers: Mapping[bytes, bytes], exchange: Exchange) -> Grant | None:
        authorization = headers.get(b"authorization")
        if authorization is None and not await self._sign_in.asks():
            return None
        token = None if authorization is None else _bearer(authorization)
        if token is None:
            await self._sign_in.failed(exchange)
            if authorization is None:
                raise errors.Unauthorized("there is none", presented=False)
            raise errors.Unauthorized("it is not of the kind Bearer")
        return await self._sign_in.check(token, exchange)


def _is_whole(grant: Grant | None) -> bool:
    """Whether a token restricts nothing in the workspaces that it opens."""
    return grant is None or (grant.tools is None and grant.policy is None)


_DOORS = ("/static/", "/sign-in", "/sign-out")
"""Addresses of the dashboard that need no sign-in."""


def _presented(scope: Scope) -> str:
    """The token of a request, valid or not, even if other headers are bad; empty if there is none."""
    authorization: bytes | None = scope[HEADERS].get(b"authorization")
    return "" if authorization is None else _bearer(authorization) or ""


def _bearer(authorization: bytes) -> str | None:
    """The token in an Authorization header; None for another scheme."""
    kind, _, token = authorization.decode("latin-1").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None


def _trimmed(scope: Scope) -> list[tuple[bytes, bytes]]:
    """The headers without whitespace around their values, which is not part of them (RFC 9110, section 5.5).

    The parser leaves trailing whitespace.
    """
    return [(name, value.strip(b" \t")) for name, value in scope["headers"]]


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """The headers by lowercase names. Raises RepeatedHeader or BadRequest where two parsers could differ."""
    headers: dict[bytes, bytes] = scope[HEADERS]
    if len(headers) < len(scope["headers"]):
        names = [name for name, _ in scope["headers"]]
        repeated = next((name for name in names if name in _DECIDING and names.count(name) > 1), None)
        if repeated is not None:
            raise errors.RepeatedHeader(repeated.decode("ascii").title())
    if b"content-length" in headers and b"transfer-encoding" in headers:
        raise errors.BadRequest("it has both Content-Length and Transfer-Encoding", "Send one of them.")
    return headers


def _no_token_in(query: bytes) -> None:
    """Raises TokenInAddress: a client that sends one there would get used to it (RFC 6750, 2.3)."""
    if b"_" in query and any(SECRET.fullmatch(value) for _, value in parse_qsl(query.decode("latin-1"))):
        raise errors.TokenInAddress


def within(scope: Scope, contract_name: str) -> Access:
    """The access of a request to a contract."""
    access = scope[ACCESS]
    assert isinstance(access, Access)
    return replace(access, contract_name=contract_name)


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return client[0] if client else "local"


def _name(headers: Mapping[bytes, bytes], header: str) -> str:
    """The name that a client gives itself or its conversation; empty without one. Raises BadRequest."""
    name = headers.get(header.lower().encode("ascii"), b"").decode("latin-1")
    if name and not _NAME.fullmatch(name):
        raise errors.BadRequest(f"its header {header} is no name", f"Send {NAME_IN_WORDS}, or leave it out.")
    return name


_NAME = re.compile(NAME)

_NOSNIFF = (b"x-content-type-options", b"nosniff")


SERVE_LINGER_S = 2.0
"""How long the body of a refused request is still read and discarded, so that its client reads why."""

SERVE_LINGER_BYTES = 2**20
"""How much of it: more than any call that is sent by mistake. A client with more may lose the answer."""


class _Outgoing:
    """Counts sent bytes, and whether the answer has begun."""

    def __init__(self, receive: Receive, send: Send, exchange: Exchange, path: str) -> None:
        self._receive = receive
        self._send = send
        self._exchange = exchange
        self._rpc = path.rstrip("/").endswith(MCP_PATH)
        self._agent = f"{AGENT_PATH}/" in path
        self._refused = False

    async def send(self, message: Message) -> None:
        if self._refused:
            return
        if message["type"] == "http.response.start":
            self._exchange.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), _NOSNIFF]}
        elif message["type"] == "http.response.body" and self._exchange.method != "HEAD":
            self._exchange.sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def refuse(self, error: errors.ReadroomError) -> None:
        """Answer with the error, unless an answer has begun; the application can send no more."""
        if self._refused or self._exchange.status:
            return
        response = refused(error, rpc=self._rpc, agent=self._agent)
        self._exchange.code = error.code
        # The rest of the body is not read, so the connection cannot carry another request.
        response.headers["Connection"] = "close"
        start = {"type": "http.response.start", "status": response.status_code}
        await self.send({**start, "headers": response.raw_headers})
        await self.send({"type": "http.response.body", "body": response.body, "more_body": True})
        self._refused = True
        await self._linger()
        await self._send({"type": "http.response.body", "body": b""})

    async def _linger(self) -> None:
        """Discard arriving bytes: closing a socket with unread bytes would lose the answer."""
        left = SERVE_LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(SERVE_LINGER_S):
                while left > 0:
                    message = await self._receive()
                    left -= len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
