"""The addresses of coder's workspace agent for processes, and the one that cancels a tool call."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any, final

import msgspec
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from readroom.contracts.coder import processes
from readroom.core.caller import conversation
from readroom.core.errors import BadRequest
from readroom.core.limits import RUN_WAIT_S
from readroom.core.values import Fact, Reply
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls
from readroom.server.http.access_log import Exchange
from readroom.server.http.awaiting import called
from readroom.server.http.errors import JSON, again_later, ok
from readroom.server.http.gate import AGENT_PATH, CLIENT_SCOPE, EXCHANGE, within
from readroom.server.http.routes import as_json, route, whole_body
from readroom.server.http.tool_calls import TOOL_CALL, OnceOnly, chat_of

CANCEL = "tool-calls/{id}/cancel"

_GRANTED_BY = frozenset(("run_command", "bash"))
"""The tools of which a token must allow one."""


def routes(calls: Calls, once: OnceOnly) -> list[Route]:
    """The addresses."""
    agent = _Processes(calls)
    endpoints = {
        processes.START: once.applied(processes.START, agent.start),
        processes.LIST: agent.list,
        processes.OUTPUT: agent.output,
        processes.SIGNAL: agent.signal,
    }

    async def cancel(request: Request) -> Response:
        return await once.cancel(request, agent.stop)

    made = [
        route(f"{AGENT_PATH}/{address}", [method], endpoints[name])
        for name, (method, address) in processes.ADDRESSES.items()
    ]
    return [*made, route(f"{AGENT_PATH}/{CANCEL}", ["POST"], cancel)]


_LOOK_S = 0.1
"""Interval of looks whether a process has ended for which a client waits."""


class _BadBody(Exception):
    """The body is no JSON object; it carries why."""


@final
class _Processes:
    """The endpoints."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def start(self, request: Request) -> Response:
        try:
            sent = _object(await whole_body(request.receive))
        except _BadBody as bad:
            return _bad(request, bad)
        sent.pop("id", None)
        call = request.scope.get(TOOL_CALL)
        own = {} if call is None else {"id": call}
        return await self._answer(request, processes.START, {**sent, **own})

    async def list(self, request: Request) -> Response:
        return await self._answer(request, processes.LIST, _chat(request))

    async def output(self, request: Request) -> Response:
        if request.query_params.get("wait") == "true":
            await self._ended(request)
        arguments = {"id": request.path_params["id"], **_chat(request)}
        return await self._answer(request, processes.OUTPUT, arguments)

    async def _ended(self, request: Request) -> None:
        """Wait until a process has ended; without a thread, which calls of the same token may need."""
        access = _of_chat(within(request.scope, "coder"), request)
        commands = access.workspace.engine.commands
        if commands is None or (access.granted is not None and not access.granted & _GRANTED_BY):
            return
        reach = processes.reach_of(chat=chat_of(request.scope) is not None)
        look = partial(commands.runs, access.caller.owner, request.path_params["id"], reach)
        until = time.monotonic() + RUN_WAIT_S
        while time.monotonic() < until and await asyncio.to_thread(look):
            await asyncio.sleep(_LOOK_S)

    async def signal(self, request: Request) -> Response:
        try:
            sent = _object(await whole_body(request.receive))
        except _BadBody as bad:
            return _bad(request, bad)
        arguments = {"id": request.path_params["id"], "signal": sent.get("signal", ""), **_chat(request)}
        return await self._answer(request, processes.SIGNAL, arguments)

    async def stop(self, request: Request, name: str, below_ms: int) -> dict[str, Fact] | None:
        """Stop the process of a tool call that has run for less; its state, None if there is none."""
        arguments = {"id": name, "below_ms": below_ms, **_chat(request)}
        reply = await self._called(request, processes.SIGNAL, arguments)
        if reply.is_error:
            return None
        state: dict[str, Fact] = msgspec.json.decode(reply.text)
        return state

    async def _answer(self, request: Request, name: str, arguments: dict[str, Any]) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        reply = await self._called(request, name, arguments)
        error: Any = reply.facts.get("error")
        if error is not None:
            exchange.code = error["code"]
        status: Any = 409 if "conflict" in reply.facts else reply.facts.get("status", 200)
        return again_later(Response(reply.text.encode(), status, media_type=JSON))

    async def _called(self, request: Request, name: str, arguments: dict[str, Any]) -> Reply:
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.contract, exchange.tool = "coder", name
        exchange.reached = True
        access = _of_chat(within(request.scope, "coder"), request)
        if access.granted is not None and access.granted & _GRANTED_BY:
            access = replace(access, granted=access.granted | {name})
        return await called(self._calls, access, name, arguments, _with_facts, request.scope[CLIENT_SCOPE])


def _with_facts(reply: Reply) -> Reply:
    """The reply, with facts built in the thread of the call."""
    assert reply.facts is not None
    return reply


def _chat(request: Request) -> dict[str, bool]:
    return {"chat": chat_of(request.scope) is not None}


def _of_chat(access: Access, request: Request) -> Access:
    """The access in the conversation that is the chat of a request, if it names one."""
    chat = chat_of(request.scope)
    if chat is None:
        return access
    session = conversation(access.caller.token, str(chat))
    return replace(access, caller=replace(access.caller, session=session))


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = as_json(body)
    except BadRequest as error:
        raise _BadBody(error.message) from None
    if not isinstance(value, dict):
        raise _BadBody("it is not an object")
    return value


def _bad(request: Request, bad: _BadBody) -> Response:
    request.scope[EXCHANGE].code = BadRequest.code
    return ok({"message": "Request body must be valid JSON.", "detail": str(bad)}, 400)
