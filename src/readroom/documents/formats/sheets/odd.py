"""Rows of an .xlsx sheet as a library reads them: without gaps, and with oddities normalized.

A library refuses all rows for one cell that it does not understand. So cells of types that are none become
texts, numbers lose the blanks around them, and rows that still fail are read one by one, at last as they are
stored.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import time
from itertools import pairwise
from typing import TypeAlias

from readroom.documents.formats import Unreadable
from readroom.documents.formats.page_ranges import MAX_COLUMNS, column_number
from readroom.documents.formats.sheets.cells import Rows, Value, numbered
from readroom.documents.formats.sheets.xlsx import Row
from readroom.documents.limits import SHARED_STRINGS

_UNTOLD = re.compile(
    rb"""(<(?:\w+:)?c(?=\s)[^>]*\st\s*=\s*["'])(?!(?:b|d|n|s|str|inlineStr)["'])[^"'<>]*(["'])"""
)
"""A cell of a type that the library does not read: an error, or an invalid type."""

_INLINE = re.compile(
    rb"""(<(?:\w+:)?c(?=\s)[^>]*\st\s*=\s*["'])inlineStr(["'][^>]*>\s*<(?:\w+:)?v(?=[\s>]))"""
)
"""A cell of type inline text that has a value instead."""

_ROW = re.compile(rb"""(<(?:\w+:)?row(?=\s)[^>]*?\sr\s*=\s*["'])\d+""")
_CELL = re.compile(rb"""(<(?:\w+:)?c(?=\s)[^>]*?\sr\s*=\s*["'])([A-Za-z]{1,4})\d+""")
_START = re.compile(rb"""<(?:\w+:)?c(?=[\s/>])[^>]*>""")
_END = re.compile(rb"""</(?:\w+:)?(?:row|sheetData)\s*>""")
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{1,4})\d+["']""")
_TYPE = re.compile(rb"""\st\s*=\s*["'](\w*)["']""")
_STYLE = re.compile(rb"""\ss\s*=\s*["'](?!\d+["'])[^"']*["']""")
_VALUE = re.compile(rb"""(<(?:\w+:)?v(?:\s[^>]*)?>)([^<]*)(</)""")
_PADDED = re.compile(rb"""<(?:\w+:)?v(?:\s[^>]*)?>(?:\s[^<]*|[^<]*\s)</""")
_BELOW_ZERO = re.compile(rb"<(?:\w+:)?v(?:\s[^>]*)?>\s*-")
_STYLED = re.compile(rb"""(<(?:\w+:)?c(?=\s)[^>]*?)\ss\s*=\s*["'][^"']*["']""")
_NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_NO_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9A-Fa-f]{1,6});)")
"""An entity that XML does not know: the library leaves its cell empty."""

_TAG = re.compile(rb"<[^>]*>")

Read: TypeAlias = Callable[[bytes], tuple[Sequence[Sequence[Value]], tuple[int, int] | None]]
"""Gives the values of the XML of rows, and the place of the first, from 0."""

_NO_TEXT = "[its text cannot be read]"
"""For a cell whose text is elsewhere in the workbook."""

AS_STORED = (
    "row cannot be interpreted: its cells are shown as stored.",
    "rows cannot be interpreted: their cells are shown as stored.",
)


def values(rows: Sequence[Row], read: Read) -> tuple[Rows, int]:
    """The values of rows by their numbers, and how many of the rows are shown as they are stored."""
    if not rows:
        return {}, 0
    text = b"".join(_placed(row, at) for at, row in enumerate(rows, 1))
    if _PADDED.search(text) or (b"&" in text and _NO_ENTITY.search(text)):
        text = _repaired(_NO_ENTITY.sub(b"&amp;", text))
    try:
        return _read(text, rows, read), 0
    except Unreadable:
        return _one_by_one(rows, read, at_once=_repaired)


def _read(text: bytes, rows: Sequence[Row], read: Read) -> Rows:
    """The values, with numbers below zero where the library takes them for times of a day."""
    numbers = [row.number for row in rows]
    found = numbered(numbers, *read(text))
    if not _BELOW_ZERO.search(text) or not any(_is_time(value) for row in found.values() for value in row):
        return found
    plain = numbered(numbers, *read(_STYLED.sub(rb"\1", text)))
    return {
        number: [
            other if _is_time(value) and isinstance(other, float) and other < 0 else value
            for value, other in zip(row, plain[number], strict=True)
        ]
        for number, row in found.items()
    }


