"""The database of the shared state: its tables, and its cleanup at start and end.

Kept outputs of commands are stored in pieces, so that any process can show them.  Each process has local
copies of those it has shown; the rows say which outputs exist.
"""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import final

import msgspec
from msgspec import Struct

from readroom.core.caller import Owner
from readroom.core.errors import StateFailed
from readroom.core.limits import RUN_BACKGROUND_ENDED, RUN_SESSION_OUTPUTS
from readroom.core.limits.session import BUDGET_ACCOUNTS, SESSIONS, STATE_WAIT_S
from readroom.core.lru import LruCache
from readroom.core.quoting import as_key
from readroom.core.stores.base import Files, KeptOutput, Posted
from readroom.core.values.commands import Lost
from readroom.server.database import Backend, Damaged, Database, Execute, migrate
from readroom.server.shared import StatePolicy, sessions, tool_calls
from readroom.server.shared.accounts import SharedAccounts, SharedWindows
from readroom.server.tokens import SharedTokens


@final
class SharedOutputs:
    """The kept outputs of one workspace, in a database. Safe to share between threads."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = as_key(workspace)

    def begin(self, owner: Owner, name: str) -> bool:
        values = (self._key(owner), name, self._workspace)
        sql = (
            "INSERT INTO state_outputs (owner, name, server, number, bytes, state, lost, time_us) "
            "VALUES (?, ?, ?, 0, 0, 'begun', '{}', ?) ON CONFLICT (owner, name) DO NOTHING RETURNING 1"
        )
        return bool(self._database.change(lambda execute: execute(sql, (*values, execute.now_us()))))

    def drop(self, owner: Owner, name: str) -> None:
        key = self._key(owner)
        self._database.change(lambda execute: _dropped(execute, key, name))

    def put(self, owner: Owner, name: str, files: Files, most_bytes: int) -> None:
        key = self._key(owner)
        total = 0
        for stream, (path, _) in files.items():
            count = 0
            for count, data in enumerate(_pieces(path), 1):
                total += len(data)
                self._database.change(partial(_put_piece, row=(key, name, stream, count - 1, data)))
            self._database.change(partial(_no_more_pieces, row=(key, name, stream, count)))
        lost = msgspec.json.encode({stream: one for stream, (_, one) in files.items()}).decode()
        self._database.change(lambda execute: self._settle(execute, key, name, total, lost, most_bytes))

    def grow(self, owner: Owner, name: str, files: Files, since: Mapping[str, int]) -> None:
        key, rows, counts, total = self._key(owner), [], {}, 0
        for stream, (path, _) in files.items():
            first = since[stream] // OUTPUT_PIECE_BYTES
            size = first * OUTPUT_PIECE_BYTES
            for count, data in enumerate(_pieces(path, size), first):
                rows.append((key, name, stream, count, data))
                size += len(data)
            counts[stream] = -(-size // OUTPUT_PIECE_BYTES)
            total += size
        lost = msgspec.json.encode({stream: one for stream, (_, one) in files.items()}).decode()

        def work(execute: Execute) -> None:
            for row in rows:
                _put_piece(execute, row)
            for stream, count in counts.items():
                _no_more_pieces(execute, (key, name, stream, count))
            execute(
                "UPDATE state_outputs SET state = 'grows', bytes = ?, lost = ?, time_us = ? "
                "WHERE owner = ? AND name = ?",
                (total, lost, execute.now_us(), key, name),
            )

        self._database.change(work)

    def post(self, owner: Owner, name: str, state: bytes, *, running: bool) -> str:
        key = (self._workspace, *map(as_key, owner), name)

        def work(execute: Execute) -> str:
            asked = execute(f"SELECT asked FROM state_running {_RUNNING}", key)
            execute(f"DELETE FROM state_running {_RUNNING}", key)
            sql = "INSERT INTO state_running VALUES (?, ?, ?, ?, ?, '', ?, ?)"
            execute(sql, (*key, state, int(running), execute.now_us()))
            if not running:
                execute(_FORGOTTEN, (self._workspace, self._workspace, RUN_BACKGROUND_ENDED))
            return str(asked[0][0]) if asked else ""

        return self._database.change(work)

    def posted(self) -> list[Posted]:
        sql = "SELECT state, time_us FROM state_running WHERE server = ?"

        def work(execute: Execute) -> list[Posted]:
            now, rows = execute.now_us(), execute(sql, (self._workspace,))
            return [Posted(bytes(state), (now - at) / 1_000_000) for state, at in rows]

        return self._database.look(work)

    def ask(self, owner: Owner, name: str, asked: str) -> None:
        key = (asked, self._workspace, *map(as_key, owner), name)
        sql = f"UPDATE state_running SET asked = ? {_RUNNING} AND running = 1"
        self._database.change(lambda execute: execute(sql, key))

    def all(self, owner: Owner) -> dict[str, KeptOutput]:
        sql = (
            "SELECT name, lost, time_us, state, bytes FROM state_outputs "
            "WHERE owner = ? AND state IN ('kept', 'grows')"
        )
        key = self._key(owner)
        rows = self._database.look(lambda execute: execute(sql, (key,)))
        form = dict[str, Lost | None]
        return {
            name: KeptOutput(msgspec.json.decode(lost, type=form), at / 1_000_000, state == "grows", size)
            for name, lost, at, state, size in rows
        }

    def gone(self, owner: Owner, name: str) -> bool:
        sql = "SELECT 1 FROM state_outputs WHERE owner = ? AND name = ? AND state = 'gone'"
        key = self._key(owner)
        return bool(self._database.look(lambda execute: execute(sql, (key, name))))

    def fetch(self, owner: Owner, name: str, stream: str, path: str) -> None:
        key, number, folder = self._key(owner), 0, os.path.dirname(path)
        # Outside the listed folder.
        beside = os.path.join(os.path.dirname(folder), f"new-{os.path.basename(folder)}")
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            with open(fd, "wb") as file:
                while data := self._database.look(partial(_piece, row=(key, name, stream, number))):
                    file.write(data)
                    number += 1
            os.rename(beside, path)
        except BaseException:
            os.unlink(beside)
            raise

    def clear(self) -> None:
        """Forget all outputs of the workspace. Raises StateFailed."""

        def work(execute: Execute) -> None:
            execute(
                "DELETE FROM state_pieces WHERE owner IN (SELECT owner FROM state_outputs WHERE server = ?)",
                (self._workspace,),
            )
            execute("DELETE FROM state_outputs WHERE server = ?", (self._workspace,))
            execute("DELETE FROM state_running WHERE server = ?", (self._workspace,))

        self._database.change(work)

    def _settle(self, execute: Execute, key: str, name: str, total: int, lost: str, most_bytes: int) -> None:
        last = execute(_LAST, (self._workspace,))
        execute(
            "UPDATE state_outputs SET state = 'kept', bytes = ?, lost = ?, number = ?, time_us = ? "
            "WHERE owner = ? AND name = ?",
            (total, lost, int(last[0][0]) + 1, execute.now_us(), key, name),
        )
        rows = execute(
            "SELECT owner, name, bytes FROM state_outputs WHERE server = ? AND state = 'kept' "
            "ORDER BY number DESC",
            (self._workspace,),
        )
        for other, old in _too_many(rows, most_bytes):
            execute("DELETE FROM state_pieces WHERE owner = ? AND name = ?", (other, old))
            execute("UPDATE state_outputs SET state = 'gone' WHERE owner = ? AND name = ?", (other, old))

    def _key(self, owner: Owner) -> str:
        return "\n".join((self._workspace, *map(as_key, owner)))


_LAST = "SELECT COALESCE(MAX(number), 0) FROM state_outputs WHERE server = ?"


def _put_piece(execute: Execute, row: Sequence[object]) -> None:
    execute(
        "INSERT INTO state_pieces (owner, name, stream, number, data) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (owner, name, stream, number) DO UPDATE SET data = excluded.data",
        row,
    )


def _no_more_pieces(execute: Execute, row: Sequence[object]) -> None:
    sql = "DELETE FROM state_pieces WHERE owner = ? AND name = ? AND stream = ? AND number >= ?"
    execute(sql, row)


_RUNNING = "WHERE server = ? AND token = ? AND session = ? AND name = ?"

_FORGOTTEN = (
    "DELETE FROM state_running WHERE server = ? AND running = 0 AND time_us < (SELECT time_us FROM "
    "state_running WHERE server = ? AND running = 0 ORDER BY time_us DESC LIMIT 1 OFFSET ?)"
)


def _piece(execute: Execute, row: Sequence[object]) -> bytes:
    sql = "SELECT data FROM state_pieces WHERE owner = ? AND name = ? AND stream = ? AND number = ?"
    rows = execute(sql, row)
    return bytes(rows[0][0]) if rows else b""


def _dropped(execute: Execute, key: str, name: str) -> None:
    execute("DELETE FROM state_pieces WHERE owner = ? AND name = ?", (key, name))
    execute("DELETE FROM state_outputs WHERE owner = ? AND name = ?", (key, name))


def _too_many(rows: Sequence[tuple[str, str, int]], most_bytes: int) -> Iterator[tuple[str, str]]:
    """The outputs to drop, of all, given newest first; the newest always stays."""
    total = 0
    for place, (owner, name, size) in enumerate(rows):
        total += size
        if place and (place >= RUN_SESSION_OUTPUTS or total > most_bytes):
            yield owner, name


OUTPUT_PIECE_BYTES = 1024 * 1024
"""Size of one piece of a kept output in the shared state."""


def _pieces(path: str, begin: int = 0) -> Iterator[bytes]:
    with open(path, "rb") as file:
        file.seek(begin)
        while data := file.read(OUTPUT_PIECE_BYTES):
            yield data


_LOCK = 0x72656164726F6F6E
"""The advisory lock of PostgreSQL: one more than a ledger's, which may be in the same database."""

