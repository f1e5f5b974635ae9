"""The target of a write in a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, final

from readroom.closeable import Closeable
from readroom.deadline import Deadline
from readroom.errors import NotFound, TimedOut
from readroom.limits import LOCK_WAIT_S
from readroom.paths import WorkPath, basename, join, parent
from readroom.stores.base import Folder, Moved, Source, Step, WriteTarget
from readroom.values import Stat, Version
from readroom.values.files import Warn

_WAIT_S = 0.05
"""How long a waiting writer is deaf to its caller going away."""


class Held(Protocol):
    """What a place needs of the store."""

    @property
    def writing(self) -> threading.Lock:
        """Held by the one writer at work."""

    def open(self, path: WorkPath) -> Source:
        """As every store."""

    def open_folder(self, path: WorkPath) -> Folder:
        """As every store."""

    def replace(self, path: WorkPath, data: bytes, expected: Version | None) -> None:
        """Put a file if what is there has that version, or, for None, if nothing is. Raises Moved."""

    def add_folder(self, path: WorkPath) -> None:
        """Make a folder and those above it. Raises Moved when something has the name."""

    def remove(self, path: WorkPath, expected: Version | None, step: Step | None) -> None:
        """Remove a file or link, or with `step` a folder with all that is in it. Raises Moved."""

    def move(self, path: WorkPath, found: Stat, to: WorkPath, over: Version | None) -> None:
        """Give what is at a name another one. Raises Moved."""


@final
class MemoryPlace(Closeable):
    """A name in memory. Folders that are missing are made together with the file."""

    writable = True
    warnings: Sequence[Warn] = ()
    removed = 0

    def __init__(self, store: Held, path: WorkPath) -> None:
        """Find the deepest folder on the way that exists."""
        self._store = store
        self._locked = False
        self.name = basename(path)
        missing: list[str] = []
        folder = parent(path)
        while True:
            try:
                real = store.open_folder(folder).real
                break
            except NotFound:
                missing.insert(0, basename(folder))
                folder = parent(folder)
        made: list[WorkPath] = []
        for name in missing:
            real = join(real, name)
            made.append(real)
        self._missing = tuple(made)
        self._folder = real
        self.folders: Sequence[WorkPath] = ()
        self.real = join(real, self.name)

    @property
    def lock(self) -> tuple[int, ...]:
        """The whole store."""
        return (id(self._store),)

    def look(self) -> Stat | None:
        """What is at the name now, links not followed; None when nothing is."""
        try:
            return self._store.open_folder(self._folder).stat(self.name)
        except NotFound:
            return None

    def open(self) -> Source:
        """The file at the name. Raises Moved when it is a link."""
        source = self._store.open(self.real)
        if source.real != self.real:
            raise Moved
        return source

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Keep other writers out."""
        if self._missing and not make_folders:
            raise NotFound(self.real)
        within = deadline.within(LOCK_WAIT_S)
        while not self._store.writing.acquire(timeout=_WAIT_S):
            if within.expired and not deadline.expired:
                raise TimedOut(LOCK_WAIT_S, "Another writer is at work; send the call again in a moment.")
            deadline.check()
        self._locked = True
        self.folders = self._missing

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Give the name a new file; there is nothing that it could not take over."""
        data = b"".join(pieces)
        ready()
        self._store.replace(self.real, data, None if over is None else over.version)
        return ()

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter both: there is one lock for all."""
        assert isinstance(other, MemoryPlace)
        self.enter(deadline, make_folders=False)
        other.folders = other._missing

    def make(self) -> None:
        """Make a folder at the name, with those above it."""
        self._store.add_folder(self.real)
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link."""
        self._store.remove(self.real, expected, None)

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with all that is in it: all of it, or when `step` raises nothing."""
        count = 0

        def counted(path: WorkPath, folder: bool) -> None:
            nonlocal count
            step(path, folder)
            count += 1

        self._store.remove(self.real, None, counted)
        self.removed = count

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Give what is here the other name."""
        assert isinstance(to, MemoryPlace)
        self._store.move(self.real, found, to.real, over)

    def close(self) -> None:
        """Let other writers in; a second call does nothing."""
        locked, self._locked = self._locked, False
        if locked:
            self._store.writing.release()
