"""Tokens as rows of the shared state, for servers of several machines.

As in the file of one machine only the hash of a token is kept, and servers look at
every request, so that one that is revoked ends at once, everywhere.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Sequence
from typing import Any, final

from readroom.errors import BadTokenStore, NoSuchToken, StateFailed
from readroom.database import Database
from readroom.session.tokens import Grant, as_names, hashed, listed, new_token, token_id

_COLUMNS = "id, hash, name, workspaces, tools, policy, created_us, expires_us, revoked_us"


@final
class SharedTokens:
    """The tokens in one database. Safe to share between threads, and between processes."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.time) -> None:
        self._database = database
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
        """A new token: what it allows, and the secret, which nobody can ask for again."""
        token, now = new_token(), _us(self._clock())
        expires = None if lifetime_s is None else now + _us(lifetime_s)
        row = (
            *(token_id(token), hashed(token), name),
            *(listed(None if names is None else frozenset(names)) for names in (workspaces, tools)),
            *(policy, now, expires, None),
        )
        sql = f"INSERT INTO state_tokens ({_COLUMNS}) VALUES ({', '.join('?' * len(row))}) "
        self._database.change(lambda execute: execute(f"{sql} ON CONFLICT (id) DO NOTHING", row))
        return _grant(row), token

    def find(self, token: str) -> Grant | None:
        """What a presented token allows, whatever its state; None for one that was never made here."""
        for row in self._rows("WHERE id = ?", (token_id(token) or "",)):
            if hmac.compare_digest(bytes(row[1]), hashed(token)):
                return _grant(row)
        return None

    def all(self) -> list[Grant]:
        """Every token that was made, oldest first."""
        return [_grant(row) for row in self._rows("ORDER BY created_us, id", ())]

    def any_valid(self) -> bool:
        """Whether somebody holds a token that works."""
        clause = "WHERE revoked_us IS NULL AND (expires_us IS NULL OR expires_us > ?) LIMIT 1"
        return bool(self._rows(clause, (_us(self._clock()),)))

    def any_made(self) -> bool:
        """Whether somebody was given one and nobody took it back: that it expires opens no door."""
        return bool(self._rows("WHERE revoked_us IS NULL LIMIT 1", ()))

    def revoke(self, identifier: str) -> Grant:
        """End a token. Raises NoSuchToken; one that has ended stays ended since then."""
        sql = "UPDATE state_tokens SET revoked_us = COALESCE(revoked_us, ?) WHERE id = ?"
        values = (_us(self._clock()), identifier)
        self._database.change(lambda execute: execute(sql, values))
        for row in self._rows("WHERE id = ?", (identifier,)):
            return _grant(row)
        raise NoSuchToken(identifier, [grant.token for grant in self.all()])

    def close(self) -> None:
        """Release the database."""
        self._database.close()

    def _rows(self, clause: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        sql = f"SELECT {_COLUMNS} FROM state_tokens {clause}"
        try:
            return self._database.look(lambda execute: execute(sql, values))
        except StateFailed as failure:
            raise BadTokenStore(self._database.name, str(failure.facts["problem"]), failure.advice) from None


def _us(seconds: float) -> int:
    return int(seconds * 1_000_000)


def _grant(row: Sequence[Any]) -> Grant:
    identifier, _, name, workspaces, tools, policy, *times = row
    created, expires, revoked = (None if at is None else at / 1_000_000 for at in times)
    names = (as_names(workspaces), as_names(tools))
    return Grant(identifier, name, *names, policy, created or 0.0, expires, revoked)
