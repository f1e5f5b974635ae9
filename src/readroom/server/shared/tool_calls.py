"""Tool calls that clients may send again: each is applied once, and its answer is given to every request.

A row is written before the call begins, with the hash of its input.  What a change will do is added before
the first file changes, so that after a crash the files tell whether it was made.  Rows are kept of the latest
message of a chat; what is dropped leaves the time of the newest, so that a call without a row is not taken
for a new one if its row may have been dropped.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Literal, TypeAlias, final

from msgspec import Struct

from readroom.core.limits import SERVE_CALL_S
from readroom.core.quoting import as_key
from readroom.server.database import Database, Execute

STARTED = time.monotonic()
"""When this server started: its processes are forks of the one that imported this."""

STATE_CALLS = 1000
"""Tool calls whose answers are kept, 72 KiB at most each."""

_ABANDONED_US = int((SERVE_CALL_S + 60) * 1_000_000)
"""After that a call of another machine counts as abandoned."""

TABLES: Sequence[str] = (
    """CREATE TABLE state_calls (
        chat TEXT NOT NULL, message {big} NOT NULL, id TEXT NOT NULL, input TEXT NOT NULL,
        state TEXT NOT NULL, process TEXT NOT NULL, intent TEXT NOT NULL, status {big} NOT NULL,
        body {bytes} NOT NULL, began_us {big} NOT NULL, PRIMARY KEY (chat, message, id)
    )""",
    "CREATE INDEX state_calls_by_age ON state_calls (began_us)",
    # When the newest of the calls began that were dropped.
    "CREATE TABLE state_calls_dropped (single {big} NOT NULL PRIMARY KEY, began_us {big} NOT NULL)",
)
"""The tables, which are private to the user as the whole state is."""


class CallKey(Struct, frozen=True):
    """A tool call: whose it is, its message, its id as a UUID, and how old it is in milliseconds."""

    owner: tuple[str, ...]
    message: int
    id: str
    age_ms: int

    @property
    def chat(self) -> str:
        """The chat and all that it belongs to."""
        return "\\n".join(map(as_key, self.owner))


Conflict: TypeAlias = Literal["stale", "restarted", "mismatch", "canceled"]


class Run(Struct, frozen=True):
    """The call is to be applied now, by whoever asked."""


class Running(Struct, frozen=True):
    """Another request applies it."""


class Answered(Struct, frozen=True):
    """It was applied; its answer, how long ago it began, in milliseconds, and what it was to change."""

    status: int
    body: bytes
    age_ms: int
    intent: str


class Undecided(Struct, frozen=True):
    """A process began it and is gone: its intent tells which files to look at."""

    intent: str
    process: str


Found: TypeAlias = Run | Running | Answered | Undecided | Conflict

NOT_RECORDED = "never"
"""The intent of a call of which no file tells whether it was applied."""


class _Row(Struct, frozen=True):
    input: str
    state: str
    process: str
    intent: str
    status: int
    body: bytes
    began_us: int


@final
class ToolCalls:
    """The tool calls of one server, in a database. Safe to share. Every method raises StateFailed."""

    def __init__(self, database: Database, machine: str) -> None:
        self._database = database
        self._machine = machine
        self._active: set[tuple[str, int, str]] = set()
        """Calls that this process applies now."""

    def begin(self, key: CallKey, hashed: str) -> Found:
        """Begin a call, or what is known of it."""

        def work(execute: Execute) -> Found:
            found = self._look(execute, key)
            if isinstance(found, str):
                return found
            now = execute.now_us()
            if found is None:
                _drop(execute, "chat = ? AND message < ?", (key.chat, key.message))
                values = (key.chat, key.message, key.id, hashed, "begun", self._process, "", 0, b"", now)
                execute(f"INSERT INTO state_calls VALUES ({', '.join('?' * len(values))})", values)
                self._bound(execute)
                return Run()
            if found.state == "canceled":
                return "canceled"
            if found.input != hashed:
                return "mismatch"
            known = self._known(key, found, now)
            if known is not None:
                return known
            execute(
                f"UPDATE state_calls SET process = ?, began_us = ? {_THIS}", (self._process, now, *_at(key))
            )
            return Run()

        found = self._database.change(work)
        if isinstance(found, Run):
            self._active.add(_at(key))
        return found

    def cancel(self, key: CallKey) -> Found | None:
        """The record of a call; None if it was never applied, and cannot be applied any more."""

        def work(execute: Execute) -> Found | None:
            found = self._look(execute, key)
            if isinstance(found, str):
                return found
            now = execute.now_us()
            if found is None:
                _drop(execute, "chat = ? AND message < ?", (key.chat, key.message))
                values = (key.chat, key.message, key.id, "", "canceled", "", "", 0, b"", now)
                execute(f"INSERT INTO state_calls VALUES ({', '.join('?' * len(values))})", values)
                self._bound(execute)
                return None
            if found.state == "canceled":
                return None
            known = self._known(key, found, now)
            if known is None:  # nothing was changed by the process that began it
                execute(f"UPDATE state_calls SET state = 'canceled', process = '' {_THIS}", _at(key))
            return known

        return self._database.change(work)

    def intend(self, key: CallKey, intent: str, body: bytes = b"") -> None:
        """Note what a call is about to change, and the answer that it will have."""
        sql = f"UPDATE state_calls SET intent = ?, status = 200, body = ? {_THIS}"
        self._database.change(lambda execute: execute(sql, (intent, body, *_at(key))))

    def made(self, key: CallKey) -> None:
        """Note that a call has made the change that it intended."""
        sql = f"UPDATE state_calls SET state = 'done', process = '' {_THIS} AND state = 'begun'"
        self._database.change(lambda execute: execute(sql, _at(key)))

    def answered(self, key: CallKey, status: int, body: bytes) -> None:
        """Note the answer of a call."""
        values = (status, body, *_at(key))
        sql = f"UPDATE state_calls SET state = 'done', process = '', status = ?, body = ? {_THIS}"
        self._database.change(lambda execute: execute(sql, values))

    def over(self, key: CallKey) -> None:
        """Note that this process does no more for a call; if it has changed nothing, it may begin again."""
        try:
            sql = f"DELETE FROM state_calls {_THIS} AND state = 'begun' AND intent = '' AND process = ?"
            self._database.change(lambda execute: execute(sql, (*_at(key), self._process)))
        finally:
            self._active.discard(_at(key))

    def again(self, key: CallKey, process: str) -> None:
        """Take back an undecided call that has changed nothing: the next request applies it."""
        sql = f"UPDATE state_calls SET intent = '' {_THIS} AND state = 'begun' AND process = ?"
        self._database.change(lambda execute: execute(sql, (*_at(key), process)))

    # --- rows ------------------------------------------------------------------------------------

    def _look(self, execute: Execute, key: CallKey) -> _Row | Conflict | None:
        newest = execute("SELECT MAX(message) FROM state_calls WHERE chat = ?", (key.chat,))[0][0]
        if newest is not None and key.message < newest:
            return "stale"
        rows = execute(
            f"SELECT input, state, process, intent, status, body, began_us FROM state_calls {_THIS}", _at(key)
        )
        if rows:
            hashed, state, process, intent, status, body, began_us = rows[0]
            return _Row(hashed, state, process, intent, status, bytes(body), began_us)
        if (time.monotonic() - STARTED) * 1000 <= key.age_ms:
            return "restarted"
        dropped = execute("SELECT began_us FROM state_calls_dropped")
        if dropped and execute.now_us() - key.age_ms * 1000 <= dropped[0][0]:
            return "restarted"
        return None

    def _known(self, key: CallKey, row: _Row, now: int) -> Answered | Running | Undecided | None:
        """The meaning of a row; None if its process is gone and has changed nothing."""
        if row.state == "done":
            return Answered(row.status, row.body, (now - row.began_us) // 1000, row.intent)
        if self._lives(key, row, now):
            return Running()
        return Undecided(row.intent, row.process) if row.intent else None

    def _lives(self, key: CallKey, row: _Row, now: int) -> bool:
        """Whether the process that began a call still works on it."""
        if row.process == self._process:
            return _at(key) in self._active
        machine, _, process = row.process.rpartition("/")
        if machine != self._machine:
            return now - row.began_us < _ABANDONED_US
        pid, _, start = process.partition("@")
        return _started(int(pid)) == start

    @property
    def _process(self) -> str:
        return f"{self._machine}/{os.getpid()}@{_started(os.getpid())}"

    def _bound(self, execute: Execute) -> None:
        """Drop the oldest calls, where there are too many; never one that is being applied."""
        count = execute("SELECT COUNT(*) FROM state_calls")[0][0]
        if count > STATE_CALLS:
            oldest = "SELECT began_us FROM state_calls ORDER BY began_us LIMIT 1 OFFSET ?"
            limit = execute(oldest, (count - STATE_CALLS - 1,))[0][0]
            _drop(execute, "began_us <= ? AND state <> 'begun'", (limit,), noted=True)


_THIS = "WHERE chat = ? AND message = ? AND id = ?"


def _at(key: CallKey) -> tuple[str, int, str]:
    return key.chat, key.message, key.id


def _drop(execute: Execute, where: str, values: Sequence[object], *, noted: bool = False) -> None:
    """Drop calls; `noted` where nothing else tells that they were there, as a newer message does."""
    if noted:
        newest = execute(f"SELECT MAX(began_us) FROM state_calls WHERE {where}", values)[0][0]
        if newest is None:
            return
        execute(
            "INSERT INTO state_calls_dropped (single, began_us) VALUES (1, ?) "
            "ON CONFLICT (single) DO UPDATE SET began_us = excluded.began_us "
            "WHERE excluded.began_us > state_calls_dropped.began_us",
            (newest,),
        )
    execute(f"DELETE FROM state_calls WHERE {where}", values)


def sweep_calls(execute: Execute, before_us: int) -> None:
    """Drop the calls that began before a time."""
    _drop(execute, "began_us < ?", (before_us,), noted=True)


def _started(pid: int) -> str:
    """When a process started, by its system's clock; empty if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        if os.path.exists("/proc/self/stat"):
            return ""
        return "lives" if _answers(pid) else ""
    return "" if words[0] in (b"Z", b"X") else words[19].decode("ascii")


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
