"""Search the members of archives beside the files of a folder.

Archives are found by their names, by a walk of their own: what rg is told to look for says nothing
of them.  Their members are candidates like files, in path order (`lib.zip!/x.py` where a folder
`lib.zip!` would come), and each is opened through the guard of its archive.  One archive is open
at a time.  An archive that cannot be opened is named, and the search goes on.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from typing import final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.archives.store import MemberStore
from readroom.engine.cursors import Cursor, path_key
from readroom.engine.grep.candidates import Finder, Rounds, Walked
from readroom.engine.grep.process import LeftFile
from readroom.engine.scope import Scope, join_below
from readroom.engine.services import ArchiveOpener
from readroom.errors import BadDocument, BrokenData, RefusedError
from readroom.formats.holding import is_archive_name
from readroom.paths import BORDER, WorkPath
from readroom.policy.guard import Guard
from readroom.stores.base import Folder, Source
from readroom.values import GrepRequest


@final
class ArchiveSearch:
    """The archives of one search. `close` releases the one that is open."""

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
        """Whether a path is that of a member which `beside` gave: one below the archive that is open."""
        return self._inner is not None and path.startswith(f"{self._path}{BORDER}/")

    def open(self, path: WorkPath) -> Source:
        """Open a member of the archive that is open. Raises as `Guard.open` and stores of members do."""
        assert self._inner is not None
        return self._inner.open(path)

    def beside(self, rounds: Rounds, top: Folder, scope: Scope) -> Rounds:
        """The rounds of a search with the members in the first."""
        request = replace(self._request, glob=(), type=None)
        every = Walked(self._guard, top, Scope(self._guard, request, top.real, None), self._deadline)
        return replace(rounds, plain=_Beside(rounds.plain, self, every, top.real, scope))

    def members(self, archive: str, top: WorkPath) -> Sequence[str]:
        """The files in an archive below the searched folder, in path order; it stays open for `open`."""
        self.close()
        path = join_below(WorkPath(self._request.path), archive)
        try:
            inside = self._archives.folder(self._guard, path, self._deadline)
        except (BrokenData, BadDocument):
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
        """Release the archive that is open."""
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()


@final
class _Beside:
    """Candidates of a search: those of another finder and all members, in path order."""

    def __init__(
        self, finder: Finder, search: ArchiveSearch, every: Walked, top: WorkPath, scope: Scope
    ) -> None:
        self._finder = finder
        self._search = search
        self._every = every
        self._top = top
        self._scope = scope

    @property
    def unreadable(self) -> list[str]:
        """Files, folders and archives that could not be read."""
        return [*self._finder.unreadable, *self._search.broken]

    @property
    def stopped_at(self) -> str | None:
        """Where the deadline found it."""
        return self._finder.stopped_at or self._every.stopped_at

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were left before their end."""
        return self._finder.left

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        with closing(self._finder.files(after, at_once=at_once)) as files:
            merged = heapq.merge(files, self._members(after), key=path_key)
            for path, _ in groupby(merged):
                yield path

    def _members(self, after: Cursor | None) -> Iterator[str]:
        least = b"" if after is None else after.place.key
        archives = [path for path in self._every.files(None) if is_archive_name(path)]
        for archive in sorted(archives, key=lambda path: path_key(path + BORDER)):
            for path in self._search.members(archive, self._top):
                if path_key(path) >= least and self._scope.takes(path):
                    yield path
