"""Kept outputs of commands as rows, whole and in pieces, so that any process can show them.

Each process has the files of those that it has shown; the rows say which there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import partial
from typing import final

import msgspec

from readroom.caller import Owner
from readroom.database import Database, Execute
from readroom.limits import RUN_SESSION_OUTPUTS
from readroom.limits.session import OUTPUT_PIECE_BYTES
from readroom.quoting import as_value
from readroom.stores.base import Files, KeptOutput
from readroom.values.commands import Lost


@final
class SharedOutputs:
    """Those of one workspace, in a database. Safe to share between threads."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = as_value(workspace)

    def begin(self, owner: Owner, name: str) -> bool:
        """Take a name; False when there is such an output. Raises StateFailed."""
        values = (self._key(owner), name, self._workspace)
        sql = (
            "INSERT INTO state_outputs (owner, name, server, number, bytes, state, lost, time_us) "
            "VALUES (?, ?, ?, 0, 0, 'begun', '{}', ?) ON CONFLICT (owner, name) DO NOTHING RETURNING 1"
        )
        return bool(self._database.change(lambda execute: execute(sql, (*values, execute.now_us()))))

    def drop(self, owner: Owner, name: str) -> None:
        """Forget an output that nobody was told of. Raises StateFailed."""
        key = self._key(owner)
        self._database.change(lambda execute: _dropped(execute, key, name))

    def put(self, owner: Owner, name: str, files: Files, most_bytes: int) -> None:
        """Keep an output; the oldest leave when there are too many. Raises StateFailed or OSError."""
        key = self._key(owner)
        total = 0
        for stream, (path, _) in files.items():
            for number, data in enumerate(_pieces(path)):
                total += len(data)
                self._database.change(partial(_put_piece, row=(key, name, stream, number, data)))
        lost = msgspec.json.encode({stream: one for stream, (_, one) in files.items()}).decode()
        self._database.change(lambda execute: self._settle(execute, key, name, total, lost, most_bytes))

    def all(self, owner: Owner) -> dict[str, KeptOutput]:
        """Those of an owner by name. Raises StateFailed."""
        sql = "SELECT name, lost, time_us FROM state_outputs WHERE owner = ? AND state = 'kept'"
        key = self._key(owner)
        rows = self._database.look(lambda execute: execute(sql, (key,)))
        form = dict[str, Lost | None]
        return {
            name: KeptOutput(msgspec.json.decode(lost, type=form), at / 1_000_000) for name, lost, at in rows
        }

    def gone(self, owner: Owner, name: str) -> bool:
        """Whether there was an output of that name that had to leave. Raises StateFailed."""
        sql = "SELECT 1 FROM state_outputs WHERE owner = ? AND name = ? AND state = 'gone'"
        key = self._key(owner)
        return bool(self._database.look(lambda execute: execute(sql, (key, name))))

    def fetch(self, owner: Owner, name: str, stream: str, path: str) -> None:
        """Write a stream of an output into a new file. Raises StateFailed or OSError."""
        key, number, folder = self._key(owner), 0, os.path.dirname(path)
        # Where nobody lists it.
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
        return "\n".join((self._workspace, *map(as_value, owner)))


_LAST = "SELECT COALESCE(MAX(number), 0) FROM state_outputs WHERE server = ?"


def _put_piece(execute: Execute, row: Sequence[object]) -> None:
    execute(
        "INSERT INTO state_pieces (owner, name, stream, number, data) VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (owner, name, stream, number) DO UPDATE SET data = excluded.data",
        row,
    )


def _piece(execute: Execute, row: Sequence[object]) -> bytes:
    sql = "SELECT data FROM state_pieces WHERE owner = ? AND name = ? AND stream = ? AND number = ?"
    rows = execute(sql, row)
    return bytes(rows[0][0]) if rows else b""


def _dropped(execute: Execute, key: str, name: str) -> None:
    execute("DELETE FROM state_pieces WHERE owner = ? AND name = ?", (key, name))
    execute("DELETE FROM state_outputs WHERE owner = ? AND name = ?", (key, name))


def _too_many(rows: Sequence[tuple[str, str, int]], most_bytes: int) -> Iterator[tuple[str, str]]:
    """Those that leave, of all, the newest first; the newest stays."""
    total = 0
    for place, (owner, name, size) in enumerate(rows):
        total += size
        if place and (place >= RUN_SESSION_OUTPUTS or total > most_bytes):
            yield owner, name


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while data := file.read(OUTPUT_PIECE_BYTES):
            yield data
