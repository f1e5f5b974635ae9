"""Sessions of MCP clients, visits to the dashboard and conversations, as rows.

Dashboard tokens are encrypted with the visitors' cookies, so the rows alone do not reveal them.

Sessions age by a monotonic clock.  By the wall clock, a machine that wakes up or synchronizes its time may
be hours later from one request to the next, and a session that was just used would seem idle for hours.  The
monotonic clock restarts with the machine; a row that all processes share has its offset to the wall clock.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from functools import cache, cached_property
from typing import TypeAlias, final

import msgspec

from readroom.core.errors import StateFailed
from readroom.core.limits import HTTP_SESSION_IDLE_S, HTTP_SESSIONS, SERVE_VISIT_S, SERVE_VISITORS
from readroom.core.limits.session import SEEN_FILES, SESSION_FILES
from readroom.core.log import log
from readroom.core.lru import LruCache
from readroom.core.quoting import as_key
from readroom.core.session.seen import SeenFile
from readroom.server.database import Database, Execute

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


@final
class SteadyClock:
    """A clock for the processes that share a database."""

    def __init__(self, *, one_machine: bool) -> None:
        """Without `one_machine`, or without a boot id, the database's clock is used."""
        self._boot = _boot() if one_machine else None
        self._offset_us: int | None = None

    def now_us(self, execute: Execute) -> int:
        """The time, within a transaction that may only read."""
        if self._boot is None:
            return execute.now_us()
        offset_us = self._offset_us
        if offset_us is None:
            rows = execute("SELECT offset_us FROM state_clock WHERE boot = ?", (self._boot,))
            if not rows:
                return execute.now_us()
            offset_us = self._offset_us = int(rows[0][0])
        return offset_us + time.monotonic_ns() // 1000

    def set_us(self, execute: Execute) -> int:
        """The time, within a transaction that may write; sets the offset once per boot."""
        if self._boot is not None and self._offset_us is None:
            offset_us = execute.now_us() - time.monotonic_ns() // 1000
            sql = "INSERT INTO state_clock (boot, offset_us) VALUES (?, ?) ON CONFLICT (boot) DO NOTHING"
            execute(sql, (self._boot, offset_us))
            execute("DELETE FROM state_clock WHERE boot <> ?", (self._boot,))
        return self.now_us(execute)


@cache
def _boot() -> str | None:
    """The id of this boot."""
    with suppress(OSError, ValueError), open(_BOOT_ID, encoding="ascii") as file:
        return file.read().strip() or None
    return None


Owner: TypeAlias = tuple[str, str]
"""A token and a workspace."""

_IDLE_US = int(HTTP_SESSION_IDLE_S * 1_000_000)
_CANCELLED_US = 60_000_000
_NOTED_US = _IDLE_US // 30
"""Precision of the stored last use of a session: writing a row per request would cost more."""