_TABLES: Sequence[Sequence[str]] = (
    *[()] * 2,  # versions that were never released; files of the third have these tables
    (
        # Budgets: tokens spent, and tokens reserved for running calls.
        """CREATE TABLE state_paid (
            account TEXT NOT NULL PRIMARY KEY, used {big} NOT NULL, time_us {big} NOT NULL
        )""",
        """CREATE TABLE state_held (
            id TEXT NOT NULL, account TEXT NOT NULL, process TEXT NOT NULL,
            amount {big} NOT NULL, until_us {big} NOT NULL, PRIMARY KEY (account, id)
        )""",
        "CREATE INDEX state_held_by_process ON state_held (process)",
        # Rates: the requests of this minute and of the previous one.
        """CREATE TABLE state_windows (
            name TEXT NOT NULL PRIMARY KEY, minute {big} NOT NULL, hits {big} NOT NULL, before {big} NOT NULL
        )""",
        # MCP sessions, and the calls in them that clients cancelled.
        """CREATE TABLE state_sessions (
            id TEXT NOT NULL PRIMARY KEY, server TEXT NOT NULL, token TEXT NOT NULL, workspace TEXT NOT NULL,
            agreed TEXT NOT NULL, used_us {big} NOT NULL
        )""",
        "CREATE INDEX state_sessions_by_use ON state_sessions (server, used_us)",
        """CREATE TABLE state_cancelled (
            session TEXT NOT NULL, request TEXT NOT NULL, time_us {big} NOT NULL,
            PRIMARY KEY (session, request)
        )""",
        # Conversations: their epochs, and the ranges shown in each.
        """CREATE TABLE state_conversations (
            id TEXT NOT NULL PRIMARY KEY, epoch {big} NOT NULL, shows {big} NOT NULL, used_us {big} NOT NULL
        )""",
        """CREATE TABLE state_shown (
            conversation TEXT NOT NULL, path TEXT NOT NULL, hash TEXT NOT NULL,
            epoch {big} NOT NULL, turn {big} NOT NULL, PRIMARY KEY (conversation, path, hash)
        )""",
        # Kept outputs of commands, complete, in pieces.
        """CREATE TABLE state_outputs (
            owner TEXT NOT NULL, name TEXT NOT NULL, server TEXT NOT NULL, number {big} NOT NULL,
            bytes {big} NOT NULL, state TEXT NOT NULL, lost TEXT NOT NULL, time_us {big} NOT NULL,
            PRIMARY KEY (owner, name)
        )""",
        """CREATE TABLE state_pieces (
            owner TEXT NOT NULL, name TEXT NOT NULL, stream TEXT NOT NULL, number {big} NOT NULL,
            data {bytes} NOT NULL, PRIMARY KEY (owner, name, stream, number)
        )""",
        # Tokens, for servers of several machines.
        """CREATE TABLE state_tokens (
            id TEXT NOT NULL PRIMARY KEY, hash {bytes} NOT NULL, name TEXT NOT NULL, workspaces TEXT,
            tools TEXT, policy TEXT, created_us {big} NOT NULL, expires_us {big}, revoked_us {big}
        )""",
        # People signed in to the dashboard: their tokens, encrypted with their cookies.
        """CREATE TABLE state_visits (
            id TEXT NOT NULL PRIMARY KEY, server TEXT NOT NULL, token {bytes} NOT NULL, ends_us {big} NOT NULL
        )""",
        # The clock by which sessions age: the offset of the monotonic clock at the start of the machine.
        "CREATE TABLE state_clock (boot TEXT NOT NULL PRIMARY KEY, offset_us {big} NOT NULL)",
    ),
    (
        *tool_calls.TABLES,
        # Commands that run on after their call, as the processes that run them saw them last.
        """CREATE TABLE state_running (
            server TEXT NOT NULL, token TEXT NOT NULL, session TEXT NOT NULL, name TEXT NOT NULL,
            state {bytes} NOT NULL, asked TEXT NOT NULL, running {big} NOT NULL, time_us {big} NOT NULL,
            PRIMARY KEY (server, token, session, name)
        )""",
    ),
    (
        # The files that conversations were shown, each as they know it, to tell them of changes once.
        """CREATE TABLE state_seen (
            conversation TEXT NOT NULL, path TEXT NOT NULL, seen TEXT NOT NULL,
            epoch {big} NOT NULL, turn {big} NOT NULL, PRIMARY KEY (conversation, path)
        )""",
    ),
)
"""The statements of version 1, then of version 2, and so on. A released version is never changed."""