def _is_time(value: Value) -> bool:
    return isinstance(value, time)


def _one_by_one(rows: Sequence[Row], read: Read, at_once: Callable[[bytes], bytes]) -> tuple[Rows, int]:
    """The same where the library fails: of halves that fail again the halves."""
    text = b"".join(at_once(_placed(row, at)) for at, row in enumerate(rows, 1))
    try:
        return _read(text, rows, read), 0
    except Unreadable:
        if len(rows) == 1:
            return {rows[0].number: _stored(rows[0].xml)}, 1
    middle = len(rows) // 2
    first, odd = _one_by_one(rows[:middle], read, at_once)
    second, more = _one_by_one(rows[middle:], read, at_once)
    return {**first, **second}, odd + more


def _placed(row: Row, at: int) -> bytes:
    """The XML of a row as that of row `at`; the cells that no sheet can have are left out."""
    xml = _fitting(row) if row.width() > MAX_COLUMNS else row.xml
    place = b"%d" % at
    text = _CELL.sub(rb"\g<1>\g<2>" + place, _ROW.sub(rb"\g<1>" + place, xml))
    if b"inlineStr" in text:
        text = _INLINE.sub(rb"\1str\2", text)
    return _UNTOLD.sub(rb"\1str\2", text)


def _fitting(row: Row) -> bytes:
    cells = b"".join(xml for column, xml in _cells(row.xml) if column <= MAX_COLUMNS)
    start = _START.search(row.xml)
    return row.xml[: start.start() if start else 0] + cells + b"</row>"


def _cells(xml: bytes) -> Iterator[tuple[int, bytes]]:
    """The cells of a row with their columns."""
    ends = [match.start() for match in _END.finditer(xml)]
    column = 0
    for start, after in pairwise([*(match.start() for match in _START.finditer(xml)), len(xml)]):
        tag = _START.match(xml, start)
        place = _PLACE.search(tag[0]) if tag else None
        column = column_number(place[1].decode()) if place else column + 1
        yield column, xml[start : next((end for end in ends if start < end < after), after)]


def _repaired(text: bytes) -> bytes:
    """The rows with cells whose values are not of their types as texts."""
    starts = [match.start() for match in _START.finditer(text)]
    if not starts:
        return text
    pieces = [text[: starts[0]]]
    for start, end in pairwise([*starts, len(text)]):
        cell = text[start:end]
        tag_end = cell.index(b">") + 1
        pieces.append(_plain_cell(cell[:tag_end], cell[tag_end:]))
    return b"".join(pieces)


def _plain_cell(tag: bytes, inside: bytes) -> bytes:
    tag = _STYLE.sub(b"", tag)
    kind, value = _TYPE.search(tag), _VALUE.search(inside)
    known = kind[1] if kind else b"n"
    if value is None or known not in (b"n", b"s", b"b"):
        return tag + inside
    plain = value[2].strip()
    if known == b"n" and _NUMBER.fullmatch(plain):
        return tag + _VALUE.sub(rb"\g<1>" + plain + rb"\3", inside, count=1)
    if known != b"n" and plain.isdigit() and (known == b"b" or int(plain[:10]) < SHARED_STRINGS):
        return tag + _VALUE.sub(rb"\g<1>" + plain + rb"\3", inside, count=1)
    if known == b"s":
        inside = b"<v>%b</v></c>" % _NO_TEXT.encode()
    # A value that is not a number is shown as text.
    texts = _TYPE.sub(b"", tag)
    closed = texts[:-2] + b" t='str'/>" if texts.endswith(b"/>") else texts[:-1] + b" t='str'>"
    return closed + inside


def _stored(xml: bytes) -> list[Value]:
    """The cells of a row without a look at their types, where nothing else is left."""
    found = {column: _stored_text(cell) for column, cell in _cells(xml) if column <= MAX_COLUMNS}
    return [found.get(column, "") for column in range(1, max(found, default=0) + 1)]


def _stored_text(cell: bytes) -> str:
    kind = _TYPE.search(cell[: cell.index(b">")])
    if kind is not None and kind[1] == b"s":
        return _NO_TEXT
    return html.unescape(_TAG.sub(b"", cell).decode("utf-8", "replace")).strip()
