r"""Workbooks (.xlsx, .xlsm, .ods, .xls) as rows of values parted by tabs, one part per sheet.

An area is cut out of the XML of its sheet before the library sees it (`xlsx_rows`),
so that rows cost what they are and not what their sheet is: python-calamine makes
an array of all cells between the first and the last.  Numbers have 15 digits,
dates are ISO 8601; tabs and line ends inside cells are written `\t` and `\n`.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO

import python_calamine as calamine

from readroom.formats import archives, markup, ods, olefiles, opc, sections, windows
from readroom.formats.archives import ANOTHER_COPY
from readroom.formats.documents import Area, Encrypted, Heading, Part, Unit, Unreadable
from readroom.formats.olefiles import Ole
from readroom.formats.opc import Package, R
from readroom.formats.values import Value
from readroom.formats.windows import Table
from readroom.formats.xlsx_rows import Cut, Row, cut, with_errors
from readroom.formats.xlsx_strings import only, referred
from readroom.limits_documents import OLD_WORKBOOK_BYTES, SHEET_BYTES

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
HIDDEN = "This sheet is hidden."
NO_CELLS = "It is a chart or a dialog and has no cells."


@dataclass(frozen=True, slots=True)
class Workbook:
    """A workbook; `read` makes a part of an area."""

    titles: Sequence[str]
    read: Callable[[int, Area], Part]
    contents: Sequence[Heading] = ()
    unit: Unit = Unit.SHEET

    def part(self, number: int, area: Area | None = None) -> Part:
        """The sheet with this number, or an area of it. Raises Unreadable."""
        return self.read(sections.checked(number, len(self.titles), self.unit, area), area or Area())


def open_document(file: BinaryIO) -> Workbook:
    """The workbook in `file`. Raises Unreadable."""
    if olefiles.is_ole(file):
        return _old(file)
    archive = archives.open_archive(file)
    if ods.CONTENT in archive.members and "[Content_Types].xml" not in archive.members:
        sheets = ods.open_sheets(archive)
        return Workbook(sheets.names, sheets.part)
    package = opc.open_package(file)
    reader = _Reader(package, tuple(_sheets(package)))
    return Workbook([sheet.name for sheet in reader.sheets], reader.part)


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A sheet as the workbook lists it; `member` is empty for charts and for what is missing."""

    name: str
    member: str
    hidden: bool


