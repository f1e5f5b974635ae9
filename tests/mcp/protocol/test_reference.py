"""Where the specification leaves a choice, what the official SDK does is the reference.

Sequences of requests go to its server and to our connection, which serve the same
methods: each is answered by both, or refused by both with the same code.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage

from readroom.mcp.protocol import eras
from readroom.mcp.protocol.connection import Connection, ToolCall
from readroom.mcp.protocol.messages import Answer
from tests.mcp.protocol.test_connection import CARD, HELLO, META, STATELESS

NO_VERSION: dict[str, Any] = {eras.CAPABILITIES_META: {}}
NO_CAPABILITIES = {eras.VERSION_META: STATELESS}
FUTURE = {**META, eras.VERSION_META: "2099-01-01"}

METHODS = [
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "logging/setLevel",
    "no/such",
]
PARAMS: list[Any] = [
    None,
    {},
    {"name": "a"},
    {"name": 3},
    {"name": "a", "arguments": {"b": 1}},
    {"name": "a", "arguments": []},
    {"uri": "a:b"},
    {"cursor": "a"},
    {"cursor": 1},
    {"level": "info"},
    {"level": "loud"},
]
METAS: list[Any] = [None, {}, META, NO_VERSION, NO_CAPABILITIES, FUTURE, {"progressToken": 1}]
OPENINGS: dict[str, list[tuple[str, Any]]] = {
    "handshake": [("initialize", HELLO)],
    "older": [("initialize", {**HELLO, "protocolVersion": "2025-06-18"})],
    "stateless": [("tools/list", {"_meta": META})],
}


def _server() -> Server[Any]:
    async def tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[])

    async def call(context: Any, params: Any) -> types.CallToolResult:
        return types.CallToolResult(content=[])

    async def resources(context: Any, params: Any) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def read(context: Any, params: Any) -> types.ReadResourceResult:
        return types.ReadResourceResult(contents=[])

    async def level(context: Any, params: Any) -> types.EmptyResult:
        return types.EmptyResult()

    return Server(
        "shelf",
        on_list_tools=tools,
        on_call_tool=call,
        on_list_resources=resources,
        on_read_resource=read,
        on_set_logging_level=level,
    )


def _theirs(asked: list[tuple[str, Any]]) -> list[int | None]:
    """The codes of the SDK's answers, None for a result."""

    async def main() -> list[int | None]:
        server, found = _server(), []
        sending, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](100)
        outgoing, receiving = anyio.create_memory_object_stream[SessionMessage](100)
        async with anyio.create_task_group() as group, sending, receiving:
            group.start_soon(server.run, incoming, outgoing, server.create_initialization_options())
            for number, (method, params) in enumerate(asked):
                message = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
                await sending.send(SessionMessage(message))
                answer = (await receiving.receive()).message
                found.append(answer.error.code if isinstance(answer, types.JSONRPCError) else None)
            group.cancel_scope.cancel()
        return found

    return anyio.run(main)


def _ours(asked: list[tuple[str, Any]]) -> list[int | None]:
    connection, found = Connection(CARD), []
    for number, (method, params) in enumerate(asked):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        event = connection.receive(json.dumps(message).encode())
        if isinstance(event, ToolCall):
            event = connection.answer(event, {})
        assert isinstance(event, Answer)
        found.append(None if event.failure is None else event.failure.code)
    return found


def _with(params: Any, meta: Any) -> Any:
    return params if meta is None else {**(params or {}), "_meta": meta}


_requests = st.tuples(
    st.sampled_from(METHODS), st.builds(_with, st.sampled_from(PARAMS), st.sampled_from(METAS))
)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::mcp.shared.exceptions.MCPDeprecationWarning"
)
@pytest.mark.parametrize("opening", OPENINGS)
@settings(deadline=None, max_examples=30)
@given(asked=st.lists(_requests, max_size=6))
def test_an_open_connection_answers_and_refuses_like_the_reference(
    opening: str, asked: list[tuple[str, Any]]
) -> None:
    # The first request after `initialize` decides here, and `initialize` itself there.
    begun = [*OPENINGS[opening], ("tools/list", {"_meta": META} if opening == "stateless" else {})]
    assert _ours([*begun, *asked]) == _theirs([*begun, *asked])


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
@settings(deadline=None, max_examples=30)
@given(asked=_requests)
def test_a_first_request_is_answered_or_refused_like_the_reference(asked: tuple[str, Any]) -> None:
    assert _ours([asked]) == _theirs([asked])
