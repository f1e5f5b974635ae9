"""The addresses of the contract `coder` for processes: start, list, output, signal.

They are the commands that run on after their call, with both streams as one.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from readroom.contracts.coder import read, words
from readroom.contracts.coder.words import go_quoted, own_calls, present, spelled
from readroom.core.contracts.base import Tool, Wording
from readroom.core.contracts.json_replies import encoded
from readroom.core.contracts.native import background as native_background
from readroom.core.contracts.native import facts as native_facts
from readroom.core.contracts.native import render as native_render
from readroom.core.contracts.schema import UNLISTED
from readroom.core.errors import (
    BadValue,
    CommandsOff,
    NoSuchCommand,
    NotAFolder,
    NotFound,
    ReadroomError,
    TooManyCommands,
)
from readroom.core.limits import RUN_WAIT_S
from readroom.core.values import Cap, Fact, Reply, Request, Result
from readroom.core.values.commands import (
    Background,
    EndRequest,
    Reach,
    StartedRequest,
    StartedResult,
    StartRequest,
    WatchRequest,
    WatchResult,
)

START, LIST, OUTPUT, SIGNAL = "processes-start", "processes-list", "processes-output", "processes-signal"

ADDRESSES: Mapping[str, tuple[str, str]] = {
    START: ("POST", "processes/start"),
    LIST: ("GET", "processes/list"),
    OUTPUT: ("GET", "processes/{id}/output"),
    SIGNAL: ("POST", "processes/{id}/signal"),
}
"""By tool the method and the address, as the original has them."""

LISTED = 10
"""Processes in a list, running ones first."""

LISTED_S = 300.0
"""How long one that has ended is listed, unless a tool call started it."""

END_BYTES = 16 * 1024
"""Bytes of each end of an output that is shown."""

LINE_BYTES = 2048
"""Bytes of a line of it, with the sign for the rest."""

_CUT = b" ... [truncated]"

_REPLY_BYTES = 2 * 1024 * 1024
"""Both ends in JSON, in which a byte takes six at most, and ten command lines."""

_MAX_MS = 2**53


_Rendered: TypeAlias = tuple[dict[str, Fact], dict[str, Fact]]
"""The body of an answer, and its facts."""


class StartBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of processes/start. `id` comes from the headers of a tool call."""

    command: str = ""
    workdir: str = ""
    env: dict[str, str] = {}
    background: bool = False
    timeout_ms: Annotated[int, Meta(ge=0, le=_MAX_MS)] = 0
    id: Annotated[str, Meta(extra=UNLISTED)] | None = None


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """processes/list. `chat`: the request names one."""

    chat: bool = False


class OutputQuery(msgspec.Struct, frozen=True, kw_only=True):
    """processes/ID/output."""

    id: str
    chat: bool = False


class SignalBody(msgspec.Struct, frozen=True, kw_only=True):
    """processes/ID/signal, and what the cancelling of a tool call does with its process."""

    id: str
    signal: str = ""
    chat: bool = False
    below_ms: int | None = None


def routes_of(root: str) -> tuple[Tool, ...]:
    """The addresses of a workspace that callers know by this root."""
    make = _Processes(root)
    return (make.start(), make.list(), make.output(), make.signal())


