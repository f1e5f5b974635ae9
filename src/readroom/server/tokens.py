"""Bearer tokens: generated once, shown once, stored as hashes.

A token is `rr_<id>_<secret>`: the id finds the row, the secret is 256 random bits, and only its SHA-256
is stored (slow hashes protect guessable secrets; these cannot be guessed).  Rows are in an SQLite file of
one machine, or in the database that servers on several machines share.  Servers look tokens up for every
request, so a revoked token stops working at once, in running servers too; a token that was found is
cached only as long as the file is unchanged.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import sqlite3
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, final

from msgspec import Struct

from readroom.core.errors import BadTokenStore, NoSuchToken, reason_of
from readroom.core.lru import LruCache

if TYPE_CHECKING:
    from readroom.server.database import Database

_SCHEMA = 1
_PREFIX = "rr"
_ID_BYTES = 6
_SECRET_BYTES = 32

SECRET = re.compile(rf"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_[A-Za-z0-9_-]{{43}}")
"""A whole token: its id and its secret."""

_TABLE = """
CREATE TABLE IF NOT EXISTS tokens (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL,
    name TEXT NOT NULL,
    workspaces TEXT,
    tools TEXT,
    policy TEXT,
    created REAL NOT NULL,
    expires REAL,
    revoked REAL
) STRICT
"""


class Grant(Struct, frozen=True):
    """The permissions of a token. Times are seconds since the epoch.

    Attributes:
        token: Its id, which is not a secret.
        name: The name of its owner, for people and the ledger.
        workspaces: Names it opens; None for all.
        tools: Tools it may call, by their names in any contract; None for all.
        policy: A file with rules that restrict it further than the workspace does.
        created: When it was created.
        expires: When it expires.
        revoked: When it was revoked.
    """

    token: str
    name: str
    workspaces: frozenset[str] | None = None
    tools: frozenset[str] | None = None
    policy: str | None = None
    created: float = 0.0
    expires: float | None = None
    revoked: float | None = None

    def state(self, now: float) -> str:
        """`valid`, `expired` or `revoked`."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and self.expires <= now else "valid"

    def opens(self, workspace: str) -> bool:
        """Whether it is valid for the workspace of this name."""
        return self.workspaces is None or workspace in self.workspaces


TOKEN_SETTLED_S = 5.0
"""Time after which another write gives a file of tokens another time: some systems keep times of 2 s."""


class _State(Struct, frozen=True):
    """The state of the file, from its stat."""

    identity: tuple[int, int]
    size: int
    times_ns: tuple[int, int]

    def settled(self, now: float) -> bool:
        """Whether another write would change the file's times.

        Times advance in steps: two writes within one look the same, as with git's index.
        """
        return max(self.times_ns) < (now - TOKEN_SETTLED_S) * 1e9


class _Found(Struct, frozen=True):
    """The grant of a token, and the state of the file at that time."""

    state: _State
    grant: Grant


