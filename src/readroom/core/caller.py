"""The identity of a caller: what a face knows about the other side, passed down with every call.

It decides nothing about access.  It says which conversation a call belongs to, whose budget pays for
it, and who appears in the ledger.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec import Struct

Owner: TypeAlias = tuple[str, str]
"""The token and conversation that own what a call leaves behind."""


HTTP_FACE = "http"
"""The way in of an HTTP request, which may carry MCP."""


class Carried(Struct, frozen=True):
    """How MCP carried a call.

    Attributes:
        version: The version of the protocol.
        request: The id of the request.
        http: Whether it came over HTTP; otherwise over the pipes of a process.
    """

    version: str
    request: str
    http: bool


class Caller(Struct, frozen=True):
    """The identity of a caller.

    Attributes:
        agent: What it calls itself, such as the name of an MCP client; not proved.
        session: The conversation; calls with the same id share what was shown and a budget.
        token: The id of the token that it showed, never the token; empty without one.
        face: The way in: library, cli, mcp or http.
        call: The id that the face gave this call.
        traceparent: The trace that this call belongs to, as the W3C writes it; empty without one.
        tracestate: The additions of vendors to that, as the W3C writes it.
        mcp: How MCP carried the call; None for other ways in.
        apart: Others may be in the same conversation without knowing of it, as it has no name.
        hosts: The program around the model asks for itself, and the model sees nothing of the reply.
        passing: Its conversation has no name of its own, and ends with this process.
        sees_others: Whether it may know who else works here: names of agents, conversations and tokens.
    """

    agent: str = ""
    session: str = ""
    token: str = ""
    face: str = "library"
    call: str = ""
    traceparent: str = ""
    tracestate: str = ""
    mcp: Carried | None = None
    apart: bool = False
    hosts: bool = False
    passing: bool = False
    sees_others: bool = True

    @property
    def owner(self) -> Owner:
        """The owner of the outputs of its commands, which are shown to no other caller."""
        return self.token, self.session

    @property
    def is_one_reader(self) -> bool:
        """Whether one reader sees all that its conversation is shown: over HTTP only if that has a name."""
        return not self.apart and not self.hosts and (bool(self.session) or self.face != "http")


ANONYMOUS = Caller()
"""A library user without an identity."""


_TRACEPARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
"""The fields of version 00; later versions have them as well, and may add others."""

_TRACE_CHARS = 55


def trace_of(value: object) -> str:
    """The W3C `traceparent` that a client sent; empty if it is none."""
    if not isinstance(value, str):
        return ""
    start, more = value[:_TRACE_CHARS], value[_TRACE_CHARS : _TRACE_CHARS + 1]
    longer = more == "-" and not start.startswith("00")
    return start if _TRACEPARENT.fullmatch(start) and (not more or longer) else ""


TRACESTATE_CHARS = 512
"""Every program has to pass on that many; longer ones are left out."""


def vendors_of(value: object) -> str:
    """The W3C `tracestate` that a client sent; empty if it is none, or too long."""
    if not isinstance(value, str) or len(value) > TRACESTATE_CHARS or not value.isascii():
        return ""
    return value if value.isprintable() else ""


def conversation(token: str, session: str) -> str:
    """The key of a conversation, which includes the token so that tokens do not share conversations."""
    return f"{token}:{session}" if token and session else session