class _Processes:
    """Makes the routes of one root."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._calls = own_calls(root)

    def _tool(
        self,
        name: str,
        title: str,
        arguments: type[msgspec.Struct],
        to_request: Callable[[Any], Request],
        render: Callable[[Any, Any, Cap], _Rendered],
        *,
        read_only: bool = True,
    ) -> Tool:
        def wording(arguments: Any) -> Wording:
            def reply(result: Result, cap: Cap) -> Reply:
                body, facts = render(arguments, result, cap)
                return native_render.reply(encoded(body), lambda: {**facts, "status": 200})

            return Wording(reply, lambda error, cap: self._failed(name, arguments, error))

        return Tool(
            name=name,
            title=title,
            description=f"{title}.",
            arguments=arguments,
            to_request=to_request,
            wording=wording,
            render_error=lambda error, cap: self._failed(name, None, error),
            read_only=read_only,
            idempotent=read_only,
            reply_bytes=_REPLY_BYTES,
        )

    def _failed(self, name: str, arguments: Any, error: ReadroomError) -> Reply:
        body, status = _failure(name, arguments, error)

        def facts() -> dict[str, Fact]:
            return {**native_facts.of_error(error, self._calls, str(body["message"])), "status": status}

        return replace(native_render.reply(encoded(body), facts), is_error=True)

    def start(self) -> Tool:
        """POST processes/start."""

        def to_request(body: StartBody) -> Request:
            if not body.command:
                raise BadValue("command", "", "is empty", "Send a command for the shell.")
            path = read.require_absolute(body.workdir, self._root) if body.workdir else "."
            seconds = body.timeout_ms / 1000 if body.timeout_ms else None
            variables = tuple(body.env.items())
            return StartRequest(
                body.command, path, seconds, body.id or str(uuid.uuid4()), variables, True, body.background
            )

        def render(body: StartBody, result: WatchResult, cap: Cap) -> _Rendered:
            return {"id": result.state.id, "started": True}, native_background.facts_of(result)

        return self._tool(START, "Start a process", StartBody, to_request, render, read_only=False)

    def list(self) -> Tool:
        """GET processes/list."""

        def to_request(query: ListQuery) -> Request:
            return StartedRequest("own" if query.chat else "token")

        def render(query: ListQuery, result: StartedResult, cap: Cap) -> _Rendered:
            listed = [self._listed(state) for state in result.commands if _is_listed(state)][:LISTED]
            while listed and len(encoded({"processes": listed}).encode()) > cap.size:
                listed.pop()
            return {"processes": listed}, {"total": len(result.commands)}

        return self._tool(LIST, "List processes", ListQuery, to_request, render)

    def _listed(self, state: Background) -> dict[str, Fact]:
        fields: dict[str, Fact] = {
            "id": state.id,
            "command": state.command,
            "workdir": spelled(state.path, self._root),
            "background": state.background,
            "running": state.running,
        }
        if state.exit_code is not None:
            fields["exit_code"] = state.exit_code
        fields["started_at_unix"] = int(state.began)
        if state.ended is not None:
            fields["exited_at_unix"] = int(state.ended)
        return fields

    def output(self) -> Tool:
        """GET processes/ID/output."""

        def to_request(query: OutputQuery) -> Request:
            return WatchRequest(query.id, ends_bytes=END_BYTES, reach=reach_of(chat=query.chat))

        def render(query: OutputQuery, result: WatchResult, cap: Cap) -> _Rendered:
            fields = {**_shown(result, cap), "command": result.state.command}
            return fields, native_background.facts_of(result)

        return self._tool(OUTPUT, "Show the output of a process", OutputQuery, to_request, render)

    def signal(self) -> Tool:
        """POST processes/ID/signal."""

        def to_request(body: SignalBody) -> Request:
            reach = reach_of(chat=body.chat)
            if body.below_ms is not None:
                below_s = body.below_ms / 1000
                return EndRequest(
                    body.id,
                    "kill",
                    RUN_WAIT_S,
                    below_s=below_s,
                    cancels=True,
                    ends_bytes=END_BYTES,
                    reach=reach,
                )
            if body.signal not in ("kill", "terminate"):
                raise BadValue("signal", body.signal, "is not known", "Send kill or terminate.")
            return EndRequest(body.id, "kill" if body.signal == "kill" else "terminate", reach=reach)

        def render(body: SignalBody, result: WatchResult, cap: Cap) -> _Rendered:
            facts = native_background.facts_of(result)
            if body.below_ms is not None:
                age_ms = int(result.age_s * 1000)
                state: dict[str, Fact] = {"canceled": result.state.cancelled, **_shown(result, cap)}
                return {**state, "run_age_ms": age_ms}, facts
            if not result.signalled:
                message = f"Process {go_quoted(body.id)} is not running."
                return {"message": message}, {**facts, "conflict": True}
            sent = f"Signal {go_quoted(body.signal)} sent to process {go_quoted(body.id)}."
            return {"message": sent}, facts

        return self._tool(SIGNAL, "Signal a process", SignalBody, to_request, render, read_only=False)


def reach_of(*, chat: bool) -> Reach:
    """A request that names a chat reaches its processes and those of none; another one all of its token."""
    return "unnamed" if chat else "token"


def _is_listed(state: Background) -> bool:
    # The id of a process that a tool call started is a UUID of version 5.
    by_call = len(state.id) == 36 and state.id[14] == "5"
    return state.ended is None or by_call or time.time() - state.ended <= LISTED_S


# --- outputs ----------------------------------------------------------------------------------


def _shown(result: WatchResult, cap: Cap) -> dict[str, Fact]:
    """The output and the state of a process; fewer bytes of both ends if they would not fit."""
    size = END_BYTES
    room = cap.size - len(encoded({"": result.state.command}).encode()) - 1000
    while True:
        fields = _of_ends(result, size)
        if size == 0 or len(encoded(fields).encode()) <= room:
            return fields
        size //= 2


def _of_ends(result: WatchResult, size: int) -> dict[str, Fact]:
    state, (head, tail) = result.state, result.ends
    total, first = state.sizes[0], head[:size]
    last = tail[len(tail) - size :] if size < END_BYTES else tail
    omitted = total - len(first) - len(last)
    truncated: dict[str, Fact] = {}
    if not last and not omitted:
        text = _cut_lines(first)
    else:
        between = b"\n\n... [omitted %d bytes] ...\n\n" % omitted if omitted else b"\n"
        text = _cut_lines(first) + between + _cut_lines(last)
        truncated |= {
            "original_bytes": total,
            "retained_bytes": len(text),
            "omitted_bytes": omitted,
            "strategy": "head_tail",
        }
    fields: dict[str, Fact] = {"output": text.decode("utf-8", "replace"), **present(truncated=truncated)}
    fields["running"] = state.running
    if state.exit_code is not None:
        fields["exit_code"] = state.exit_code
    return fields


def _cut_lines(text: bytes) -> bytes:
    if len(text) <= LINE_BYTES:
        return text
    cut = LINE_BYTES - len(_CUT)
    lines = text.split(b"\n")
    return b"\n".join(line if len(line) <= LINE_BYTES else line[:cut] + _CUT for line in lines)


# --- failures ---------------------------------------------------------------------------------


def _failure(name: str, arguments: Any, error: ReadroomError) -> tuple[dict[str, Fact], int]:
    """The body and the status of a failure."""
    if isinstance(error, NoSuchCommand):
        return {"message": f"Process {go_quoted(error.id)} not found."}, HTTPStatus.NOT_FOUND.value
    if isinstance(error, BadValue) and name == START and (error.argument, error.value) == ("command", ""):
        return {"message": "Command is required."}, HTTPStatus.BAD_REQUEST.value
    if isinstance(error, BadValue) and isinstance(arguments, SignalBody):
        if not arguments.signal:
            return {"message": "Signal is required."}, HTTPStatus.BAD_REQUEST.value
        unsupported = f'Unsupported signal {go_quoted(arguments.signal)}. Use "kill" or "terminate".'
        return {"message": unsupported}, HTTPStatus.BAD_REQUEST.value
    status = words.status_of(error)
    if name == START and (arguments is not None or isinstance(error, CommandsOff)):
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.BAD_REQUEST) and not _is_clients(error):
            status = HTTPStatus.INTERNAL_SERVER_ERROR.value
        advice = next((words for kind, words in _ADVICE.items() if isinstance(error, kind)), error.advice)
        return {"message": "Failed to start process.", "detail": f"{error.message}. {advice}"}, status
    return {"message": str(error)}, status


_ADVICE: Mapping[type[ReadroomError], str] = {
    TooManyCommands: "Signal one that is not needed, or wait for its end.",
    NotFound: "Send a workdir that is there.",
    NotAFolder: "Send a folder as workdir.",
}
"""Advice in place of ours that names tools of the native contract."""


def _is_clients(error: ReadroomError) -> bool:
    """Whether the request itself is wrong."""
    return isinstance(error, ValueError)
