"""Search the text of documents, part by part, until the page of the reply is full.

Documents are found by name, along with the files that rg finds; the format is decided by the bytes, once
the file was opened through the guard.  The cursor moves on with each part, so that a document of ten
thousand pages is searched in several calls.  A part that cannot be read is reported, and the search goes
on with the next one.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import final

from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor, path_key
from readroom.engine.documents.cache import DocumentCache, Reading
from readroom.engine.documents.parts import pieces
from readroom.engine.documents.withheld import denied_in
from readroom.engine.grep.beside import Beside
from readroom.engine.grep.candidates import Rounds
from readroom.engine.grep.lines import HeldText, Searched
from readroom.engine.grep.page import Page, Reached, part_of, place_in, row_of
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.grep.watch import LeftFile
from readroom.engine.scope import Scope
from readroom.formats.documents import Unreadable
from readroom.formats.kinds import SEARCHED, searched_as, suffix
from readroom.limits import HEAD_BYTES, Limits
from readroom.limits.documents import DOCUMENT_PATIENCE
from readroom.paths import WorkPath
from readroom.policy.guard import Guard
from readroom.search.pattern import Hit, Pattern
from readroom.stores.base import Source
from readroom.values import GrepRequest


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

    def takes(self, source: Source) -> bool:
        """Whether a file is searched as a document; HTML is searched as text."""
        return form_of(source) is not None

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
            page.add_document(path, relative, parts, after)
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
            HeldText(text), (Hit(hit.number + before, hit.start, hit.column, hit.length) for hit in hits)
        )

    def beside(self, rounds: Rounds, scope: Scope) -> Rounds:
        """The rounds of a search with documents added to the first."""
        if rounds.tree is None:
            return rounds  # all files are searched anyway
        return replace(rounds, plain=Beside(rounds.plain, _Documents(rounds.tree, scope, self._deadline)))


def form_of(source: Source) -> str | None:
    """The format in which a file is searched as a document; None if it is not."""
    return searched_as(source.real, source.read_at(0, HEAD_BYTES))


@final
class _Documents:
    """Finds the documents of a scope. Attributes as of `Tree`, but `stopped_at` is not known."""

    stopped_at: str | None = None
    left: Sequence[LeftFile] = ()

    def __init__(self, tree: Tree, scope: Scope, deadline: Deadline) -> None:
        self.unreadable: list[str] = []
        self._tree = tree
        self._scope = scope
        self._deadline = deadline

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Documents in path order, from a cursor on."""
        least = b"" if after is None else after.place.key
        for path in self._tree.listing(self._deadline):
            if suffix(path) in SEARCHED and path_key(path) >= least and self._scope.takes(path):
                yield path
