"""The identity of a caller: what a face knows about the other side, passed down with every call.

It decides nothing about access.  It says which conversation a call belongs to, whose budget pays for
it, and who appears in the ledger.
"""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

Owner: TypeAlias = tuple[str, str]
"""The token and conversation that own what a call leaves behind."""


class Caller(Struct, frozen=True):
    """The identity of a caller.

    Attributes:
        agent: What it calls itself, such as the name of an MCP client; not proved.
        session: The conversation; calls with the same id share what was shown and a budget.
        token: The id of the token that it showed, never the token; empty without one.
        face: The way in: library, cli, mcp or http.
        call: The id that the face gave this call.
        traceparent: The trace that this call belongs to, as the W3C writes it.
        passing: Its conversation has no name of its own, and ends with this process.
    """

    agent: str = ""
    session: str = ""
    token: str = ""
    face: str = "library"
    call: str = ""
    traceparent: str = ""
    passing: bool = False

    @property
    def owner(self) -> Owner:
        """The owner of the outputs of its commands, which are shown to no other caller."""
        return self.token, self.session


ANONYMOUS = Caller()
"""A library user without an identity."""


def conversation(token: str, session: str) -> str:
    """The key of a conversation, which includes the token so that tokens do not share conversations."""
    return f"{token}:{session}" if token and session else session