@final
class SharedSessions:
    """The MCP sessions of one server, in a database."""

    def __init__(self, database: Database, server: str, clock: SteadyClock) -> None:
        self._database = database
        self._server = server
        self._clock = clock

    def open(self, session_id: str, owner: Owner, agreed: str) -> None:
        """Store a new session, ending another one if there are too many. Raises StateFailed."""
        self._database.change(lambda execute: self._open(execute, session_id, owner, agreed))

    def find(self, session_id: str, owner: Owner) -> str | None:
        """The negotiated state of a session of this owner; None if there is none. Raises StateFailed."""
        sql = (
            "SELECT agreed, used_us FROM state_sessions "
            "WHERE id = ? AND server = ? AND token = ? AND workspace = ?"
        )
        values = (session_id, self._server, *owner)

        def work(execute: Execute) -> tuple[str, int] | None:
            """The negotiated state, and how long the session was idle."""
            rows = execute(sql, values)
            return (str(rows[0][0]), self._clock.now_us(execute) - rows[0][1]) if rows else None

        session = self._database.look(work)
        if session is None or session[1] > _IDLE_US:
            return None
        if session[1] > _NOTED_US:
            self._database.change(lambda execute: self._used(execute, session_id))
        return session[0]

    def agree(self, session_id: str, agreed: str) -> None:
        """Store the newly negotiated state. Raises StateFailed."""
        sql, values = "UPDATE state_sessions SET agreed = ? WHERE id = ?", (agreed, session_id)
        self._database.change(lambda execute: execute(sql, values))

    def close(self, session_id: str) -> None:
        """Forget a session. Raises StateFailed."""
        self._database.change(lambda execute: self._forget(execute, session_id))

    def cancel(self, session_id: str, request: str) -> None:
        """Record that a call performed by another process was cancelled. Raises StateFailed."""
        sql = (
            "INSERT INTO state_cancelled (session, request, time_us) VALUES (?, ?, ?) "
            "ON CONFLICT (session, request) DO UPDATE SET time_us = excluded.time_us"
        )

        def work(execute: Execute) -> None:
            now = self._clock.set_us(execute)
            # Running calls have ended by then, and cancelling unknown calls cannot fill the disk.
            old = (session_id, now - _CANCELLED_US)
            execute("DELETE FROM state_cancelled WHERE session = ? AND time_us < ?", old)
            execute(sql, (session_id, request, now))

        self._database.change(work)

    def cancelled(self, session_id: str, within_s: float) -> Collection[str] | None:
        """The recently cancelled calls; None if the session has ended. Raises StateFailed."""

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
            return  # already done, but the answer was lost
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
        """End the longest idle session of the token that has most: some clients end none."""
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
    """Visits to the dashboard of one server, in a database. Every method raises StateFailed."""

    def __init__(self, database: Database, server: str) -> None:
        self._database = database
        self._server = server

    def begin(self, key: str, token: bytes) -> None:
        """Store a visit; the oldest are ended if there are too many."""

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
        """The encrypted token of a visit that has not ended."""
        sql = "SELECT token FROM state_visits WHERE id = ? AND server = ? AND ends_us > ?"
        rows = self._database.look(lambda execute: execute(sql, (key, self._server, execute.now_us())))
        return bytes(rows[0][0]) if rows else None

    def end(self, key: str) -> None:
        """End a visit."""
        sql = "DELETE FROM state_visits WHERE id = ? AND server = ?"
        self._database.change(lambda execute: execute(sql, (key, self._server)))


# -----------------------------------------------------------------------------
# Conversations as rows: their epochs, and which states of files were shown in which.
#
# A process remembers what it has written, so what is shown again in the same epoch is not
# written again.
# -----------------------------------------------------------------------------

_TRIM_EVERY = 256
"""Things shown between two checks for too many of them."""


def _written(seen: SeenFile | None) -> str | None:
    """A file as a conversation knows it, for a row: in ASCII, as names may have halves of surrogate pairs."""
    return None if seen is None else json.dumps(msgspec.to_builtins(seen), separators=(",", ":"))


def _read(text: str) -> SeenFile:
    return msgspec.convert(json.loads(text), SeenFile)


Written: TypeAlias = LruCache[tuple[str, str, str], int]
"""By row id, path and hash: the epoch in which this process has written that it was shown."""


