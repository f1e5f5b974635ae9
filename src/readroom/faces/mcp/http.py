"""MCP over streamable HTTP on this machine: the SDK's session manager on uvicorn.

Who reaches the port may read the workspace, so it is bound to loopback addresses
only, and requests that a web page sends through the user's browser are refused
by their Host and Origin headers (DNS rebinding).  Nothing is written to standard
output.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from readroom.errors import BadValue
from readroom.faces.mcp import logs
from readroom.faces.mcp.calls import Caller, Calls
from readroom.faces.mcp.server import CALLER, McpServer, build
from readroom.limits import (
    HTTP_CONNECTIONS,
    HTTP_SESSION_IDLE_S,
    HTTP_SESSIONS,
    MCP_EXIT_S,
    MCP_MESSAGE_BYTES,
)
from readroom.toolbox import Workspace

PATH = "/mcp"
"""Where the protocol is served; any other path answers a person."""

_NAMES = ("127.0.0.1", "localhost", "[::1]")
"""What this machine is called in a Host header by those who connect to it directly, with any port."""

_SECURITY = TransportSecuritySettings(
    allowed_hosts=[*_NAMES, *(f"{name}:*" for name in _NAMES)],
    allowed_origins=[f"http://{name}{port}" for name in _NAMES for port in ("", ":*")],
)


def serve_http(
    workspace: Workspace,
    *,
    host: str,
    port: int,
    contract_name: str,
    reply_chars: int | None,
    on_ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve any number of clients until SIGINT or SIGTERM comes.

    Args:
        workspace: What is served; closing it stays with the caller.
        host: A loopback address, or "localhost".
        port: 0 takes a free one.
        contract_name: Whose tools.
        reply_chars: Cap on a reply's text, None for what each client is known to pass on.
        on_ready: Told the URL for clients as soon as they can connect.

    Raises:
        BadValue: The host is not loopback, the port cannot be used, or there is no such contract.
    """
    logs.to_stderr()
    calls = Calls(workspace, contract_name)
    server = build(calls, contract_name=contract_name, reply_chars=reply_chars)
    listening = _listen(host, port)
    try:
        web = _Web(_config(app(server)), calls, lambda: on_ready(_url(listening)))
        # Not `run`: it may take another event loop, and the SDK is at home on asyncio's.
        asyncio.run(web.serve([listening]))
    finally:
        listening.close()
        calls.close()


def app(server: McpServer) -> ASGIApp:
    """The ASGI application: the protocol at `PATH`, a word for people at the root."""
    return _Callers(
        server.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=_SECURITY,
            max_request_body_size=MCP_MESSAGE_BYTES,
            max_sessions=HTTP_SESSIONS,
            session_idle_timeout=HTTP_SESSION_IDLE_S,
            custom_starlette_routes=[Route("/", _welcome)],
        )
    )


async def _welcome(request: Request) -> Response:
    refused = await TransportSecurityMiddleware(_SECURITY).validate_request(request)
    url = request.url.replace(path=PATH, query="")
    return refused or PlainTextResponse(f"readroom is an MCP server. Point an MCP client at {url}\n")


class _Callers:
    """Ends the work for a request when its exchange is over, however it ended.

    The SDK does so for 2026-07-28.  For older protocols it works on for a client
    that has closed the connection, which could come back for the answer; here an
    answer is not kept, so nobody could receive it.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope[CALLER] = Caller()
        try:
            await self._inner(scope, receive, send)
        finally:
            caller.leave()


class _Web(uvicorn.Server):
    """uvicorn that says when it is ready, ends all work when it is told to end, and ends quietly."""

    def __init__(self, config: uvicorn.Config, calls: Calls, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._calls = calls
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._calls.stop()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        # Without remembering the signal: uvicorn would raise it again at the end, like a crash.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def _config(asgi: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        asgi,
        http="h11",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=HTTP_CONNECTIONS,
        timeout_graceful_shutdown=MCP_EXIT_S,
    )


def _listen(host: str, port: int) -> socket.socket:
    """A bound socket: before anything else is started, so that a bad address fails at once."""
    address = _loopback(host)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        # A server that has just ended leaves its port in TIME_WAIT; this does not let two listen at once.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((str(address), port))
        # Only this tells whether another program listens there: with the option above two may bind.
        listening.listen()
    except OSError as error:
        listening.close()
        raise _unusable(host, port, error) from None
    except OverflowError:
        listening.close()
        raise BadValue("port", port, "is no port", "Ports are 0 to 65535; 0 takes a free one.") from None
    return listening


def _loopback(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host.strip("[]"))
    except ValueError:
        address = None
    if address is None or not address.is_loopback:
        raise BadValue(
            "host",
            host,
            "is not a loopback address",
            "Use 127.0.0.1 or ::1: there are no passwords, so other machines need a tunnel (ssh -L).",
        )
    return address


def _unusable(host: str, port: int, error: OSError) -> BadValue:
    if error.errno == errno.EADDRINUSE:
        problem = "is in use by another program"
    elif error.errno == errno.EACCES:
        problem = "may not be used by this user"
    elif error.errno == errno.EADDRNOTAVAIL:
        return BadValue("host", host, "is not an address of this machine", "Use 127.0.0.1.")
    else:
        problem = f"cannot be used ({error.strerror})"
    return BadValue("port", port, problem, "Choose another, or 0 for a free one.")


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