class MadeTokens(ABC):
    """Tokens made by name, as rows of one table. Safe to share between threads and processes."""

    _TABLE = "tokens"
    _UNIT = ""
    """The suffix of the names of time columns."""
    _TWICE = ""
    """The clause of an insertion that may be repeated."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock

    def create(
        self,
        name: str,
        *,
        workspaces: Sequence[str] | None = None,
        tools: Sequence[str] | None = None,
        policy: str | None = None,
        lifetime_s: float | None = None,
    ) -> tuple[Grant, str]:
        """A new token: its grant, and the secret, which cannot be shown again."""
        token, now = new_token(), self._clock()
        row = (
            *(token_id(token), _hashed(token), name, _listed(workspaces), _listed(tools), policy),
            *(self._stored(now), None if lifetime_s is None else self._stored(now + lifetime_s), None),
        )
        places = ", ".join("?" * len(row))
        self._change(f"INSERT INTO {self._TABLE} ({self._columns}) VALUES ({places}){self._TWICE}", row)
        return self._grant(row), token

    def find(self, token: str) -> Grant | None:
        """The grant of a presented token, in any state; None for an unknown token."""
        for row in self._rows("WHERE id = ?", (token_id(token) or "",)):
            if hmac.compare_digest(bytes(row[1]), _hashed(token)):
                return self._grant(row)
        return None

    def all(self) -> list[Grant]:
        """Every token that was made, oldest first."""
        return [self._grant(row) for row in self._rows(f"ORDER BY created{self._UNIT}, id", ())]

    def any_valid(self) -> bool:
        """Whether there is a valid token."""
        ends = f"expires{self._UNIT}"
        clause = f"WHERE revoked{self._UNIT} IS NULL AND ({ends} IS NULL OR {ends} > ?) LIMIT 1"
        return bool(self._rows(clause, (self._stored(self._clock()),)))

    def any_made(self) -> bool:
        """Whether there is a token that was not revoked; an expired one still closes the server."""
        return bool(self._rows(f"WHERE revoked{self._UNIT} IS NULL LIMIT 1", ()))

    def revoke(self, identifier: str) -> Grant:
        """Revoke a token. Raises NoSuchToken; a revoked token keeps its first time of revocation."""
        revoked = f"revoked{self._UNIT}"
        sql = f"UPDATE {self._TABLE} SET {revoked} = COALESCE({revoked}, ?) WHERE id = ?"
        self._change(sql, (self._stored(self._clock()), identifier))
        for row in self._rows("WHERE id = ?", (identifier,)):
            return self._grant(row)
        raise NoSuchToken(identifier, [grant.token for grant in self.all()])

    @abstractmethod
    def close(self) -> None:
        """Release the store."""

    @property
    def _columns(self) -> str:
        times = ", ".join(f"{name}{self._UNIT}" for name in ("created", "expires", "revoked"))
        return f"id, hash, name, workspaces, tools, policy, {times}"

    def _rows(self, clause: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._look(f"SELECT {self._columns} FROM {self._TABLE} {clause}", values)

    def _grant(self, row: Sequence[Any]) -> Grant:
        identifier, _, name, workspaces, tools, policy, *times = row
        created, expires, revoked = map(self._seconds, times)
        return Grant(
            identifier, name, _names(workspaces), _names(tools), policy, created or 0.0, expires, revoked
        )

    @abstractmethod
    def _look(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        """The rows of a query. Raises BadTokenStore, or StateFailed for tokens in a shared database."""

    @abstractmethod
    def _change(self, sql: str, values: Sequence[object]) -> None:
        """Execute one statement."""

    @abstractmethod
    def _stored(self, seconds: float) -> float:
        """A time as it is stored."""

    @abstractmethod
    def _seconds(self, stored: Any) -> float | None:
        """A time of a row, in seconds since the epoch."""


@final
class SharedTokens(MadeTokens):
    """Tokens in the database of the shared state, for servers on several machines."""

    _TABLE, _UNIT = "state_tokens", "_us"
    _TWICE = " ON CONFLICT (id) DO NOTHING"

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock)
        self._database = database

    def close(self) -> None:
        self._database.close()

    def _look(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        return self._database.look(lambda execute: execute(sql, values))

    def _change(self, sql: str, values: Sequence[object]) -> None:
        self._database.change(lambda execute: execute(sql, values))

    def _stored(self, seconds: float) -> int:
        return int(seconds * 1_000_000)

    def _seconds(self, stored: Any) -> float | None:
        return None if stored is None else stored / 1_000_000


TOKENS_FOUND = 1000
"""Tokens whose rows are cached while their file is unchanged."""


@final
class Tokens(MadeTokens):
    """Tokens in an SQLite file."""

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        """Use the file `path`; it and its folder are made, private to this user, with the first token."""
        super().__init__(clock)
        self._path = path
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._found: LruCache[bytes, _Found] = LruCache(TOKENS_FOUND)

    def find(self, token: str) -> Grant | None:
        """As in the base class; cached while the file is unchanged."""
        state = None if token_id(token) is None else self._state()
        if state is None:
            return None
        digest = _hashed(token)
        known = self._found.get(digest)
        if known is not None and known.state == state:
            return known.grant
        grant = super().find(token)
        if grant is not None and state.settled(self._clock()):
            self._found.put(digest, _Found(state, grant))
        return grant

    def revoke(self, identifier: str) -> Grant:
        """As in the base class; does not create a missing file."""
        if not os.path.exists(self._path):
            raise NoSuchToken(identifier, [])
        return super().revoke(identifier)

    def close(self) -> None:
        with self._lock:
            opened, self._opened = self._opened, []
        for connection in opened:
            connection.close()

    def _look(self, sql: str, values: Sequence[object]) -> list[tuple[Any, ...]]:
        try:
            state = self._state()
            return [] if state is None else self._connection(state.identity).execute(sql, values).fetchall()
        except (sqlite3.Error, OSError, UnicodeError) as error:
            raise BadTokenStore(self._path, str(error)) from None

    def _state(self) -> _State | None:
        """The state of the file; None if there is none. Raises BadTokenStore, see `ours`."""
        try:
            folder, status = os.stat(os.path.dirname(self._path)), os.stat(self._path)
        except OSError:
            return None
        ours(self._path, folder, status)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return _State((status.st_dev, status.st_ino), status.st_size, times)

    def _connection(self, identity: tuple[int, int]) -> sqlite3.Connection:
        """This thread's connection to that very file, which is another one if it was replaced."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.identity != identity:
            # `close` closes it, from another thread.
            connection = self._local.connection = _opened(self._path, check_same_thread=False)
            self._local.identity = identity
            with self._lock:
                self._opened.append(connection)
        return connection

    def _change(self, sql: str, values: Sequence[object]) -> None:
        try:
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            # Create the file first: SQLite would create it with the mode of the umask.
            os.close(os.open(self._path, _CREATED, 0o600))
        except OSError as error:
            raise BadTokenStore(self._path, reason_of(error)) from None
        self._state()
        try:
            with closing(_opened(self._path)) as connection, connection:
                connection.execute(sql, values)
        except (sqlite3.Error, UnicodeError) as error:
            raise BadTokenStore(self._path, str(error)) from None

    def _stored(self, seconds: float) -> float:
        return seconds

    def _seconds(self, stored: Any) -> float | None:
        return stored if isinstance(stored, float) else None


