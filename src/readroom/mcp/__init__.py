"""The Model Context Protocol: one server, over stdio and over streamable HTTP.

Knows: how the tools of a workspace are listed and called in MCP, and how to talk over pipes.
Does not know: HTTP.
May be touched: freely, with a look at what the start imports.
"""

from __future__ import annotations