def _opened(policy: StatePolicy) -> Backend:
    """Open the database of a policy and create its tables. Raises StateFailed or MissingProgram."""
    if policy.url is not None:
        from readroom.server.database.postgres import PostgresBackend

        backend: Backend = PostgresBackend(
            policy.url, wait_s=STATE_WAIT_S, shares=True, lock=_LOCK, failure=StateFailed
        )
    elif policy.file is None:
        raise StateFailed("file", "there is no home folder", "Set HOME or XDG_STATE_HOME.")
    else:
        from readroom.server.database.sqlite import SqliteBackend

        backend = SqliteBackend(policy.file, wait_s=STATE_WAIT_S, shares=True, failure=StateFailed)
    try:
        migrate(backend, "state_schema", _TABLES)
    except BaseException:
        backend.close()
        raise
    return backend


def _database(policy: StatePolicy) -> Database:
    """The database of a policy, opened on first use."""
    return Database("PostgreSQL" if policy.url is not None else policy.file or "", lambda: _opened(policy))


class Spending(Struct, frozen=True):
    """Tokens paid from one budget: its scope, its workspace and its owner."""

    scope: str
    workspace: str
    name: str
    used: int


def _spending(account: object, used: object) -> Spending:
    parts = account.split("\n") if isinstance(account, str) else []
    if len(parts) != 3 or not isinstance(used, int):
        raise Damaged("it has a budget that readroom did not write")
    scope, workspace, name = parts
    return Spending(scope, workspace, name, used)


