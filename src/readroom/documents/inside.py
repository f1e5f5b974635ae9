"""Search the text of documents, and the members of archives, along with the files that rg finds.

Documents are found by name; the format is decided by the bytes, once the file was opened through the guard.
They are searched part by part until the page is full.  The cursor moves on with each part, so that a
document of ten thousand pages is searched in several calls.  A part that cannot be read is reported, and
the search continues with the next one.

Archives are found by name in a walk of their own, because rg cannot look into them.  Members are candidates
like files, in path order (`lib.zip!/x.py` comes where a folder `lib.zip!` would), and each is opened through
the guard of its archive.  Archives among members are searched the same way.  An archive and those around it
stay open while its members are searched.  An archive that cannot be opened is named and skipped.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import final

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import Cursor, end_of_folder, path_key
from readroom.core.engine.grep.candidates import Finder, Rounds, Walked
from readroom.core.engine.grep.lines import Searched, Text, form_of
from readroom.core.engine.grep.page import Page, Reached, part_of, place_in, row_of
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope, join_below
from readroom.core.engine.services import ArchiveOpener
from readroom.core.formats.kinds import is_archive_name, is_searched
from readroom.core.limits import Limits
from readroom.core.paths import BORDER, WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.search.pattern import Hit, Pattern
from readroom.core.stores.base import Folder, Source
from readroom.core.values import GrepRequest
from readroom.documents.archives.store import MemberStore
from readroom.documents.formats import Unreadable
from readroom.documents.limits import DOCUMENT_PATIENCE
from readroom.documents.reading.cache import DocumentCache, Reading
from readroom.documents.reading.parts import pieces
from readroom.documents.reading.withheld import denied_in


@final
class MergedStream:
    """Candidates of two finders. Attributes as of `ripgrep.Tree`.

    One finder is always ahead, and its candidate waits for the other one.  When time runs out, the search
    has come no further than the waiting candidate, so files left unfinished after it do not count yet.
    """

    def __init__(self, finder: Finder, other: Finder, noted: Noted) -> None:
        """`finder` is that of rg."""
        self._finder = finder
        self._other = other
        self._noted = noted
        self.stopped_at: str | None = None

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        with (
            closing(self._finder.files(after, at_once=at_once)) as files,
            closing(self._other.files(after)) as others,
        ):
            candidate = next(files, None)  # if time runs out here, the other finder has not started
            waiting = self._ahead(others, candidate)
            while heads := [path for path in (candidate, waiting) if path is not None]:
                path = min(heads, key=path_key)
                yield path
                if path == candidate:
                    candidate = self._next(files, self._finder, None if path == waiting else waiting)
                if path == waiting:
                    waiting = self._ahead(others, candidate)

    def _ahead(self, others: Generator[str], candidate: str | None) -> str | None:
        """The next of the other finder."""
        waiting = self._noted.waiting[id(self)] = self._next(others, self._other, candidate)
        return waiting

    def _next(self, files: Generator[str], finder: Finder, waiting: str | None) -> str | None:
        """The next of one of them; None after its last. Raises TimedOut with the position."""
        try:
            return next(files, None)
        except errors.TimedOut:
            stopped = finder.stopped_at
            if stopped is not None:
                self.stopped_at = stopped if waiting is None else min(stopped, waiting, key=path_key)
            raise


@final
class DocumentSearch:
    """Searches documents for one call."""

    def __init__(
        self,
        room: DocumentCache,
        request: GrepRequest,
        pattern: Pattern,
        limits: Limits,
        deadline: Deadline,
        guard: Guard,
    ) -> None:
        self._room = room
        self._guard = guard
        self._request = request
        self._pattern = pattern
        self._limits = limits
        self._deadline = deadline

    def within(self, deadline: Deadline, *, alone: bool) -> Deadline:
        """The deadline for one document; one that is searched alone may use the time of the call."""
        own = self._limits.document_timeout_s
        work = max(own, self._request.timeout_s or 0) if alone else own
        return deadline.of_work(work, DOCUMENT_PATIENCE)

    def show(
        self,
        source: Source,
        page: Page,
        path: WorkPath,
        relative: str,
        after: int,
        deadline: Deadline,
        reached: Reached,
    ) -> None:
        """Add the matches of a document to the page, from a place on; `reached` records how far it came.

        Raises:
            TimedOut, Cancelled: From the deadline, which is that of the document.
        """
        try:
            denies = denied_in(self._guard, source, path)
            with self._room.open(source, form_of(source) or "", deadline, denies, eager=False) as reading:
                self._show(reading, page, path, relative, after, reached)
        except Unreadable as error:
            reached.broken.append((0, error.problem))

    def _show(
        self, reading: Reading, page: Page, path: WorkPath, relative: str, after: int, reached: Reached
    ) -> None:
        parts = self._parts(reading, after, reached)
        if self._request.output == "content":
            page.add_lines(path, relative, parts, after)
            return
        if self._request.output == "files":
            matches = int(any(next(searched.hits, None) is not None for _, searched, _ in parts))
        else:
            matches = sum(sum(1 for _ in searched.hits) for _, searched, _ in parts)
        if matches:
            page.add_file(path, relative, matches)

    def _parts(self, reading: Reading, after: int, reached: Reached) -> Iterator[tuple[int, Searched, int]]:
        """Each part from a place on, its matches, and the place at its end."""
        opened, first = reading.opened, max(1, part_of(after))
        reached.unit, reached.total = str(opened.unit), opened.total

        def begin(number: int) -> None:
            reached.part = number
            self._deadline.check()
            self._deadline.report(number, opened.total, f"{opened.unit}s")

        row = row_of(after) if first == part_of(after) else 0
        for piece in pieces(reading, first, max(1, row + 1 - self._request.before), begin):
            if piece.problem is not None:
                reached.broken.append((piece.number, piece.problem))
            number, last = piece.number, piece.last
            end = place_in(number + 1, 0) if last is None else place_in(number, last)
            yield number, self._searched(piece.lines, piece.first - 1), end
            reached.place = end

    def _searched(self, lines: Sequence[str], before: int) -> Searched:
        text = "\n".join(lines).encode("utf-8", "replace")
        hits = self._pattern.hits(text, self._deadline.check)
        return Searched(
            Text(text), (Hit(hit.number + before, hit.start, hit.column, hit.length) for hit in hits)
        )

    def added_to(self, rounds: Rounds, scope: Scope) -> Rounds:
        if rounds.tree is None:
            return rounds  # all files are searched anyway
        documents = _Documents(rounds.tree, scope, self._deadline)
        return replace(rounds, plain=MergedStream(rounds.plain, documents, rounds.noted))


@final
class _Documents:
    """Finds the documents of a scope. Attributes as of `Tree`, but `stopped_at` is not known."""

    stopped_at: str | None = None

    def __init__(self, tree: Tree, scope: Scope, deadline: Deadline) -> None:
        self._tree = tree
        self._scope = scope
        self._deadline = deadline

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Documents in path order, from a cursor on."""
        least = b"" if after is None else after.place.key
        for path in self._tree.listing(self._deadline):
            if is_searched(path) and path_key(path) >= least and self._scope.takes(path):
                yield path


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
        self._broken: list[str] = []
        self._cut: list[str] = []
        self._noted = Noted()

    def holds(self, path: WorkPath) -> bool:
        return bool(self._opened) and path.startswith(self._opened[0][0])

    def open(self, path: WorkPath) -> Source:
        return next(guard for top, guard in reversed(self._opened) if path.startswith(top)).open(path)

    def added_to(self, rounds: Rounds, top: Folder, scope: Scope) -> Rounds:
        self._broken, self._cut, self._noted = rounds.noted.unreadable, rounds.noted.cut, rounds.noted
        request = replace(self._request, glob=(), type=None)
        wider = Scope(self._guard, request, top.real, None)
        every = Walked(self._guard, top, wider, self._deadline, rounds.noted)
        members = _Members(self, every, scope, self._deadline)
        return replace(rounds, plain=MergedStream(rounds.plain, members, rounds.noted))

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
            if container.is_cut:
                self._cut.append(archive)
            if container.left_out_count:
                self._noted.unusable.append(archive)
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
        except (
            errors.BrokenData,
            errors.BadDocument,
            errors.NoPermission,
            errors.StoreFailed,
            errors.TooLarge,
        ):
            self._broken.append(archive)
            return None
        except errors.RefusedError:
            return None  # as of a file that is denied
        return None if inside is None else inside[0]


@final
class _Members:
    """Finds the members of all archives. Attributes as of `Tree`."""

    def __init__(self, search: ArchiveSearch, every: Walked, scope: Scope, deadline: Deadline) -> None:
        self._search = search
        self._every = every
        self._scope = scope
        self._deadline = deadline
        self.stopped_at: str | None = None

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Those in path order, after a cursor; in the order of discovery, whatever `at_once` is."""
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
        """The next file of the tree; None after the last. Raises TimedOut with the position."""
        try:
            return next(paths, None)
        except errors.TimedOut:
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
