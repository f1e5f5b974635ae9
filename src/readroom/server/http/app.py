"""The HTTP agent as an ASGI application: tools, MCP and descriptions behind the gate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from readroom.core.caller import conversation
from readroom.core.contracts import NAMES
from readroom.core.contracts.base import FACTS_KEY, Contract, tool_result
from readroom.core.errors import BadRequest, NoSuchRoute, ReadroomError, WrongMediaType, WrongMethod
from readroom.core.rows import Audit
from readroom.core.values import Reply
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls, Failed
from readroom.mcp.server import Server
from readroom.server.http import card, coder, gate, history, openapi
from readroom.server.http.access_log import Exchange, Metrics
from readroom.server.http.asking import Ask, here
from readroom.server.http.awaiting import called, noted
from readroom.server.http.conversations import OwnConversations, Sessions, SharedConversations
from readroom.server.http.errors import JSON, again_later, as_body, headers_of, ok, refused, status_of_code
from readroom.server.http.history.routes import routes as history_routes
from readroom.server.http.readiness import Readiness
from readroom.server.http.review.routes import routes as review_routes
from readroom.server.http.routes import SHOWN, Endpoint, as_json, failed, route, whole_body
from readroom.server.http.streamable import Streamable
from readroom.server.http.visitors import UI_PATH, SignIn
from readroom.server.http.workspaces import Workspaces
from readroom.server.shared.state import SharedState

if TYPE_CHECKING:
    from readroom.core.workspace import Workspace
    from readroom.server.http.ui.dashboard import Dashboard


def inside(
    calls: Calls,
    workspaces: Workspaces,
    metrics: Metrics,
    ready: Readiness,
    pages: ASGIApp,
    *,
    contract_name: str,
    reply_chars: int | None,
    state: SharedState | None = None,
    records: SharedState | None = None,
    ask: Ask = here,
    public_url: str | None = None,
    open_to_all: bool = False,
) -> ASGIApp:
    """The application behind the gate.

    Args:
        calls: Runs tool calls.
        workspaces: The workspaces that are served.
        metrics: The metrics shown by /metrics.
        ready: Answers /readyz.
        pages: The application at /ui.
        contract_name: The contract whose tools MCP serves; /v1 serves all contracts.
        reply_chars: Cap on the text of a reply over MCP; None for the cap of each client.
        state: State shared with other processes of the same server; None if this one is alone.
        records: Keeps what outlives this process; None if nothing does.
        ask: Runs work that may block.
        public_url: The address for clients elsewhere, which publishes a server card; None publishes nothing.
        open_to_all: No request needs a token.
    """
    tools = Tools(calls)
    server = Server(
        workspaces.get(None, None).contract(contract_name),
        reply_chars=reply_chars,
        shared=False,
    )
    descriptions = _Descriptions(workspaces)
    routes: list[Route] = [
        route("/", SHOWN, descriptions.welcome),
        route("/healthz", SHOWN, _health),
        route("/readyz", SHOWN, _ready(ready)),
        route("/metrics", SHOWN, _metrics(metrics)),
        route("/openapi.json", SHOWN, descriptions.openapi),
        route("/docs", SHOWN, descriptions.docs),
        route("/v1/sessions/{session}/compacted", ["POST"], _compacted),
        *review_routes(calls),
        *history_routes(calls),
        Route(PATH, tools, methods=["POST"]),
        *coder.routes(calls, records),
    ]
    if public_url is not None:
        routes += card.routes(server.card, public_url, token=not open_to_all)
    router = Starlette(routes=routes, exception_handlers={HTTPException: _unrouted})
    router.router.redirect_slashes = False  # one address per resource
    if state is None:
        mcp = Streamable(calls, server, contract_name, OwnConversations(Sessions(server.card)))
    else:
        # Reading a file takes microseconds; a hop to a thread costs more.
        shared = SharedConversations(server.card, state.sessions, ask if state.remote else here)
        mcp = Streamable(calls, server, contract_name, shared, state.server)
    return _Inside(mcp, tools, pages, router)


class _Inside:
    """Routes MCP, tools and pages itself, and leaves everything else to Starlette's router."""

    def __init__(self, mcp: ASGIApp, tools: Tools, pages: ASGIApp, router: ASGIApp) -> None:
        self._mcp = mcp
        self._tools = tools
        self._pages = pages
        self._router = router

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        inside = self._router
        if scope["type"] == "http":
            if gate.PAGE_ADDRESS in scope:
                inside = self._pages
            elif scope["path"] == gate.MCP_PATH:
                inside = self._mcp
            elif self._tools.serves(scope):
                inside = self._tools
        await inside(scope, receive, send)


@final
class PagesOnly:
    """Serves the dashboard only: no tool can be called."""

    def __init__(self, pages: ASGIApp) -> None:
        self._pages = pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "http" and scope["path"] in ("/healthz", "/readyz"):
            await ok({"status": "ok"})(scope, receive, send)
            return
        if scope["type"] == "http" and gate.PAGE_ADDRESS not in scope:
            raise NoSuchRoute
        await self._pages(scope, receive, send)


