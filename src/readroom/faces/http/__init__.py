"""readroom as an HTTP agent: its routes, its gate, and MCP over it.

Knows: addresses, tokens, rates, workspaces, and MCP in requests.
Does not know: tools.
May be touched: `gate` and `workspaces` with a security review; the rest freely.
"""

from __future__ import annotations
