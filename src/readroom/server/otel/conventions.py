"""The attributes of a span of a call, by the semantic conventions for MCP and for tools of models.

The names that are readroom's own begin with `readroom.`; they say what the ledger says.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from readroom.core.caller import HTTP_FACE, Caller
from readroom.core.session.journal import Entry

Value: TypeAlias = str | int | tuple[str, ...]

METHOD: Final = "tools/call"
DURATION: Final = "mcp.server.operation.duration"
BOUNDARIES: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds, as the convention has them."""

TOOL_ERROR: Final = "tool_error"
"""How the convention for MCP names every failure that a reply reports."""

NAME_CHARS = 256
PATH_CHARS = 4096
PATHS = 32
"""Bounds of what one span holds: a queue of them is bounded, too."""


class Measured(Struct, frozen=True):
    """A call as a span shows it.

    Attributes:
        name: The name of the span.
        kind: Whether another program has asked.
        begun_ns: Since the epoch.
        ended_ns: Since the epoch.
        traceparent: The trace of the caller; empty without one.
        tracestate: The additions of vendors to that.
        failed: Whether the reply is an error.
        facts: The attributes of the span.
        labels: Those of them that metrics have, too; each has few values.
    """

    name: str
    kind: Literal["server", "internal"]
    begun_ns: int
    ended_ns: int
    traceparent: str
    tracestate: str
    failed: bool
    facts: dict[str, Value]
    labels: dict[str, Value]


def measured(entry: Entry, ended_ns: int, *, paths: bool) -> Measured:
    """The span of a call."""
    caller = entry.caller
    labels = _labels(entry)
    facts = {**labels, **_about(caller), "readroom.decision": entry.decision}
    if entry.tokens:
        facts["readroom.reply.tokens"] = entry.tokens
    if entry.kind:
        facts["readroom.kind"] = entry.kind
    if paths:
        facts["readroom.paths"] = _paths(entry)
    return Measured(
        f"{METHOD} {entry.tool}".strip(),
        "server" if caller.face in ("mcp", HTTP_FACE) else "internal",
        ended_ns - entry.duration_us * 1000,
        ended_ns,
        caller.traceparent,
        caller.tracestate,
        entry.outcome != "ok",
        facts,
        labels,
    )


def _labels(entry: Entry) -> dict[str, Value]:
    caller = entry.caller
    labels: dict[str, Value] = {
        "mcp.method.name": METHOD,
        "gen_ai.operation.name": "execute_tool",
        "readroom.face": caller.face,
        "readroom.contract": entry.contract,
        "readroom.outcome": entry.outcome,
    }
    if entry.tool:
        labels["gen_ai.tool.name"] = entry.tool
    if entry.outcome != "ok":
        labels["error.type"] = TOOL_ERROR if caller.face == "mcp" else entry.outcome
    if caller.mcp is not None:
        labels["mcp.protocol.version"] = caller.mcp.version
    if caller.face == HTTP_FACE or (caller.mcp is not None and caller.mcp.http):
        labels |= {"network.transport": "tcp", "network.protocol.name": "http"}
    elif caller.face == "mcp":
        labels["network.transport"] = "pipe"
    return labels


def _about(caller: Caller) -> dict[str, Value]:
    """Who called, and in which conversation."""
    facts: dict[str, Value] = {"gen_ai.tool.type": "function"}
    session = caller.session.removeprefix(f"{caller.token}:") if caller.token else caller.session
    if session:
        facts["gen_ai.conversation.id"] = session[:NAME_CHARS]
        if caller.face == "mcp":
            facts["mcp.session.id"] = session[:NAME_CHARS]
    if caller.agent:
        facts["gen_ai.agent.name"] = caller.agent[:NAME_CHARS]
    if caller.token:
        facts["readroom.token"] = caller.token[:NAME_CHARS]
    if caller.mcp is not None:
        facts["jsonrpc.request.id"] = caller.mcp.request[:NAME_CHARS]
    return facts


def _paths(entry: Entry) -> tuple[str, ...]:
    """The file or folder that was asked for, and the files that the reply showed lines of."""
    asked = [] if entry.request is None else [entry.request.path]
    shown = [span.path for span in entry.shown[:PATHS]]
    return tuple(path[:PATH_CHARS] for path in dict.fromkeys([*asked, *shown]))[:PATHS]