@final
class LazyDashboard:
    """The dashboard, imported for its first visitor."""

    def __init__(self, sign_in: SignIn, audit: Audit | None = None, whole: Sequence[Workspace] = ()) -> None:
        """Keep the arguments of the dashboard."""
        self._sign_in = sign_in
        self._audit = audit
        self._whole = whole
        self._made: Dashboard | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self._made is None:
            from readroom.server.http.ui.dashboard import Dashboard

            self._made = Dashboard(self._sign_in, self._audit, self._whole)
        await self._made(scope, receive, send)

    def close(self) -> None:
        """Close the dashboard, if it was imported."""
        if self._made is not None:
            self._made.close()


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    exchange: Exchange = request.scope[gate.EXCHANGE]
    if error.status_code == 405:
        allowed = sorted((error.headers or {}).get("Allow", "GET").split(", "))
        failure: ReadroomError = WrongMethod(request.method, allowed)
    else:
        failure = NoSuchRoute()
    exchange.code = failure.code
    return refused(failure)


async def _compacted(request: Request) -> Response:
    """Handle a compaction by the host: lines shown before are no longer in its context."""
    access, session = gate.within(request.scope, "native"), request.path_params["session"]
    if not re.fullmatch(gate.NAME, session):
        raise BadRequest("its address names no conversation", f"Use {gate.NAME_IN_WORDS}.")
    talk = access.workspace.session(conversation(access.caller.token, session))
    await noted(access.workspace, talk.compacted)
    return ok({"session": session, "compacted": True})


async def _health(request: Request) -> Response:
    return ok({"status": "ok"})


def _ready(ready: Readiness) -> Endpoint:
    async def show(request: Request) -> Response:
        problem = await ready.problem()
        if problem is None:
            return ok({"status": "ok"})
        exchange: Exchange = request.scope[gate.EXCHANGE]
        exchange.code = problem
        # Without the words of the error, which name the database: anyone may ask.
        return again_later(ok({"status": "unready", "code": problem}, HTTPStatus.SERVICE_UNAVAILABLE))

    return show


def _metrics(metrics: Metrics) -> Endpoint:
    async def show(request: Request) -> Response:
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    return show


class _Descriptions:
    """Descriptions of the tools and addresses that a caller may use."""

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces

    async def welcome(self, request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        return PlainTextResponse(
            f"readroom is an MCP server. Point an MCP client at {base}{gate.MCP_PATH}\n"
            f"Its tools over plain HTTP are described at {base}/docs\n"
            f"People see what it did at {base}{UI_PATH}\n"
        )

    async def openapi(self, request: Request) -> Response:
        return ok(openapi.document(_contracts(request), self._others(request), commands=_runs(request)))

    async def docs(self, request: Request) -> Response:
        text = openapi.page(_contracts(request), self._others(request), commands=_runs(request))
        policy = "default-src 'none'; style-src 'unsafe-inline'"
        return HTMLResponse(text, headers={"Content-Security-Policy": policy})

    def _others(self, request: Request) -> list[str]:
        """The named workspaces that the caller's token allows."""
        names: list[str] = request.scope[gate.OPENS]
        return [name for name in names if name != self._workspaces.default]


def _contracts(request: Request) -> list[Contract]:
    """All contracts, as configured for the workspace of a request."""
    access: Access = request.scope[gate.ACCESS]
    return [access.workspace.contract(name) for name in NAMES]


def _runs(request: Request) -> bool:
    """Whether the workspace of a request offers tools that run commands."""
    access: Access = request.scope[gate.ACCESS]
    return access.workspace.runs_commands


# -----------------------------------------------------------------------------
# POST /v1/CONTRACT/TOOL: arguments in, tool result out.
#
# Most requests go to this address, so it bypasses Starlette's routing, and the thread of
# the call builds the bytes of the answer.
# -----------------------------------------------------------------------------

PATH = "/v1/{contract}/{tool}"

_ADDRESS = re.compile(rf"(?!{history.PATH}/)/v1/([^/]+)/([^/]+)")


class _Answer(Struct, frozen=True):
    """The answer sent for a reply; `code` is that of an error."""

    status: int
    body: bytes
    code: str = ""


@final
class Tools:
    """Tool calls as an ASGI application, behind the gate."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    def serves(self, scope: Scope) -> bool:
        """Whether a request is a tool call."""
        return scope["method"] == "POST" and _ADDRESS.fullmatch(scope["path"]) is not None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the tool named in the address."""
        exchange: Exchange = scope[gate.EXCHANGE]
        exchange.route = PATH
        try:
            answer = await self._answer(scope, receive, exchange)
        except (ReadroomError, Failed) as error:
            await failed(exchange, error)(scope, receive, send)
            return
        exchange.code = answer.code
        headers = headers_of(answer.status, answer.body)
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": answer.body})

    async def _answer(self, scope: Scope, receive: Receive, exchange: Exchange) -> _Answer:
        match = _ADDRESS.fullmatch(scope["path"])
        if match is None or match[1] not in NAMES:
            raise NoSuchRoute
        name, tool = match.groups()
        access = gate.within(scope, name)
        access.workspace.contract(name).tool(tool)
        exchange.contract, exchange.tool = name, tool
        kind: bytes = scope[gate.HEADERS].get(b"content-type", b"")
        media_type = kind.decode("latin-1").partition(";")[0].strip().lower()
        if media_type != JSON:
            raise WrongMediaType(media_type)
        arguments = as_json(await whole_body(receive))
        exchange.reached = True
        return await called(self._calls, access, tool, arguments, _sealed, scope[gate.CLIENT_SCOPE])


def _sealed(reply: Reply) -> _Answer:
    result = tool_result(reply)
    if not result.get("isError"):
        return _Answer(200, as_body(result))
    meta: Any = result["_meta"]
    error: Any = meta[FACTS_KEY]["error"]
    # All errors have one shape; the text for the model is next to it.
    return _Answer(status_of_code(error["code"]), as_body({**result, "error": error}), error["code"])
