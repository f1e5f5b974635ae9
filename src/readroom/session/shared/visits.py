"""People who are signed in to the dashboard, as rows: what is kept cannot be read without their cookies."""

from __future__ import annotations

from typing import final

from readroom.database import Execute
from readroom.limits import SERVE_VISIT_S, SERVE_VISITORS
from readroom.session.shared.database import Database, now_us


@final
class SharedVisits:
    """Those of one server, in a database. Every method raises StateFailed."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    def begin(self, key: str, token: bytes) -> None:
        """Keep one; of too many the oldest end."""
        now = now_us()

        def work(execute: Execute) -> None:
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
        rows = self._database.look(lambda execute: execute(sql, (key, self._server, now_us())))
        return bytes(rows[0][0]) if rows else None

    def end(self, key: str) -> None:
        """Forget it."""
        sql = "DELETE FROM state_visits WHERE id = ? AND server = ?"
        self._database.change(lambda execute: execute(sql, (key, self._server)))
