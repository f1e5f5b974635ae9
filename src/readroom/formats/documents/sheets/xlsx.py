"""The rows of an .xlsx sheet, found without parsing its XML, in the memory of a few rows.

A sheet of a million rows is hundreds of megabytes of XML. A library reads a few rows well once they are cut
out, so the starts of rows are found by a pattern, and everything else is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct, field

from readroom.formats.documents import Unreadable
from readroom.formats.documents.archives import ANOTHER_COPY
from readroom.formats.documents.page_ranges import MAX_COLUMNS, MAX_ROWS, column_number
from readroom.formats.documents.sheets.cells import CellBudget
from readroom.limits.documents import ROW_BYTES, SHARED_STRINGS, STRING_BYTES

_DATA = re.compile(rb"<((?:\w+:)?)sheetData(?=[\s/>])[^>]*>")
_START_TAG = re.compile(rb"<[^>]*>")
_NUMBER = re.compile(rb"""\sr\s*=\s*["'](\d{1,9})["']""")
_CELL = re.compile(rb"""<(?:\w+:)?c(?=[\s/>])""")
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{1,4})(\d{1,9})["']""")
_FILLED = re.compile(rb"<(?:\w+:)?(?:v|is|f)(?=[\s/>])")
_HIDDEN = re.compile(rb"""\shidden\s*=\s*["'](?:1|true)["']""")
_FORMULA = re.compile(
    rb"""<(?:\w+:)?c(?=[\s>])[^>]*>\s*<(?:\w+:)?f(?=[\s/>])(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f\s*>)"""
    rb"""\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v\s*></(?:\w+:)?v\s*>)?\s*</(?:\w+:)?c\s*>"""
)
_ANY_FORMULA = re.compile(rb"<(?:\w+:)?f(?=[\s/>])")
_UNTOLD = re.compile(
    rb"""(<(?:\w+:)?c(?=\s)[^>]*\st\s*=\s*["'])(?!(?:b|d|n|s|str|inlineStr)["'])[^"'<>]*(["'])"""
)
"""A cell of a type that the library does not read: an error, or one that is none."""
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref\s*=\s*["']([A-Z0-9:]{3,30})["']""")
_COMMENT = b"<!"


class Row(Struct, frozen=True):
    """A row element, from its start tag up to the next row's, and its number from 1."""

    number: int
    xml: bytes

    @property
    def is_filled(self) -> bool:
        """Whether a cell of it has a value or a formula."""
        return _FILLED.search(self.xml) is not None

    @property
    def is_hidden(self) -> bool:
        """Whether it is not shown in the sheet."""
        tag = _START_TAG.match(self.xml)
        return tag is not None and _HIDDEN.search(tag[0]) is not None

    def width(self) -> int:
        """Columns up to its last cell. Raises Unreadable when its cells say to be elsewhere."""
        cells = len(_CELL.findall(self.xml))
        places = _PLACE.findall(self.xml)
        if any(int(row) != self.number for _, row in places):
            raise Unreadable(f"its row {self.number} has cells of other rows", ANOTHER_COPY)
        last = max((column_number(letters.decode()) for letters in {at for at, _ in places}), default=0)
        width = last if len(places) >= cells else last + cells
        if width > MAX_COLUMNS:
            raise Unreadable(f"its row {self.number} has more than {MAX_COLUMNS:,} columns", ANOTHER_COPY)
        return width

    def formulas(self) -> int:
        """Cells that have a formula."""
        return len(_ANY_FORMULA.findall(self.xml)) if b"f" in self.xml else 0

    def formulas_without_value(self) -> int:
        """Cells that have a formula and no result; the program that wrote the file did not calculate."""
        return len(_FORMULA.findall(self.xml)) if b"f" in self.xml else 0


class Cut(Struct):
    """The rows that were asked for, of one pass over the XML of a sheet.

    Attributes:
        head: What stands before the first row.
        header: Row 1, when the rows start below it and it is filled.
        rows: The rows that were asked for and had room, in order; rows that are not there are left out.
        end: The last row that was looked at for them.
        total: The last row that is filled.
        merged: Merged ranges, as far as they stand near the rows.
        tail: What stands behind the rows, as far as it was looked at; of the first pass only.
    """

    head: bytes = b""
    header: Row | None = None
    rows: list[Row] = field(default_factory=list)
    end: int = 0
    total: int = 0
    merged: list[str] = field(default_factory=list)
    tail: bytes = b""


def cut(pieces: Iterator[bytes], first: int, last: int | None, total: int | None) -> Cut:
    """Rows `first` to `last`, as many of them as there is room for; bounded in memory.

    Args:
        pieces: The XML of a sheet.
        first: The first row, from 1.
        last: The last one; None for all.
        total: What an earlier pass found as `total`: then this one ends with the rows.

    Raises:
        Unreadable: It is not a sheet as programs write them.
    """
    scan = _Scan(first, MAX_ROWS if last is None else last, total)
    rest = b""
    for piece in pieces:
        rest = scan.take(rest + piece)
        if len(rest) > ROW_BYTES:
            raise Unreadable(f"its sheet has a row of more than {ROW_BYTES:,} bytes", ANOTHER_COPY)
        if scan.ended:
            break
    if not scan.ended:
        raise Unreadable("its sheet is cut short", ANOTHER_COPY)
    if total is None:
        for piece in pieces:
            if len(rest) < ROW_BYTES:
                rest += piece
        scan.cut.tail = rest
        scan.cut.merged = [place.decode() for place in _MERGED.findall(rest)]
    return scan.cut


class _Names:
    """The bytes that rows of a sheet start and end with; elements may have a prefix, the same for all."""

    def __init__(self, prefix: bytes) -> None:
        self.row = b"<" + prefix + b"row"
        self.end = b"</" + prefix + b"sheetData"
        self.rows = re.compile(re.escape(self.row) + rb"(?=[\s/>])")


class _Scan:
    """Takes a sheet piece by piece; what `take` returns is to be put before the next one.

    Rows that are not asked for are gone past at the speed of a search for plain bytes:
    only the last one of each piece is looked at.
    """

    def __init__(self, first: int, last: int, total: int | None) -> None:
        self.cut = Cut(end=last, total=total or 0)
        self.ended = False
        self._first = first
        self._total = total
        self._room = CellBudget(first)
        self._passed = 0
        self._names: _Names | None = None

    def take(self, data: bytes) -> bytes:
        """Process what is complete in `data`, and return the rest."""
        if self._names is None:
            match = _DATA.search(data)
            if match is None:
                return data
            self.cut.head = data[: match.end()]
            self._check(self.cut.head)
            self._names = _Names(match[1])
            self.ended = match[0].endswith(b"/>")
            data = data[match.end() :]
        if self.ended:
            return data
        names = self._names
        end = data.find(names.end)
        at = data.rfind(names.row, 0, end if end >= 0 else len(data))
        if end < 0 and at >= 0 and data.find(b">", at) < 0:
            at = data.rfind(names.row, 0, at)  # a tag that is cut does not say its number yet
        self.ended = end >= 0
        if at >= 0 and not self._pass(data, at):
            starts = [match.start() for match in names.rows.finditer(data, 0, end if end >= 0 else len(data))]
            for start, after in pairwise([*starts, end] if end >= 0 else starts):
                self._row(data[start:after])
            at = starts[-1] if starts else at
        return data[end:] if end >= 0 else data[max(at, 0) :]

    def _pass(self, data: bytes, at: int) -> bool:
        """Go past all rows of `data` when none are asked for; the one that starts at `at` is its last."""
        following = _said(data, at)
        if (
            not self._passed
            or following is None
            or (self._first <= following and self._passed < self.cut.end)
        ):
            return False
        if not self._passed < following <= MAX_ROWS:
            raise self._disorder()
        if self._total is None:
            self.cut.total = max(self.cut.total, self._last_filled(data, at))
        self._passed = following - 1
        self.ended = self.ended or (self._total is not None and self._passed >= self.cut.end)
        return True

    def _last_filled(self, data: bytes, at: int) -> int:
        """The number of the last filled row of `data` that is complete; 0 for none."""
        mark = self._names.row if self._names else b""
        row, after = (at, len(data)) if self.ended else (data.rfind(mark, 0, at), at)
        while row >= 0:
            if _FILLED.search(data, row, after):
                return _said(data, row) or 0
            row, after = data.rfind(mark, 0, row), row
        return 0

    def _row(self, xml: bytes) -> None:
        stated = _said(xml, 0)
        number = self._passed + 1 if stated is None else stated
        if not self._passed < number <= MAX_ROWS:
            raise self._disorder()
        self._passed = number
        if number > self.cut.end:
            self.ended = self.ended or self._total is not None
        row = Row(number, _numbered(xml, number) if stated is None else xml)
        if not row.is_filled:
            return
        if self._total is None:
            self.cut.total = number
        if number == 1 < self._first:
            self.cut.header = self._checked(row)
        elif self._first <= number <= self.cut.end:
            if self._room.take(number, self._checked(row).width()):
                self.cut.rows.append(row)
            else:
                self.cut.end = self._room.last

    def _checked(self, row: Row) -> Row:
        self._check(row.xml)
        row.width()
        return row

    def _check(self, xml: bytes) -> None:
        if _COMMENT in xml:
            raise Unreadable("its sheet has a document type or a comment, as no program writes", ANOTHER_COPY)

    def _disorder(self) -> Unreadable:
        return Unreadable(f"its rows are not in order after row {self._passed}", ANOTHER_COPY)


def _numbered(xml: bytes, number: int) -> bytes:
    """A row that does not say its number, saying it."""
    at = xml.index(b"row") + 3
    return xml[:at] + b' r="%d"' % number + xml[at:]


def _said(data: bytes, start: int) -> int | None:
    """The number that the row tag at `start` says; None when it says none."""
    tag = _START_TAG.match(data, start)
    match = _NUMBER.search(tag[0]) if tag else None
    return int(match[1]) if match else None


def with_all_types(rows: bytes) -> bytes:
    """The same with errors (`#N/A`) and cells of no known type as texts.

    The library shows nothing for errors, and for one cell of a type that is none it refuses all rows.
    """
    return _UNTOLD.sub(rb"\1str\2", rows)


# -----------------------------------------------------------------------------
# The shared strings of a workbook, of which some rows need a few.
#
# Cells refer to texts by number.  The table of texts goes by in pieces, and those
# that nobody asked for are left empty, so that a library gets a small one.
# -----------------------------------------------------------------------------

_ITEM = re.compile(rb"<(?:\w+:)?si(?=[\s/>])")
_END = re.compile(rb"</(?:\w+:)?sst\s*>")
_SHARED = re.compile(
    rb"""<(?:\w+:)?c(?=[\s>])[^>]*\st\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v\s*>\s*(\d{1,9})\s*</"""
)
_EMPTY = b"<si><t></t></si>"
_MISSING = b"<si><t>[its text is missing in the file]</t></si>"
"""For a cell that refers to a text behind the last one."""


def referred(rows: bytes) -> frozenset[int]:
    """The numbers of the texts that the cells of these rows are."""
    return frozenset(map(int, _SHARED.findall(rows)))


def only(pieces: Iterator[bytes], needed: frozenset[int]) -> bytes:
    """The table of texts, up to the last that is needed, all others empty.

    Raises:
        Unreadable: There are too many, or one is too long.
    """
    last = max(needed)
    if last >= SHARED_STRINGS:
        raise Unreadable(
            f"it has more than {SHARED_STRINGS:,} texts", "Ask for the workbook in smaller pieces, or as CSV."
        )
    items: list[bytes] = []
    rest = b""
    for piece in pieces:
        rest += piece
        starts = [match.start() for match in _ITEM.finditer(rest)]
        for start, end in pairwise(starts):
            items.append(rest[start:end] if len(items) in needed else _EMPTY)
        rest = rest[starts[-1] :] if starts else rest
        if len(items) > last:
            break
        if len(rest) > STRING_BYTES:
            raise Unreadable(f"it has a text of more than {STRING_BYTES:,} bytes", ANOTHER_COPY)
    else:
        match = _END.search(rest)
        if match is not None and _ITEM.match(rest):
            items.append(rest[: match.start()])
    items += [_MISSING] * (last + 1 - len(items))
    return b"<sst>" + b"".join(items[: last + 1]) + b"</sst>"
