"""The parts of a document that one read asks for, and the pieces that a search goes through.

A piece (`pieces`) is one part, or some rows of a sheet, so that a sheet of a million rows is never held
in memory as a whole.  A part that cannot be read is reported in its place, and the next one follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import BadImage, BadRange
from readroom.core.formats.kinds import PICTURE_TYPES, sniff
from readroom.core.formats.regions import WHOLE, Region
from readroom.core.formats.sending import to_image
from readroom.core.quoting import quote
from readroom.core.text.select import LongLine, Page
from readroom.core.values import LineEnds, ReadRequest
from readroom.core.values.files import Image
from readroom.documents.formats import Area, Part, Picture, Unit, Unreadable
from readroom.documents.formats.page_ranges import CONTENTS, SCHEMA
from readroom.documents.limits import DOCUMENT_IMAGES
from readroom.documents.reading.cache import Reading


@final
class PartLines:
    """The lines of a part as a `text.select.Text`, from line `first` on.

    If a line is a run of empty rows, lines are still counted one by one from `first` on, and `row` gives the
    rows that they are.
    """

    ends = LineEnds()

    def __init__(self, lines: Sequence[str], first: int, total: int, rows: Sequence[int] = ()) -> None:
        """`total` is the last line of the part, or its last row; `rows` are as of a `Part`."""
        self._lines = list(lines)
        self.first = first
        self.total = total
        self.rows = rows
        self.total_lines = self.last + (rows[-1] <= total) if rows else total

    def row(self, number: int) -> int:
        """The number that a line has in the part; of a run of empty rows, of the first."""
        return self.rows[number - self.first] if self.rows else number

    @property
    def last(self) -> int:
        """The last line held here; a sheet may have more."""
        return self.first + len(self._lines) - 1

    def lines(self, first: int, last: int) -> Sequence[str]:
        """The lines `first` to `last`."""
        return self._lines[first - self.first : last + 1 - self.first]

    def placed(self, page: Page) -> tuple[Page, Sequence[int]]:
        """A page with the numbers that its lines have in the part, and where they have gaps, the rows.

        The last of the rows is the one after the page.
        """
        if not self.rows:
            return page, ()
        shown = page.numbers or range(page.start, page.start + len(page.lines))
        numbers = [self.row(number) for number in shown]
        cuts = {self.row(number): cut for number, cut in page.cuts.items()}
        start = numbers[0] if numbers else self.row(page.start)
        rows = () if page.numbers or not numbers else (*numbers, self.row(shown[-1] + 1))
        return replace(page, start=start, numbers=numbers, cuts=cuts), rows

    def length(self, line: LongLine) -> int:
        """Never called: all lines are in memory."""
        raise AssertionError(line)

    def piece(self, line: LongLine, column: int, most: int) -> str:
        """Never called: all lines are in memory."""
        raise AssertionError(line)


class PartContent(Struct, frozen=True):
    """A part, its lines from the first requested one on, and the area of the request."""

    part: Part
    text: PartLines
    area: Area | None


DOCUMENT_ROWS = 2_000
"""Rows of a sheet read at once; a reply has fewer unless they are nearly empty."""


@final
class Parts:
    """The parts of an opened document that a request asks for."""

    def __init__(
        self, reading: Reading, request: ReadRequest, headings: Sequence[tuple[int, str, int]]
    ) -> None:
        self._reading = reading
        self._request = request
        self._unit = reading.opened.unit
        self._headings = headings

    def content(self, number: int, area: Area | None, offset: int | None, most: int) -> PartContent:
        """A part from a line on; of a sheet at most `most` rows.

        Raises:
            Unreadable: It cannot be extracted.
            BadRange: It has no such line.
            TimedOut, Cancelled: From the deadline.
        """
        if number == CONTENTS:
            return self._chosen(_contents_part(self._headings, self._unit), None, offset)
        if self._request.view == "image":
            drawn = self._reading.part(number, Area(region=region_of(area)))
            return PartContent(drawn, PartLines((), 1, 0), area)
        if self._request.view == "not_shown":
            part = self._reading.part(number, Area(last_row=1) if self._unit.has_rows else None)
            return self._chosen(_beside(part), None, offset)
        if not self._unit.has_rows or number == SCHEMA:
            return self._chosen(self._reading.part(number), None, offset)
        whole = area or Area()
        formulas = self._request.view == "formulas"
        if offset is not None and offset < 0:
            last = self._last_row(number, whole)
            offset = max(whole.first_row, last + offset + 1)
        start = max(whole.first_row, offset or 1)
        lines = min(most, DOCUMENT_ROWS)
        ends = [] if whole.last_row is None else [whole.last_row]
        if self._unit is not Unit.SHEET:  # in a sheet one line may be many rows
            ends.append(start + lines - 1)
        until = max(start, min(ends)) if ends else None
        wanted = replace(whole, first_row=start, last_row=until, formulas=formulas, lines=lines)
        return self._chosen(self._reading.part(number, wanted), whole, offset)

    def _last_row(self, number: int, whole: Area) -> int:
        start = self._reading.part(number, replace(whole, last_row=whole.first_row))
        total = start.total_rows or 0
        if not start.total_known:
            raise self._uncounted(number)
        return total if whole.last_row is None else min(total, whole.last_row)

    def _chosen(self, part: Part, area: Area | None, offset: int | None) -> PartContent:
        """The part with its first line to show. Raises BadRange if there is no such line."""
        if area is None:
            total = len(part.lines)
            start = 1 if offset is None else max(1, total + offset + 1) if offset < 0 else offset
            lines = part.lines[start - 1 :]
            least = 1
        else:
            total = part.first_row + len(part.lines) - 1 if part.total_rows is None else part.total_rows
            total = total if area.last_row is None else min(total, area.last_row)
            start, lines, least = part.first_row, part.lines, area.first_row
            if offset is not None:
                start = offset
        if start > max(total, least) or start < least or (offset is not None and start > total > 0):
            raise self._no_such_line(part.number, start, least, total)
        return PartContent(part, PartLines(lines, start, total, part.rows), area)

    def _uncounted(self, number: int) -> BadRange:
        return BadRange(
            f"the rows of {self._unit} {number} of {quote(self._request.path)} are not counted, "
            "so an offset from the end is not possible",
            "Use a positive offset.",
            next_request=replace(self._request, offset=None, column=1),
        )

    def _no_such_line(self, number: int, start: int, least: int, total: int) -> BadRange:
        rows = "row" if self._unit.has_rows and number > CONTENTS else "line"
        return BadRange(
            f"offset={start} is not in {self._unit} {number} of {quote(self._request.path)}, "
            f"whose {rows}s are {least} to {total}",
            f"Use an offset from {least} to {max(total, least)}, or leave it out.",
            total_lines=total,
            next_request=replace(self._request, offset=None, column=1),
        )

    def pictures(self, content: PartContent) -> tuple[list[Image], list[str]]:
        """Its images and notes; none when a read continues in the part, since both were shown before."""
        part = content.part
        if content.text.first > 1 and self._unit is not Unit.TABLE:
            return [], []
        images: list[Image] = []
        notes = list(part.notes)
        left = 0
        for picture in part.pictures:
            if len(images) >= DOCUMENT_IMAGES:
                left += 1
                continue
            try:
                images.append(_image(picture, self._request.path))
            except BadImage as error:
                notes.append(f"An image is not shown: {error.facts['problem']}.")
        if left:
            notes.append(f"{left} more images are not shown.")
        return images, notes


def _beside(part: Part) -> Part:
    """The content that the notes of a part count, as its lines."""
    notes = [] if part.counted else ["Nothing that can be shown is left out."]
    return Part(part.number, part.title, part.counted, notes=notes)


def region_of(area: Area | None) -> Region:
    """The region of a page that is asked for."""
    return WHOLE if area is None or area.region is None else area.region


def _contents_part(headings: Sequence[tuple[int, str, int]], unit: Unit) -> Part:
    lines = [f"{'  ' * (level - 1)}{title} ({unit} {part})" for level, title, part in headings]
    return Part(CONTENTS, "", lines, notes=[] if lines else ["It has no table of contents."])


def _image(picture: Picture, path: str) -> Image:
    """A picture of a document as an image for the model, by its bytes. Raises BadImage."""
    media = sniff(picture.data)
    if media is None or media.name not in PICTURE_TYPES:
        raise BadImage(path, picture.mime, len(picture.data), f"{picture.mime} is not shown")
    return to_image(picture.data, media.name, path=path)


class Piece(Struct, frozen=True):
    """Some or all lines of one part.

    Attributes:
        number: The part.
        lines: Its text, or some of it.
        first: The number of the first line within the part.
        last: The last row, if the sheet continues after it; None at the end of a part.
        problem: Why the rest of the part cannot be read.
    """

    number: int
    lines: Sequence[str] = ()
    first: int = 1
    last: int | None = None
    problem: str | None = None


def pieces(reading: Reading, part: int, row: int, begin: Callable[[int], None]) -> Iterator[Piece]:
    """The pieces of a document from a part on, in a sheet from a row on.

    Args:
        reading: The document.
        part: The first part.
        row: The first row of that part.
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
    """The pieces of a sheet from a row on, some rows each."""
    start = total = row
    while start <= total:
        begin(number)
        part = reading.part(number, Area(start, lines=DOCUMENT_ROWS))
        total = part.total_rows or 0
        rows = part.rows or range(start, start + (len(part.lines) or DOCUMENT_ROWS) + 1)
        start = rows[-1]
        yield from _filled(part, rows, start - 1 if start <= total else None)


def _filled(part: Part, rows: Sequence[int], last: int | None) -> Iterator[Piece]:
    """The rows of a piece of a sheet between its runs of empty rows, which have nothing to be found."""
    runs = [at for at in range(len(part.lines)) if rows[at + 1] - rows[at] > 1]
    for at, end in pairwise([-1, *runs, len(part.lines)]):
        is_last = end == len(part.lines)
        if at + 1 < end or is_last:
            lines = part.lines[at + 1 : end]
            yield Piece(part.number, lines, rows[at + 1], last if is_last else rows[end] - 1)
