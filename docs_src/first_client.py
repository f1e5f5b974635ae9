"""An MCP client in a few lines: it starts readroom over stdio and reads a folder through it.

python docs_src/first_client.py FOLDER
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("grep_files", {"pattern": "ERROR", "path": "logs"}),
    ("read_file", {"path": "src/orders.py", "offset": 6, "limit": 5}),
    ("read_file", {"path": ".env"}),
]


async def main(folder: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=["-m", "readroom", "mcp", folder])
    async with Client(server) as client:
        tools = await client.list_tools()
        print("tools:", ", ".join(tool.name for tool in tools.tools))
        for tool, arguments in CALLS:
            result = await client.call_tool(tool, arguments)
            print(f"\n> {tool} {arguments}")
            for block in result.content:
                if isinstance(block, TextContent):
                    print(block.text)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
