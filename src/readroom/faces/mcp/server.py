"""The one MCP server, whatever carries its messages: tools of a contract, answered by a workspace.

It speaks the handshake protocol up to 2025-11-25 and the stateless 2026-07-28.
A result is exactly what `contracts.base.tool_result` says, as every other face
sends it; 2026-07-28 adds its own `resultType` and `serverInfo`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from readroom.caller import conversation
from readroom.contracts.base import Contract, Tool
from readroom.faces.calls import Access, Calls, Failed, Waiter
from readroom.faces.mcp import resources, who
from readroom.faces.mcp.clients import CLAUDE_CODE, known, reply_bytes
from readroom.faces.mcp.resources import Run
from readroom.limits import MCP_LIST_FRESH_MS
from readroom.model import Fact

McpServer: TypeAlias = "Server[dict[str, Any]]"
Context: TypeAlias = resources.Context

AccessOf: TypeAlias = Callable[[Context], "tuple[Access, Waiter | None]"]
"""What the sender of a request may use, and whose leaving ends the work for it."""


def build(
    calls: Calls,
    access_of: AccessOf,
    *,
    record: Contract,
    reply_chars: int | None,
    outputs: bool,
    shared: bool = True,
) -> McpServer:
    """A server for the tools of one contract.

    Args:
        calls: Where the calls run.
        access_of: What a request may use.
        record: The contract whose tools are served.
        reply_chars: `--max-chars`, None for what each client is known to pass on.
        outputs: Commands may run, and what is kept of them are resources; they speak of the native tools.
        shared: Every client sees the same tools.
    """
    call = _calling(calls, access_of, reply_chars)
    server: McpServer = Server(
        "readroom",
        version=version("readroom"),
        title=record.title,
        instructions=record.instructions,
        # The tools of a process never change; those of a token are nobody else's.
        cache_hints={"tools/list": CacheHint(MCP_LIST_FRESH_MS, "public" if shared else "private")},
        # No argument of ours travels in an HTTP header; without this the SDK lists the tools on every call.
        get_tool_input_schema=lambda name: None,
        on_list_tools=_list_tools(access_of, reply_chars),
    )
    # Not `on_call_tool`: a result is passed on as it is, instead of through a model and back.
    server.add_request_handler("tools/call", types.CallToolRequestParams, _call_tool(call))
    if outputs and record.name == "native":
        resources.add(server, call)
    server.add_notification_handler(who.COMPACTED, types.NotificationParams, _compacted(access_of))
    # The only one is OpenTelemetry's: 20 us a message, for a package that is not installed.
    server.middleware.clear()
    return server


def _list_tools(
    access_of: AccessOf, reply_chars: int | None
) -> Callable[[Context, types.PaginatedRequestParams | None], Awaitable[types.ListToolsResult]]:
    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        access, _ = access_of(context)
        return types.ListToolsResult(tools=[_listed(tool, reply_chars) for tool in access.tools])

    return list_tools


def _listed(tool: Tool, reply_chars: int | None) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            # They mean nothing where nothing is changed.
            destructive_hint=None if tool.read_only else tool.destructive,
            idempotent_hint=None if tool.read_only else tool.idempotent,
            open_world_hint=False,
        ),
        _meta={
            # Takes the text out of a second limit, counted in tokens, that users can lower.
            "anthropic/maxResultSizeChars": max(reply_chars or 0, CLAUDE_CODE.chars),
            # A file tool that has to be searched for first is not used. It costs each conversation the
            # tokens of its schema; a test keeps those of a contract under 1,500.
            "anthropic/alwaysLoad": True,
        },
    )


def _call_tool(
    call: Run,
) -> Callable[[Context, types.CallToolRequestParams], Awaitable[dict[str, Any]]]:
    async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        # Demanded by 2026-07-28; the SDK takes it out for older protocols.
        return {**await call(context, params.name, params.arguments or {}), "resultType": "complete"}

    return call_tool


def _calling(calls: Calls, access_of: AccessOf, reply_chars: int | None) -> Run:
    async def call(context: Context, tool: str, arguments: Mapping[str, Fact]) -> dict[str, Any]:
        wants_progress = context.meta is not None and "progress_token" in context.meta
        access, waiter = _conversing(access_of, context, context.meta)
        epoch = who.epoch(context.meta)
        if epoch is not None:
            access.workspace.session(access.caller.session).reached(epoch)
        name = client_name(context)
        client = known(name)
        try:
            return await calls.run(
                access,
                tool,
                arguments,
                reply_bytes=reply_bytes(name, reply_chars),
                reply_lines=None if client is None else client.lines,
                error_facts=client is None or not client.shows_meta,
                waiter=waiter,
                send_progress=context.session.report_progress if wants_progress else None,
            )
        except Failed:
            # What the SDK makes of other exceptions has their message in it.
            raise MCPError(
                code=INTERNAL_ERROR, message="readroom failed inside; see the server's log"
            ) from None

    return call


def _conversing(
    access_of: AccessOf, context: Context, meta: Mapping[str, Any] | None
) -> tuple[Access, Waiter | None]:
    """What a request may use, in the name of the client and for its conversation."""
    access, waiter = access_of(context)
    named = who.caller(meta, client_name(context), _session_header(context))
    token = access.caller.token
    named = replace(
        named,
        agent=named.agent or access.caller.agent,
        session=conversation(token, named.session),
        token=token,
    )
    return replace(access, caller=named), waiter


def _compacted(access_of: AccessOf) -> Callable[[Context, types.NotificationParams], Awaitable[None]]:
    async def compacted(context: Context, params: types.NotificationParams) -> None:
        meta = context.params.get("_meta") if context.params else None
        access, _ = _conversing(access_of, context, meta if isinstance(meta, dict) else None)
        access.workspace.session(access.caller.session).compacted()

    return compacted


def _session_header(context: Context) -> str | None:
    """The protocol's session, which HTTP before 2026-07-28 has."""
    headers = getattr(context.request, "headers", None)
    return None if headers is None else headers.get("mcp-session-id")


def client_name(context: Context) -> str | None:
    """From the handshake, or from the request itself in 2026-07-28, which may leave it out."""
    client = context.session.client_params
    return None if client is None else client.client_info.name
