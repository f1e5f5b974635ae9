"""OpenDocument spreadsheets (.ods), read row by row while their one XML part goes by.

Rows and cells say how often they are repeated, a million times at the end of most
sheets; they are counted, and written out only where they were asked for.  That is
done here because libraries write out all of a document when they open it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from lxml import etree

from readroom.formats import archives, markup, windows
from readroom.formats.archives import ANOTHER_COPY, Archive
from readroom.formats.documents import Area, Part, Unreadable
from readroom.formats.markup import Element
from readroom.formats.values import Value
from readroom.formats.windows import Room, Table
from readroom.formats.xlsx_rows import MAX_COLUMNS, MAX_ROWS
from readroom.limits_documents import SHEET_BYTES

CONTENT = "content.xml"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"

_DURATION = re.compile(r"(-?)PT?(?:(\d{1,9})H)?(?:(\d{1,9})M)?(?:(\d{1,9})(?:[.,]\d*)?S)?")
_SPACES_MOST = 1000
"""Spaces that one element may stand for; it says how many."""


@dataclass(frozen=True, slots=True)
class Sheets:
    """The sheets of an .ods file by their names, and which of them are hidden."""

    archive: Archive
    names: tuple[str, ...]
    hidden: frozenset[int]

    def part(self, number: int, area: Area) -> Part:
        """The sheet with this number. Raises Unreadable."""
        reader = _Rows(area)
        at = 0
        for event, element in _events(self.archive, ("start", "end"), f"{TABLE}table", f"{TABLE}table-row"):
            if event == "start":
                at += element.tag == f"{TABLE}table" and _is_sheet(element)
                continue
            if element.tag == f"{TABLE}table-row":
                if at == number:
                    reader.row(element)
                _forget(element)
            elif at == number and _is_sheet(element):
                break
        notes = ["This sheet is hidden."] if number - 1 in self.hidden else []
        return windows.part(number, self.names[number - 1], reader.table(notes), area)


def open_sheets(archive: Archive) -> Sheets:
    """The sheets of the document in `archive`. Raises Unreadable."""
    names: list[str] = []
    hidden = set()
    styles: dict[str, bool] = {}
    for event, element in _events(
        archive, ("start", "end"), f"{TABLE}table", f"{TABLE}table-properties", f"{TABLE}table-row"
    ):
        if element.tag == f"{TABLE}table-row":
            if event == "end":
                _forget(element)
        elif event == "end":
            continue
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
            names.append(element.get(f"{TABLE}name", ""))
    return Sheets(archive, tuple(names), frozenset(hidden))


class _Rows:
    """Collects the rows of an area."""

    def __init__(self, area: Area) -> None:
        self._area = area
        self._last = area.last_row
        self._room = Room(area.first_row)
        self._read: list[list[Value]] = []
        self._header: list[Value] | None = None
        self._at = self._total = self._formulas = self._merged = 0

    def row(self, element: Element) -> None:
        """Take the next row element, which may be many rows."""
        times = _times(element, f"{TABLE}number-rows-repeated")
        first, self._at = self._at + 1, self._at + times
        cells, filled = _cells(element)
        if not filled:
            return
        if self._at > MAX_ROWS:
            raise Unreadable(f"it has filled rows after row {MAX_ROWS:,}", ANOTHER_COPY)
        self._total = self._at
        if first == 1 < self._area.first_row:
            self._header = cells
        start = max(first, self._area.first_row)
        for number in range(start, (self._at if self._last is None else min(self._at, self._last)) + 1):
            if not self._room.take(number, len(cells)):
                self._last = self._room.last
                break
            while len(self._read) < number - self._area.first_row:
                self._read.append([])
            self._read.append(cells)
            if number == start:
                self._formulas += _uncalculated(element)
                self._merged += _spanning(element)

    def table(self, notes: list[str]) -> Table:
        """What was collected."""
        end = self._total if self._last is None else self._last
        last = min(end, self._total)
        self._read += [[]] * (max(0, last - self._area.first_row + 1) - len(self._read))
        notes += windows.count_note(self._formulas, windows.FORMULA, windows.FORMULAS)
        notes += windows.count_note(
            self._merged, "merged range has its value in its first cell only.",
            "merged ranges have their values in their first cells only.",
        )  # fmt: skip
        header = None if self._area.first_row == 1 else self._header or []
        return Table(self._read, header, self._total, end, notes)


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
            markup.check_start(piece, CONTENT)
            self._first = False
        return piece


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
    said = element.get(name, "1")
    return max(1, int(said)) if said.isascii() and said.isdecimal() and len(said) < 8 else 1


def _cells(row: Element) -> tuple[list[Value], bool]:
    """The values up to the last that is not empty, and whether there is any."""
    values: list[Value] = []
    waiting = 0
    for cell in row:
        if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            continue
        times = _times(cell, f"{TABLE}number-columns-repeated")
        value = _value(cell)
        if value == "" and cell.get(f"{TABLE}formula") is None:
            waiting += times
            continue
        if len(values) + waiting + times > MAX_COLUMNS:
            raise Unreadable(f"it has a row of more than {MAX_COLUMNS:,} columns", ANOTHER_COPY)
        values += [""] * waiting
        values += [value] * times
        waiting = 0
    return values, bool(values)


def _value(cell: Element) -> Value:
    kind = cell.get(f"{OFFICE}value-type")
    if kind in ("float", "percentage", "currency"):
        try:
            return float(cell.get(f"{OFFICE}value", ""))
        except ValueError:
            return _text(cell)
    if kind == "boolean":
        return bool(cell.get(f"{OFFICE}boolean-value") == "true")
    if kind == "date":
        return _date(cell.get(f"{OFFICE}date-value", ""))
    if kind == "time" and (found := _DURATION.fullmatch(cell.get(f"{OFFICE}time-value", ""))):
        hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
        span = timedelta(hours=min(hours, 10**6), minutes=min(minutes, 10**6), seconds=min(seconds, 10**6))
        return -span if found[1] else span
    return _text(cell)


def _date(said: str) -> Value:
    try:
        return (
            date.fromisoformat(said) if "T" not in said else datetime.fromisoformat(said).replace(tzinfo=None)
        )
    except ValueError:
        return said


def _text(cell: Element) -> str:
    return "\n".join("".join(_letters(paragraph)) for paragraph in cell.findall(f"{TEXT}p"))


def _letters(element: Element) -> Iterator[str]:
    for event, at in etree.iterwalk(element, ("start", "end")):
        if event == "start":
            name = markup.local(at)
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
