"""Conversations as rows: their epochs, and which states of files were shown in which.

A process remembers what it has written itself: what is shown again in the same epoch
is not written again.
"""

from __future__ import annotations

from functools import cached_property
from typing import final

from readroom.database import Execute
from readroom.errors import StateFailed
from readroom.limits.session import SESSION_FILES, SESSIONS
from readroom.log import log
from readroom.lru import LruCache
from readroom.quoting import as_value
from readroom.session.shared.database import Database

_TRIM_EVERY = 256
"""Things shown, between two looks whether there are too many."""


@final
class SharedConversations:
    """Those in one workspace, in a database. Safe to share between threads."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = as_value(workspace)
        self._written: LruCache[tuple[str, str, str], int] = LruCache(SESSIONS * 16)

    def of(self, session_id: str) -> SharedSeen:
        """What one of them was shown, for the time of a call."""
        return SharedSeen(self, session_id)

    def epoch(self, session_id: str) -> int:
        """How often a conversation was compacted. Raises StateFailed."""
        sql, values = "SELECT epoch FROM state_conversations WHERE id = ?", (self.row_id(session_id),)
        rows = self._database.look(lambda execute: execute(sql, values))
        return int(rows[0][0]) if rows else 0

    def advance(self, session_id: str, epoch: int | None) -> int:
        """Go on to an epoch, or to the next one; never back. The new epoch. Raises StateFailed."""
        name = self.row_id(session_id)

        def work(execute: Execute) -> int:
            rows = execute("SELECT epoch FROM state_conversations WHERE id = ?", (name,))
            now = int(rows[0][0]) if rows else 0
            # Done twice after a lost connection, one compaction counts as two: shown again, never too little.
            after = now + 1 if epoch is None else max(now, epoch)
            execute(
                "INSERT INTO state_conversations (id, epoch, shows, used_us) VALUES (?, ?, 0, ?) "
                "ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, used_us = excluded.used_us",
                (name, after, execute.now_us()),
            )
            return after

        return self._database.change(work)

    def show(self, session_id: str, path: str, content_hash: str, epoch: int) -> None:
        """Remember that a state of a file was shown in an epoch. Raises StateFailed."""
        key = (self.row_id(session_id), as_value(path), content_hash)
        if self._written.get(key) != epoch:
            self._database.change(lambda execute: _show(execute, key, epoch))
            self._written.put(key, epoch)

    def shown(self, session_id: str, path: str, start: str, epoch: int) -> bool:
        """Whether a state whose hash begins so was shown in an epoch. Raises StateFailed."""
        key = (self.row_id(session_id), as_value(path), start)
        if self._written.get(key) == epoch:
            return True
        sql = (
            "SELECT 1 FROM state_shown WHERE conversation = ? AND path = ? AND epoch = ? "
            "AND substr(hash, 1, ?) = ? LIMIT 1"
        )
        values = (*key[:2], epoch, len(start), start)
        return bool(self._database.look(lambda execute: execute(sql, values)))

    def row_id(self, session_id: str) -> str:
        """The name of a conversation among those of all workspaces."""
        return f"{self._workspace}\n{as_value(session_id)}"


@final
class SharedSeen:
    """What one conversation was shown, as a call finds it."""

    def __init__(self, conversations: SharedConversations, session_id: str) -> None:
        self._all = conversations
        self._id = session_id

    @cached_property
    def epoch(self) -> int:
        """How often it was compacted when that was first asked. Raises StateFailed."""
        return self._all.epoch(self._id)

    def advance(self, epoch: int | None) -> int:
        """Go on to an epoch, or to the next one; never back. The new epoch. Raises StateFailed."""
        return self._all.advance(self._id, epoch)

    def show(self, path: str, content_hash: str) -> None:
        """Remember that a state of a file was shown."""
        try:
            self._all.show(self._id, path, content_hash, self.epoch)
        except StateFailed as failure:
            # The reply is made; what is not remembered is shown once more.
            log().error("what was shown is not remembered: %s", failure)

    def shown(self, path: str, start: str) -> bool:
        """Whether a state whose hash begins so was shown in this epoch. Raises StateFailed."""
        return self._all.shown(self._id, path, start, self.epoch)


def _show(execute: Execute, key: tuple[str, str, str], epoch: int) -> None:
    rows = execute(
        "INSERT INTO state_conversations (id, epoch, shows, used_us) VALUES (?, 0, 1, ?) ON CONFLICT (id) "
        "DO UPDATE SET shows = state_conversations.shows + 1, used_us = excluded.used_us RETURNING shows",
        (key[0], execute.now_us()),
    )
    turn = int(rows[0][0])
    execute(
        "INSERT INTO state_shown (conversation, path, hash, epoch, turn) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (conversation, path, hash) DO UPDATE SET epoch = excluded.epoch, turn = excluded.turn",
        (*key, epoch, turn),
    )
    if turn % _TRIM_EVERY == 0:
        values = (key[0], turn - SESSION_FILES)
        execute("DELETE FROM state_shown WHERE conversation = ? AND turn <= ?", values)
