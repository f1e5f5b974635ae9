"""Bearer tokens of the HTTP agent: made once, shown once, kept as hashes.

A token is `rr_<id>_<secret>`: the id finds the row, 256 random bits are the
secret, and only its SHA-256 is stored (a hash that is slow on purpose protects
guessable secrets; these are not).  The store is an SQLite file that servers look at
for every request, so a token that is revoked ends at once, in running servers too; as
long as the file was not written again, a token that was found is not looked for again.
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
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import cast, final

from msgspec import Struct

from readroom.errors import BadTokenStore, NoSuchToken
from readroom.limits.session import TOKEN_SETTLED_S, TOKENS_FOUND
from readroom.lru import LruCache

_SCHEMA = 1
_PREFIX = "rr"
_ID_BYTES = 6
_SECRET_BYTES = 32

SECRET = re.compile(rf"{_PREFIX}_([0-9a-f]{{{2 * _ID_BYTES}}})_[A-Za-z0-9_-]{{43}}")
"""A whole token, its id in front of the secret."""

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
    """What a token allows. Times are seconds since the epoch.

    Attributes:
        token: Its id, which is not a secret.
        name: Whose it is, for people and the ledger.
        workspaces: Names it opens; None for all.
        tools: Tools it may call, by their names in any contract; None for all.
        policy: A file with rules that restrict it further than the workspace does.
        created: When it was made.
        expires: When it ends by itself.
        revoked: When it was ended.
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
        """Whether it is good for the workspace of this name."""
        return self.workspaces is None or workspace in self.workspaces


class _State(Struct, frozen=True):
    """A state of the file, as the system tells it."""

    identity: tuple[int, int]
    size: int
    times_ns: tuple[int, int]

    def settled(self, now: float) -> bool:
        """Whether the file will have other times when it is written again.

        Times advance in steps: what is written twice within one looks the same, as git knows of its index.
        """
        return max(self.times_ns) < (now - TOKEN_SETTLED_S) * 1e9


class _Found(Struct, frozen=True):
    """What a token allowed in a state of the file."""

    state: _State
    grant: Grant


