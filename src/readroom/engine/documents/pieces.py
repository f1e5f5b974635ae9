"""The text of a document piece by piece, for what looks at all of it: a search, a ranking.

A piece is one part, or some rows of a sheet, so that a sheet of a million rows is never held
whole.  A part that cannot be read says so in its place, and the next one comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from readroom.engine.documents.cache import Reading
from readroom.formats.documents import Area, Unit, Unreadable
from readroom.limits.documents import DOCUMENT_ROWS


class Piece(Struct, frozen=True):
    """Lines of one part.

    Attributes:
        number: The part.
        lines: Its text, or some of it.
        first: The number of the first of them within the part.
        last: The row it ends with, where the sheet goes on behind it; None at the end of a part.
        problem: Why the rest of the part cannot be read.
    """

    number: int
    lines: Sequence[str] = ()
    first: int = 1
    last: int | None = None
    problem: str | None = None


def pieces(reading: Reading, part: int, row: int, begin: Callable[[int], None]) -> Iterator[Piece]:
    """The pieces from a part on, in a sheet from a row on.

    Args:
        reading: The document.
        part: Where to begin.
        row: Where to begin in that part.
        begin: Called with the number of a part before anything of it is extracted, and before more
            rows of it are; what it raises ends the work.

    Raises:
        Unreadable: The document cannot be opened.
        TimedOut, Cancelled: From the deadline of the reading.
    """
    opened = reading.opened
    for number in range(part, opened.total + 1):
        begin(number)
        try:
            if opened.unit is Unit.SHEET:
                yield from _rows(reading, number, row if number == part else 1, begin)
            else:
                yield Piece(number, reading.part(number, text_only=True).lines)
        except Unreadable as error:
            yield Piece(number, problem=error.problem)


def _rows(reading: Reading, number: int, row: int, begin: Callable[[int], None]) -> Iterator[Piece]:
    """A sheet from a row on, some rows at a time."""
    start = total = row
    while start <= total:
        begin(number)
        part = reading.part(number, Area(start, start + DOCUMENT_ROWS - 1))
        total = part.total_rows or 0
        last = start + (len(part.lines) or DOCUMENT_ROWS) - 1  # of wide rows there are fewer
        yield Piece(number, part.lines, part.first_row, last if last < total else None)
        start = last + 1
