"""Values of cells as text: no noise of binary fractions, dates as ISO 8601.

A value never has a tab or a line end in it, which separate cells and rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from itertools import islice
from typing import TypeAlias

from msgspec import Struct, field

from readroom.formats.documents import Area, Part
from readroom.limits.documents import SHEET_CELLS, SHEET_NOTED

Value: TypeAlias = str | float | bool | date | time | timedelta
"""The value of a cell: an empty string if it is empty, and float for int."""

DIGITS = 15
"""Decimal digits of a number that office programs keep."""

_BREAKS = re.compile("\r\n|[\t\r\n]")
_ESCAPED = {"\t": "\\t", "\n": "\\n", "\r": "\\n", "\r\n": "\\n"}


def cell_text(value: Value) -> str:
    """A cell's value in a line of a part."""
    if isinstance(value, str):
        return _BREAKS.sub(lambda match: _ESCAPED[match[0]], value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return number(value)
    if isinstance(value, datetime):
        return _moment(value).isoformat(" ").removesuffix("000").removesuffix(" 00:00:00")
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, time):
        return _moment(datetime.combine(_SOME_DAY, value)).time().isoformat().removesuffix("000")
    return value.isoformat()


def number(value: float) -> str:
    """A number with as many digits as office programs keep; whole ones without a point."""
    written = format(value, f".{DIGITS}g")
    if "e" in written and abs(value) < 1e21 and float(written).is_integer():
        return str(int(float(written)))
    return "0" if written == "-0" else written


def broken(value: Value) -> bool:
    """Whether `text` has to write a tab or a line end of it differently."""
    return isinstance(value, str) and _BREAKS.search(value) is not None


def line(values: Sequence[Value], first: int, last: int | None) -> str:
    """Columns `first` to `last` of a row; empty cells at its end are left out."""
    return "\t".join(map(cell_text, values[first - 1 : last])).rstrip("\t")


_SOME_DAY = date(2000, 1, 1)
_MILLISECOND = timedelta(milliseconds=1)


def _moment(value: datetime) -> datetime:
    """Rounded to a millisecond: fractions of a day are never exact."""
    microseconds = 1000 * round(value.microsecond / 1000)
    try:
        return value.replace(microsecond=0) + timedelta(microseconds=microseconds)
    except OverflowError:
        return value  # the last second of the year 9999


def _duration(value: timedelta) -> str:
    """Hours, minutes and seconds; more than a day as more than 24 hours."""
    seconds, milliseconds = divmod(round(abs(value) / _MILLISECOND), 1000)
    sign = "-" if value < timedelta(0) else ""
    fraction = f".{milliseconds:03}" if milliseconds else ""
    return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}{fraction}"


# -----------------------------------------------------------------------------
# The rows of a sheet that an area asks for, as a part: bounded, with its header and what is not shown.
# -----------------------------------------------------------------------------

FORMULA = "formula has no stored value: the file was written by a program that does not calculate."
FORMULAS = "formulas have no stored values: the file was written by a program that does not calculate."
VALUES = ("formula is shown as its value.", "formulas are shown as their values.")
HIDDEN = "This sheet is hidden."
ESCAPED = "Tabs and line ends inside cells are written as \\t and \\n."


Comments: TypeAlias = Mapping[tuple[int, int], str]
"""Comments on cells by row and column from 1, as they follow the value."""


class CellBudget(Struct):
    """How many rows of a sheet still go into a part: their number times the widest of them is bounded."""

    first: int
    width: int = 1
    last: int = 0

    def take(self, number: int, width: int) -> bool:
        """Whether the row with this number still fits; the first one always does."""
        wider = max(self.width, width)
        if self.last and (number - self.first + 1) * wider > SHEET_CELLS:
            return False
        self.width, self.last = wider, number
        return True


class Table(Struct, frozen=True):
    """Rows that were read.

    Attributes:
        rows: From the first row of the area on, without gaps.
        header: Row 1, when the area starts below it.
        total: Rows of the sheet, up to the last that holds something.
        end: The last row that was taken; below the area's end when there was no room.
    """

    rows: Sequence[Sequence[Value]]
    header: Sequence[Value] | None
    total: int
    end: int
    notes: Sequence[str] = field(default_factory=tuple)


