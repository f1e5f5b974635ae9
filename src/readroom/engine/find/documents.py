"""Documents in a ranked search: each becomes one text that knows which part each line is from.

Extraction is bounded in time and length.  A long book is ranked by its first parts only, and the reply
names the rest.  Attachments that policy denies are removed before anything is counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.documents.cache import DocumentCache
from readroom.engine.documents.parts import Piece, pieces
from readroom.engine.documents.withheld import denied_in
from readroom.errors import BadDocument, EncryptedDocument, TimedOut
from readroom.formats.documents import OTHER_COPY, Encrypted, Unit, Unreadable
from readroom.formats.kinds import SEARCHED, searched_as, suffix
from readroom.limits import HEAD_BYTES, Limits
from readroom.limits.documents import DOCUMENT_PATIENCE
from readroom.limits.find import FIND_DOCUMENT_ALONE_CHARS, FIND_DOCUMENT_CHARS, FIND_DOCUMENT_S
from readroom.policy.guard import Guard
from readroom.quoting import quote
from readroom.ranking.parts import TextPart, cut, cut_rows
from readroom.stores.base import Source
from readroom.text.line_index import Shrunk


class PlacedLines(Struct, frozen=True):
    """Lines of a text that come from one part: the first of them, from 0, the part, its number there."""

    line: int
    part: int
    first: int


class DocumentText(Struct):
    """A document, as far as it was looked at.

    Attributes:
        format: What it is read as.
        digits: The SHA-256 of its bytes, in hex; empty when there was no time for it.
        unit: What its parts are.
        total: How many it has.
        titles: Of the parts; none when no part has one.
        text: Their lines.
        runs: Where these come from.
        rest: The first part that was not looked at, or not to its end; None when all were.
        line: The number of the first line in it that was not looked at.
        reason: Why: timeout or too_large.
        problems: Parts that cannot be read, and why; part 0 is the document.
        encrypted: Whether only a password opens it.
        advice: What to do where nothing of it can be read.
    """

    format: str
    digits: str = ""
    unit: Unit = Unit.PART
    total: int = 0
    titles: Sequence[str] = ()
    text: str = ""
    runs: Sequence[PlacedLines] = ()
    rest: int | None = None
    line: int = 1
    reason: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)
    encrypted: bool = False
    advice: str = ""

    @property
    def is_open(self) -> bool:
        """Whether anything of it could be read."""
        return not self.problems or self.problems[0][0] > 0

    @property
    def may_be_kept(self) -> bool:
        """Whether it is the same under all rules that let it be seen, and whatever time there is."""
        return self.rest is None and not (self.is_open and self.unit.has_files)

    def unreadable(self, path: str) -> list[str]:
        """What cannot be read of it, in clauses."""
        if self.is_open:
            return [f"{self.unit} {part} of {quote(path)}: {problem}" for part, problem in self.problems]
        return [f"{quote(path)}: {self.problems[0][1]}"]

    def failure(self, path: str) -> BadDocument:
        """What is raised where it was all that was asked for."""
        kind = EncryptedDocument if self.encrypted else BadDocument
        return kind(path, self.format, self.problems[0][1], self.advice)

    def at(self, line: int) -> tuple[int, int]:
        """The part in which a line of the text stands, counted from 1, and its number there."""
        run = self.runs[bisect_right(self.runs, line - 1, key=attrgetter("line")) - 1]
        return run.part, run.first + line - 1 - run.line

    def parts(self, lines: Sequence[str]) -> list[TextPart]:
        """What ranking scores: windows of the parts, a few rows of a sheet, each with the title around it."""
        parts, ends = list[TextPart](), [run.line for run in self.runs[1:]] + [len(lines)]
        top: PlacedLines | None = None
        for run, end in zip(self.runs, ends, strict=True):
            if top is None or top.part != run.part:
                top = run
            own = lines[run.line : end]
            title = self.titles[run.part - 1] if run.part <= len(self.titles) else ""
            # The first row of a sheet says what the columns of the others are.
            headed = ((top.line + 1, lines[top.line]),) if self.unit.has_rows and end > top.line else ()
            for part in cut_rows(own) if self.unit.has_rows else cut(own, ()):
                parts.append(
                    TextPart(part.first + run.line, part.last + run.line, (title,) if title else (), headed)
                )
        return parts


@final
class DocumentTexts:
    """Looks at documents for one search."""

    def __init__(self, room: DocumentCache, limits: Limits, *, alone: bool) -> None:
        """With `alone` there is one, which has all the time of a document."""
        self._room = room
        self._most_s = limits.document_timeout_s
        self._most = FIND_DOCUMENT_ALONE_CHARS
        if not alone:
            self._most_s = min(self._most_s, FIND_DOCUMENT_S)
            self._most = FIND_DOCUMENT_CHARS
        self._reached: dict[str, int] = {}

    @staticmethod
    def may_take(path: str) -> bool:
        """Whether a file can be a document, by its name."""
        return suffix(path) in SEARCHED

    def takes(self, source: Source) -> bool:
        """Whether an opened file is one."""
        return self.may_take(source.real) and _format(source) is not None

    def read(self, guard: Guard, source: Source, deadline: Deadline) -> DocumentText:
        """A document that it takes; one that was looked at before in this search, as far as then.

        Raises:
            Cancelled: From the deadline.
        """
        text = DocumentText(_format(source) or "")
        within = deadline.of_work(self._most_s, DOCUMENT_PATIENCE)
        denies = denied_in(guard, source, source.real)
        gathered = _Gathered(self._most, self._reached.get(source.real))
        with self._room.open(source, text.format, within, denies, eager=False) as reading:
            try:
                text.digits = reading.digits
                opened = reading.opened
                text.unit, text.total, text.titles = opened.unit, opened.total, opened.titles
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
                text.problems = [(0, "it became shorter meanwhile")]
                text.advice = OTHER_COPY
        self._reached[source.real] = len(gathered.runs)
        text.line = gathered.line_of(text.rest)
        return replace(text, text=gathered.text(), runs=gathered.runs)


@final
class _Gathered:
    """The pieces of one document, until there are enough characters or pieces."""

    def __init__(self, chars: int, pieces_: int | None) -> None:
        self._chars = chars
        self._pieces = pieces_
        self._lines: list[str] = []
        self.part = 0
        self.runs: list[PlacedLines] = []

    def begin(self, number: int) -> None:
        """A part is extracted, or more of it."""
        self.part = number

    def add(self, piece: Piece) -> bool:
        """Take as much of a piece as there is room for; False when that is not all of it."""
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
        """The number of the first line of a part that is not among them."""
        last = self.runs[-1] if self.runs else None
        return 1 if last is None or last.part != part else last.first + len(self._lines) - last.line

    def text(self) -> str:
        """The lines, each with its end."""
        return "\n".join([*self._lines, ""]) if self._lines else ""


def _format(source: Source) -> str | None:
    return searched_as(source.real, source.read_at(0, HEAD_BYTES))