@final
class SharedState:
    """The shared state, as one process of a server uses it. Safe to share between threads."""

    def __init__(self, policy: StatePolicy, server: str, *, several: bool) -> None:
        """Opens nothing yet. All processes of one server have the same `server`.

        Without `several` there is one process, and only data that outlives it is stored here.
        """
        database = self.database = _database(policy)
        self.machine = socket.gethostname().replace("/", "")
        self.process = f"{self.machine}/{os.getpid()}/{secrets.token_hex(8)}"
        """A name of this process that is never used again."""
        self.several = several
        self.remote = policy.url is not None
        """Whether each query goes over a network."""
        self.name = database.name
        self.server = server
        self.accounts = SharedAccounts(database, self.process)
        self.windows = SharedWindows(database, server)
        self._clock = sessions.SteadyClock(one_machine=policy.url is None)
        self.sessions = sessions.SharedSessions(database, server, self._clock)
        self.visits = sessions.SharedVisits(database, server)

    def conversations(self, workspace: str) -> Callable[[str], sessions.SharedSeen]:
        return partial(sessions.SharedSeen, self.database, LruCache(SESSIONS * 16), workspace)

    def tool_calls(self) -> tool_calls.ToolCalls:
        """The tool calls that clients may send again."""
        return tool_calls.ToolCalls(self.database, self.machine)

    def outputs(self, workspace: str) -> SharedOutputs:
        return SharedOutputs(self.database, workspace)

    @property
    def tokens(self) -> SharedTokens:
        """The tokens made by name."""
        return SharedTokens(self.database)

    def answers(self) -> None:
        """Do nothing but ask. Raises StateFailed."""
        self.database.look(lambda execute: execute("SELECT 1"))

    def release(self) -> None:
        """Free reservations of dead processes of this machine. Raises StateFailed.

        If such a process is alive after all, it still pays for its calls.
        """

        def work(execute: Execute) -> None:
            for (process,) in execute("SELECT DISTINCT process FROM state_held WHERE until_us > 0"):
                machine, _, pid = process.rpartition("/")[0].rpartition("/")
                if machine == self.machine and pid.isdecimal() and not _lives(int(pid)):
                    execute("UPDATE state_held SET until_us = 0 WHERE process = ?", (process,))

        self.database.change(work)

    def sweep(self) -> None:
        """Delete data that has not been used for long. Raises StateFailed."""
        self.database.change(lambda execute: sweep(execute, self._clock.now_us(execute)))

    def spent(self) -> list[Spending]:
        """Tokens paid from every account, the largest first. Raises StateFailed."""
        sql = "SELECT account, used FROM state_paid ORDER BY used DESC, account"
        return self.database.look(lambda execute: [_spending(*row) for row in execute(sql)])

    def forgive(self, one: Spending) -> None:
        """Reset an account. Raises StateFailed."""
        values = ("\n".join((one.scope, one.workspace, one.name)),)
        self.database.change(lambda execute: execute("DELETE FROM state_paid WHERE account = ?", values))

    def close(self) -> None:
        """Release the database."""
        self.database.close()


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


