"""The addresses of coder's workspace agent, /api/v0/...

Requests are handled like every tool call; the reply is the body of the answer.
"""

from __future__ import annotations

import asyncio
import mimetypes
import posixpath
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from typing import Any, final

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from readroom.contracts.coder import editing, packing, uploads
from readroom.contracts.coder import routes as routed
from readroom.contracts.coder.edit_tools import CHAT_EDIT, WORKSPACE_EDIT
from readroom.contracts.coder.routes import parsed
from readroom.contracts.coder.words import READ, WORKSPACE_READ, query_problem
from readroom.core.errors import BadRequest, Changed, NoSuchRoute, WrongMethod
from readroom.core.values import Fact, Reply
from readroom.core.values.files import Stream
from readroom.mcp.calls import Calls
from readroom.server.http import processes
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import called
from readroom.server.http.errors import JSON, again_later, ok
from readroom.server.http.gate import AGENT_PATH, CLIENT_SCOPE, EXCHANGE, within
from readroom.server.http.routes import as_json, route, whole_body
from readroom.server.http.tool_calls import OnceOnly
from readroom.server.shared.state import SharedState

STREAM_BYTES = 256 * 1024
"""Bytes read and sent at once when a file's bytes are requested."""

SEND_S = 30.0
"""How long a client may take for one such chunk before its connection is closed."""

_GRANTED_BY: Mapping[str, frozenset[str]] = {
    routed.READ_LINES: frozenset((READ, WORKSPACE_READ)),
    routed.READ_BYTES: frozenset((READ, WORKSPACE_READ)),
    routed.LIST: frozenset(("list_directory",)),
    routed.WRITE: frozenset(("write_file",)),
    editing.EDIT: frozenset(("edit_file", CHAT_EDIT, WORKSPACE_EDIT)),
    routed.RESOLVE: frozenset((READ, WORKSPACE_READ, "list_directory")),
    packing.ZIP: frozenset((READ, WORKSPACE_READ)),
    uploads.UPLOAD: frozenset(("write_file",)),
}
"""The tools, in any contract, of which a token must allow one."""

_TYPES = mimetypes.MimeTypes().types_map[True]
"""Python's own table: the machine's must not decide the type of an answer."""

_UNKNOWN = "application/octet-stream"

_HARMLESS = {"Content-Security-Policy": "sandbox; default-src 'none'"}
"""A file of the workspace that is opened in a browser must not act with the origin of this server."""


def routes(calls: Calls, state: SharedState | None) -> list[Route]:
    """The addresses; `state` keeps records of tool calls."""
    agent, once = _Agent(calls), OnceOnly(state)
    served = [
        route(f"{AGENT_PATH}/{routed.READ_LINES}", ["GET"], agent.read_lines),
        route(f"{AGENT_PATH}/{routed.READ_BYTES}", ["GET"], agent.read_bytes),
        route(f"{AGENT_PATH}/{routed.WRITE}", ["POST"], once.applied(routed.WRITE, agent.write)),
        route(f"{AGENT_PATH}/{editing.EDIT}", ["POST"], once.applied(editing.EDIT, agent.edit)),
        route(f"{AGENT_PATH}/{routed.LIST}", ["POST"], agent.list),
        route(f"{AGENT_PATH}/{routed.RESOLVE}", ["GET"], agent.resolve),
        route(f"{AGENT_PATH}/{packing.ZIP}", ["POST"], agent.zip),
        route(f"{AGENT_PATH}/{uploads.UPLOAD}", ["POST"], agent.upload),
        *processes.routes(calls, once),
    ]
    return [*served, *_unknown(served)]


def _unknown(served: Sequence[Route]) -> list[Route]:
    """Routes that refuse every other address below the prefix, in the form of this contract."""

    async def refuse(request: Request) -> Response:
        found = [one for one in served if one.matches(request.scope)[0] is Match.PARTIAL]
        allowed = sorted({method for one in found for method in one.methods or ()})
        failure = WrongMethod(request.method, allowed) if allowed else NoSuchRoute()
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.code = failure.code
        if not allowed:
            return ok({"message": "Route not found.", "detail": failure.advice}, 404)
        response = ok({"message": failure.message + ".", "detail": failure.advice}, 405)
        response.headers["Allow"] = ", ".join(allowed)
        return response

    routes = [Route(AGENT_PATH, refuse), Route(f"{AGENT_PATH}/{{rest:path}}", refuse)]
    for every in routes:
        every.methods = None  # whatever the method
    return routes


class _Refused(Exception):
    """The query or the body is invalid; it carries the answer."""

    def __init__(self, body: Mapping[str, Fact]) -> None:
        super().__init__()
        self.body = body


