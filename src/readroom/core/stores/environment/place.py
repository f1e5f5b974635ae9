"""The target of a change in an environment."""

from __future__ import annotations

import stat as modes
from collections.abc import Callable, Iterable, Sequence
from typing import final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import NotAFile, NotFound, TimedOut
from readroom.core.limits import LOCK_WAIT_S
from readroom.core.paths import WorkPath, basename, join, parent
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    Moved,
    PutFile,
    RemoveEntry,
    RenameEntry,
    Source,
    Step,
    WriteTarget,
)
from readroom.core.stores.environment.base import Reached, Seen, below
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

_WAIT_S = 0.05
"""Seconds after which a waiting writer checks whether its caller went away."""

_ANYONE = modes.S_IWUSR | modes.S_IWGRP | modes.S_IWOTH


@final
class EnvironmentPlace(Closeable):
    """The target of a change. Missing folders are made together with the change.

    The lock is one of this process: other writers are noticed when the change is made.
    """

    warnings: Sequence[Warn] = ()
    removed = 0

    def __init__(self, store: Reached, path: WorkPath) -> None:
        """Find the deepest existing folder on the way."""
        self.store = store
        self._locked = False
        self.name = self.spelling = basename(path)
        missing: list[str] = []
        folder = parent(path)
        while True:
            try:
                with store.open_folder(folder) as opened:
                    self.folder = opened.real
                break
            except NotFound:
                missing.insert(0, basename(folder))
                folder = parent(folder)
        made: list[WorkPath] = []
        real = self.folder
        for name in missing:
            real = join(real, name)
            made.append(real)
        self.missing = tuple(made)
        self.folders: Sequence[WorkPath] = ()
        self.real = join(real, self.name)

    @property
    def lock(self) -> tuple[int, ...]:
        """The identity of the whole store."""
        return (id(self.store),)

    @property
    def writable(self) -> bool:
        """Whether the mode of the file lets anyone write it."""
        stat = self.look()
        return stat is None or stat.kind is not EntryKind.FILE or bool(stat.mode & _ANYONE)

    def look(self) -> Stat | None:
        """The stat of what is there, without following a link."""
        seen = self._seen()
        return None if seen is None else seen.stat

    def _seen(self) -> Seen | None:
        return None if self.missing else self.store.at(self.real)[0]

    def open(self) -> Source:
        """Open the file at the name. Raises Moved if it is a link."""
        if self.missing:
            raise NotFound(self.real)
        with self.store.open_folder(self.folder) as folder:
            if folder.real != self.folder:
                raise Moved
            try:
                return folder.open(self.name)
            except NotAFile as error:
                if error.what == "link":
                    raise Moved from None
                raise

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers of this process."""
        if self.missing and not make_folders:
            raise NotFound(self.real)
        self.hold(deadline)
        self.folders = self.missing

    def hold(self, deadline: Deadline) -> None:
        """Lock out other writers of this process."""
        within = deadline.within(LOCK_WAIT_S)
        while not self.store.writing.acquire(timeout=_WAIT_S):
            if within.expired and not deadline.expired:
                raise TimedOut(LOCK_WAIT_S, "Another writer is at work; send the call again in a moment.")
            deadline.check()
        self._locked = True

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter both targets with the one lock of the store."""
        assert isinstance(other, EnvironmentPlace)
        self.enter(deadline, make_folders=False)
        other.folders = other.missing

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Put a new file at the name; there are never warnings."""
        self._commit(PutFile(self, pieces, over), ready)
        return ()

    def make(self) -> None:
        """Make a folder at the name, and its parents."""
        if self.look() is not None:
            raise Moved
        self._commit(MakeEntry(self))
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link."""
        found = self._seen()
        if found is None or found.kind is EntryKind.FOLDER:
            raise Moved
        if expected is not None and found.version != expected:
            raise Moved
        self._commit(RemoveEntry(self, found.stat, expected))

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with everything in it, unless `step` raises."""
        found = self.look()
        if found is None or found.kind is not EntryKind.FOLDER:
            raise Moved
        count = 1
        step(self.real, True)
        for path, seen in below(everything(self.store, self.real)):
            step(join(self.real, path), seen.kind is EntryKind.FOLDER)
            count += 1
        self._commit(RemoveEntry(self, found))
        self.removed = count

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Rename to the other target."""
        assert isinstance(to, EnvironmentPlace)
        there = to._seen()
        if (None if there is None else there.version) != over:
            raise Moved
        changes: list[Change] = [RenameEntry(self, to, found)]
        if there is not None and to.real != self.real:
            changes.insert(0, RemoveEntry(to, there.stat, over))
        self.store.commit(changes, _nothing)

    def _commit(self, change: Change, ready: Callable[[], None] | None = None) -> None:
        self.store.commit([change], ready or _nothing)

    def close(self) -> None:
        locked, self._locked = self._locked, False
        if locked:
            self.store.writing.release()


def everything(store: Reached, top: WorkPath) -> dict[str, dict[str, Seen]]:
    """All names below a folder, each folder before what is in it."""
    known = store.hands.tree(top)
    if known is not None:
        return {folder: dict(known[folder]) for folder in sorted(known)}
    found: dict[str, dict[str, Seen]] = {}
    pending = [""]
    while pending:
        at = pending.pop()
        found[at] = dict(store.hands.names(join(top, at) if at else top))
        pending += [
            f"{at}/{name}" if at else name
            for name, seen in found[at].items()
            if seen.kind is EntryKind.FOLDER
        ]
    return found


def _nothing() -> None:
    pass
