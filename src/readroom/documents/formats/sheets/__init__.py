r"""Spreadsheets (.xlsx, .xlsm, .ods, .xls): a part for each sheet, rows of values separated by tabs.

An area is cut out of the XML of its sheet before the library sees it (`xlsx`), so that rows cost what they
are and not what their sheet is: python-calamine makes an array of all cells between the first and the last.
Numbers have 15 digits, dates are ISO 8601; tabs and line ends inside cells are written `\t` and `\n`.

Knows: the cells of spreadsheets, and their other content.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import BinaryIO

from msgspec import Struct, field

from readroom.documents.formats import (
    Area,
    Document,
    Heading,
    Part,
    Unit,
    Unreadable,
    archives,
    odf,
    omission_note,
    ooxml,
    sections,
    xml,
)
from readroom.documents.formats import compound as compounds
from readroom.documents.formats.compound import Ole
from readroom.documents.formats.ooxml import Package, R
from readroom.documents.formats.page_ranges import MAX_COLUMNS
from readroom.documents.formats.sheets import beside as xlsx_beside
from readroom.documents.formats.sheets import cells, cut_out, odd, ods, xls
from readroom.documents.formats.sheets.cells import Comments, Table, Value
from readroom.documents.formats.sheets.cut_out import ListedSheet
from readroom.documents.formats.sheets.formulas import Formulas
from readroom.documents.formats.sheets.xlsx import Cut, Disordered, Row, cut, only, plain, referred
from readroom.documents.limits import SHEET_BYTES

CARRIES = True
"""It opens files of other formats, which a workbook carries."""

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class Workbook(Struct, frozen=True):
    """A workbook; `read` makes a part of an area."""

    titles: Sequence[str]
    read: Callable[[int, Area], Part]
    contents: Sequence[Heading] = ()
    unit: Unit = Unit.SHEET

    def part(self, number: int, area: Area | None = None) -> Part:
        """The sheet with this number, or an area of it. Raises Unreadable."""
        return self.read(sections.checked(number, len(self.titles), self.unit, area), area or Area())


def open_document(file: BinaryIO) -> Document:
    """The workbook in `file`. Raises Unreadable."""
    if compounds.is_ole(file) and compounds.kind(file) not in (Ole.SHEETS, Ole.OLD_SHEETS):
        return compounds.opened(file, Ole.SHEETS)
    if xls.is_one(file):
        old = xls.open_workbook(file)
        return Workbook(old.names, old.part)
    archive = archives.open_archive(odf.packed(file))
    if ods.CONTENT in archive.members and "[Content_Types].xml" not in archive.members:
        odf.check_not_encrypted(archive)
        sheets = ods.open_sheets(archive)
        return Workbook(sheets.names, sheets.part)
    package = ooxml.open_package(file)
    if package.main.endswith(".bin"):
        raise Unreadable(
            "it is a binary workbook (.xlsb), which is not read",
            "Ask the user to save it as .xlsx, or for an export as CSV.",
        )
    reader = _SheetReader(package, tuple(_sheets(package)))
    return Workbook([sheet.name for sheet in reader.sheets], reader.part)


def _sheets(package: Package) -> Sequence[ListedSheet]:
    related = package.relations(package.main)
    return [
        cut_out.listed(
            package,
            number,
            sheet.get("name", ""),
            related.get(sheet.get(f"{R}id", "")),
            hidden=sheet.get("state", "visible") != "visible",
        )
        for number, sheet in enumerate(package.root(package.main).iter(f"{MAIN}sheet"), 1)
    ]


class _SheetReader(Struct, frozen=True):
    """Cuts areas out of sheets; how many rows a sheet has is found once."""

    package: Package
    sheets: Sequence[ListedSheet]
    _totals: dict[int, int] = field(default_factory=dict)
    _merged: dict[int, list[str]] = field(default_factory=dict)
    _comments: dict[int, Comments] = field(default_factory=dict)
    _beside: dict[int, Sequence[str]] = field(default_factory=dict)
    _formulas: dict[int, Formulas] = field(default_factory=dict)
    _disordered: set[int] = field(default_factory=set)
    _parts: dict[str, bytes] = field(default_factory=dict)
    _odd: list[str] = field(default_factory=list)

    def part(self, number: int, area: Area) -> Part:
        sheet = self.sheets[number - 1]
        notes = sheet.notes
        if not sheet.member:
            return Part(number, sheet.name, (), total_rows=0, notes=[*notes, *self._of_workbook(number)])
        cut_ = self._cut(number, area)
        end = min(cut_.end, self._totals[number])
        rows, stored = self._values(cut_.rows)
        if area.formulas:
            formulas = self._formula_reader(number)
            by_row = {row.number: formulas.of(row) for row in cut_.rows}
            texts = {(row, at): text for row, cells in by_row.items() for at, text in cells.items()}
            rows = cells.overlaid(rows, texts, lambda value, text: text)
        rows = cells.commented(rows, area.first_row, end, self._comments[number])
        header: Sequence[Value] | None = None
        if area.first_row > 1:
            header = self._values([cut_.header] if cut_.header else [])[0].get(1, ())
        notes += [*self._odd, *self._notes(number, area, cut_), *cells.count_note(stored, *odd.AS_STORED)]
        table = Table(rows, header, self._totals[number], end, notes, is_full=cut_.is_full)
        return cells.part(number, sheet.name, table, area)

    def _cut(self, number: int, area: Area) -> Cut:
        archive, member = self.package.archive, self.sheets[number - 1].member
        archives.check_size(archive, member, SHEET_BYTES)
        part = self._rows(number, area)
        if number not in self._totals:
            comments = xlsx_beside.comments(self.package, member)
            last = max((row for row, _ in comments), default=0)
            self._totals[number], self._merged[number] = max(part.total, last), part.merged
            self._comments[number] = comments
            hidden = cells.hidden_notes(0, xlsx_beside.hidden_columns(part.head))
            self._beside[number] = [
                *part.notes,
                *hidden,
                *self._of_workbook(number, member, part.tail),
            ]
        return part

    def _rows(self, number: int, area: Area) -> Cut:
        member = self.sheets[number - 1].member
        try:
            pieces = plain(self.package.archive.pieces(member), member)
            return cut(pieces, area, self._totals.get(number), in_order=number not in self._disordered)
        except Disordered:
            self._disordered.add(number)
            return self._rows(number, area)

    def _of_workbook(self, number: int, member: str = "", tail: bytes = b"") -> list[str]:
        """The note on what is not shown of a sheet; for the first one also of its workbook."""
        counts = xlsx_beside.counts(self.package, member, tail) if member else Counter()
        counts += xlsx_beside.of_workbook(self.package) if number == 1 else Counter()
        return [*omission_note(counts), *self.package.unread()]

    def _formula_reader(self, number: int) -> Formulas:
        if number not in self._formulas:
            self._formulas[number] = Formulas()
            member = self.sheets[number - 1].member
            self._formulas[number].learn(plain(self.package.archive.pieces(member), member))
        return self._formulas[number]

    def _notes(self, number: int, area: Area, part: Cut) -> list[str]:
        empty = sum(row.formulas_without_value() for row in part.rows)
        formulas = sum(row.formulas() for row in part.rows) - empty
        if area.formulas:
            empty = formulas = 0
        return [
            *cells.formula_note(empty, cells.FORMULA, cells.FORMULAS),
            *cells.formula_note(formulas, *cells.VALUES),
            *cells.hidden_notes(sum(row.is_hidden for row in part.rows), 0),
            *cells.merged_note(self._merged[number]),
            *cells.count_note(sum(row.width() > MAX_COLUMNS for row in part.rows), *cells.TOO_WIDE),
            *cells.count_note(sum(row.strays() for row in part.rows), *cells.STRAYS),
            *cells.count_note(sum(row.doubles() for row in part.rows), *cells.DOUBLES),
            *self._beside[number],
        ]

    def _values(self, rows: Sequence[Row]) -> tuple[cells.Rows, int]:
        """The values of some rows, and how many are shown as they are stored."""
        return odd.values(rows, self._read)

    def _read(self, text: bytes) -> tuple[list[list[Value]], tuple[int, int] | None]:
        """The values of the XML of rows and the place of the first cell, from the library."""
        package = self.package
        members = {
            "workbook": _WORKBOOK % (b"1" if self._from_1904() else b"0"),
            "worksheets/sheet1": b"<worksheet><sheetData>" + text + b"</sheetData></worksheet>",
        }
        if styles := self._style_part():
            members["styles"] = styles
        needed = referred(text)
        strings = cut_out.part_of(package, "sharedStrings")
        if needed:
            if strings is not None:
                archives.check_size(package.archive, strings, SHEET_BYTES)
            pieces = iter(()) if strings is None else plain(package.archive.pieces(strings), strings)
            members["sharedStrings"] = only(pieces, needed)
        return cut_out.values(members)

    def _style_part(self) -> bytes:
        """The styles, which distinguish dates from numbers; empty if missing or unreadable."""
        if "styles" not in self._parts:
            self._parts["styles"] = b""
            member = cut_out.part_of(self.package, "styles")
            with suppress(Unreadable):
                if member is not None:
                    self._odd.append(_NO_STYLES)
                    data = self.package.archive.read(member)
                    xml.parse(data, member)
                    self._parts["styles"] = data
                    self._odd.remove(_NO_STYLES)
        return self._parts["styles"]

    def _from_1904(self) -> bool:
        """Whether days are counted from 1904, as on the first Macs."""
        settings = self.package.root(self.package.main).find(f"{MAIN}workbookPr")
        return settings is not None and settings.get("date1904") in ("1", "true")


_NO_STYLES = "Its styles cannot be read: dates are shown as numbers."

_WORKBOOK = (
    b'<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    b'<workbookPr date1904="%b"/><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>'
)
