"""A minimal server of the official SDK that returns one text from memory: the floor of the protocol.

`python -m benchmarks.memory_server FILE [--port PORT]`: over stdio, or over HTTP without sessions.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server


def made(text: str) -> Server[Any]:
    """It answers every call with `text`."""

    async def call(
        context: ServerRequestContext[Any], request: types.CallToolRequestParams
    ) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    async def tools(
        context: ServerRequestContext[Any], request: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        tool = types.Tool(name="read_file", input_schema={"type": "object"})
        return types.ListToolsResult(tools=[tool])

    return Server("memory", on_call_tool=call, on_list_tools=tools)


async def serve(text: str) -> None:
    """One client over stdio."""
    server = made(text)
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


def serve_http(text: str, port: int) -> None:
    """Any number of clients."""
    import uvicorn

    app = made(text).streamable_http_app(json_response=True, stateless_http=True)
    uvicorn.run(app, port=port, http="httptools", ws="none", log_config=None, access_log=False)


if __name__ == "__main__":
    shown = Path(sys.argv[1]).read_text(encoding="utf-8")
    if sys.argv[2:3] == ["--port"]:
        serve_http(shown, int(sys.argv[3]))
    else:
        asyncio.run(serve(shown))
