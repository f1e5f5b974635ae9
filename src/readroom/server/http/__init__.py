"""The HTTP agent: routes, the gate in front of them, and MCP over HTTP.

Knows: addresses, tokens, rate limits, workspaces, and MCP in requests.
Does not know: tools.
May be touched: `gate` and `workspaces` after a security review; the rest freely.
"""

from __future__ import annotations
