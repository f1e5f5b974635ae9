"""Sessions of MCP clients as rows: whose they are, and what was agreed on in them."""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias, final

from readroom.database import Execute
from readroom.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS
from readroom.session.shared.database import Database, now_us

Owner: TypeAlias = tuple[str, str]
"""A token and a workspace."""

_IDLE_US = int(HTTP_SESSION_IDLE_S * 1_000_000)
_CANCELLED_US = 60_000_000
_NOTED_US = _IDLE_US // 30
"""How exactly it is noted when a session was used: a row that is written with every request costs more."""


@final
class SharedSessions:
    """Those of one server, in a database."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    def open(self, session_id: str, owner: Owner, agreed: str) -> bool:
        """Keep a new session, unless there are too many. Raises StateFailed."""
        return self._database.change(lambda execute: self._open(execute, session_id, owner, agreed))

    def find(self, session_id: str, owner: Owner) -> str | None:
        """What was agreed on in a session; for anybody but its owner there is none. Raises StateFailed."""
        now = now_us()
        sql = (
            "SELECT agreed, used_us FROM state_sessions "
            "WHERE id = ? AND server = ? AND token = ? AND workspace = ? AND used_us >= ?"
        )
        values = (session_id, self._server, *owner, now - _IDLE_US)
        rows = self._database.look(lambda execute: execute(sql, values))
        if not rows:
            return None
        agreed, used = rows[0]
        if used < now - _NOTED_US:
            self._used(session_id, now)
        return str(agreed)

    def agree(self, session_id: str, agreed: str) -> None:
        """Something else was agreed on. Raises StateFailed."""
        sql, values = "UPDATE state_sessions SET agreed = ? WHERE id = ?", (agreed, session_id)
        self._database.change(lambda execute: execute(sql, values))

    def close(self, session_id: str) -> None:
        """Forget a session. Raises StateFailed."""

        def work(execute: Execute) -> None:
            execute("DELETE FROM state_sessions WHERE id = ?", (session_id,))
            execute("DELETE FROM state_cancelled WHERE session = ?", (session_id,))

        self._database.change(work)

    def cancel(self, session_id: str, request: str) -> None:
        """The client no longer waits for a call that another process performs. Raises StateFailed."""
        sql = (
            "INSERT INTO state_cancelled (session, request, time_us) VALUES (?, ?, ?) "
            "ON CONFLICT (session, request) DO UPDATE SET time_us = excluded.time_us"
        )
        now = now_us()

        def work(execute: Execute) -> None:
            # What runs has been ended by then; a client that cancels what there is not fills no disk.
            old = (session_id, now - _CANCELLED_US)
            execute("DELETE FROM state_cancelled WHERE session = ? AND time_us < ?", old)
            execute(sql, (session_id, request, now))

        self._database.change(work)

    def cancelled(self, session_id: str, since_us: int) -> Collection[str] | None:
        """The calls that were cancelled since then; None when the session has ended. Raises StateFailed."""

        def work(execute: Execute) -> Collection[str] | None:
            if not execute("SELECT 1 FROM state_sessions WHERE id = ?", (session_id,)):
                return None
            sql = "SELECT request FROM state_cancelled WHERE session = ? AND time_us >= ?"
            return {row[0] for row in execute(sql, (session_id, since_us))}

        return self._database.look(work)

    def _used(self, session_id: str, now: int) -> None:
        sql = "UPDATE state_sessions SET used_us = ? WHERE id = ?"
        self._database.change(lambda execute: execute(sql, (now, session_id)))

    def _open(self, execute: Execute, session_id: str, owner: Owner, agreed: str) -> bool:
        now = now_us()
        if execute("SELECT 1 FROM state_sessions WHERE id = ?", (session_id,)):
            return True  # done, and the answer was lost
        execute("DELETE FROM state_sessions WHERE server = ? AND used_us < ?", (self._server, now - _IDLE_US))
        count = execute("SELECT COUNT(*) FROM state_sessions WHERE server = ?", (self._server,))[0][0]
        if count >= HTTP_SESSIONS:
            return False
        execute(
            "INSERT INTO state_sessions (id, server, token, workspace, agreed, used_us) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (session_id, self._server, *owner, agreed, now),
        )
        return True