@final
class Tokens:
    """The tokens in one file. Safe to share between threads, and between processes."""

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        """Use the file at `path`; it and its folder are made, for this user alone, by the first token."""
        self._path = path
        self._clock = clock
        self._local = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._found: LruCache[bytes, _Found] = LruCache(TOKENS_FOUND)

    def create(
        self,
        name: str,
        *,
        workspaces: Sequence[str] | None = None,
        tools: Sequence[str] | None = None,
        policy: str | None = None,
        lifetime_s: float | None = None,
    ) -> tuple[Grant, str]:
        """A new token: what it allows, and the secret, which cannot be asked for again."""
        token = new_token()
        identifier, now = token.split("_")[1], self._clock()
        grant = Grant(
            identifier,
            name,
            None if workspaces is None else frozenset(workspaces),
            None if tools is None else frozenset(tools),
            policy,
            now,
            None if lifetime_s is None else now + lifetime_s,
        )
        with self._writing() as connection:
            connection.execute(
                "INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL)",
                (
                    *(identifier, hashed(token), name, listed(grant.workspaces), listed(grant.tools)),
                    *(policy, grant.created, grant.expires),
                ),
            )
        return grant, token

    def find(self, token: str) -> Grant | None:
        """What a presented token allows, whatever its state; None for one that was never made here."""
        identifier = token_id(token)
        state = None if identifier is None else self._state()
        if identifier is None or state is None:
            return None
        digest = hashed(token)
        found = self._found.get(digest)
        if found is not None and found.state == state:
            return found.grant
        for row in self._rows("WHERE id = ?", (identifier,)):
            if hmac.compare_digest(cast("bytes", row[1]), digest):
                grant = _grant(row)
                if state.settled(self._clock()):
                    self._found.put(digest, _Found(state, grant))
                return grant
        return None

    def all(self) -> list[Grant]:
        """Every token that was made, oldest first."""
        return [_grant(row) for row in self._rows("ORDER BY created, id", ())]

    def any_valid(self) -> bool:
        """Whether anyone holds a token that works."""
        clause = "WHERE revoked IS NULL AND (expires IS NULL OR expires > ?) LIMIT 1"
        return bool(self._rows(clause, (self._clock(),)))

    def any_made(self) -> bool:
        """Whether somebody was given one and nobody took it back: that it expires opens no door."""
        return bool(self._rows("WHERE revoked IS NULL LIMIT 1", ()))

    def revoke(self, identifier: str) -> Grant:
        """End a token. Raises NoSuchToken; one that has ended stays ended since then."""
        if os.path.exists(self._path):
            with self._writing() as connection:
                connection.execute(
                    "UPDATE tokens SET revoked = coalesce(revoked, ?) WHERE id = ?",
                    (self._clock(), identifier),
                )
            for row in self._rows("WHERE id = ?", (identifier,)):
                return _grant(row)
        raise NoSuchToken(identifier, [grant.token for grant in self.all()])

    def close(self) -> None:
        """Release the file."""
        with self._lock:
            opened, self._opened = self._opened, []
        for connection in opened:
            connection.close()

    def _rows(self, clause: str, values: tuple[object, ...]) -> list[tuple[object, ...]]:
        try:
            state = self._state()
            if state is None:
                return []
            return (
                self._connection(state.identity).execute(f"SELECT * FROM tokens {clause}", values).fetchall()
            )
        except (sqlite3.Error, FileNotFoundError) as error:
            raise BadTokenStore(self._path, str(error)) from None

    def _state(self) -> _State | None:
        """The state of the file; None when there is none.

        Raises:
            BadTokenStore: Another account could have prepared it, and would be let in.
        """
        try:
            folder, status = os.stat(os.path.dirname(self._path)), os.stat(self._path)
        except OSError:
            return None
        ours(self._path, folder, status)
        times = (status.st_mtime_ns, status.st_ctime_ns)
        return _State((status.st_dev, status.st_ino), status.st_size, times)

    def _connection(self, identity: tuple[int, int]) -> sqlite3.Connection:
        """This thread's, for reading that very file: one that was removed and made anew is another."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.identity != identity:
            # Closed by `close`, which another thread calls.
            connection = self._local.connection = _opened(self._path, check_same_thread=False)
            self._local.identity = identity
            with self._lock:
                self._opened.append(connection)
        return connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
        # Made before SQLite makes it, which would ask the umask.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._state()
        try:
            with closing(_opened(self._path)) as connection, connection:
                yield connection
        except sqlite3.Error as error:
            raise BadTokenStore(self._path, str(error)) from None


def new_token() -> str:
    """A token that no one has had before."""
    return f"{_PREFIX}_{secrets.token_hex(_ID_BYTES)}_{secrets.token_urlsafe(_SECRET_BYTES)}"


def token_id(token: str) -> str | None:
    """The id in what may be a token of ours."""
    match = SECRET.fullmatch(token)
    return None if match is None else match[1]


def ours(path: str, *statuses: os.stat_result) -> None:
    """Raises BadTokenStore unless these belong to this account or root, and no other can write them."""
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


def hashed(token: str) -> bytes:
    """What is kept of a token."""
    return hashlib.sha256(token.encode("ascii")).digest()


def listed(names: frozenset[str] | None) -> str | None:
    """Names as one column."""
    return None if names is None else json.dumps(sorted(names))


def _grant(row: tuple[object, ...]) -> Grant:
    identifier, _, name, workspaces, tools, policy, created, expires, revoked = row
    return Grant(
        str(identifier),
        str(name),
        as_names(workspaces),
        as_names(tools),
        None if policy is None else str(policy),
        _seconds(created) or 0.0,
        _seconds(expires),
        _seconds(revoked),
    )


def as_names(column: object) -> frozenset[str] | None:
    """What such a column says."""
    return None if column is None else frozenset(json.loads(str(column)))


def _seconds(column: object) -> float | None:
    return column if isinstance(column, float) else None
