"""OpenDocument spreadsheets (.ods), streamed row by row from their single XML part.

Rows and cells say how often they repeat, a million times at the end of most sheets; repetitions are counted,
and written out only if requested. Libraries write out a whole document when they open it.
"""

from __future__ import annotations

import io
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from lxml import etree
from msgspec import Struct

from readroom.core.paths import BORDER
from readroom.documents.formats import Area, Part, Unreadable, archives, omission_note, told, xml
from readroom.documents.formats.archives import ANOTHER_COPY, Archive
from readroom.documents.formats.elements import Element, local
from readroom.documents.formats.page_ranges import MAX_COLUMNS, MAX_ROWS
from readroom.documents.formats.sheets import cells as sheet_cells
from readroom.documents.formats.sheets.cells import CellBudget, Table, Value
from readroom.documents.limits import SHEET_BYTES

CONTENT = "content.xml"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"

DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"

_HREF = "{http://www.w3.org/1999/xlink}href"

_BESIDE = {
    f"{DRAW}text-box": "text box",
    f"{DRAW}custom-shape": "shape",
    f"{DRAW}image": "picture",
    f"{DRAW}object": "chart or object",
    f"{DRAW}object-ole": "embedded object",
    f"{DRAW}control": "form control",
    "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}desc": "alternative text",
    "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}title": "alternative text",
    f"{TEXT}a": "link target",
    f"{TABLE}named-range": "defined name",
    f"{TABLE}named-expression": "defined name",
    f"{TABLE}database-range": "defined name",
    f"{TABLE}content-validation": "list of allowed values",
    f"{TABLE}data-pilot-table": "pivot table",
    f"{TABLE}cell-content-change": "tracked change",
    f"{TABLE}deletion": "tracked change",
    "{urn:oasis:names:tc:opendocument:xmlns:script:1.0}event-listener": "macro",
}
"""Elements that are counted, and their names."""

_MEMBERS = frozenset(f"{DRAW}{name}" for name in ("image", "object", "object-ole"))
"""Those that refer to a member of the package."""

_COLUMN = "hidden column"
_UNSEEN = ("collapse", "filter")
_MARGINS = frozenset(("header", "footer", "header-left", "footer-left", "header-first", "footer-first"))
_PROPERTIES = frozenset(
    (
        "title",
        "subject",
        "description",
        "keyword",
        "creator",
        "initial-creator",
        "user-defined",
        "contributor",
    )
)

_REFERENCE = re.compile(r"^(?:of|oooc|msoxl):|\[([^\[\]]*)\]")
"""The language prefix of a formula, and its references in brackets."""

_DURATION = re.compile(
    r"(-?)P(?:(\d{1,8})D)?(?:T(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9}(?:[.,]\d*)?)S)?)?", re.ASCII
)
_SPACES_MOST = 1000
"""Spaces that one element may represent."""


class Sheets(Struct, frozen=True):
    """The sheets of an .ods file by their names, and which of them are hidden."""

    archive: Archive
    names: tuple[str, ...]
    hidden: frozenset[int]
    beside: tuple[Counter[str], ...]

    def part(self, number: int, area: Area) -> Part:
        """The sheet with this number. Raises Unreadable."""
        reader = _Rows(area)
        at = 0
        for event, element in _events(self.archive, ("start", "end"), f"{TABLE}table", f"{TABLE}table-row"):
            if event == "start":
                at += element.tag == f"{TABLE}table" and _is_sheet(element)
                continue
            if element.tag == f"{TABLE}table-row":
                if at == number and _is_of_sheet(element):
                    reader.row(element)
                _forget(element)
            elif at == number and _is_sheet(element):
                break
        notes = [sheet_cells.HIDDEN] if number - 1 in self.hidden else []
        beside = self.beside[number - 1]
        notes += sheet_cells.hidden_notes(0, beside[_COLUMN])
        counts = Counter({kind: count for kind, count in beside.items() if kind != _COLUMN})
        notes += omission_note(counts + _of_workbook(self.archive) if number == 1 else counts)
        return sheet_cells.part(number, self.names[number - 1], reader.table(notes), area)