@final
class _Agent:
    """The endpoints."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def read_lines(self, request: Request) -> Response:
        numbers = ("offset", "limit", "max_file_size", "max_line_bytes", *_RESPONSE)
        return await self._answer(request, routed.READ_LINES, lambda: _query(request, *numbers))

    async def read_bytes(self, request: Request) -> Response:
        return await self._answer(request, routed.READ_BYTES, lambda: _query(request, "offset", "limit"))

    async def write(self, request: Request) -> Response:
        body = await whole_body(request.receive)

        def arguments() -> dict[str, Any]:
            return {**_query(request), "content": b64encode(body).decode("ascii")}

        return await self._answer(request, routed.WRITE, arguments)

    async def edit(self, request: Request) -> Response:
        body = await whole_body(request.receive)
        return await self._answer(
            request, editing.EDIT, lambda: {**_query(request, texts=()), **_object(body)}
        )

    async def list(self, request: Request) -> Response:
        body = await whole_body(request.receive)

        def arguments() -> dict[str, Any]:
            body_fields = _object(body or b"{}")
            parts = {"parts": body_fields.pop("path")} if "path" in body_fields else {}
            return {**body_fields, **parts, **_query(request, required=())}

        return await self._answer(request, routed.LIST, arguments)

    async def resolve(self, request: Request) -> Response:
        return await self._answer(request, routed.RESOLVE, lambda: _query(request))

    async def zip(self, request: Request) -> Response:
        body = await whole_body(request.receive)

        def arguments() -> dict[str, Any]:
            if len(body) > packing.BODY_BYTES:
                raise _Refused(_not_json("request body too large"))
            return {**_query(request, texts=()), **_object(body)}

        return await self._answer(request, packing.ZIP, arguments)

    async def upload(self, request: Request) -> Response:
        body = await whole_body(request.receive)
        names = ("chat_id", "name")

        def arguments() -> dict[str, Any]:
            values = _query(request, required=names, texts=names, uuids=names[:1])
            return {**values, "content": b64encode(body).decode("ascii")}

        return await self._answer(request, uploads.UPLOAD, arguments)

    async def _answer(self, request: Request, name: str, arguments: Any) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.contract, exchange.tool = "coder", name
        try:
            parsed = arguments()
        except _Refused as refusal:
            exchange.code = BadRequest.code
            return ok(refusal.body, 400)
        access, client_scope = within(request.scope, "coder"), request.scope[CLIENT_SCOPE]
        if access.granted is not None and access.granted & _GRANTED_BY[name]:
            access = replace(access, granted=access.granted | {name})
        exchange.reached = True
        reply = await called(self._calls, access, name, parsed, _with_facts, client_scope)
        error: Any = reply.facts.get("error")
        if error is not None:
            exchange.code = error["code"]
        if reply.stream is not None:
            return StreamedBytes(reply.stream, str(parsed.get("path", f"{name}.zip")))
        status: Any = reply.facts.get(routed.STATUS, 200)
        return again_later(Response(reply.text.encode(), status, media_type=JSON))


_RESPONSE = ("max_response_lines", "max_response_bytes")


def _with_facts(reply: Reply) -> Reply:
    """The reply, with facts built in the thread of the call."""
    assert reply.facts is not None
    return reply


def _query(
    request: Request,
    *numbers: str,
    required: Sequence[str] = ("path",),
    texts: Sequence[str] = ("path",),
    uuids: Sequence[str] = (),
) -> dict[str, str | int]:
    values, problems = parsed(
        request.scope["query_string"],
        numbers,
        required=[name for name in required if name in texts],
        texts=texts,
        uuids=uuids,
    )
    if problems:
        raise _Refused(query_problem(problems))
    return values


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = as_json(body)
    except BadRequest as error:
        raise _Refused(_not_json(error.message)) from None
    if not isinstance(value, dict):
        raise _Refused(_not_json("it is not an object"))
    return value


def _not_json(detail: str) -> dict[str, Fact]:
    return {"message": "Request body must be valid JSON.", "detail": detail}


class _Short(Exception):
    """The file has become shorter since it was opened."""


@final
class StreamedBytes(StreamingResponse):
    """The bytes of a file, in pieces: memory use is one piece, however large the file is."""

    def __init__(self, stream: Stream, path: str) -> None:
        headers = {**_HARMLESS, "Content-Length": str(stream.left)}
        super().__init__(_pieces(stream), 200, headers, _type(path))
        self._held = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the pieces; close the connection early if the file changes or the client stops reading."""

        async def in_time(message: Message) -> None:
            # A client that stops reading must not hold a file open forever.
            async with asyncio.timeout(SEND_S):
                await send(message)

        try:
            await super().__call__(scope, receive, in_time)
        except (TimeoutError, _Short):
            # The connection is closed before the declared length, so the client knows that bytes are missing.
            scope[EXCHANGE].code = Changed.code
        finally:
            self._held.close()


def _type(path: str) -> str:
    """The media type, by the suffix of the name alone, as in the original."""
    return _TYPES.get(posixpath.splitext(path)[1].lower(), _UNKNOWN)


async def _pieces(stream: Stream) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    while piece := await loop.run_in_executor(None, partial(stream.read, STREAM_BYTES)):
        yield piece
    if stream.left:
        raise _Short
