"""Sessions as rows: of MCP clients, whose they are and what was agreed on in them, and of people who are
signed in to the dashboard. What is kept of people cannot be read without their cookies.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias, final

from readroom.database import Execute
from readroom.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS, SERVE_VISIT_S, SERVE_VISITORS
from readroom.session.shared.clock import SteadyClock
from readroom.session.shared.database import Database

Owner: TypeAlias = tuple[str, str]
"""A token and a workspace."""

_IDLE_US = int(HTTP_SESSION_IDLE_S * 1_000_000)
_CANCELLED_US = 60_000_000
_NOTED_US = _IDLE_US // 30
"""How exactly it is noted when a session was used: a row that is written with every request costs more."""


@final
class SharedSessions:
    """Those of one server, in a database."""

    def __init__(self, database: Database, server: str, clock: SteadyClock) -> None:
        self._database = database
        self._server = server
        self._clock = clock

    def open(self, session_id: str, owner: Owner, agreed: str) -> None:
        """Keep a new session; where there are too many, another makes way. Raises StateFailed."""
        self._database.change(lambda execute: self._open(execute, session_id, owner, agreed))

    def find(self, session_id: str, owner: Owner) -> str | None:
        """What was agreed on in a session; for anybody but its owner there is none. Raises StateFailed."""
        sql = (
            "SELECT agreed, used_us FROM state_sessions "
            "WHERE id = ? AND server = ? AND token = ? AND workspace = ?"
        )
        values = (session_id, self._server, *owner)

        def work(execute: Execute) -> tuple[str, int] | None:
            """What was agreed on, and for how long it was not used."""
            rows = execute(sql, values)
            return (str(rows[0][0]), self._clock.now_us(execute) - rows[0][1]) if rows else None

        found = self._database.look(work)
        if found is None or found[1] > _IDLE_US:
            return None
        if found[1] > _NOTED_US:
            self._database.change(lambda execute: self._used(execute, session_id))
        return found[0]

    def agree(self, session_id: str, agreed: str) -> None:
        """Something else was agreed on. Raises StateFailed."""
        sql, values = "UPDATE state_sessions SET agreed = ? WHERE id = ?", (agreed, session_id)
        self._database.change(lambda execute: execute(sql, values))

    def close(self, session_id: str) -> None:
        """Forget a session. Raises StateFailed."""
        self._database.change(lambda execute: self._forget(execute, session_id))

    def cancel(self, session_id: str, request: str) -> None:
        """The client no longer waits for a call that another process performs. Raises StateFailed."""
        sql = (
            "INSERT INTO state_cancelled (session, request, time_us) VALUES (?, ?, ?) "
            "ON CONFLICT (session, request) DO UPDATE SET time_us = excluded.time_us"
        )

        def work(execute: Execute) -> None:
            now = self._clock.set_us(execute)
            # What runs has been ended by then; a client that cancels what there is not fills no disk.
            old = (session_id, now - _CANCELLED_US)
            execute("DELETE FROM state_cancelled WHERE session = ? AND time_us < ?", old)
            execute(sql, (session_id, request, now))

        self._database.change(work)

    def cancelled(self, session_id: str, within_s: float) -> Collection[str] | None:
        """The calls that were cancelled so lately; None when the session has ended. Raises StateFailed."""

        def work(execute: Execute) -> Collection[str] | None:
            if not execute("SELECT 1 FROM state_sessions WHERE id = ?", (session_id,)):
                return None
            sql = "SELECT request FROM state_cancelled WHERE session = ? AND time_us >= ?"
            since = self._clock.now_us(execute) - int(within_s * 1_000_000)
            return {row[0] for row in execute(sql, (session_id, since))}

        return self._database.look(work)

    def _open(self, execute: Execute, session_id: str, owner: Owner, agreed: str) -> None:
        now = self._clock.set_us(execute)
        if execute("SELECT 1 FROM state_sessions WHERE id = ?", (session_id,)):
            return  # done, and the answer was lost
        execute("DELETE FROM state_sessions WHERE server = ? AND used_us < ?", (self._server, now - _IDLE_US))
        count = execute("SELECT COUNT(*) FROM state_sessions WHERE server = ?", (self._server,))[0][0]
        if count >= HTTP_SESSIONS:
            self._make_way(execute)
        execute(
            "INSERT INTO state_sessions (id, server, token, workspace, agreed, used_us) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (session_id, self._server, *owner, agreed, now),
        )

    def _make_way(self, execute: Execute) -> None:
        """Forget the session unused for longest of the token that has most: some clients end none."""
        most = (
            "SELECT token FROM state_sessions WHERE server = ? GROUP BY token ORDER BY COUNT(*) DESC, token "
            "LIMIT 1"
        )
        (token,) = execute(most, (self._server,))[0]
        oldest = "SELECT id FROM state_sessions WHERE server = ? AND token = ? ORDER BY used_us, id LIMIT 1"
        (session_id,) = execute(oldest, (self._server, token))[0]
        self._forget(execute, session_id)

    def _forget(self, execute: Execute, session_id: str) -> None:
        execute("DELETE FROM state_sessions WHERE id = ?", (session_id,))
        execute("DELETE FROM state_cancelled WHERE session = ?", (session_id,))

    def _used(self, execute: Execute, session_id: str) -> None:
        now = self._clock.set_us(execute)
        execute("UPDATE state_sessions SET used_us = ? WHERE id = ?", (now, session_id))


@final
class SharedVisits:
    """Those of one server, in a database. Every method raises StateFailed."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    def begin(self, key: str, token: bytes) -> None:
        """Keep one; of too many the oldest end."""

        def work(execute: Execute) -> None:
            now = execute.now_us()
            execute("DELETE FROM state_visits WHERE server = ? AND ends_us < ?", (self._server, now))
            execute(
                "DELETE FROM state_visits WHERE id IN "
                "(SELECT id FROM state_visits WHERE server = ? ORDER BY ends_us DESC LIMIT ? OFFSET ?)",
                (self._server, SERVE_VISITORS, SERVE_VISITORS - 1),
            )
            execute(
                "INSERT INTO state_visits (id, server, token, ends_us) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (id) DO NOTHING",
                (key, self._server, token, now + int(SERVE_VISIT_S * 1_000_000)),
            )

        self._database.change(work)

    def find(self, key: str) -> bytes | None:
        """The token, unless its time is over."""
        sql = "SELECT token FROM state_visits WHERE id = ? AND server = ? AND ends_us > ?"
        rows = self._database.look(lambda execute: execute(sql, (key, self._server, execute.now_us())))
        return bytes(rows[0][0]) if rows else None

    def end(self, key: str) -> None:
        """Forget it."""
        sql = "DELETE FROM state_visits WHERE id = ? AND server = ?"
        self._database.change(lambda execute: execute(sql, (key, self._server)))
