"""Values of cells as text: no noise of binary fractions, dates as ISO 8601.

A value never has a tab or a line end in it, which separate cells and rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct, field

from readroom.documents.formats import Area, Count, Part
from readroom.documents.formats.page_ranges import MAX_COLUMNS, MAX_ROWS, column_letters
from readroom.documents.limits import SHEET_CELLS

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
        return str(int(Decimal(written)))
    return "0" if written == "-0" else written


def broken(value: Value) -> bool:
    """Whether `text` has to write a tab or a line end of it differently."""
    return isinstance(value, str) and _BREAKS.search(value) is not None


def line(values: Sequence[Value], first: int, last: int | None) -> str:
    """Columns `first` to `last` of a row; empty cells at its end are left out, and long runs one text."""
    texts = [*map(cell_text, values[first - 1 : last])]
    text = "\t".join(texts).rstrip("\t")
    return "\t".join(_without_runs(texts, first)) if _TABS in text else text


def _without_runs(texts: Sequence[str], first: int) -> Iterator[str]:
    """The texts of cells from column `first` on, a long run of empty ones as one; none at the end."""
    at = first
    for is_filled, group in groupby(texts, bool):
        run = [*group]
        last = at + len(run) - 1
        if is_filled or (len(run) < EMPTY_COLUMNS and last < first + len(texts) - 1):
            yield from run
        elif last < first + len(texts) - 1:
            yield f"[columns {column_letters(at)}-{column_letters(last)} are empty]"
        at = last + 1


EMPTY_COLUMNS = 16
"""This many empty cells between two others, or before the first, become one text."""

_TABS = "\t" * (EMPTY_COLUMNS - 1)

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
# The requested rows of a sheet as a part: bounded, with its header and counts of what is not shown.
# -----------------------------------------------------------------------------

FORMULA = "formula has no stored value: the file was written by a program that does not calculate."
FORMULAS = "formulas have no stored values: the file was written by a program that does not calculate."
VALUES = ("formula is shown as its value.", "formulas are shown as their values.")

ROWS_BEYOND = (
    f"row lies after row {MAX_ROWS:,} and is not shown.",
    f"rows lie after row {MAX_ROWS:,} and are not shown.",
)
TOO_WIDE = (
    f"row has more than {MAX_COLUMNS:,} columns: the rest of it is not shown.",
    f"rows have more than {MAX_COLUMNS:,} columns: the rest of them is not shown.",
)
STRAYS = (
    "cell claims to be in another row and is shown where it is stored.",
    "cells claim to be in other rows and are shown where they are stored.",
)
DOUBLES = (
    "value is not shown: its cell is repeated.",
    "values are not shown: their cells are repeated.",
)
HIDDEN = "This sheet is hidden."
ESCAPED = "Tabs and line ends inside cells are written as \\t and \\n."


Comments: TypeAlias = Mapping[tuple[int, int], str]
"""Comments on cells by row and column from 1; they follow the value."""


Rows: TypeAlias = Mapping[int, Sequence[Value]]
"""The rows of a sheet that hold something, by their number from 1."""

EMPTY_RUN = 3
"""This many empty rows become one line: fewer are shorter as they are."""


class CellBudget(Struct):
    """How many rows of a sheet still go into a part: their number times the widest of them is bounded."""

    area: Area
    width: int = 1
    last: int = 0
    lines: int = 0
    is_full: bool = False

    def take(self, number: int, width: int) -> bool:
        """Whether the row with this number still fits; the first one always does."""
        wider = max(self.width, width)
        gap = number - (self.last or self.area.first_row - 1) - 1
        lines = self.lines + 1 + (1 if gap >= EMPTY_RUN else gap)
        self.is_full = bool(self.last) and lines * wider > SHEET_CELLS
        if self.is_full or (self.last and self.area.lines is not None and lines > self.area.lines):
            return False
        self.width, self.last, self.lines = wider, max(self.last, number), max(self.lines, lines)
        return True


class Table(Struct, frozen=True):
    """Rows that were read.

    Attributes:
        rows: The filled rows of the area.
        header: Row 1, if the area starts below it.
        total: Rows of the sheet, up to the last filled one.
        end: The last row that was included; before the area's end if the part is full.
        is_full: Whether it ends there because its cells are too many for one part.
    """

    rows: Rows
    header: Sequence[Value] | None
    total: int
    end: int
    notes: Sequence[str] = field(default_factory=tuple)
    is_full: bool = False


def part(number: int, title: str, table: Table, area: Area) -> Part:
    """The part that shows `table`; a run of empty rows is one line."""
    columns = area.first_column, area.last_column
    notes = list(table.notes)
    rows = [*table.rows.values(), *([] if table.header is None else [table.header])]
    if any(broken(value) for row in rows for value in row[columns[0] - 1 : columns[1]]):
        notes.append(ESCAPED)
    wanted = table.total if area.last_row is None else min(area.last_row, table.total)
    end = min(table.end, wanted)
    if table.is_full and end < wanted:
        notes.append(f"Shown up to row {end:,}; ask for the rows from {end + 1} on.")
    header = None if table.header is None else line(table.header, *columns)
    numbers, lines = _lines(table.rows, area, end)
    return Part(
        number, title, lines, header=header, first_row=area.first_row, total_rows=table.total, notes=notes,
        rows=[*numbers, end + 1] if len(lines) <= end - area.first_row else (),
    )  # fmt: skip


def _lines(rows: Rows, area: Area, end: int) -> tuple[list[int], list[str]]:
    """The lines of an area up to its row `end`, and the row that each is, or begins with."""
    numbers: list[int] = []
    lines: list[str] = []
    columns = area.first_column, area.last_column
    where = "" if columns == (1, None) else " in these columns"
    at = area.first_row
    for row in (*sorted(rows), end + 1):
        text = line(rows[row], *columns) if area.first_row <= row <= end else ""
        if not text and row <= end:
            continue
        if row - at >= EMPTY_RUN:
            numbers.append(at)
            lines.append(f"[rows {at}-{row - 1} are empty{where}]")
        else:
            numbers += range(at, row)
            lines += [""] * (row - at)
        if row <= end:
            numbers.append(row)
            lines.append(text)
        at = max(at, row + 1)
    return numbers, lines


SHEET_NOTED = 5
"""Merged ranges that are named in a note."""


def merged_note(ranges: Sequence[str]) -> list[str]:
    """The note on merged cells, if there are any."""
    if not ranges:
        return []
    named = ", ".join(ranges[:SHEET_NOTED])
    more = f" and {len(ranges) - SHEET_NOTED:,} more" if len(ranges) > SHEET_NOTED else ""
    return [f"Merged cells have their value in the first one only: {named}{more}."]


def count_note(count: int, single: str, more: str) -> list[str]:
    """A sentence with a number of things; empty for 0."""
    return [f"{count:,} {single if count == 1 else more}"] if count else []


def formula_note(count: int, single: str, more: str) -> list[str]:
    """The same about formulas, which another view shows."""
    return [Count(note, is_bare=False, formulas=count) for note in count_note(count, single, more)]


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
        # Excel also writes the name of the author into the text.
        yield name, words.removeprefix(f"{name}:").strip() if name else words


def commented(rows: Rows, first: int, last: int, comments: Comments) -> Rows:
    """The rows from `first` to `last`, with comments after the values."""
    texts = {place: text for place, text in sorted(comments.items()) if first <= place[0] <= last}
    return overlaid(rows, texts, _remarked)


def _remarked(value: Value, remark: str) -> str:
    text = cell_text(value)
    return f"{text} {remark}" if text else remark


def overlaid(rows: Rows, texts: Comments, joined: Callable[[Value, str], str]) -> Rows:
    """The rows with texts for some of their cells, each joined with the value there."""
    completed = dict(rows)
    for (row, column), text in texts.items():
        cells = [*completed.get(row, ())]
        cells += [""] * (column - len(cells))
        cells[column - 1] = joined(cells[column - 1], text)
        completed[row] = cells
    return completed


def numbered(
    numbers: Sequence[int], rows: Sequence[Sequence[Value]], start: tuple[int, int] | None
) -> dict[int, Sequence[Value]]:
    """Rows of an array from a library by the numbers that they have; its first cell is at `start`, from 0."""
    if start is None:
        return {}
    above, left = start
    margin: Sequence[Value] = [""] * left
    return {number: [*margin, *row] for number, row in zip(numbers[above:], rows, strict=False)}


def table(rows: Rows, area: Area, notes: Sequence[str], comments: Comments | None = None) -> Table:
    """An area of a sheet that was read whole."""
    remarks = comments or {}
    total = max([*rows, *(row for row, _ in remarks)], default=0)
    room = CellBudget(area)
    end = total if area.last_row is None else min(area.last_row, total)
    places = {row: 0 for row, _ in remarks} | {row: len(values) for row, values in rows.items()}
    for row, width in sorted(places.items()):
        if area.first_row <= row <= end and not room.take(row, width):
            end = room.last
            break
    header = rows.get(1, ()) if area.first_row > 1 else None
    window = {row: values for row, values in rows.items() if area.first_row <= row <= end}
    return Table(
        commented(window, area.first_row, end, remarks), header, total, end, notes, is_full=room.is_full
    )
