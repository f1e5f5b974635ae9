"""Search the members of archives along with the files of a folder.

Archives are found by name in a walk of their own, because rg cannot look into them.  Members are
candidates like files, in path order (`lib.zip!/x.py` comes where a folder `lib.zip!` would), and each is
opened through the guard of its archive.  Archives among members are searched the same way.  An archive
and those around it stay open while its members are searched.  An archive that cannot be opened is
named, and the search goes on.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.archives.store import MemberStore
from readroom.engine.cursors import Cursor, end_of_folder, path_key
from readroom.engine.grep.beside import Beside
from readroom.engine.grep.candidates import Rounds, Walked
from readroom.engine.grep.watch import LeftFile
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
    """Opens archives for one search, and archives inside them."""

    def __init__(
        self, archives: ArchiveOpener, guard: Guard, request: GrepRequest, deadline: Deadline
    ) -> None:
        self._archives = archives
        self._guard = guard
        self._request = request
        self._deadline = deadline
        self._opened: list[tuple[str, Guard]] = []
        self.broken: list[str] = []

    def holds(self, path: WorkPath) -> bool:
        """Whether a path is that of a member of an open archive."""
        return bool(self._opened) and path.startswith(self._opened[0][0])

    def open(self, path: WorkPath) -> Source:
        """Open a member of an open archive. Raises as `Guard.open` and stores of members do."""
        return next(guard for top, guard in reversed(self._opened) if path.startswith(top)).open(path)

    def beside(self, rounds: Rounds, top: Folder, scope: Scope) -> Rounds:
        """The rounds of a search with members added to the first."""
        request = replace(self._request, glob=(), type=None)
        every = Walked(self._guard, top, Scope(self._guard, request, top.real, None), self._deadline)
        return replace(rounds, plain=Beside(rounds.plain, _Members(self, every, scope, self._deadline)))

    @contextmanager
    def members(self, archive: str) -> Iterator[Sequence[str]]:
        """The files in an archive below the searched folder, in path order; the archive is open meanwhile.

        An archive among them comes twice: as the file and, ending with the border, as a folder.
        """
        path = join_below(WorkPath(self._request.path), archive)
        inner = self._entered(archive, path)
        if inner is None:
            yield ()
            return
        with closing(inner):
            assert isinstance(inner.store, MemberStore)
            container = inner.store.origin.container
            names = [name for name, member in container.members.items() if member.kind == "file"]
            nested = (name + BORDER for name in names if is_archive_name(name))
            names += [name for name in nested if name not in container.folders]
            self._opened.append((f"{path}{BORDER}/", inner))
            try:
                yield sorted((f"{archive}{BORDER}/{name}" for name in names), key=path_key)
            finally:
                self._opened.pop()

    def _entered(self, archive: str, path: WorkPath) -> Guard | None:
        """The guard of an archive; None if it is not an archive or cannot be opened."""
        outer = self._opened[-1][1] if self._opened else self._guard
        try:
            inside = self._archives.folder(outer, path, self._deadline)
        except (BrokenData, BadDocument, NoPermission, StoreFailed, TooLarge):
            self.broken.append(archive)
            return None
        except RefusedError:
            return None  # as of a file that is denied
        return None if inside is None else inside[0]


@final
class _Members:
    """Finds the members of all archives. Attributes as of `Tree`."""

    left: Sequence[LeftFile] = ()

    def __init__(self, search: ArchiveSearch, every: Walked, scope: Scope, deadline: Deadline) -> None:
        self._search = search
        self._every = every
        self._scope = scope
        self._deadline = deadline
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
        self.stopped_at = folder  # where time ends before a member is reached
        with self._search.members(folder.removesuffix(BORDER)) as members:
            for path in members:
                if path.endswith(BORDER):
                    yield from self._inside(path, least)
                if path.endswith(BORDER) or path_key(path) < least:
                    continue
                self.stopped_at = path
                self._deadline.check()
                self._scope.enter_archive(path.rpartition("/")[0], folder)
                if self._scope.takes(path):
                    yield path
