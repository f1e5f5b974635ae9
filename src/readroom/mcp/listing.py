"""Facts sent before the first call: the server's name and capabilities, and the tools, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from readroom.core.limits import MCP_MESSAGE_BYTES
from readroom.core.release import VERSION
from readroom.mcp.protocol import eras
from readroom.mcp.protocol.card import Card, Fresh
from readroom.mcp.protocol.eras import INVALID_PARAMS
from readroom.mcp.protocol.messages import Refusal

LONGEST_META: Final = "anthropic/maxResultSizeChars"
"""The longest text to pass on, for Claude Code."""

COMPACTED: Final = "notifications/readroom/compacted"
"""Notification of a host that has shortened a conversation."""

NATIVE: Final = "native"
"""The contract whose texts are for models alone, and so may have lines of ours."""

_TOOLS = frozenset(("tools/list", "tools/call"))
_RESOURCES = frozenset(
    (
        *("resources/list", "resources/templates/list", "resources/read"),
        *(eras.SUBSCRIBE, eras.UNSUBSCRIBE, eras.LISTEN),
    )
)


def methods(contract_name: str) -> frozenset[str]:
    """The methods served: those for resources in the native contract, whose tools list and read them."""
    return _TOOLS | _RESOURCES if contract_name == NATIVE else _TOOLS


MCP_LIST_FRESH_MS = 60 * 60 * 1000
"""How long a client of 2026-07-28 may keep the list of tools. It changes only with the installed version."""


def card(title: str, instructions: str, served: frozenset[str], *, shared: bool) -> Card:
    """The server's card; `shared` if every client sees the same tools."""
    # The tools of a process never change; those of a token are only for its holder.
    fresh = Fresh(MCP_LIST_FRESH_MS, "public" if shared else "private")
    return Card(
        name="readroom",
        version=VERSION,
        title=title,
        instructions=instructions,
        methods=served,
        notices=frozenset((COMPACTED,)),
        fresh={"tools/list": fresh},
        most=MCP_MESSAGE_BYTES,
    )


def capped(tool: dict[str, Any], most: int | None) -> dict[str, Any]:
    """A tool as listed, with the operator's limit for the longest text."""
    meta = tool["_meta"]
    return tool if most is None else {**tool, "_meta": {**meta, LONGEST_META: max(most, meta[LONGEST_META])}}


MCP_LIST_TOOLS = 100
"""Tools on one page of `tools/list`. Every contract fits: many clients never ask for a second page."""


def page(name: str, items: Sequence[object], cursor: str | None) -> dict[str, Any]:
    """A page of a list, and where the next begins. Raises Refusal for a cursor that no page has."""
    begins = 0
    if cursor is not None:
        begins = int(cursor) if cursor.isdecimal() and len(cursor) < 10 else -1
        if not 0 < begins < len(items) or begins % MCP_LIST_TOOLS:
            raise Refusal(INVALID_PARAMS, "There is no such cursor: send the nextCursor of a page as it is")
    ends = begins + MCP_LIST_TOOLS
    fields: dict[str, Any] = {name: items[begins:ends]}
    return {**fields, "nextCursor": str(ends)} if ends < len(items) else fields