def open_sheets(archive: Archive) -> Sheets:
    """The sheets of the document in `archive`. Raises Unreadable."""
    names: list[str] = []
    hidden = set()
    styles: dict[str, bool] = {}
    beside: list[Counter[str]] = [Counter()]
    tags = (f"{TABLE}table", f"{TABLE}table-properties", f"{TABLE}table-row", f"{TABLE}table-column")
    for event, element in _events(archive, ("start", "end"), *tags, *_BESIDE):
        if element.tag == f"{TABLE}table-row":
            if event == "end":
                _forget(element)
        elif element.tag in _BESIDE:
            if event == "end":
                beside[-1][told(_BESIDE[element.tag], _words(element))] += 1
        elif event == "end":
            continue
        elif element.tag == f"{TABLE}table-column":
            if element.get(f"{TABLE}visibility") in _UNSEEN:
                beside[-1][_COLUMN] += _times(element, f"{TABLE}number-columns-repeated")
        elif element.tag == f"{TABLE}table-properties":
            style = element.getparent()
            name = (
                ""
                if style is None
                else style.get("{urn:oasis:names:tc:opendocument:xmlns:style:1.0}name", "")
            )
            styles[name] = element.get(f"{TABLE}display") == "false"
        elif _is_sheet(element):
            if styles.get(element.get(f"{TABLE}style-name", "")):
                hidden.add(len(names))
            if names:
                beside.append(Counter())
            names.append(element.get(f"{TABLE}name", ""))
    return Sheets(archive, tuple(names), frozenset(hidden), tuple(beside))


def _of_workbook(archive: Archive) -> Counter[str]:
    """Headers and footers of printed pages, and metadata of the document."""
    counts: Counter[str] = Counter()
    for member, kind, names in (
        ("styles.xml", "header or footer", _MARGINS),
        ("meta.xml", "document property", _PROPERTIES),
    ):
        if member not in archive.members:
            continue
        try:
            root = xml.parse(archive.read(member), member)
        except Unreadable:
            continue
        for at in root.iter():
            if local(at) in names and (words := "".join(at.itertext()).strip()):
                counts[told(kind, f"{local(at)}: {words}")] += 1
    return counts


def _words(element: Element) -> str:
    """The words of what is not shown; of a link its target, of a name what it stands for."""
    target = element.get(_HREF, "")
    if element.tag in _MEMBERS and target and ":" not in target:
        return f"{BORDER}/{posixpath.normpath(target)}"
    name = element.get(f"{TABLE}name", "")
    for attribute in ("cell-range-address", "expression", "target-range-address"):
        target = target or element.get(f"{TABLE}{attribute}", "")
    if name:
        return f"{name} = {target}"
    return target or " ".join(element.itertext())


