"""A minimal server of the official SDK that returns one text from memory: the floor of the protocol."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


async def serve(text: str) -> None:
    """Answer every call with `text`."""

    async def call(
        context: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def tools(
        context: ServerRequestContext[Any], request: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tool = types.Tool(name="read_file", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    server = Server("memory", on_call_tool=call, on_list_tools=tools)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]).read_text(encoding="utf-8")))
