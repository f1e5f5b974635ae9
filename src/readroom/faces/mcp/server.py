"""The one MCP server, whatever carries its messages: tools of a contract, answered by a workspace.

It speaks the handshake protocol up to 2025-11-25 and the stateless 2026-07-28.
A result is exactly what `contracts.base.tool_result` says, as every other face
sends it; 2026-07-28 adds its own `resultType` and `serverInfo`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from typing import Any, TypeAlias

import mcp_types as types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

from readroom.contracts.base import Tool
from readroom.contracts.registry import contract
from readroom.faces.mcp import who
from readroom.faces.mcp.calls import Caller, Calls
from readroom.faces.mcp.clients import CLAUDE_CODE, reply_bytes
from readroom.limits import MCP_LIST_FRESH_MS

McpServer: TypeAlias = "Server[dict[str, Any]]"
Context: TypeAlias = "ServerRequestContext[dict[str, Any], Any]"

CALLER = "readroom.caller"
"""Where the HTTP face keeps the `Caller` of a request in its ASGI scope."""


def build(calls: Calls, *, contract_name: str, reply_chars: int | None) -> McpServer:
    """A server for the tools of one contract.

    Args:
        calls: Where the calls run.
        contract_name: Whose tools are served; the same that `calls` has.
        reply_chars: `--max-chars`, None for what each client is known to pass on.

    Raises:
        BadValue: There is no such contract.
    """
    record = contract(contract_name)
    server: McpServer = Server(
        "readroom",
        version=version("readroom"),
        title=record.title,
        instructions=record.instructions,
        # The tools of a process never change.
        cache_hints={"tools/list": CacheHint(MCP_LIST_FRESH_MS, "public")},
        # No argument of ours travels in an HTTP header; without this the SDK lists the tools on every call.
        get_tool_input_schema=lambda name: None,
        on_list_tools=_list_tools(calls.tools, reply_chars),
    )
    # Not `on_call_tool`: a result is passed on as it is, instead of through a model and back.
    server.add_request_handler("tools/call", types.CallToolRequestParams, _call_tool(calls, reply_chars))
    server.add_notification_handler(who.COMPACTED, types.NotificationParams, _compacted(calls))
    # The only one is OpenTelemetry's: 20 us a message, for a package that is not installed.
    server.middleware.clear()
    return server


def _list_tools(
    tools: Sequence[Tool], reply_chars: int | None
) -> Callable[[Context, types.PaginatedRequestParams | None], Awaitable[types.ListToolsResult]]:
    listed = types.ListToolsResult(tools=[_listed(tool, reply_chars) for tool in tools])

    async def list_tools(
        context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return listed

    return list_tools


def _listed(tool: Tool, reply_chars: int | None) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
        _meta={
            # Takes the text out of a second limit, counted in tokens, that users can lower.
            "anthropic/maxResultSizeChars": max(
                reply_bytes(CLAUDE_CODE.prefix, reply_chars), CLAUDE_CODE.chars
            ),
            # A file tool that has to be searched for first is not used. It costs each conversation the
            # tokens of its schema; a test keeps those of a contract under 1,500.
            "anthropic/alwaysLoad": True,
        },
    )


def _call_tool(
    calls: Calls, reply_chars: int | None
) -> Callable[[Context, types.CallToolRequestParams], Awaitable[dict[str, Any]]]:
    async def call_tool(context: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        wants_progress = context.meta is not None and "progress_token" in context.meta
        meta = context.meta
        caller = who.caller(meta, _client_name(context), _session_header(context))
        epoch = who.epoch(meta)
        if epoch is not None:
            calls.session(caller.session).reached(epoch)
        result = await calls.run(
            params.name,
            params.arguments or {},
            reply_bytes=reply_bytes(_client_name(context), reply_chars),
            caller=_caller(context),
            send_progress=context.session.report_progress if wants_progress else None,
            who=caller,
        )
        # Demanded by 2026-07-28; the SDK takes it out for older protocols.
        return {**result, "resultType": "complete"}

    return call_tool


def _compacted(calls: Calls) -> Callable[[Context, types.NotificationParams], Awaitable[None]]:
    async def compacted(context: Context, params: types.NotificationParams) -> None:
        meta = context.params.get("_meta") if context.params else None
        known = meta if isinstance(meta, dict) else None
        caller = who.caller(known, _client_name(context), _session_header(context))
        calls.session(caller.session).compacted()

    return compacted


def _session_header(context: Context) -> str | None:
    """The protocol's session, which HTTP before 2026-07-28 has."""
    headers = getattr(context.request, "headers", None)
    return None if headers is None else headers.get("mcp-session-id")


def _client_name(context: Context) -> str | None:
    """From the handshake, or from the request itself in 2026-07-28, which may leave it out."""
    client = context.session.client_params
    return None if client is None else client.client_info.name


def _caller(context: Context) -> Caller | None:
    """Who sent an HTTP request; over stdio it is the one client, whose end ends the server."""
    caller = None if context.request is None else context.request.scope.get(CALLER)
    return caller if isinstance(caller, Caller) else None
