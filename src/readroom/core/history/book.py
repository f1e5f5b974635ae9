"""The history of one workspace, in the database that all workspaces of a user share.

A change is written down before it is made (`begin`, `add`), and marked as made afterwards.  What a killed
process has begun is compared with what is there, by the next that looks (`settle`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, final

import msgspec

from readroom.core.errors import ReadroomError, reason_of
from readroom.core.errors.history import HistoryFailed
from readroom.core.history import contents
from readroom.core.history.database import Database
from readroom.core.history.pruning import log_bytes, prune, removed
from readroom.core.history.records import (
    NAME_COLUMNS,
    Damaged,
    Draft,
    NameRow,
    brief,
    change_proof,
    encoded,
    name_record,
    proof,
    read_name,
)
from readroom.core.history.runs import Run, lives, sweep
from readroom.core.history.settings import HistoryPolicy
from readroom.core.history.states import now
from readroom.core.stores.base import Moved, Store
from readroom.core.values.history import Author, EntryState

if TYPE_CHECKING:
    import sqlite3

_CHUNK_NAMES, _CHUNK_BYTES = 500, 8 * 1024 * 1024
"""Names, and bytes of files, that are written in one transaction, for which other processes wait."""


_PRUNED_CHANGES, _PRUNED_PART = 16, 256
"""Changes, and the part of all that may be kept, after which it is looked again whether the rest fits."""

_SMALL_BYTES = 64 * 1024
"""Files up to this size are compressed while the database is held: it takes less than looking twice."""


@final
class Book:
    """The history of one workspace. Safe to share between threads."""

    def __init__(self, store: Store, policy: HistoryPolicy, clock: Callable[[], int] = time.time_ns) -> None:
        """Open it. Raises HistoryFailed."""
        folder = policy.folder if store.folder is not None else None
        self.store = store
        self.on_disk = folder is not None
        self.policy = policy
        self.database = Database(folder, log_bytes(self.policy))
        self.clock = clock
        self._run: Run | None = None
        self._changes_since = self._bytes_since = 0
        self.root, self.inode = _root(store)
        with self.database.transaction(write=True) as connection:
            self.workspace = _workspace(connection, self.root, self.inode)
            self.workspaces = [
                int(number)
                for (number,) in connection.execute("SELECT id FROM workspaces WHERE path = ?", (self.root,))
            ]
            known = {str(run) for (run,) in connection.execute(_RUNS)}
            prune(connection, self.database, self.policy, self.clock())
        if folder is not None:
            sweep(folder, known.__contains__)
        self.settle()

    # --- writing ------------------------------------------------------------------------------

    def begin(self, author: Author, undoes: int | None, drafts: Iterable[Draft]) -> tuple[int, int]:
        """Write down a change that is going to be made, with its names; its number, and how many they are."""
        chunks = _chunks(drafts)
        first = [(draft, self._packed(draft)) for draft in next(chunks, [])]
        author = brief(author)
        record, at_ns = msgspec.msgpack.encode(author), self.clock()
        with self.writing() as connection:
            self._prune(connection, sum(_size(draft) for draft, _ in first))
            made = connection.execute(
                "INSERT INTO changes (workspace, at_ns, run, agent, token, session, record, proof, undoes)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    self.workspace,
                    at_ns,
                    self.run,
                    author.agent,
                    author.token,
                    author.session,
                    record,
                    change_proof(self.workspace, at_ns, author, record),
                    undoes,
                ),
            )
            change = made.lastrowid
            assert change is not None  # a row was inserted
            for number, (draft, packed) in enumerate(first):
                self._insert(connection, change, number, draft, *packed)
        try:
            return change, self._add(change, chunks, len(first))
        except BaseException:
            self.drop(change)
            raise

    def _prune(self, connection: sqlite3.Connection, size: int) -> None:
        """Look whether the rest fits, once in some changes or when much was added."""
        self._changes_since += 1
        self._bytes_since += size
        if (
            self._changes_since >= _PRUNED_CHANGES
            or self._bytes_since >= self.policy.most_bytes // _PRUNED_PART
        ):
            self._changes_since = self._bytes_since = 0
            prune(connection, self.database, self.policy, self.clock())

    def add(self, change: int, drafts: Iterable[Draft], first: int) -> int:
        """Write down more names of a change; how many it has."""
        return self._add(change, _chunks(drafts), first)

    def _add(self, change: int, chunks: Iterable[list[Draft]], count: int) -> int:
        for chunk in chunks:
            pieces = [(draft, self._packed(draft)) for draft in chunk]
            with self.writing() as connection:
                self._prune(connection, sum(_size(draft) for draft in chunk))
                for draft, packed in pieces:
                    self._insert(connection, change, count, draft, *packed)
                    count += 1
        return count

    def _packed(self, draft: Draft) -> tuple[bytes | None, bytes | None]:
        """The larger contents of a name, compressed unless they are kept already; small ones are later."""
        before, after = (
            None if data is None else self._packed_if_new(state, data)
            for data, state in ((draft.before_data, draft.before), (draft.after_data, draft.after))
        )
        return before, after

    def _packed_if_new(self, state: EntryState, data: bytes) -> bytes:
        if len(data) <= _SMALL_BYTES or state.content_hash is None:
            return b""
        with self.reading() as connection:
            if contents.known(connection, contents.digest_of(state.content_hash)):
                return b""
        return contents.packed(data)

    def _insert(
        self,
        connection: sqlite3.Connection,
        change: int,
        number: int,
        draft: Draft,
        before: bytes | None,
        after: bytes | None,
    ) -> None:
        path, other = encoded(draft.path), None if draft.to is None else encoded(draft.to)
        record = name_record(draft)
        connection.execute(
            "INSERT INTO names (change, number, workspace, path, other, record, proof, before, after)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                change,
                number,
                self.workspace,
                path,
                other,
                record,
                proof(change, number, self.workspace, path, other, record),
                _kept(connection, draft.before, draft.before_data, before),
                _kept(connection, draft.after, draft.after_data, after),
            ),
        )

    def made(self, change: int) -> None:
        """A change that was begun is complete."""
        with self.writing() as connection:
            connection.execute("UPDATE changes SET run = NULL WHERE id = ?", (change,))

    def drop(self, change: int) -> None:
        """A change that was begun was not made."""
        with self.writing() as connection:
            removed(connection, [change])

    def mark_undone(self, marks: Sequence[tuple[int, int]], by: int | None) -> None:
        """Names, by change and number, that a change has taken back; None for one that was taken back."""
        with self.writing() as connection:
            connection.executemany(
                "UPDATE names SET undone = ? WHERE change = ? AND number = ?",
                [(by, change, number) for change, number in marks],
            )

    def mark_again(self, by: int, names: Iterable[str]) -> None:
        """Count again what a change had taken back of these names, since it was taken back itself.

        If nothing of that change is left, everything that it had taken back counts again, also of names that
        it did not have to change, as those of a file that was made and deleted.
        """
        with self.writing() as connection:
            left = connection.execute(
                "SELECT 1 FROM names WHERE change = ? AND undone IS NULL LIMIT 1", (by,)
            ).fetchone()
            if left is None:
                connection.execute(
                    "UPDATE names SET undone = NULL WHERE undone = ? AND change <> ?", (by, by)
                )
                return
            connection.executemany(
                "UPDATE names SET undone = NULL WHERE undone = ? AND path = ?",
                [(by, encoded(name)) for name in names],
            )

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that writes. Raises HistoryFailed."""
        try:
            with self.database.transaction(write=True) as connection:
                yield connection
        except Damaged as problem:
            raise self.damaged(problem) from None

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A transaction that reads. Raises HistoryFailed."""
        try:
            with self.database.transaction(write=False) as connection:
                yield connection
        except Damaged as problem:
            raise self.damaged(problem) from None

    def damaged(self, problem: Damaged) -> HistoryFailed:
        """The failure for a row that does not say what was written."""
        return HistoryFailed(self.database.path, f"{problem} in it is damaged")

    @property
    def run(self) -> str:
        """The name of this process."""
        run = self._run
        if run is None or run.pid != os.getpid():
            try:
                run = self._run = Run(self.database.folder)
            except OSError as error:
                raise HistoryFailed(self.database.path, reason_of(error)) from None
        return run.name

    # --- what killed processes left ------------------------------------------------------------

    def settle(self) -> None:
        """Compare what killed processes have begun with what is there: drop it, or let it count."""
        with self.reading() as connection:
            begun = connection.execute(
                "SELECT id, run FROM changes INDEXED BY changes_begun"
                " WHERE run IS NOT NULL AND workspace = ?",
                (self.workspace,),
            ).fetchall()
        own = None if self._run is None else self._run.name
        for change, run in begun:
            if run != own and not lives(self.database.folder, run):
                self.settle_one(change, interrupted=True)

    def settle_one(self, change: int, *, interrupted: bool) -> bool:
        """Let a change count if any of its names is otherwise than before; whether it does."""
        rows = self.names_of(change)
        if all(self._is_before(row) for row in rows):
            self.drop(change)
            return False
        with self.writing() as connection:
            connection.execute(
                "UPDATE changes SET run = NULL, interrupted = ? WHERE id = ?", (interrupted, change)
            )
        return True

    def _is_before(self, row: NameRow) -> bool:
        name = row.name
        try:
            there = now(self.store, name.path, 0).state
        except (Moved, ReadroomError):
            return False  # it is better to keep what may not have happened
        return there.is_same(name.before)

    def names_of(self, change: int) -> Sequence[NameRow]:
        """All names of a change, in order."""
        with self.reading() as connection:
            rows = connection.execute(
                f"SELECT {NAME_COLUMNS} FROM names WHERE change = ? ORDER BY number", (change,)
            ).fetchall()
            return [read_name(row) for row in rows]

    def content(self, number: int | None, state: EntryState) -> bytes | None:
        """The bytes of a state; None if they were not kept."""
        if number is None:
            return None
        with self.reading() as connection:
            return contents.read(connection, number, state.content_hash)

    def close(self) -> None:
        """Release the database."""
        run, self._run = self._run, None
        if run is not None:
            run.close()
        self.database.close()


_RUNS = "SELECT DISTINCT run FROM changes INDEXED BY changes_begun WHERE run IS NOT NULL"


def _root(store: Store) -> tuple[bytes, int]:
    """The real path of a workspace, and its inode; 0 for a store that has none."""
    if store.folder is None:
        return encoded(store.name), 0
    opened = getattr(store, "identity", None)  # a mount that hangs would not tell it again
    if opened is not None:
        return encoded(store.folder), int(opened[1])
    try:
        return encoded(store.folder), os.stat(store.folder).st_ino
    except OSError:
        return encoded(store.folder), 0


def _workspace(connection: sqlite3.Connection, root: bytes, inode: int) -> int:
    connection.execute("INSERT OR IGNORE INTO workspaces (path, inode) VALUES (?, ?)", (root, inode))
    row: Any = connection.execute(
        "SELECT id FROM workspaces WHERE path = ? AND inode = ?", (root, inode)
    ).fetchone()
    return int(row[0])


def _size(draft: Draft) -> int:
    return len(draft.before_data or b"") + len(draft.after_data or b"")


def _chunks(drafts: Iterable[Draft]) -> Iterator[list[Draft]]:
    """Names in groups that are written together; at least one group, which may be empty."""
    chunk: list[Draft] = []
    size = 0
    for draft in drafts:
        chunk.append(draft)
        size += _size(draft)
        if len(chunk) >= _CHUNK_NAMES or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _kept(
    connection: sqlite3.Connection, state: EntryState, data: bytes | None, packed: bytes | None
) -> int | None:
    if data is None or packed is None or state.content_hash is None:
        return None
    return contents.keep(connection, contents.digest_of(state.content_hash), data, packed)
