"""Search the members of archives along with the files of a folder.

Archives are found by name in a walk of their own, because rg cannot look into them.  Members are
candidates like files, in path order (`lib.zip!/x.py` comes where a folder `lib.zip!` would), and each is
opened through the guard of its archive.  One archive is open at a time.  An archive that cannot be opened
is named, and the search goes on.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from typing import final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.archives.store import MemberStore
from readroom.engine.cursors import Cursor, end_of_folder, path_key
from readroom.engine.grep.beside import Beside
from readroom.engine.grep.candidates import Rounds, Walked
from readroom.engine.grep.process import LeftFile
from readroom.engine.scope import Scope, join_below
from readroom.engine.services import ArchiveOpener
from readroom.errors import (
    BadDocument,
    BrokenData,
    NoPermission,
    RefusedError,
    StoreFailed,
    TimedOut,
    TooLarge,
)
from readroom.formats.holding import is_archive_name
from readroom.paths import BORDER, WorkPath
from readroom.policy.guard import Guard
from readroom.stores.base import Folder, Source
from readroom.values import GrepRequest


@final
class ArchiveSearch:
    """Opens archives for one search, one at a time. `close` releases the open one."""

    def __init__(
        self, archives: ArchiveOpener, guard: Guard, request: GrepRequest, deadline: Deadline
    ) -> None:
        self._archives = archives
        self._guard = guard
        self._request = request
        self._deadline = deadline
        self._path = WorkPath("")
        self._inner: Guard | None = None
        self.broken: list[str] = []

    def holds(self, path: WorkPath) -> bool:
        """Whether a path is that of a member of the open archive."""
        return self._inner is not None and path.startswith(f"{self._path}{BORDER}/")

    def open(self, path: WorkPath) -> Source:
        """Open a member of the open archive. Raises as `Guard.open` and stores of members do."""
        assert self._inner is not None
        return self._inner.open(path)

    def beside(self, rounds: Rounds, top: Folder, scope: Scope) -> Rounds:
        """The rounds of a search with members added to the first."""
        request = replace(self._request, glob=(), type=None)
        every = Walked(self._guard, top, Scope(self._guard, request, top.real, None), self._deadline)
        return replace(rounds, plain=Beside(rounds.plain, _Members(self, every, top.real, scope)))

    def members(self, archive: str, top: WorkPath) -> Sequence[str]:
        """The files in an archive below the searched folder, in path order; the archive stays open."""
        self.close()
        path = join_below(WorkPath(self._request.path), archive)
        try:
            inside = self._archives.folder(self._guard, path, self._deadline)
        except (BrokenData, BadDocument, NoPermission, StoreFailed, TooLarge):
            self.broken.append(archive)
            return ()
        except RefusedError:
            return ()  # as of a file that is denied
        if inside is None:
            return ()
        self._inner, self._path = inside[0], path
        assert isinstance(self._inner.store, MemberStore)
        container = self._inner.store.origin.container
        names = [name for name, member in container.members.items() if member.kind == "file"]
        return sorted((f"{archive}{BORDER}/{name}" for name in names), key=path_key)

    def close(self) -> None:
        """Release the open archive."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()


@final
class _Members:
    """Finds the members of all archives. Attributes as of `Tree`."""

    left: Sequence[LeftFile] = ()

    def __init__(self, search: ArchiveSearch, every: Walked, top: WorkPath, scope: Scope) -> None:
        self._search = search
        self._every = every
        self._top = top
        self._scope = scope
        self.stopped_at: str | None = None

    @property
    def unreadable(self) -> list[str]:
        """Archives, and folders that may hold some, that could not be read."""
        return [*self._every.unreadable, *self._search.broken]

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Those in path order, from a cursor on; as they are found, whatever `at_once` says."""
        least = b"" if after is None else after.place.key
        # Names of other files can come between that of an archive and those of its members.
        waiting: list[str] = []
        with closing(self._every.files(None)) as paths:
            while (path := self._walked(paths, waiting)) is not None:
                while waiting and path_key(waiting[0]) < path_key(path):
                    yield from self._inside(waiting.pop(0), least)
                if is_archive_name(path):
                    insort(waiting, path + BORDER, key=path_key)
        for folder in waiting:
            yield from self._inside(folder, least)

    def _walked(self, paths: Generator[str], waiting: Sequence[str]) -> str | None:
        """The next file of the tree; None behind the last. Raises TimedOut, and says where that was."""
        try:
            return next(paths, None)
        except TimedOut:
            stopped = self._every.stopped_at
            self.stopped_at = stopped if stopped is None else min((stopped, *waiting), key=path_key)
            raise

    def _inside(self, folder: str, least: bytes) -> Iterator[str]:
        """The members of an archive, by the folder that it would be."""
        if end_of_folder(path_key(folder)) <= least:
            return
        try:
            members = self._search.members(folder.removesuffix(BORDER), self._top)
        except TimedOut:
            self.stopped_at = folder
            raise
        yield from (path for path in members if path_key(path) >= least and self._scope.takes(path))