_CREATED = os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK
"""Without waiting: where the file should be there may be a pipe."""


def new_token() -> str:
    """A new random token."""
    return f"{_PREFIX}_{secrets.token_hex(_ID_BYTES)}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def token_id(token: str) -> str | None:
    """The id in a token; None if it is not one of ours."""
    match = SECRET.fullmatch(token)
    return None if match is None else match[1]


def ours(path: str, *statuses: os.stat_result) -> None:
    """Raise BadTokenStore unless all belong to this account or root, and no other account can write them."""
    for status in statuses:
        if status.st_uid not in (os.geteuid(), 0):
            problem = "it belongs to another account"
        elif status.st_mode & stat.S_IWOTH:
            problem = "other accounts can write it"
        else:
            continue
        raise BadTokenStore(path, problem, "Set XDG_STATE_HOME to a folder that is only this account's.")


def _opened(path: str, *, check_same_thread: bool = True) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0, check_same_thread=check_same_thread)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            with connection:
                connection.execute(_TABLE)
                connection.execute(f"PRAGMA user_version = {_SCHEMA}")
        elif version != _SCHEMA:
            raise BadTokenStore(path, f"it has version {version}, and this readroom knows version {_SCHEMA}")
    except BaseException:
        connection.close()
        raise
    return connection


def _hashed(token: str) -> bytes:
    """The stored hash of a token."""
    return hashlib.sha256(token.encode("ascii")).digest()


def _listed(names: Sequence[str] | None) -> str | None:
    """Names as the value of a column."""
    return None if names is None else json.dumps(sorted(frozenset(names)))


def _names(column: str | None) -> frozenset[str] | None:
    """The inverse of `_listed`; a damaged restriction admits nothing."""
    if column is None:
        return None
    try:
        names = json.loads(column)
    except ValueError:
        return frozenset()
    return (
        frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    )