class _Rows:
    """Collects the rows of an area."""

    def __init__(self, area: Area) -> None:
        self._area = area
        self._last = area.last_row
        self._room = CellBudget(area)
        self._read: dict[int, Sequence[Value]] = {}
        self._header: list[Value] | None = None
        self._at = self._total = self._uncalculated = self._merged = self._formulas = self._hidden = 0
        self._beyond = self._wide = 0
        self._comments: dict[tuple[int, int], str] = {}

    def row(self, element: Element) -> None:
        """Take the next row element, which may be many rows."""
        times = _times(element, f"{TABLE}number-rows-repeated")
        first, self._at = self._at + 1, self._at + times
        cells, comments, is_whole = _cells(element, formulas=self._area.formulas)
        self._wide += not is_whole
        if not cells and not comments:
            return
        if first > MAX_ROWS:
            self._beyond += 1
            return
        last = min(self._at, MAX_ROWS)
        self._total = last
        self._comments.update({(first, column): text for column, text in comments.items()})
        if first == 1 < self._area.first_row:
            self._header = cells
        start = max(first, self._area.first_row)
        for number in range(start, (last if self._last is None else min(last, self._last)) + 1):
            if not self._room.take(number, len(cells)):
                self._last = self._room.last
                break
            self._read[number] = cells
            self._hidden += element.get(f"{TABLE}visibility") in _UNSEEN
            if number == start:
                self._uncalculated += _uncalculated(element)
                self._merged += _spanning(element)
                self._formulas += sum(cell.get(f"{TABLE}formula") is not None for cell in element)

    def table(self, notes: list[str]) -> Table:
        """The collected text."""
        end = self._total if self._last is None else self._last
        last = min(end, self._total)
        if not self._area.formulas:
            notes += sheet_cells.formula_note(self._uncalculated, sheet_cells.FORMULA, sheet_cells.FORMULAS)
            notes += sheet_cells.formula_note(self._formulas - self._uncalculated, *sheet_cells.VALUES)
        notes += sheet_cells.hidden_notes(self._hidden, 0)
        notes += sheet_cells.count_note(
            self._merged, "merged range has its value in its first cell only.",
            "merged ranges have their values in their first cells only.",
        )  # fmt: skip
        header = None if self._area.first_row == 1 else self._header or []
        rows = sheet_cells.commented(self._read, self._area.first_row, last, self._comments)
        notes += sheet_cells.count_note(self._beyond, *sheet_cells.ROWS_BEYOND)
        notes += sheet_cells.count_note(self._wide, *sheet_cells.TOO_WIDE)
        return Table(rows, header, self._total, end, notes, is_full=self._room.is_full)


def _events(archive: Archive, events: tuple[str, ...], *tags: str) -> Iterator[tuple[str, Element]]:
    """Elements of the content as they go by. Raises Unreadable."""
    archives.check_size(archive, CONTENT, SHEET_BYTES)
    stream: Any = _Pieces(archive.pieces(CONTENT))
    try:
        yield from etree.iterparse(
            stream, events, tag=tags, resolve_entities=False, load_dtd=False, no_network=True,
            remove_comments=True, remove_pis=True,
        )  # fmt: skip
    except (etree.XMLSyntaxError, ValueError, LookupError):
        raise Unreadable(f"its part {CONTENT} is broken XML or nested too deeply", ANOTHER_COPY) from None


