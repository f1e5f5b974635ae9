"""Excel workbooks from before 2007 (.xls, .xlt), sheet by sheet, by xlrd.

xlrd holds only the cells that exist. Libraries that make a table of all cells between the first and the last
need a gigabyte for two cells in opposite corners.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, time, timedelta
from typing import Any, BinaryIO, final

import python_calamine as calamine
import xlrd

from readroom.documents.formats import Area, Encrypted, Part, Unreadable, macros, omission_note, told
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.compound import Compound, is_ole
from readroom.documents.formats.embedded import told_object
from readroom.documents.formats.page_ranges import column_letters
from readroom.documents.formats.sheets import cells
from readroom.documents.formats.sheets.cells import Comments, Rows, Value
from readroom.documents.formats.sheets.cut_out import translated
from readroom.documents.table import BIFF

_VISIBLE = 0
_MACROS, _OBJECT = "_vba_project_cur", "mbd"
"""Storages of a workbook: its macros; the beginning of the names of embedded objects."""

_COUNTED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
"""The part of a pattern that counts hours, also past a day: `[h]:mm`."""

_UNTOLD = "Hidden rows, merged cells and comments are not read: they are damaged."
_CELLS_ALONE = "It is damaged in part: its cells are shown; hidden rows, merged cells and comments are not."


@final
class OldSheets:
    """The sheets of an opened workbook; the one that was read last is held."""

    def __init__(self, book: Any, data: bytes) -> None:
        self._book = book
        self._data = data
        self._held: int | None = None
        self.names: Sequence[str] = book.sheet_names()

    def part(self, number: int, area: Area) -> Part:
        """The sheet with this number, or an area of it. Raises Unreadable."""
        try:
            with _translated():
                sheet = self._sheet(number - 1)
                rows = self._rows(sheet, area)
        except Unreadable:
            return CellsAlone(self._data).named(self.names[number - 1], number, area)
        notes: list[str] = []
        comments: Comments = {}
        with _noted(notes):
            comments = {
                (row + 1, column + 1): cells.comment([(note.author or "", note.text or "")])
                for (row, column), note in sheet.cell_note_map.items()
            }
        with _noted(notes):
            notes += self._notes(number, sheet, area)
        table = cells.table(rows, area, notes, comments)
        return cells.part(number, self.names[number - 1], table, area)

    def _rows(self, sheet: Any, area: Area) -> Rows:
        """The filled rows; those that were not requested have no cells."""
        last = area.last_row or sheet.nrows
        rows: dict[int, Sequence[Value]] = {}
        for at in range(sheet.nrows):
            if any(map(_is_filled, sheet.row_types(at))):
                wanted = at == 0 or area.first_row <= at + 1 <= last
                rows[at + 1] = [self._value(cell) for cell in sheet.row(at)] if wanted else ()
        return rows

    def _sheet(self, at: int) -> Any:
        if self._held not in (None, at):
            self._book.unload_sheet(self._held)
        self._held = at
        return self._book.sheet_by_index(at)

    def _value(self, cell: Any) -> Value:
        if cell.ctype == xlrd.XL_CELL_DATE:
            return self._date(cell)
        if cell.ctype == xlrd.XL_CELL_BOOLEAN:
            return bool(cell.value)
        if cell.ctype == xlrd.XL_CELL_ERROR:
            return str(xlrd.error_text_from_code.get(cell.value, "#ERR!"))
        value: Value = cell.value
        return value

    def _date(self, cell: Any) -> Value:
        number = float(cell.value)
        try:
            if _COUNTED.search(self._format(cell.xf_index)):
                return timedelta(days=number)
            if number < 0:
                return number  # no calendar of a sheet begins before its day 0
            moment: datetime = xlrd.xldate.xldate_as_datetime(number, self._book.datemode)
        except (xlrd.xldate.XLDateError, OverflowError, ValueError):
            return number
        if 0 <= number < 1:
            return moment.time()
        return moment.date() if moment.time() == time(0) else moment

    def _format(self, style: int) -> str:
        """The pattern of a style; empty for the dates of East Asia, which are numbers alone in a file."""
        styles = self._book.xf_list
        pattern = self._book.format_map.get(styles[style].format_key) if style < len(styles) else None
        return (pattern and pattern.format_str) or ""

    def _notes(self, number: int, sheet: Any, area: Area) -> Iterator[str]:
        if sheet.visibility != _VISIBLE:
            yield cells.HIDDEN
        last = sheet.nrows if area.last_row is None else area.last_row
        hidden = (at + 1 for at, row in sheet.rowinfo_map.items() if row.hidden)
        rows = [at for at in hidden if area.first_row <= at <= last]
        columns = [at for at, column in sheet.colinfo_map.items() if column.hidden]
        yield from cells.hidden_notes(len(rows), len(columns))
        merged = [
            f"{column_letters(left + 1)}{top + 1}:{column_letters(right)}{bottom}"
            for top, bottom, left, right in sheet.merged_cells
        ]
        yield from cells.merged_note(merged)
        others = len(self._book.sheet_names()) if number == 1 else 0
        counts = Counter(
            told("link target", _linked(link)) for link in sheet.hyperlink_list if link.url_or_path
        )
        if number == 1:
            counts.update(told("defined name", name.name) for name in self._book.name_obj_list)
            counts += self._of_book()
            counts["chart sheet or macro sheet"] += max(0, self._book._all_sheets_count - others)
        yield from omission_note(counts)

    def _of_book(self) -> Counter[str]:
        """Content of the compound file outside of the sheets."""
        file, found = io.BytesIO(self._data), Counter[str]()
        with suppress(Unreadable):
            if is_ole(file):
                compound = Compound(file)
                for name in sorted(compound.storages):
                    if name.startswith(_OBJECT) and "/" not in name:
                        found[told_object(compound, name, name)] += 1
                found += compound.properties()
                if _MACROS in compound.storages:
                    lines = macros.lines_of(compound, _MACROS)
                    found[told(macros.KIND, "\n".join(lines))] += 1
        return found


def _linked(link: Any) -> str:
    """The place and the target of a link."""
    place = f"{column_letters(link.fcolx + 1)}{link.frowx + 1}"
    target = link.url_or_path
    words = target.decode("cp1252", "replace") if isinstance(target, bytes) else str(target)
    return f"{place}: {words}"


def is_one(file: BinaryIO) -> bool:
    """Whether this is a workbook from before 2007, in a compound file or, of Excel 2 to 4, without one."""
    file.seek(0)
    return file.read(4).startswith(BIFF) or is_ole(file)


@final
class CellsAlone:
    """The cells of a workbook by another library, if xlrd fails on something else in it."""

    def __init__(self, data: bytes) -> None:
        """Raises Unreadable."""
        with translated():
            self._book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        self.names: Sequence[str] = self._book.sheet_names

    def part(self, number: int, area: Area) -> Part:
        """The sheet with this number, or an area of it. Raises Unreadable."""
        return self.named(self.names[number - 1], number, area)

    def named(self, name: str, number: int, area: Area) -> Part:
        """The same by its name: charts among the sheets are not counted by all. Raises Unreadable."""
        with translated():
            sheet = self._book.get_sheet_by_name(name)
            above, left = sheet.start or (0, 0)
            margin = [""] * left
            filled = [
                (at, row) for at, row in enumerate(sheet.to_python(), above + 1) if any(v != "" for v in row)
            ]
        table = cells.table({at: [*margin, *row] for at, row in filled}, area, [_CELLS_ALONE], {})
        return cells.part(number, name, table, area)


OLD_WORKBOOK_BYTES = 16 * 1024 * 1024
"""A workbook of Excel before 2007, which a library reads into memory."""


def open_workbook(file: BinaryIO) -> OldSheets | CellsAlone:
    """The workbook in `file`. Raises Unreadable."""
    size = file.seek(0, 2)
    if size > OLD_WORKBOOK_BYTES:
        raise Unreadable(
            f"it is an Excel workbook from before 2007 with {size:,} bytes, more than the "
            f"limit of {OLD_WORKBOOK_BYTES:,}",
            "Ask for it as XLSX or CSV.",
        )
    file.seek(0)
    data = file.read()
    try:
        with _translated():
            return OldSheets(
                xlrd.open_workbook(
                    file_contents=data,
                    logfile=io.StringIO(),
                    on_demand=True,
                    ragged_rows=True,
                    formatting_info=True,
                    ignore_workbook_corruption=True,
                ),
                data,
            )
    except Encrypted:
        raise
    except Unreadable:
        return CellsAlone(data)


def _is_filled(kind: int) -> bool:
    return kind not in (xlrd.XL_CELL_EMPTY, xlrd.XL_CELL_BLANK)


@contextmanager
def _noted(notes: list[str]) -> Iterator[None]:
    """Content other than cells never costs the cells: its failure becomes a note."""
    try:
        with _translated():
            yield
    except Unreadable:
        notes[:] = [*(note for note in notes if note != _UNTOLD), _UNTOLD]


@contextmanager
def _translated() -> Iterator[None]:
    """The library's failures as Unreadable; for a damaged workbook it raises any exception."""
    try:
        yield
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise Encrypted("it is encrypted", "Ask for a copy without a password.") from None
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
    except (MemoryError, RecursionError):
        raise
    except Exception:
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
