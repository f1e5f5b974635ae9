"""The addresses of the history. An undo needs a token with a tool that makes such a change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, final
from urllib.parse import parse_qsl

from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from readroom.core.caller import conversation
from readroom.core.contracts.history import CONTRACT, FORGET, LIST, SHOW, UNDO
from readroom.core.contracts.history.rights import granted_calls
from readroom.core.errors import BadRequest, BadValue, NotGranted, WrongMediaType, WrongMethod
from readroom.core.limits import VALUE_CHARS
from readroom.core.values import Fact, Reply
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import called
from readroom.server.http.errors import JSON, ok, status_of_code
from readroom.server.http.gate import CLIENT_SCOPE, EXCHANGE, within
from readroom.server.http.history import PATH
from readroom.server.http.routes import SHOWN, as_json, route, whole_body

_OF_TOKEN = re.compile(r"[0-9a-f]{12}:")
"""The beginning of a conversation over HTTP: the id of its token."""


def routes(calls: Calls) -> list[Route]:
    """The addresses."""
    face = _Endpoints(calls)
    return [
        route(PATH, SHOWN, face.list),
        route(f"{PATH}/undo", ["POST"], face.undo),
        route(f"{PATH}/forget", ["POST"], face.forget),
        route(f"{PATH}/{{change}}", SHOWN, face.one),
        route(f"{PATH}/{{change}}/diff", SHOWN, face.diff),
    ]


@final
class _Endpoints:
    """The endpoints."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, request: Request) -> Response:
        return await self._answer(request, LIST, _query(request))

    async def one(self, request: Request) -> Response:
        return await self._answer(request, LIST, {**_query(request), "change": _number(request)})

    async def diff(self, request: Request) -> Response:
        return await self._answer(request, SHOW, {**_query(request), "change": _number(request)})

    async def undo(self, request: Request) -> Response:
        return await self._answer(request, UNDO, await _body(request))

    async def forget(self, request: Request) -> Response:
        arguments = await _body(request)
        access = within(request.scope, CONTRACT)
        if isinstance(arguments, Mapping) and arguments.get("all") and not access.caller.sees_others:
            raise NotGranted("the past of the whole workspace", ["that of files, by path"])
        return await self._answer(request, FORGET, arguments)

    async def _answer(self, request: Request, call: str, arguments: object) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.contract, exchange.tool = CONTRACT, call
        access = within(request.scope, CONTRACT)
        access = replace(access, granted=granted_calls(access.granted))
        exchange.reached = True
        scope = request.scope[CLIENT_SCOPE]
        if isinstance(arguments, Mapping) and isinstance(arguments.get("session"), str):
            arguments = {**arguments, "session": await self._session(access, scope, arguments["session"])}
        response, exchange.code = await called(self._calls, access, call, arguments, _sealed, scope)
        return response

    async def _session(self, access: Access, scope: Any, session: str) -> str:
        """The conversation that a caller means: its own of that name, if that one changed anything."""
        own = conversation(access.caller.token, session)
        if own == session or _OF_TOKEN.match(session):
            return session
        asked = {"session": own, "limit": 1}
        reply = await called(self._calls, access, LIST, asked, lambda reply: reply, scope)
        return own if not reply.is_error and reply.facts["changes"] else session


def _sealed(reply: Reply) -> tuple[Response, str]:
    """The facts of a reply, and the code of an error."""
    facts = {**reply.build_facts(), **reply.build_cost()}
    error: Any = facts.get("error")
    if error is None:
        return ok(facts), ""
    return ok(facts, status_of_code(error["code"])), error["code"]


_POSTED = ("undo", "forget")


def _number(request: Request) -> int:
    """The number of the change in the path. Raises BadValue, WrongMethod."""
    text: str = request.path_params["change"]
    if text in _POSTED:
        raise WrongMethod(request.method, ["POST"])
    if not _NUMBER.fullmatch(text):
        advice = f"GET {PATH} lists the changes, each with its number."
        raise BadValue("change", text[:VALUE_CHARS], "is no number of a change", advice)
    return int(text)


_NUMBER = re.compile(r"[0-9]{1,15}")


def _query(request: Request) -> dict[str, Fact]:
    """The query, each argument once. Raises BadRequest."""
    try:
        pairs = parse_qsl(
            request.scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="strict"
        )
    except UnicodeDecodeError:
        raise BadRequest("its query is not UTF-8", "Encode it as UTF-8, then with percent signs.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise BadRequest("its query has an argument twice", "Send each once.")
    return dict(given)


async def _body(request: Request) -> object:
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise WrongMediaType(media_type)
    return as_json(await whole_body(request.receive))
