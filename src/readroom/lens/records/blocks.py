"""Blocks of an answer in Anthropic's interface: what the model said and called, and what its provider ran.

Results of tools that the provider runs (a search of the web, code, servers of MCP) stand in the answer,
beside their calls. Of a search they hold titles and ciphers, so what the model read of it cannot be told.
"""

from __future__ import annotations

from collections.abc import Iterator

from readroom.lens.records.events import Called, Event, Returned, Said
from readroom.lens.records.values import Object, as_object, as_text, objects, parts_text

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


def answer_events(content: object, session: str, time: str) -> Iterator[Event]:
    """The events of the blocks of one answer."""
    for block in objects(content):
        kind = as_text(block.get("type"))
        if kind == "text":
            yield Said(session, as_text(block.get("text")))
        elif kind in _CALLS:
            id, tool = as_text(block.get("id")), as_text(block.get("name"))
            server = as_text(block.get("server_name"))
            yield Called(session, id, tool, as_object(block.get("input")), time, server)
        elif kind.endswith("tool_result"):
            yield _returned(block, session, time)


def _returned(block: Object, session: str, time: str) -> Returned:
    content = block.get("content")
    ran = as_object(content)
    failed = True if block.get("is_error") is True or as_text(ran.get("type")).endswith("error") else None
    if "stdout" in ran or "stderr" in ran:
        code = ran.get("return_code")
        text = as_text(ran.get("stdout")) + as_text(ran.get("stderr"))
        status = code if isinstance(code, int) else None
        return Returned(session, as_text(block.get("tool_use_id")), text, failed, 0, time, exit_code=status)
    text, images = parts_text(content)
    return Returned(session, as_text(block.get("tool_use_id")), text, failed, images, time)
