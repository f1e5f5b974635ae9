"""Opened files and folders of an environment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import final

from readroom.core.closeable import Closeable
from readroom.core.errors import BadPath, NotAFile, NotFound, StoreFailed
from readroom.core.paths import WorkPath, basename, join, parent
from readroom.core.stores.environment.base import CELL_BYTES, Reached, Seen
from readroom.core.values import Entry, EntryKind, Names, Stat, Version

SPOOL_BYTES = 64 * 1024 * 1024
"""The most that is kept here of one opened file, on disk; whole files that an environment hands over are
refused beyond."""

_IN_MEMORY = 1024 * 1024
"""The part of it in memory."""

_AHEAD = 16
"""Cells that are fetched at once when a file is read from its beginning on."""

_TREE_S = 5.0
"""How long the names of a whole tree may be used, by one walk, while its topmost folder is open."""


@final
class EnvironmentSource(Closeable):
    """An open file. Its bytes are fetched by cells, each once, into a bounded spool.

    A name that gets another file meanwhile ends the reading; a file that is written to is read as a local
    one is, and `current` tells.
    """

    def __init__(self, store: Reached, real: WorkPath, seen: Seen, head: bytes | None) -> None:
        self._store = store
        self._seen = seen
        self.real = real
        self.stat = seen.stat
        self.version = seen.version
        self.size = seen.stat.size
        self._lock = threading.Lock()
        self._spool: SpooledTemporaryFile[bytes] | None = None
        self._held: set[int] = set()
        self._whole = head if head is not None and len(head) == self.size else None
        self._last = -1

    def current(self) -> Version:
        """The identity of the current state."""
        return self._store.version(self.real) or Version(0, 0, 0, 0, 0)

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`."""
        size = max(0, min(size, self.size - offset))
        if size == 0 or offset < 0:
            return b""
        if self._whole is not None:
            return self._whole[offset : offset + size]
        with self._lock:
            return self._from_cells(offset, size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _from_cells(self, offset: int, size: int) -> bytes:
        first, last = offset // CELL_BYTES, (offset + size - 1) // CELL_BYTES
        pieces: list[bytes] = []
        cell = first
        while cell <= last:
            # What is needed at once is used at once: the spool may be emptied between two fetches.
            data = self._cell(cell, last)
            pieces.append(data)
            if len(data) < CELL_BYTES:
                break
            cell += 1
        skipped = offset - first * CELL_BYTES
        return b"".join(pieces)[skipped : skipped + size]

    def _cell(self, cell: int, last: int) -> bytes:
        if cell not in self._held:
            self._fetch(cell, last)
        assert self._spool is not None
        self._spool.seek(cell * CELL_BYTES)
        return self._spool.read(min(CELL_BYTES, self.size - cell * CELL_BYTES))

    def _fetch(self, cell: int, last: int) -> None:
        """Fetch a cell with those after it that are wanted, or, in a row, likely to be."""
        wanted = last - cell + 1
        if cell in (0, self._last):
            wanted = max(wanted, _AHEAD)
        end = (self.size + CELL_BYTES - 1) // CELL_BYTES
        count = 0
        while count < wanted and cell + count < end and cell + count not in self._held:
            count += 1
        data = self._store.hands.read(self.real, self._seen, cell, count)
        got = (len(data) + CELL_BYTES - 1) // CELL_BYTES
        if got == 0:
            raise StoreFailed(self.real, "it became shorter while it was read", "Read it again in a moment.")
        if self._spool is None or len(self._held) * CELL_BYTES + len(data) > SPOOL_BYTES:
            self._drop()
            self._spool = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115  # closed with the source
        self._spool.seek(cell * CELL_BYTES)
        self._spool.write(data)
        self._held.update(range(cell, cell + got))
        self._last = cell + got

    def _drop(self) -> None:
        self._held.clear()
        spool, self._spool = self._spool, None
        if spool is not None:
            spool.close()

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        with self._lock:
            self._drop()


@final
class EnvironmentFolder(Closeable):
    """An open folder. Its names are those of the first look at them."""

    def __init__(self, store: Reached, real: WorkPath, known: Mapping[str, Seen] | None) -> None:
        self._store = store
        self._known = known
        self._at = time.monotonic()
        self.real = real
        self.thread = threading.get_ident()
        self._tree: Mapping[str, Mapping[str, Seen]] | None = None
        self._asked = False

    def entries(self) -> Iterator[Entry]:
        """The names in it, in no order."""
        for name, seen in self._names().items():
            yield Entry(name, seen.kind)

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        entries = self.entries()
        while some := list(islice(entries, maximum)):
            kinds = {entry.name: entry.kind for entry in some if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in some], kinds)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        return self._look(name).stat

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        seen = self._look(name)
        return seen.target if seen.kind is EntryKind.LINK else None

    def open(self, name: str) -> EnvironmentSource:
        """Open a regular file in it, without following a link."""
        path = join(self.real, _checked(name))
        seen, head = self._store.at(path, head=True)
        if seen is None:
            raise NotFound(path)
        if seen.kind is not EntryKind.FILE:
            raise NotAFile(path, seen.kind.value)
        return EnvironmentSource(self._store, path, seen, head)

    def fileno(self) -> None:
        """Always None."""
        return

    def below(self, path: WorkPath) -> Mapping[str, Seen] | None:
        """The names in a folder below, for the walk that holds this one open; None if they are not known.

        One command tells the names of a whole tree, where one for each folder would take minutes.
        """
        if self._known is None or self.thread != threading.get_ident():
            return None
        if not self._asked:
            self._asked = True
            self._at = time.monotonic()
            self._tree = self._store.hands.tree(self.real)
        if self._tree is None or time.monotonic() - self._at > _TREE_S:
            return None
        return self._tree.get(path if self.real == "." else path.removeprefix(f"{self.real}/"))

    def lacks(self, path: WorkPath) -> bool:
        """Whether a name in it is not there, as far as the thread that holds it open has seen."""
        if self._known is None or self.thread != threading.get_ident():
            return False
        inside = parent(path) == self.real and path != "."
        return inside and basename(path) not in self._known and time.monotonic() - self._at <= _TREE_S

    def _names(self) -> Mapping[str, Seen]:
        if self._known is None:
            self._known = self._store.hands.names(self.real)
            self._at = time.monotonic()
        return self._known

    def _look(self, name: str) -> Seen:
        path = join(self.real, _checked(name))
        known = self._known
        if known is not None and time.monotonic() - self._at <= _TREE_S:
            if name not in known:
                raise NotFound(path)
            return known[name]
        seen, _ = self._store.at(path)
        if seen is None:
            raise NotFound(path)
        return seen

    def close(self) -> None:
        self._store.closed(self)


def _checked(name: str) -> str:
    if "/" in name or name in ("", ".", "..") or "\0" in name:
        raise BadPath(name, "is not a name that a folder's entry can have")
    return name
