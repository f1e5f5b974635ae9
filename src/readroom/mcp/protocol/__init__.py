"""The server side of the Model Context Protocol, without I/O: bytes in, messages and calls out.

Knows: the versions of the protocol, its messages, and the state of one connection.
Does not know: sockets, event loops, tools, and what a call does.
May be touched: freely, with `tests/mcp/protocol` and the conformance suite.
"""

from __future__ import annotations
