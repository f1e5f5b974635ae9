"""The HTTP workspace agent as an ASGI application: a gate, and behind it tools, MCP and descriptions."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from readroom.caller import conversation
from readroom.contracts.base import Contract
from readroom.contracts.registry import NAMES
from readroom.errors import BadRequest, NoSuchRoute, ReadroomError, WrongMethod
from readroom.faces.calls import Access, Calls
from readroom.faces.http import coder, openapi
from readroom.faces.http.exchange import Exchange, Metrics
from readroom.faces.http.gate import ACCESS, EXCHANGE, MCP_PATH, OPENS, WAITER, within
from readroom.faces.http.replies import again_later, ok, refused, status_of_code
from readroom.faces.http.rooms import Rooms
from readroom.faces.http.routes import Endpoint, json_body, leaving, route
from readroom.faces.http.streamable import Streamable
from readroom.faces.mcp.server import Server
from readroom.model import Fact


def inside(
    calls: Calls, rooms: Rooms, metrics: Metrics, *, contract_name: str, reply_chars: int | None
) -> ASGIApp:
    """What is behind the gate.

    Args:
        calls: Where tool calls run.
        rooms: The workspaces.
        metrics: What /metrics shows.
        contract_name: Whose tools MCP serves; /v1 has all contracts.
        reply_chars: Cap on the text of a reply over MCP, None for what each client passes on.
    """
    server = Server(
        calls,
        rooms.get(None, None).contract(contract_name),
        reply_chars=reply_chars,
        outputs=rooms.run_commands,
        shared=False,
    )
    pages = _Pages(rooms)
    routes: list[Route] = [
        route("/", "GET", pages.welcome),
        route("/healthz", "GET", _health),
        route("/metrics", "GET", _metrics(calls, metrics)),
        route("/openapi.json", "GET", pages.openapi),
        route("/docs", "GET", pages.docs),
        route("/v1/sessions/{session}/compacted", "POST", _compacted),
        route("/v1/{contract}/{tool}", "POST", _Tools(calls).call),
        *coder.routes(calls),
    ]
    router = Starlette(routes=routes, exception_handlers={HTTPException: _unrouted})
    router.router.redirect_slashes = False  # one address for each thing
    return _Inside(Streamable(server, contract_name), router)


class _Inside:
    """MCP at its address, and everything else at its own."""

    def __init__(self, mcp: ASGIApp, router: ASGIApp) -> None:
        self._mcp = mcp
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        at_mcp = scope["type"] == "http" and scope["path"] == MCP_PATH
        await (self._mcp if at_mcp else self._router)(scope, receive, send)


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    exchange: Exchange = request.scope[EXCHANGE]
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "GET").split(", ")
        failure: ReadroomError = WrongMethod(request.method, allowed)
    else:
        failure = NoSuchRoute()
    exchange.code = failure.code
    return refused(failure)


class _Tools:
    """POST /v1/{contract}/{tool}: the arguments in, the tool result out."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def call(self, request: Request) -> Response:
        name, tool = request.path_params["contract"], request.path_params["tool"]
        if name not in NAMES:
            raise NoSuchRoute
        access, waiter = within(request.scope, name), request.scope[WAITER]
        access.workspace.contract(name).tool(tool)
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.contract, exchange.tool = name, tool
        arguments = await json_body(request)
        exchange.reached = True
        watch = asyncio.create_task(leaving(request.receive, waiter))
        try:
            result = await self._calls.run(access, tool, arguments, waiter=waiter)
        finally:
            watch.cancel()
        return _answered(result, exchange)


def _answered(result: dict[str, Fact], exchange: Exchange) -> Response:
    if not result.get("isError"):
        return ok(result)
    meta: Any = result.get("_meta")
    error: Any = meta["readroom/facts"]["error"]
    exchange.code = error["code"]
    # One shape for every error, whoever made it; the model's words stay beside it.
    return again_later(ok({**result, "error": error}, status_of_code(error["code"])))


async def _compacted(request: Request) -> Response:
    """The host has shortened a conversation: what was shown before is no longer in view."""
    access, given = within(request.scope, "native"), request.path_params["session"]
    if not re.fullmatch(openapi.SESSION, given):
        raise BadRequest("its address names no conversation", "Use up to 128 letters, digits, '_', '.', '-'.")
    access.workspace.session(conversation(access.caller.token, given)).compacted()
    return ok({"session": given, "compacted": True})


async def _health(request: Request) -> Response:
    return ok({"status": "ok"})


def _metrics(calls: Calls, metrics: Metrics) -> Endpoint:
    async def show(request: Request) -> Response:
        metrics.open.set(calls.open)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return show


class _Pages:
    """Descriptions of what a caller may use."""

    def __init__(self, rooms: Rooms) -> None:
        self._rooms = rooms

    async def welcome(self, request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        return PlainTextResponse(
            f"readroom is an MCP server. Point an MCP client at {base}{MCP_PATH}\n"
            f"Its tools over plain HTTP are described at {base}/docs\n"
        )

    async def openapi(self, request: Request) -> Response:
        return ok(openapi.document(_contracts(request), self._others(request), commands=_runs(request)))

    async def docs(self, request: Request) -> Response:
        text = openapi.page(_contracts(request), self._others(request), commands=_runs(request))
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    def _others(self, request: Request) -> list[str]:
        """The named workspaces that the caller's token opens."""
        names: list[str] = request.scope[OPENS]
        return [name for name in names if name != self._rooms.default]


def _contracts(request: Request) -> list[Contract]:
    """All contracts, as the workspace of a request has them."""
    access: Access = request.scope[ACCESS]
    return [access.workspace.contract(name) for name in NAMES]


def _runs(request: Request) -> bool:
    """Whether the workspace of a request offers the tools that run commands."""
    access: Access = request.scope[ACCESS]
    return access.workspace.runs_commands