class _Pieces(io.RawIOBase):
    """Pieces of a member as a file that lxml reads; the first ones must not have a document type."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._first = True

    def read(self, size: int = -1, /) -> bytes:
        """The next piece, of whatever size."""
        piece = next((piece for piece in self._pieces if piece), b"")
        if self._first and piece:
            xml.check_start(piece, CONTENT)
            self._first = False
        return piece


_ROW_GROUPS = frozenset(f"{TABLE}{name}" for name in ("table-rows", "table-header-rows", "table-row-group"))


def _is_of_sheet(row: Element) -> bool:
    """Whether a row belongs to its sheet, and not to a table in a chart."""
    above = row.getparent()
    while above is not None and above.tag in _ROW_GROUPS:
        above = above.getparent()
    return above is not None and _is_sheet(above)


def _is_sheet(element: Element) -> bool:
    """Whether a table is a sheet, and not inside one or in its settings."""
    parent = element.getparent()
    return parent is not None and parent.tag == f"{OFFICE}spreadsheet"


def _forget(element: Element) -> None:
    """Give back the memory of a row and of all before it."""
    element.clear()
    while (before := element.getprevious()) is not None:
        before.getparent().remove(before)


def _times(element: Element, name: str) -> int:
    count = element.get(name, "1")
    return max(1, int(count)) if count.isascii() and count.isdecimal() and len(count) < 8 else 1


def _cells(row: Element, *, formulas: bool) -> tuple[list[Value], dict[int, str], bool]:
    """The values up to the last that is not empty, or their formulas; comments by column; if that is all."""
    values: list[Value] = []
    comments: dict[int, str] = {}
    waiting, is_whole = 0, True
    for cell in row:
        if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            continue
        times = _times(cell, f"{TABLE}number-columns-repeated")
        formula = _formula(cell) if formulas else ""
        value = formula or _value(cell)
        comment = _annotation(cell)
        if comment:
            comments[len(values) + waiting + 1] = comment
        if value == "" and cell.get(f"{TABLE}formula") is None:
            waiting += times
            continue
        room = MAX_COLUMNS - len(values)
        is_whole = is_whole and waiting + times <= room
        if waiting < room:
            values += [""] * waiting
            values += [value] * min(times, room - waiting)
        waiting = 0
    return values, {column: said for column, said in comments.items() if column <= MAX_COLUMNS}, is_whole


def _annotation(cell: Element) -> str:
    note = cell.find(f"{OFFICE}annotation")
    if note is None:
        return ""
    author = "".join(at.text or "" for at in note if local(at) == "creator")
    return sheet_cells.comment([(author, _text(note))])


def _formula(cell: Element) -> str:
    """A formula as it is typed: `of:=SUM([.A1:.A3])` becomes `=SUM(A1:A3)`."""
    written: str = cell.get(f"{TABLE}formula", "")
    return _REFERENCE.sub(_reference, written)


def _reference(match: re.Match[str]) -> str:
    """`.A1:.B2` as A1:B2, `$Sheet2.A1` as Sheet2!A1."""
    ends = [end.rpartition(".") for end in (match[1] or "").split(":")]
    return ":".join(f"{sheet.lstrip('$')}!{cell}" if sheet else cell for sheet, _, cell in ends)


def _value(cell: Element) -> Value:
    """The value of a cell; one that is only in its attributes, as some programs write it, counts as well."""
    kind = cell.get(f"{OFFICE}value-type")
    number = cell.get(f"{OFFICE}value")
    if kind in ("float", "percentage", "currency") and number is not None:
        try:
            return float(number)
        except ValueError:
            return _text(cell) or str(number)
    truth, day, span = (cell.get(f"{OFFICE}{name}-value") for name in ("boolean", "date", "time"))
    if kind == "boolean" and truth is not None:
        return bool(truth == "true")
    if kind == "date" and day:
        return _date(day)
    if kind == "time" and (duration := _DURATION.fullmatch(span or "")):
        return _span(duration)
    stated = (cell.get(f"{OFFICE}string-value"), number, day, span, truth)
    return _text(cell) or str(next((value for value in stated if value), ""))


def _span(duration: re.Match[str]) -> timedelta:
    days, hours, minutes, seconds = ((part or "0").replace(",", ".") for part in duration.groups()[1:])
    span = timedelta(int(days), hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return -span if duration[1] else span


def _date(written: str) -> Value:
    try:
        return (
            date.fromisoformat(written)
            if "T" not in written
            else datetime.fromisoformat(written).replace(tzinfo=None)
        )
    except ValueError:
        return written


def _text(cell: Element) -> str:
    return "\n".join("".join(_letters(paragraph)) for paragraph in cell.findall(f"{TEXT}p"))


def _letters(element: Element) -> Iterator[str]:
    for event, at in etree.iterwalk(element, ("start", "end")):
        if event == "start":
            name = local(at)
            if name in ("s", "tab", "line-break"):
                yield {"s": " " * min(_times(at, f"{TEXT}c"), _SPACES_MOST), "tab": "\t"}.get(name, "\n")
            elif at.tag != f"{OFFICE}annotation":
                yield at.text or ""
        elif at is not element:
            yield at.tail or ""


def _uncalculated(row: Element) -> int:
    return sum(
        cell.get(f"{TABLE}formula") is not None and cell.get(f"{OFFICE}value-type") is None for cell in row
    )


def _spanning(row: Element) -> int:
    spans = (f"{TABLE}number-columns-spanned", f"{TABLE}number-rows-spanned")
    return sum(any(_times(cell, name) > 1 for name in spans) for cell in row)