STATE_KEPT_S = 24 * 3600.0
"""Idle time after which sessions, shown ranges and kept outputs are forgotten. Budgets are not."""

STATE_SPENT_S = 30 * 24 * 3600.0
"""Additional time in which a conversation's spending is remembered."""

STATE_CONVERSATIONS = 10_000
"""Maximum conversations in one shared state whose shown ranges are remembered. As BUDGET_ACCOUNTS."""


def sweep(execute: Execute, steady_us: int) -> None:
    """Delete data that has not been used for long; sessions are aged by their own clock."""
    before_us = execute.now_us() - int(STATE_KEPT_S * 1_000_000)
    execute("DELETE FROM state_held WHERE until_us < ?", (before_us,))
    conversations = ("session\n", before_us - int(STATE_SPENT_S * 1_000_000))
    execute("DELETE FROM state_paid WHERE substr(account, 1, 8) = ? AND time_us < ?", conversations)
    # Clients name their conversations, and could invent any number of them.
    execute(
        "DELETE FROM state_paid WHERE substr(account, 1, 8) = ? AND account NOT IN (SELECT account FROM "
        "state_paid WHERE substr(account, 1, 8) = ? ORDER BY time_us DESC LIMIT ?)",
        (conversations[0], conversations[0], BUDGET_ACCOUNTS),
    )
    newest = "SELECT id FROM state_conversations ORDER BY used_us DESC LIMIT ?"
    for table in ("state_shown", "state_seen"):
        execute(f"DELETE FROM {table} WHERE conversation NOT IN ({newest})", (STATE_CONVERSATIONS,))
    execute(
        f"DELETE FROM state_conversations WHERE epoch = 0 AND id NOT IN ({newest})", (STATE_CONVERSATIONS,)
    )
    idle_us = steady_us - int(STATE_KEPT_S * 1_000_000)
    execute("DELETE FROM state_cancelled WHERE time_us < ?", (idle_us,))
    execute("DELETE FROM state_sessions WHERE used_us < ?", (idle_us,))
    for table in ("state_shown", "state_seen"):
        execute(
            f"DELETE FROM {table} WHERE conversation IN "
            "(SELECT id FROM state_conversations WHERE used_us < ?)",
            (before_us,),
        )
    # Keep the epochs: text that was compacted away does not return to view after an idle day.
    execute(
        "DELETE FROM state_pieces WHERE EXISTS (SELECT 1 FROM state_outputs o WHERE o.owner = "
        "state_pieces.owner AND o.name = state_pieces.name AND o.time_us < ?)",
        (before_us,),
    )
    execute("DELETE FROM state_outputs WHERE time_us < ?", (before_us,))
    execute("DELETE FROM state_running WHERE time_us < ?", (before_us,))
    tool_calls.sweep_calls(execute, before_us)
