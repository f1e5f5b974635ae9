"""Requests of coder's clients that carry the headers of a tool call: applied once, and answered again.

A request without these headers passes through.  With them, the first one is applied and its answer recorded;
another one with the same input gets that answer, from any process of the server and after a restart, if
policy still allows what it shows.  A call that a crash interrupted is decided by the hashes of its files.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
import uuid
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar, final
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Scope

from readroom.contracts.coder import editing, processes, words
from readroom.contracts.coder import routes as routed
from readroom.contracts.coder.edit_tools import CHAT_EDIT, WORKSPACE_EDIT
from readroom.contracts.coder.words import go_quoted
from readroom.core import errors
from readroom.core.engine.edit.intent import Intent, announced_to
from readroom.core.errors import Busy, ReadroomError, StateFailed
from readroom.core.limits import BLOCK_BYTES, SERVE_CALL_S
from readroom.core.paths import WorkPath
from readroom.core.text import hashes
from readroom.core.values import Fact, Reply
from readroom.core.values.changes import EditFilesResult, FileEdited, WriteResult
from readroom.core.values.files import Version
from readroom.mcp.access import Access
from readroom.server.http.access_log import Exchange
from readroom.server.http.errors import JSON, ok
from readroom.server.http.gate import ACCESS, EXCHANGE, within
from readroom.server.http.routes import Endpoint, as_json, whole_body
from readroom.server.shared.state import SharedState
from readroom.server.shared.tool_calls import (
    NOT_RECORDED,
    Answered,
    CallKey,
    Conflict,
    Found,
    Run,
    Running,
    ToolCalls,
    Undecided,
)

T = TypeVar("T")

CHAT, MESSAGE = "Coder-Chat-Id", "Coder-Tool-Call-Message-Id"
CALL, AGE = "Coder-Tool-Call-Id", "Coder-Tool-Call-Age-Ms"
RUN_AGE = "Coder-Tool-Call-Run-Age-Ms"
"""Headers of requests, and the one of answers: how long ago the call began."""

_NAMESPACE = uuid.UUID("c5773f4c-0b3f-57bc-9147-36daf7921a1b")
"""The namespace of UUIDs of tool calls in the original."""

_MAX_INTEGER = 2**63 - 1
_MAX_AGE_MS = _MAX_INTEGER // 1_000_000

_LOOK_S = 0.05
"""Interval of looks whether another request has applied a call."""

TOOL_CALL = "readroom.tool_call"
"""The key of the UUID of a tool call in the scope of the request that applies it."""

_CONFLICTS: Mapping[Conflict, tuple[str, str]] = {
    "stale": ("stale_tool_call", "The tool call is in an older message than the chat's latest message."),
    "restarted": (
        "agent_started_after_tool_call",
        "The workspace agent started after the tool call was committed.",
    ),
    "mismatch": (
        "input_mismatch",
        "The request differs from the recorded request for this tool call.",
    ),
    "canceled": ("tool_call_canceled", "The tool call was canceled."),
}

_PASSING = (
    *(errors.Busy, errors.Closing, errors.Closed, errors.Cancelled, errors.TimedOut, errors.TooManyRequests),
    *(errors.DatabaseFailed, errors.Internal, errors.Changed, errors.NoSpace, errors.TooManyCommands),
)
"""Failures that the same request need not meet again: they are not recorded."""

_PASSING_CODES = frozenset(kind.code for base in _PASSING for kind in (base, *base.__subclasses__()))


class BadHeaders(Exception):
    """The headers are incomplete or invalid; it carries the answer."""

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.body: dict[str, Fact] = {"message": message, **({"detail": detail} if detail else {})}


def chat_of(scope: Scope) -> uuid.UUID | None:
    """The chat of a request; None without a valid one."""
    values = _values(scope, CHAT)
    try:
        return uuid.UUID(values[0]) if values and values[0] else None
    except ValueError:
        return None


def key_of(scope: Scope) -> CallKey | None:
    """The tool call of a request; None without its headers. Raises BadHeaders."""
    names = (MESSAGE, CALL, AGE)
    values = {name: _values(scope, name) for name in names}
    for name in names:
        if len(values[name]) > 1:
            raise BadHeaders(_INVALID, f"invalid {name} header: multiple values")
    missing = [name for name in names if not values[name]]
    if len(missing) == len(names):
        return None
    if missing:
        raise BadHeaders(_INVALID, f"incomplete tool call headers: missing {', '.join(missing)}")
    message = _integer(values[MESSAGE][0])
    if message is None or message <= 0:
        shown = go_quoted(values[MESSAGE][0])
        raise BadHeaders(_INVALID, f"invalid {MESSAGE} header {shown}: must be an integer greater than 0")
    call = values[CALL][0]
    bad = re.search("%(?![0-9A-Fa-f]{2})", call)
    if bad is not None:
        escape = go_quoted(call[bad.start() : bad.start() + 3])
        raise BadHeaders(_INVALID, f"invalid {CALL} header: invalid URL escape {escape}")
    if not call:
        raise BadHeaders(_INVALID, f"invalid {CALL} header: must not be empty")
    age_ms = _integer(values[AGE][0])
    if age_ms is None or not 0 <= age_ms <= _MAX_AGE_MS:
        what = "must be a non-negative integer number of milliseconds"
        raise BadHeaders(_INVALID, f"invalid {AGE} header {go_quoted(values[AGE][0])}: {what}")
    chat = chat_of(scope)
    if chat is None:
        raise BadHeaders(f"Tool call headers require the {CHAT} header.")
    access = within(scope, "coder")
    root = access.workspace.guard.folder or ""
    owner = (root, access.caller.token, str(chat))
    return CallKey(owner, message, str(uuid_of(chat, message, unquote_to_bytes(call))), age_ms)


_INVALID = "Invalid tool call headers."


def uuid_of(chat: uuid.UUID, message: int, call: bytes) -> uuid.UUID:
    """The UUID of a tool call, which is also that of a process that it starts."""
    named = _NAMESPACE.bytes + chat.bytes + message.to_bytes(8, "big") + call
    digest = hashlib.sha1(named, usedforsecurity=False)
    return uuid.UUID(bytes=digest.digest()[:16], version=5)


def _values(scope: Scope, name: str) -> list[str]:
    wanted = name.lower().encode("ascii")
    return [value.decode("latin-1") for other, value in scope["headers"] if other == wanted]


def _integer(text: str) -> int | None:
    if not re.fullmatch("[+-]?[0-9]{1,19}", text):
        return None
    value = int(text)
    return value if abs(value) <= _MAX_INTEGER else None


def conflict(found: Conflict, exchange: Exchange | None = None) -> Response:
    """The answer for a call that is not applied."""
    code, message = _CONFLICTS[found]
    if exchange is not None:
        exchange.code = code
    return ok({"message": message, "code": code}, 409)


def _hashed(scope: Scope, body: bytes) -> str:
    """The hash of what a repeated request must match."""
    found = sha256()
    for part in (scope["method"].encode(), scope["path"].encode(), scope["query_string"], body):
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()


# --- intents ----------------------------------------------------------------------------------


class _Noted(Struct, frozen=True):
    """An `Intent` as it is written down: in JSON, with names as ASCII."""

    edited: EditFilesResult | None
    written: WriteResult | None
    versions: Sequence[Version | None]


def _written_down(intent: Intent) -> str:
    result = intent.result
    edited, written = (result, None) if isinstance(result, EditFilesResult) else (None, result)
    return json.dumps(msgspec.to_builtins(_Noted(edited, written, list(intent.versions))))


def _files(noted: _Noted) -> list[FileEdited | WriteResult]:
    if noted.written is not None:
        return [noted.written]
    return [] if noted.edited is None else list(noted.edited.files)


def _applied(access: Access, noted: _Noted) -> bool | None:
    """Whether a change was made: each file has the state after it, or the one before; None if unknown."""
    states = set()
    for file, version in zip(_files(noted), noted.versions, strict=True):
        if file.previous_hash == file.content_hash:
            continue
        now, digest = _state_of(access, file.path)
        if digest == file.content_hash:
            states.add(True)
        elif now == version:
            states.add(False)
        else:
            return None
    return states.pop() if len(states) == 1 else None if states else True


def _state_of(access: Access, path: str) -> tuple[Version | None, str]:
    """The version and the hash of a file; none of a file that is not there."""
    found = sha256()
    try:
        with access.workspace.view(access.caller).services.guard.open(WorkPath(path)) as source:
            at = 0
            while block := source.read_at(at, BLOCK_BYTES):
                found.update(block)
                at += len(block)
            return source.version, hashes.full(found.hexdigest())
    except errors.NotFound:
        return None, ""


def _answer(access: Access, name: str, query: bytes, body: bytes, intent: Intent) -> str:
    """The answer for a change that will have been made."""
    record = access.workspace.contract("coder")
    tool = record.tool(name)
    fields: dict[str, Any] = {}
    if name == routed.WRITE:
        fields = {"path": routed.parsed(query, ())[0].get("path", ""), "content": b""}
    else:
        sent: Any = as_json(body)
        fields = {"include_diff": bool(sent.get("include_diff"))}
    assert tool.wording is not None
    wording = tool.wording(tool.arguments(**fields))
    return wording.render(intent.result, access.workspace.cap(record, None, name)).text


_GRANTED_BY: Mapping[str, frozenset[str]] = {
    routed.WRITE: frozenset(("write_file",)),
    editing.EDIT: frozenset(("edit_file", CHAT_EDIT, WORKSPACE_EDIT)),
    processes.START: frozenset(("run_command", "bash")),
}
"""The tools of which a token must allow one to get an answer again."""


def _refusal(access: Access, name: str, intent: str) -> tuple[ReadroomError, str] | None:
    """Why policy no longer lets a caller have the answer of a call, and the path that it is about."""
    noted = None if intent in ("", NOT_RECORDED) else msgspec.convert(json.loads(intent), _Noted)
    if intent == NOT_RECORDED:
        name = processes.START
    elif noted is not None:
        name = routed.WRITE if noted.edited is None else editing.EDIT
    if name and access.granted is not None and not access.granted & _GRANTED_BY[name]:
        return errors.NotGranted(name, sorted(access.granted)), ""
    if name == processes.START and not access.workspace.runs_commands:
        return access.workspace.engine.services.commands_off(), ""
    for file in () if noted is None else _files(noted):
        try:
            access.workspace.view(access.caller).services.targets.find(file.path).close()
        except errors.RefusedError as refusal:
            return refusal, words.spelled(file.path, access.workspace.guard.folder or "")
        except ReadroomError:
            continue  # the file is gone, or another thing now
    return None


def _refused(exchange: Exchange, refusal: tuple[ReadroomError, str]) -> Response:
    error, path = refusal
    exchange.code = error.code
    return ok({"message": words.words(error, words.WRITTEN, path)}, words.status_of(error))


def _bad(request: Request, bad: BadHeaders) -> Response:
    request.scope[EXCHANGE].code = errors.BadRequest.code
    return ok(bad.body, 400)


def _below_ms(body: bytes) -> int:
    """The run age below which the process of a cancelled call is stopped. Raises BadHeaders."""
    problem = "it is not an object with stop_if_run_age_below_ms, a whole number"
    try:
        sent = as_json(body)
    except errors.BadRequest as error:
        sent, problem = None, error.message
    below: Any = sent.get("stop_if_run_age_below_ms", 0) if isinstance(sent, dict) else None
    if not isinstance(below, int) or isinstance(below, bool):
        raise BadHeaders("Request body must be valid JSON.", problem)
    return max(0, below)


# --- requests ---------------------------------------------------------------------------------


@final
class OnceOnly:
    """Applies requests with the headers of a tool call once. Used from the event loop."""

    def __init__(self, state: SharedState | None) -> None:
        """`state` keeps the records; without one such requests are refused."""
        self._calls = None if state is None else state.tool_calls()

    def applied(self, name: str, endpoint: Endpoint) -> Endpoint:
        """The endpoint of a tool, at which each tool call is applied once."""

        async def answer(request: Request) -> Response:
            try:
                key = key_of(request.scope)
            except BadHeaders as bad:
                return _bad(request, bad)
            if key is None:
                return await endpoint(request)
            exchange: Exchange = request.scope[EXCHANGE]
            exchange.contract, exchange.tool = "coder", name
            return await self._once(request, key, name, endpoint)

        return answer

    async def cancel(
        self, request: Request, stop: Callable[[Request, str, int], Awaitable[dict[str, Fact] | None]]
    ) -> Response:
        """POST tool-calls/ID/cancel; `stop` stops the process of a call, and returns its state."""
        exchange: Exchange = request.scope[EXCHANGE]
        exchange.contract, exchange.tool = "coder", "tool-calls-cancel"
        try:
            key = key_of(request.scope)
            if key is None:
                raise BadHeaders("Canceling a tool call requires tool call headers.")
            if request.path_params["id"] != key.id:
                raise BadHeaders(
                    "The tool call ID in the path is not the ID of the tool call in the headers."
                )
            below_ms = _below_ms(await whole_body(request.receive))
        except BadHeaders as bad:
            return _bad(request, bad)
        found = await self._settled(request, key, lambda calls: calls.cancel(key))
        if isinstance(found, str):
            return conflict(found, exchange)
        if found is None:
            return ok({"started": False})
        assert isinstance(found, Answered)
        refusal = await asyncio.to_thread(_refusal, within(request.scope, "coder"), "", found.intent)
        if refusal is not None:
            return _refused(exchange, refusal)
        fields: dict[str, Fact] = {
            "started": True,
            "status_code": found.status,
            "content_type": JSON,
            "body": b64encode(found.body).decode("ascii"),
        }
        state = await stop(request, key.id, below_ms)
        response = ok({**fields, **({} if state is None else {"process": state})})
        response.headers[RUN_AGE] = str(found.age_ms)
        return response

    # --- one call --------------------------------------------------------------------------------

    async def _once(self, request: Request, key: CallKey, name: str, endpoint: Endpoint) -> Response:
        exchange: Exchange = request.scope[EXCHANGE]
        body = await whole_body(request.receive)
        hashed = _hashed(request.scope, body)
        found = await self._settled(request, key, lambda calls: calls.begin(key, hashed))
        if isinstance(found, str):
            return conflict(found, exchange)
        if isinstance(found, Run):
            return await self._apply(request, key, name, body, endpoint)
        assert isinstance(found, Answered)
        access = within(request.scope, "coder")
        refusal = await asyncio.to_thread(_refusal, access, name, found.intent)
        if refusal is not None:
            return _refused(exchange, refusal)
        response = Response(found.body, found.status, media_type=JSON)
        response.headers[RUN_AGE] = str(found.age_ms)
        return response

    async def _apply(
        self, request: Request, key: CallKey, name: str, body: bytes, endpoint: Endpoint
    ) -> Response:
        calls = self._required()
        access: Access = request.scope[ACCESS]

        def listen(intent: Intent) -> None:
            text = _answer(access, name, request.scope["query_string"], body, intent)
            calls.intend(key, _written_down(intent), text.encode())

        def around(call: Callable[[], Reply]) -> Reply:
            """In the thread of the call, so that its answer is recorded even if its client has left."""
            if name == processes.START:
                calls.intend(key, NOT_RECORDED)
            with announced_to(listen):
                reply = call()
            error: Any = reply.facts.get("error")
            if error is None or error["code"] not in _PASSING_CODES:
                status: Any = reply.facts.get(routed.STATUS, 200)
                calls.answered(key, status, reply.text.encode())
            elif name == processes.START:  # it was not started
                calls.intend(key, "")
            return reply

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        scope = {**request.scope, ACCESS: replace(access, around=around), TOOL_CALL: key.id}
        try:
            response = await endpoint(Request(scope, receive))
        finally:
            await asyncio.shield(asyncio.to_thread(calls.over, key))
        response.headers[RUN_AGE] = "0"
        return response

    async def _settled(
        self,
        request: Request,
        key: CallKey,
        look: Callable[[ToolCalls], Found | None],
    ) -> Run | Answered | Conflict | None:
        """The record of a call, once nobody applies it and files have decided what a crash left open."""
        calls, access = self._required(), within(request.scope, "coder")
        until = time.monotonic() + SERVE_CALL_S
        while time.monotonic() < until:
            found = await asyncio.to_thread(look, calls)
            if isinstance(found, Running):
                await asyncio.sleep(_LOOK_S)
            elif isinstance(found, Undecided):
                if not await asyncio.to_thread(self._decided, access, key, found):
                    return "restarted"
            else:
                return found
        raise Busy

    def _decided(self, access: Access, key: CallKey, found: Undecided) -> bool:
        """Let the files decide whether a call was applied that a crash interrupted. False if they do not."""
        if found.intent == NOT_RECORDED:
            return False
        noted = msgspec.convert(json.loads(found.intent), _Noted)
        applied = _applied(access, noted)
        if applied is None:
            return False
        calls = self._required()
        if applied:
            calls.made(key)
        else:
            calls.again(key, found.process)
        return True

    def _required(self) -> ToolCalls:
        if self._calls is None:
            raise StateFailed("file", "there is no home folder", "Set HOME or XDG_STATE_HOME.")
        return self._calls
