"""The rows of an .xlsx sheet, found without parsing its XML, in the memory of a few rows.

A sheet of a million rows is hundreds of megabytes of XML. A library reads a few rows well once they are cut
out, so the starts of rows are found by a pattern, and everything else is skipped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from html import escape
from itertools import chain, pairwise

from msgspec import Struct, field

from readroom.documents.formats import Area, Unreadable, xml
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.page_ranges import MAX_COLUMNS, MAX_ROWS, column_number
from readroom.documents.formats.sheets.cells import ROWS_BEYOND, CellBudget, count_note
from readroom.documents.limits import SHARED_STRINGS, SHEET_CELLS

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
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]*?ref\s*=\s*["']([A-Z0-9:]{3,30})["']""")

_MARKUP = re.compile(rb"<!(?:--(?s:.*?)-->|\[CDATA\[((?s:.*?))\]\]>)|<\?(?s:.*?)\?>")
_WIDE = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_OPEN_ENDS = (b"<!", b"<?")


ROW_BYTES = 2 * 1024 * 1024
"""The XML of one row: 16,384 columns of 100 bytes each."""


def plain(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    """The XML of a sheet without comments and instructions, and character data as text; always UTF-8.

    Raises:
        Unreadable: It has a document type.
    """
    rest = b""
    for piece in _narrow(pieces, name):
        data = rest + piece
        # Single characters are looked for first: that is many times as fast, and most sheets have none.
        if not any(mark in data and b"<" + mark in data for mark in (b"!", b"?")) and data[-1:] != b"<":
            rest = b""
            yield data
            continue
        data = _MARKUP.sub(_as_text, data)
        at = min((at for mark in _OPEN_ENDS if (at := data.find(mark)) >= 0), default=len(data))
        at -= data[:at].endswith(b"<") and at == len(data)
        rest = data[at:]
        if len(rest) > len(b"<![CDATA[") and not rest.startswith((b"<!--", b"<![CDATA[", b"<?")):
            xml.check_start(b"<!DOCTYPE", name)
        if len(rest) > ROW_BYTES:
            raise Unreadable(f"its sheet has a comment of more than {ROW_BYTES:,} bytes", ANOTHER_COPY)
        yield data[:at]
    yield rest


def _narrow(pieces: Iterator[bytes], name: str) -> Iterator[bytes]:
    first = next((piece for piece in pieces if piece), b"")
    xml.check_start(first, name)
    wide = next((codec for start, codec in _WIDE.items() if first.startswith(start)), None)
    if wide is None:
        yield first
        yield from pieces
        return
    decoder = codecs.getincrementaldecoder(wide)("replace")
    yield from (decoder.decode(piece).encode("utf-8", "replace") for piece in chain((first,), pieces))


def _as_text(match: re.Match[bytes]) -> bytes:
    return escape((match[1] or b"").decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


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
        """Columns up to its last cell."""
        cells = len(_CELL.findall(self.xml))
        places = _PLACE.findall(self.xml)
        last = max((column_number(letters.decode()) for letters in {at for at, _ in places}), default=0)
        return last if len(places) >= cells else last + cells

    def strays(self) -> int:
        """Cells with the row number of another row; they are shown in the row that contains them."""
        return sum(int(row) != self.number for _, row in _PLACE.findall(self.xml))

    def doubles(self) -> int:
        """Values whose cell has another one after them, which is the one that is shown."""
        places = [at.upper() for at, _ in _PLACE.findall(self.xml)]
        return len(places) - len(set(places))

    def formulas(self) -> int:
        """Cells that have a formula."""
        return len(_ANY_FORMULA.findall(self.xml)) if b"f" in self.xml else 0

    def formulas_without_value(self) -> int:
        """Cells that have a formula and no result; the program that wrote the file did not calculate."""
        return len(_FORMULA.findall(self.xml)) if b"f" in self.xml else 0


class Cut(Struct):
    """The requested rows, from one pass over the XML of a sheet.

    Attributes:
        head: The XML before the first row.
        header: Row 1, if the rows start below it and it is filled.
        rows: The requested rows that fit, in order, without missing ones.
        end: The last row that was examined for them.
        total: The last row that is filled.
        merged: Merged ranges near the rows.
        tail: The XML after the rows, as far as it was read; from the first pass only.
        is_full: Whether it ends at `end` because its cells are too many for one part.
        notes: Oddities of the sheet; from the first pass only.
    """

    head: bytes = b""
    header: Row | None = None
    rows: list[Row] = field(default_factory=list)
    end: int = 0
    total: int = 0
    merged: list[str] = field(default_factory=list)
    tail: bytes = b""
    is_full: bool = False
    notes: list[str] = field(default_factory=list)


class Disordered(Exception):
    """Rows are not in order, or two have one number: all have to be looked at."""


def cut(pieces: Iterator[bytes], area: Area, total: int | None, *, in_order: bool = True) -> Cut:
    """The rows of an area, as many as fit; bounded in memory.

    Args:
        pieces: The XML of a sheet.
        area: The rows.
        total: What an earlier pass found as `total`: then this one ends with the rows.
        in_order: Whether to expect rows in their order, which programs write, and which takes less time.

    Raises:
        Disordered: They are not.
        Unreadable: It is not a sheet as programs write them.
    """
    scan = _Scan(area, total if in_order else None, in_order=in_order)
    rest = b""
    for piece in pieces:
        rest = scan.take(rest + piece)
        if len(rest) > ROW_BYTES:
            raise Unreadable(f"its sheet has a row of more than {ROW_BYTES:,} bytes", ANOTHER_COPY)
        if scan.ended:
            break
    if not scan.ended:
        scan.finish(rest)
    elif total is None:
        for piece in pieces:
            if len(rest) < ROW_BYTES:
                rest += piece
        scan.cut.tail = rest
        scan.cut.merged = [place.decode() for place in _MERGED.findall(rest)]
    return scan.result()


class _Names:
    """The bytes that rows of a sheet start and end with; elements may have a prefix, the same for all."""

    def __init__(self, prefix: bytes) -> None:
        self.row = b"<" + prefix + b"row"
        self.end = b"</" + prefix + b"sheetData"
        self.rows = re.compile(re.escape(self.row) + rb"(?=[\s/>])")
        self.numbers = re.compile(re.escape(self.row) + rb"""\s[^>]*?\br\s*=\s*["'](\d{1,9})["']""")


class _Scan:
    """Processes a sheet piece by piece; the result of `take` is prepended to the next one.

    Rows that are not requested are skipped at the speed of a search for plain bytes:
    only the last one of each piece is looked at.
    """

    def __init__(self, area: Area, total: int | None, *, in_order: bool) -> None:
        self.cut = Cut(end=MAX_ROWS if area.last_row is None else area.last_row, total=total or 0)
        self.ended = False
        self._area = area
        self._first = area.first_row
        self._total = total
        self._in_order = in_order
        self._room = CellBudget(area)
        self._most = min(area.lines or SHEET_CELLS, SHEET_CELLS)
        self._passed = 0
        self._beyond = 0
        self._apart: dict[int, bytes] = {}
        self._names: _Names | None = None

    def take(self, data: bytes) -> bytes:
        """Process the complete rows in `data`, and return the rest."""
        if self._names is None:
            match = _DATA.search(data)
            if match is None:
                return data
            self.cut.head = data[: match.end()]
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
        if at >= 0 and not (self._in_order and self._pass(data, at)):
            starts = [match.start() for match in names.rows.finditer(data, 0, end if end >= 0 else len(data))]
            for start, after in pairwise([*starts, end] if end >= 0 else starts):
                self._row(data[start:after])
            at = starts[-1] if starts else at
        return data[end:] if end >= 0 else data[max(at, 0) :]

    def _pass(self, data: bytes, at: int) -> bool:
        """Skip all rows of `data` if none are requested; the one that starts at `at` is its last."""
        following = _row_number(data, at)
        if (
            not self._passed
            or following is None
            or (self._first <= following and self._passed < self.cut.end)
        ):
            return False
        if self._total is None:
            self._check_order(data, at, following)
            self.cut.total = max(self.cut.total, self._last_filled(data, at))
        self._passed = following - 1
        self.ended = self.ended or (self._total is not None and self._passed >= self.cut.end)
        return True

    def _check_order(self, data: bytes, at: int, following: int) -> None:
        """Look at the numbers of all rows that are passed. Raises Disordered."""
        assert self._names is not None
        numbers = [self._passed, *map(int, self._names.numbers.findall(data, 0, at)), following]
        if numbers != sorted(set(numbers)) or following > MAX_ROWS:
            raise Disordered

    def _last_filled(self, data: bytes, at: int) -> int:
        """The number of the last filled row of `data` that is complete; 0 for none."""
        mark = self._names.row if self._names else b""
        row, after = (at, len(data)) if self.ended else (data.rfind(mark, 0, at), at)
        while row >= 0:
            if _FILLED.search(data, row, after):
                return _row_number(data, row) or 0
            row, after = data.rfind(mark, 0, row), row
        return 0

    def _row(self, xml: bytes) -> None:
        stated = _row_number(xml, 0)
        if stated is None and (place := _PLACE.search(xml)):
            stated = int(place[2])
        number = self._passed + 1 if stated is None else stated
        if self._in_order and not self._passed < number <= MAX_ROWS:
            raise Disordered
        self._passed = number
        if number > self.cut.end:
            self.ended = self.ended or self._total is not None
        row = Row(number, xml if _row_number(xml, 0) else _numbered(xml, number))
        if not row.is_filled:
            return
        if not 0 < number <= MAX_ROWS:
            self._beyond += 1
            return
        if self._total is None:
            self.cut.total = max(self.cut.total, number)
        if number == 1 < self._first:
            self.cut.header = Row(1, (self.cut.header.xml if self.cut.header else b"") + row.xml)
        elif self._first <= number <= self.cut.end:
            if self._in_order:
                self._keep(row)
            else:
                self._keep_apart(row)

    def _keep(self, row: Row) -> None:
        if self._room.take(row.number, min(row.width(), MAX_COLUMNS)):
            self.cut.rows.append(row)
        else:
            self.cut.end, self.cut.is_full = self._room.last, self._room.is_full

    def _keep_apart(self, row: Row) -> None:
        """Keep a row until all are known; of more than there is room for, the first."""
        self._apart[row.number] = self._apart.get(row.number, b"") + row.xml
        if len(self._apart) > 2 * self._most:
            kept = sorted(self._apart)[: self._most]
            self._apart = {number: self._apart[number] for number in kept}
            self.cut.end = kept[-1]

    def finish(self, rest: bytes) -> None:
        """Process the rest of a truncated sheet."""
        if self._names is None:
            raise Unreadable("its sheet is cut short", ANOTHER_COPY)
        if self._names.rows.match(rest):
            self._row(rest)
        self.ended = True
        self.cut.notes.append(f"It is cut short: the rows after {self._passed} are missing.")

    def result(self) -> Cut:
        """The result, with the rows in order."""
        for number in sorted(self._apart):
            if number <= self.cut.end:
                self._keep(Row(number, self._apart[number]))
        if not self._in_order:
            self.cut.notes.append("Its rows are out of order or repeated: they are shown in order.")
        self.cut.notes += count_note(self._beyond, *ROWS_BEYOND)
        return self.cut


def _numbered(xml: bytes, number: int) -> bytes:
    """A row that does not say its number, saying it."""
    at = xml.index(b"row") + 3
    return xml[:at] + b' r="%d"' % number + xml[at:]


def _row_number(data: bytes, start: int) -> int | None:
    """The row number in the tag at `start`; None if it has none."""
    tag = _START_TAG.match(data, start)
    match = _NUMBER.search(tag[0]) if tag else None
    return int(match[1]) if match else None


# -----------------------------------------------------------------------------
# The shared strings of a workbook; some rows need only a few.
#
# Cells refer to texts by number.  The table of texts goes by in pieces, and those
# that are not needed are left empty, so that a library gets a small one.
# -----------------------------------------------------------------------------

_ITEM = re.compile(rb"<(?:\w+:)?si(?=[\s/>])")
_END = re.compile(rb"</(?:\w+:)?sst\s*>")
_SHARED = re.compile(
    rb"""<(?:\w+:)?c(?=[\s>])[^>]*\st\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v\s*>\s*(\d{1,9})\s*</"""
)
_EMPTY = b"<si><t></t></si>"
_MISSING = b"<si><t>[its text is missing in the file]</t></si>"
"""Text of a cell whose index is past the last shared string."""


def referred(rows: bytes) -> frozenset[int]:
    """The numbers of the texts that the cells of these rows are."""
    return frozenset(map(int, _SHARED.findall(rows)))


STRING_BYTES = 1024 * 1024
"""The XML of one text. A cell takes 32,767 characters; formatting may be around each of them."""


def only(pieces: Iterator[bytes], needed: frozenset[int]) -> bytes:
    """The table of texts, up to the last that is needed, all others empty. Raises Unreadable."""
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