def part(number: int, title: str, table: Table, area: Area) -> Part:
    """The part that shows `table`."""
    columns = area.first_column, area.last_column
    lines = [line(row, *columns) for row in table.rows]
    notes = list(table.notes)
    rows = table.rows if table.header is None else [*table.rows, table.header]
    if any(broken(value) for row in rows for value in row[columns[0] - 1 : columns[1]]):
        notes.append(ESCAPED)
    wanted = table.total if area.last_row is None else min(area.last_row, table.total)
    if table.end < wanted:
        notes.append(f"Shown up to row {table.end:,}; ask for the rows from {table.end + 1} on.")
    header = None if table.header is None else line(table.header, *columns)
    return Part(
        number, title, lines, header=header, first_row=area.first_row, total_rows=table.total, notes=notes
    )


def merged_note(ranges: Sequence[str]) -> list[str]:
    """The note on merged cells, if there are any."""
    if not ranges:
        return []
    named = ", ".join(ranges[:SHEET_NOTED])
    more = f" and {len(ranges) - SHEET_NOTED:,} more" if len(ranges) > SHEET_NOTED else ""
    return [f"Merged cells have their value in the first one only: {named}{more}."]


def count_note(count: int, single: str, more: str) -> list[str]:
    """A sentence about so many of something; nothing when there are none."""
    return [f"{count:,} {single if count == 1 else more}"] if count else []


def hidden_notes(rows: int, columns: int) -> list[str]:
    """The note on rows and columns that the sheet hides and the text shows."""
    return [
        *count_note(rows, "row is hidden in the sheet.", "rows are hidden in the sheet."),
        *count_note(columns, "column is hidden in the sheet.", "columns are hidden in the sheet."),
    ]


def comment(remarks: Sequence[tuple[str, str]]) -> str:
    """A comment of a cell and its answers, by author and words."""
    words = [f"{author}: {text}" if author else text for author, text in _joined(remarks)]
    return f"[comment: {' / '.join(words)}]"


def _joined(remarks: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for author, text in remarks:
        name, words = " ".join(author.split()), " ".join(text.split())
        # Excel writes the name of the author into the text, too.
        yield name, words.removeprefix(f"{name}:").strip() if name else words


def commented(
    rows: Sequence[Sequence[Value]], first: int, last: int, comments: Comments
) -> list[Sequence[Value]]:
    """The rows from `first` to at most `last`, with comments after the values."""
    texts = {place: text for place, text in sorted(comments.items()) if first <= place[0] <= last}
    return overlaid(rows, first, texts, _remarked)


def _remarked(value: Value, remark: str) -> str:
    text = cell_text(value)
    return f"{text} {remark}" if text else remark


def overlaid(
    rows: Sequence[Sequence[Value]], first: int, texts: Comments, joined: Callable[[Value, str], str]
) -> list[Sequence[Value]]:
    """The rows from `first` on with texts for some of their cells, each joined with the value there."""
    completed = list(rows)
    for (row, column), text in texts.items():
        completed += [()] * (row - first + 1 - len(completed))
        cells = [*completed[row - first]]
        cells += [""] * (column - len(cells))
        cells[column - 1] = joined(cells[column - 1], text)
        completed[row - first] = cells
    return completed


def aligned(
    rows: Iterable[Sequence[Value]], start: tuple[int, int] | None, first: int, last: int
) -> list[Sequence[Value]]:
    """Rows `first` to `last` of an array from a library, whose first cell is at `start`, from 0."""
    above, left = start or (last, 0)
    empty: Sequence[Value] = ()
    margin: Sequence[Value] = [""] * left
    placed = [empty] * max(0, min(above + 1, last + 1) - first)
    if start is not None:
        placed += [[*margin, *row] for row in islice(rows, max(0, first - above - 1), max(0, last - above))]
    return placed + [empty] * (last - first + 1 - len(placed))


def table(
    rows: Sequence[Sequence[Value]], area: Area, notes: Sequence[str], comments: Comments | None = None
) -> Table:
    """An area of a sheet that was read whole."""
    remarks = comments or {}
    total = max(len(rows), max((row for row, _ in remarks), default=0))
    room = CellBudget(area.first_row)
    end = total if area.last_row is None else area.last_row
    for number, row in enumerate(rows[area.first_row - 1 : end], area.first_row):
        if not room.take(number, len(row)):
            end = room.last
            break
    header = (rows[0] if rows else ()) if area.first_row > 1 else None
    window = commented(rows[area.first_row - 1 : end], area.first_row, end, remarks)
    return Table(window, header, total, end, notes)