@final
class SharedSeen:
    """Ranges that a conversation was shown, in the view of one call."""

    def __init__(self, database: Database, written: Written, workspace: str, session_id: str) -> None:
        self._database = database
        self._written = written
        self.row_id = f"{as_key(workspace)}\n{as_key(session_id)}"
        """The key of the conversation among those of all workspaces."""

    @cached_property
    def epoch(self) -> int:
        """The number of its compactions, at the first query. Raises StateFailed."""
        return self._database.look(self._epoch)

    def files(self) -> Sequence[SeenFile]:
        def work(execute: Execute) -> tuple[int, Sequence[tuple[str]]]:
            epoch = self._epoch(execute)
            sql = (
                "SELECT seen FROM state_seen WHERE conversation = ? AND epoch = ? ORDER BY turn DESC LIMIT ?"
            )
            return epoch, execute(sql, (self.row_id, epoch, SEEN_FILES))

        self.epoch, rows = self._database.look(work)
        return [_read(row[0]) for row in rows]

    def exchange(self, path: str, before: SeenFile | None, after: SeenFile | None) -> bool:
        if before is not None and before == after:
            return True  # only its turn would change
        key, epoch = (self.row_id, as_key(path)), self.epoch
        was, now = _written(before), _written(after)
        return self._database.change(lambda execute: _exchanged(execute, key, epoch, was, now))

    def advance(self, epoch: int | None) -> int:
        def work(execute: Execute) -> int:
            now = self._epoch(execute)
            # If a lost connection makes one compaction count twice, files are shown again, never too little.
            after = now + 1 if epoch is None else max(now, epoch)
            execute(
                "INSERT INTO state_conversations (id, epoch, shows, used_us) VALUES (?, ?, 0, ?) "
                "ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, used_us = excluded.used_us",
                (self.row_id, after, execute.now_us()),
            )
            return after

        return self._database.change(work)

    def show(self, path: str, content_hash: str) -> None:
        key = (self.row_id, as_key(path), content_hash)
        try:
            epoch = self.epoch
            if self._written.get(key) != epoch:
                self._database.change(lambda execute: _show(execute, key, epoch))
                self._written.put(key, epoch)
        except StateFailed as failure:
            # The reply is complete; unrecorded lines are shown once more.
            log().error("what was shown is not remembered: %s", failure)

    def shown(self, path: str, start: str) -> bool:
        key = (self.row_id, as_key(path), start)
        if self._written.get(key) == self.epoch:
            return True
        sql = (
            "SELECT 1 FROM state_shown WHERE conversation = ? AND path = ? AND epoch = ? "
            "AND substr(hash, 1, ?) = ? LIMIT 1"
        )
        values = (*key[:2], self.epoch, len(start), start)
        return bool(self._database.look(lambda execute: execute(sql, values)))

    def _epoch(self, execute: Execute) -> int:
        rows = execute("SELECT epoch FROM state_conversations WHERE id = ?", (self.row_id,))
        return int(rows[0][0]) if rows else 0


def _exchanged(execute: Execute, key: tuple[str, str], epoch: int, was: str | None, now: str | None) -> bool:
    """Put what is known of a file in place of what was; False if that is another, of this epoch."""
    if was is None:
        execute("DELETE FROM state_seen WHERE conversation = ? AND path = ? AND epoch < ?", (*key, epoch))
    turn = _turn(execute, key[0])
    if now is None:
        sql = (
            "DELETE FROM state_seen WHERE conversation = ? AND path = ? AND epoch = ? AND seen = ? "
            "RETURNING 1"
        )
        return was is None or bool(execute(sql, (*key, epoch, was)))
    if was is None:
        sql = (
            "INSERT INTO state_seen (conversation, path, seen, epoch, turn) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (conversation, path) DO NOTHING RETURNING 1"
        )
        done = bool(execute(sql, (*key, now, epoch, turn)))
    else:
        sql = (
            "UPDATE state_seen SET seen = ?, turn = ? WHERE conversation = ? AND path = ? AND epoch = ? "
            "AND seen = ? RETURNING 1"
        )
        done = bool(execute(sql, (now, turn, *key, epoch, was)))
    if turn % _TRIM_EVERY == 0:
        sql = (
            "DELETE FROM state_seen WHERE conversation = ? AND path NOT IN (SELECT path FROM state_seen "
            "WHERE conversation = ? ORDER BY turn DESC LIMIT ?)"
        )
        execute(sql, (key[0], key[0], SEEN_FILES))
    return done


def _turn(execute: Execute, row_id: str) -> int:
    """The number of what is shown now, among all that the conversation was shown."""
    rows = execute(
        "INSERT INTO state_conversations (id, epoch, shows, used_us) VALUES (?, 0, 1, ?) ON CONFLICT (id) "
        "DO UPDATE SET shows = state_conversations.shows + 1, used_us = excluded.used_us RETURNING shows",
        (row_id, execute.now_us()),
    )
    return int(rows[0][0])


def _show(execute: Execute, key: tuple[str, str, str], epoch: int) -> None:
    turn = _turn(execute, key[0])
    execute(
        "INSERT INTO state_shown (conversation, path, hash, epoch, turn) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (conversation, path, hash) DO UPDATE SET epoch = excluded.epoch, turn = excluded.turn",
        (*key, epoch, turn),
    )
    if turn % _TRIM_EVERY == 0:
        values = (key[0], turn - SESSION_FILES)
        execute("DELETE FROM state_shown WHERE conversation = ? AND turn <= ?", values)
