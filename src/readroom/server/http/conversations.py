"""MCP sessions of versions before 2026-07-28, each bound to the token and the workspace that opened it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias, final
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct, field

from readroom.core.errors import StateFailed
from readroom.core.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS
from readroom.core.quoting import as_key
from readroom.mcp.protocol.card import Card
from readroom.mcp.protocol.connection import Agreement, Connection, ToolCall
from readroom.mcp.protocol.messages import Answer
from readroom.server.http.asking import Ask
from readroom.server.shared.sessions import Owner, SharedSessions


class Session(Struct, weakref=True):
    """One session: its protocol state, its running calls, and when it was last used."""

    owner: Owner
    connection: Connection
    used: float
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    tasks: dict[ToolCall, asyncio.Task[Answer | None]] = field(default_factory=dict)
    requests: int = 0
    """The number of requests being answered."""
    listens: bool = False
    """Whether its client has a stream open, at this process."""
    noted: Agreement | None = None
    """The negotiated state of a session, shared with the other processes."""


@final
class Sessions:
    """The open sessions, bounded in number; sessions that are not used expire."""

    def __init__(self, card: Card, clock: Callable[[], float] = time.monotonic) -> None:
        self._card = card
        self._clock = clock
        self._open: dict[str, Session] = {}

    def made(self, owner: Owner) -> Session:
        """A new session, not open yet: `initialize` decides whether it opens."""
        return Session(owner, Connection(self._card, both=False), self._clock())

    def open(self, session: Session) -> bool:
        """Keep a session, and drop another if there are too many. False if all are in use."""
        ends = self._clock() - HTTP_SESSION_IDLE_S
        idle = [
            session_idle
            for session_idle in self._open.values()
            if not session_idle.requests and session_idle.used < ends
        ]
        for session_idle in idle:
            del self._open[session_idle.id]
        if len(self._open) >= HTTP_SESSIONS and not self._made_way():
            return False
        self._open[session.id] = session
        return True

    def _made_way(self) -> bool:
        """Drop the least recently used session of the token with the most: some clients never end theirs."""
        idle = [session for session in self._open.values() if not session.requests]
        if not idle:
            return False
        counts = Counter(session.owner[0] for session in idle)
        token = max(counts, key=counts.__getitem__)
        oldest = min(
            (session for session in idle if session.owner[0] == token), key=lambda session: session.used
        )
        del self._open[oldest.id]
        return True

    def find(self, session_id: str, owner: Owner) -> Session | None:
        """The session with that id, if the owner matches."""
        session = self._open.get(session_id)
        if session is None or session.owner != owner:
            return None
        if not session.requests and session.used < self._clock() - HTTP_SESSION_IDLE_S:
            del self._open[session_id]
            return None
        return session

    @contextmanager
    def using(self, session: Session) -> Iterator[None]:
        """Keep a session while a request is answered."""
        session.requests += 1
        try:
            yield
        finally:
            session.requests -= 1
            session.used = self._clock()

    def close(self, session: Session) -> None:
        """Drop a session, and cancel its calls."""
        self._open.pop(session.id, None)
        _end(session)


# -----------------------------------------------------------------------------
# Sessions of a server with several processes.
#
# The state agreed with the client is a row, so that any process can take the next request; a
# process holds a session in memory while it answers a request of it. A call that is cancelled
# at one process may run at another, which polls for that.
# -----------------------------------------------------------------------------


@final
class OwnConversations:
    """Sessions in the memory of a server with one process."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self.made = sessions.made
        self.using = sessions.using

    async def open(self, session: Session) -> bool:
        """Keep a session, and drop another if there are too many. False if all are in use."""
        return self._sessions.open(session)

    async def find(self, session_id: str, owner: Owner) -> Session | None:
        """The session with that id, if the owner matches."""
        return self._sessions.find(session_id, owner)

    async def agreed(self, session: Session) -> None:
        """Store the negotiated state after a message that may have changed it."""

    async def cancel(self, session: Session, request: object) -> None:
        """Cancel a call that runs in another process."""

    async def close(self, session: Session) -> None:
        """Drop a session, and cancel its calls."""
        self._sessions.close(session)


CANCEL_LOOK_S = 0.5
"""Interval between checks whether a client has cancelled a call at another process of the server."""


@final
class SharedConversations:
    """Sessions as rows of the shared state."""

    def __init__(self, card: Card, rows: SharedSessions, ask: Ask) -> None:
        """`ask` runs queries and updates."""
        self._card = card
        self._rows = rows
        self._ask = ask
        self._live: WeakValueDictionary[str, Session] = WeakValueDictionary()
        """Sessions with a request that is being answered here."""
        self._watch: asyncio.Task[None] | None = None

    def made(self, owner: Owner) -> Session:
        """A new session, not open yet: `initialize` decides whether it opens."""
        return Session(owner, Connection(self._card, both=False), time.monotonic())

    async def open(self, session: Session) -> bool:
        """Keep a session, and drop another if there are too many. Raises StateFailed."""
        session.noted = session.connection.agreement
        row = _written(session.noted)
        await self._ask(lambda: self._rows.open(session.id, session.owner, row))
        return True

    async def find(self, session_id: str, owner: Owner) -> Session | None:
        """The session with that id, if the owner matches. Raises StateFailed."""
        row = await self._ask(lambda: self._rows.find(session_id, owner))
        if row is None:
            return None
        session = self._live.get(session_id)
        if session is None:
            session = self._live[session_id] = Session(
                owner, Connection(self._card, both=False), time.monotonic(), session_id
            )
        agreement = msgspec.json.decode(row, type=Agreement)
        if agreement != session.noted:
            session.noted = session.connection.agreement = agreement
        return session

    async def agreed(self, session: Session) -> None:
        """Store the negotiated state after a message that may have changed it. Raises StateFailed."""
        now = session.connection.agreement
        if now != session.noted:
            session.noted = now
            row = _written(now)
            await self._ask(lambda: self._rows.agree(session.id, row))

    @contextmanager
    def using(self, session: Session) -> Iterator[None]:
        """Keep a session while a request is answered."""
        session.requests += 1
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._look())
        try:
            yield
        finally:
            session.requests -= 1

    async def cancel(self, session: Session, request: object) -> None:
        """Cancel a call that runs in another process. Raises StateFailed."""
        await self._ask(lambda: self._rows.cancel(session.id, as_key(f"{request}")))

    async def close(self, session: Session) -> None:
        """Drop a session, and cancel its calls. Raises StateFailed."""
        await self._ask(lambda: self._rows.close(session.id))
        _end(session)

    async def _look(self) -> None:
        """Cancel calls that were cancelled elsewhere, while any run here."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(CANCEL_LOOK_S)
            busy = [session for session in list(self._live.values()) if session.tasks]
            if not busy:
                return
            for session in busy:
                with suppress(StateFailed):
                    within_s = time.monotonic() - began + CANCEL_LOOK_S
                    cancelled = await self._ask(partial(self._rows.cancelled, session.id, within_s))
                    _end(session, cancelled)


Conversations: TypeAlias = OwnConversations | SharedConversations
"""The sessions of one server, wherever they are stored."""


def _end(session: Session, cancelled: Collection[str] | None = None) -> None:
    """Cancel the calls of a session; with `cancelled`, only those."""
    for call, task in session.tasks.items():
        if cancelled is None or as_key(f"{call.id}") in cancelled:
            call.cancelled = True
            task.cancel()


def _written(agreement: Agreement) -> str:
    return msgspec.json.encode(agreement).decode()
