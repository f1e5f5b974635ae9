"""Sessions of MCP clients before 2026-07-28: each belongs to the token and the workspace that opened it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias, final

from msgspec import Struct, field

from readroom.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS
from readroom.protocol.card import Card
from readroom.protocol.connection import Connection, ToolCall
from readroom.protocol.messages import Answer

Owner: TypeAlias = tuple[str, str]
"""A token and a workspace."""


class Session(Struct):
    """One session: its protocol state, its running calls, and when it was last used."""

    owner: Owner
    connection: Connection
    used: float
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    tasks: dict[ToolCall, asyncio.Task[Answer | None]] = field(default_factory=dict)
    requests: int = 0
    """Those that are being answered."""


@final
class Sessions:
    """All that are open, bounded in number; one that is not used is forgotten after a while."""

    def __init__(self, card: Card, clock: Callable[[], float] = time.monotonic) -> None:
        self._card = card
        self._clock = clock
        self._open: dict[str, Session] = {}

    def made(self, owner: Owner) -> Session:
        """A session that is not open yet: what `initialize` says decides that."""
        return Session(owner, Connection(self._card, both=False), self._clock())

    def open(self, session: Session) -> bool:
        """Keep a session, unless there are too many."""
        ends = self._clock() - HTTP_SESSION_IDLE_S
        idle = [
            session_idle
            for session_idle in self._open.values()
            if not session_idle.requests and session_idle.used < ends
        ]
        for session_idle in idle:
            del self._open[session_idle.id]
        if len(self._open) >= HTTP_SESSIONS:
            return False
        self._open[session.id] = session
        return True

    def find(self, session_id: str, owner: Owner) -> Session | None:
        """The session of that id; for all but its owner there is none."""
        session = self._open.get(session_id)
        if session is None or session.owner != owner:
            return None
        if not session.requests and session.used < self._clock() - HTTP_SESSION_IDLE_S:
            del self._open[session_id]
            return None
        return session

    @contextmanager
    def using(self, session: Session) -> Iterator[None]:
        """While a request is answered its session stays."""
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used = self._clock()

    def close(self, session: Session) -> None:
        """Forget a session, and end the calls in it."""
        del self._open[session.id]
        for task in session.tasks.values():
            task.cancel()
