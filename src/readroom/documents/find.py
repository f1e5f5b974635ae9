"""Documents in a ranked search: each becomes one text that knows which part each line is from.

Extraction is bounded in time and length.  A long book is ranked by its first parts only, and the reply
names the rest.  Attachments that policy denies are removed before anything is counted.
"""

from __future__ import annotations

from typing import final

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.find.document import DocumentText, PlacedLines
from readroom.core.errors import TimedOut
from readroom.core.formats.kinds import is_searched, searched_as
from readroom.core.limits import HEAD_BYTES, Limits
from readroom.core.limits.find import FIND_DOCUMENT_S
from readroom.core.policy.guard import Guard
from readroom.core.stores.base import Source
from readroom.core.text.line_index import Shrunk
from readroom.documents.formats import OTHER_COPY, Encrypted, Unreadable
from readroom.documents.limits import DOCUMENT_PATIENCE
from readroom.documents.reading.cache import DocumentCache
from readroom.documents.reading.parts import Piece, pieces
from readroom.documents.reading.withheld import denied_in

FIND_DOCUMENT_CHARS = 2 * 1024 * 1024
"""Maximum text of one document among others: about 700 pages of a book, as for any file. The reply names
the part where it stopped."""

FIND_DOCUMENT_ALONE_CHARS = 6 * 1024 * 1024
"""Maximum text of a document named by its path: 2,000 pages; extracted ones are cached for the next
page."""


@final
class DocumentTexts:
    """Reads documents for one search."""

    def __init__(self, room: DocumentCache, limits: Limits, *, alone: bool) -> None:
        """With `alone` there is a single document, which gets all the time of one."""
        self._room = room
        self._most_s = limits.document_timeout_s
        self._most = FIND_DOCUMENT_ALONE_CHARS
        if not alone:
            self._most_s = min(self._most_s, FIND_DOCUMENT_S)
            self._most = FIND_DOCUMENT_CHARS
        self._reached: dict[str, int] = {}

    @staticmethod
    def may_take(path: str) -> bool:
        return is_searched(path)

    def takes(self, source: Source) -> bool:
        return self.may_take(source.real) and _format(source) is not None

    def read(self, guard: Guard, source: Source, deadline: Deadline) -> DocumentText:
        """Read a document; one read before in this search is read as far as then. Raises Cancelled."""
        text = DocumentText(_format(source) or "")
        within = deadline.of_work(self._most_s, DOCUMENT_PATIENCE)
        denies = denied_in(guard, source, source.real)
        gathered = _Gathered(self._most, self._reached.get(source.real))
        with self._room.open(source, text.format, within, denies, eager=False) as reading:
            try:
                text.digits = reading.digits
                opened = reading.opened
                unit = opened.unit
                text.unit, text.has_rows, text.has_files = str(unit), unit.has_rows, unit.has_files
                text.total, text.titles = opened.total, opened.titles
                for piece in pieces(reading, 1, 1, gathered.begin):
                    if piece.problem is not None:
                        text.problems.append((piece.number, piece.problem))
                    if not gathered.add(piece):
                        text.rest, text.reason = piece.number, "too_large"
                        break
                    within.check()
            except TimedOut:
                text.rest, text.reason = max(gathered.part, 1), "timeout"
            except Unreadable as error:
                text.problems = [(0, error.problem)]
                text.encrypted, text.advice = isinstance(error, Encrypted), error.advice or OTHER_COPY
            except Shrunk:
                text.problems = [(0, "it became shorter while it was read")]
                text.advice = OTHER_COPY
        self._reached[source.real] = len(gathered.runs)
        text.line = gathered.line_of(text.rest)
        return replace(text, text=gathered.text(), runs=gathered.runs)


@final
class _Gathered:
    """The pieces of one document, up to a limit of characters or pieces."""

    def __init__(self, chars: int, pieces_: int | None) -> None:
        self._chars = chars
        self._pieces = pieces_
        self._lines: list[str] = []
        self.part = 0
        self.runs: list[PlacedLines] = []

    def begin(self, number: int) -> None:
        """Called before a part, or more of it, is extracted."""
        self.part = number

    def add(self, piece: Piece) -> bool:
        """Add as much of a piece as fits; False if that is not all of it."""
        if self._chars <= 0 or len(self.runs) == self._pieces:
            return False
        self.runs.append(PlacedLines(len(self._lines), piece.number, piece.first))
        for line in piece.lines:
            self._chars -= len(line) + 1
            if self._chars < 0:
                return False
            self._lines.append(line)
        return True

    def line_of(self, part: int | None) -> int:
        """The number of the first line of a part that was not added."""
        last = self.runs[-1] if self.runs else None
        return 1 if last is None or last.part != part else last.first + len(self._lines) - last.line

    def text(self) -> str:
        """The lines, each with its end."""
        return "\n".join([*self._lines, ""]) if self._lines else ""


def _format(source: Source) -> str | None:
    return searched_as(source.real, source.read_at(0, HEAD_BYTES))
