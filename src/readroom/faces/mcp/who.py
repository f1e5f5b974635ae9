"""Who calls over MCP: the client's name, and which conversation.

A conversation is what the host says it is (`_meta["readroom/session"]`), else the
protocol's own session, else all that one process hears.  A host that compacts a
conversation says so with the notification `notifications/readroom/compacted`, or
counts compactions itself in `_meta["readroom/epoch"]`, which needs no connection.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any, Final

from readroom.caller import Caller
from readroom.limits_keeping import LEDGER_NAME_CHARS

SESSION_META: Final = "readroom/session"
EPOCH_META: Final = "readroom/epoch"

_MOST_EPOCHS = 2**31
"""No conversation is compacted more often."""

_PROCESS = uuid.uuid4().hex[:12]
"""The conversation of clients without any session: one process serves one client over stdio."""


def caller(meta: Mapping[str, Any] | None, client: str | None, header: str | None) -> Caller:
    """The other side of a call.

    Args:
        meta: `_meta` of the request.
        client: `clientInfo.name`.
        header: `Mcp-Session-Id` of an HTTP request.
    """
    given = (meta or {}).get(SESSION_META)
    session = given if isinstance(given, str) and given else header or _PROCESS
    return Caller(agent=(client or "")[:LEDGER_NAME_CHARS], session=session[:LEDGER_NAME_CHARS], face="mcp")


def epoch(meta: Mapping[str, Any] | None) -> int | None:
    """How often the host says that the conversation was compacted."""
    given = (meta or {}).get(EPOCH_META)
    if isinstance(given, bool) or not isinstance(given, int) or not 0 <= given <= _MOST_EPOCHS:
        return None
    return given