def _sheets(package: Package) -> Sequence[_Sheet]:
    if package.main.endswith(".bin"):
        raise Unreadable(
            "it is a binary workbook (.xlsb)", "Ask for it as XLSX or CSV, or look for a copy as text."
        )
    related = package.relations(package.main)
    found = []
    for sheet in package.root(package.main).iter(f"{MAIN}sheet"):
        relation = related.get(sheet.get(f"{R}id", ""))
        known = relation is not None and relation.kind == "worksheet" and not relation.external
        found.append(
            _Sheet(
                sheet.get("name", ""),
                relation.target if relation is not None and known else "",
                sheet.get("state", "visible") != "visible",
            )
        )
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Cuts areas out of sheets; how many rows a sheet has is found once."""

    package: Package
    sheets: Sequence[_Sheet]
    _totals: dict[int, int] = field(default_factory=dict)
    _merged: dict[int, list[str]] = field(default_factory=dict)

    def part(self, number: int, area: Area) -> Part:
        sheet = self.sheets[number - 1]
        notes = [HIDDEN] if sheet.hidden else []
        if not sheet.member:
            return Part(number, sheet.name, (), total_rows=0, notes=[*notes, NO_CELLS])
        found = self._cut(number, area)
        end = min(found.end, self._totals[number])
        rows = windows.aligned(*self._values(found.rows), area.first_row, end)
        header: Sequence[Value] | None = None
        if area.first_row > 1:
            above = [found.header] if found.header else []
            header = windows.aligned(*self._values(above), 1, 1)[0]
        table = Table(rows, header, self._totals[number], end, [*notes, *self._notes(number, found)])
        return windows.part(number, sheet.name, table, area)

    def _cut(self, number: int, area: Area) -> Cut:
        archive, member = self.package.archive, self.sheets[number - 1].member
        archives.check_size(archive, member, SHEET_BYTES)
        found = cut(archive.pieces(member), area.first_row, area.last_row, self._totals.get(number))
        markup.check_start(found.head, member)
        if number not in self._totals:
            self._totals[number], self._merged[number] = found.total, found.merged
        return found

    def _notes(self, number: int, found: Cut) -> list[str]:
        formulas = sum(row.formulas_without_value() for row in found.rows)
        hidden = sum(row.is_hidden for row in found.rows)
        return [
            *windows.count_note(formulas, windows.FORMULA, windows.FORMULAS),
            *windows.count_note(hidden, "row is hidden in the sheet.", "rows are hidden in the sheet."),
            *windows.merged_note(self._merged[number]),
        ]

    def _values(self, rows: Sequence[Row]) -> tuple[list[list[Value]], tuple[int, int] | None]:
        """The values of some rows and where the first of them stands, by the library."""
        if not rows:
            return [], None
        with _translated():
            sheet = calamine.CalamineWorkbook.from_filelike(self._small(rows)).get_sheet_by_index(0)
            return sheet.to_python(), sheet.start

    def _small(self, rows: Sequence[Row]) -> io.BytesIO:
        """A workbook of one sheet that has these rows, and what they refer to."""
        package = self.package
        text = with_errors(b"".join(row.xml for row in rows))
        members = {
            "_rels/.rels": _RELATIONS % (_RELATION % (b"r0", b"xl/workbook.xml", b"officeDocument")),
            "xl/workbook.xml": _WORKBOOK % (b"1" if self._from_1904() else b"0"),
            "xl/_rels/workbook.xml.rels": _RELATIONS % _RELATED,
            "xl/worksheets/sheet1.xml": b"<worksheet><sheetData>" + text + b"</sheetData></worksheet>",
        }
        if (styles := next(iter(package.related(package.main, "styles")), None)) is not None:
            members["xl/styles.xml"] = package.archive.read(styles)
            markup.check_start(members["xl/styles.xml"], styles)
        needed = referred(text)
        strings = next(iter(package.related(package.main, "sharedStrings")), None)
        if needed and strings is not None:
            archives.check_size(package.archive, strings, SHEET_BYTES)
            members["xl/sharedStrings.xml"] = only(package.archive.pieces(strings), needed)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
        file.seek(0)
        return file

    def _from_1904(self) -> bool:
        """Whether days are counted from 1904, as on the first Macs."""
        settings = self.package.root(self.package.main).find(f"{MAIN}workbookPr")
        return settings is not None and settings.get("date1904") in ("1", "true")


_WORKBOOK = (
    b'<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
    b'<workbookPr date1904="%b"/><sheets><sheet name="s" sheetId="1" r:id="r1"/></sheets></workbook>'
)
_RELATION = (
    b'<Relationship Id="%b" Target="%b" '
    b'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%b"/>'
)
_RELATIONS = b"<Relationships>%b</Relationships>"
_RELATED = b"".join(
    _RELATION % entry
    for entry in (
        (b"r1", b"worksheets/sheet1.xml", b"worksheet"),
        (b"r2", b"styles.xml", b"styles"),
        (b"r3", b"sharedStrings.xml", b"sharedStrings"),
    )
)


def _old(file: BinaryIO) -> Workbook:
    """A workbook of Excel before 2007, read by the library as it is."""
    held = olefiles.kind(file)
    if held not in (Ole.SHEETS, Ole.OLD_SHEETS):
        raise olefiles.refusal(held)
    size = file.seek(0, 2)
    if size > OLD_WORKBOOK_BYTES:
        raise Unreadable(
            f"it is a workbook of Excel before 2007 with {size:,} bytes, and at most "
            f"{OLD_WORKBOOK_BYTES:,} are taken",
            "Ask for it as XLSX or CSV.",
        )
    file.seek(0)
    with _translated():
        book = calamine.CalamineWorkbook.from_filelike(file)
    shown = calamine.SheetVisibleEnum.Visible
    hidden = [sheet.visible != shown for sheet in book.sheets_metadata]

    def read(number: int, area: Area) -> Part:
        with _translated():
            sheet = book.get_sheet_by_index(number - 1)
            whole = windows.aligned(sheet.to_python(), sheet.start, 1, sheet.end[0] + 1 if sheet.end else 0)
        title, notes = book.sheet_names[number - 1], [HIDDEN] if hidden[number - 1] else []
        return windows.part(number, title, windows.table(whole, area, notes), area)

    return Workbook(book.sheet_names, read)


@contextmanager
def _translated() -> Iterator[None]:
    """The library's failures as Unreadable; a panic of its compiled code is no Exception."""
    try:
        yield
    except calamine.PasswordError:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.") from None
    except (calamine.CalamineError, ValueError, OverflowError):
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise Unreadable("its tables are damaged", ANOTHER_COPY) from None
