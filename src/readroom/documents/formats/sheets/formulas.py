"""Formulas of cells, as they are typed.

A formula that was filled down is stored once, at the first cell of its range; the other cells only refer to
it.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from msgspec import Struct, field

from readroom.documents.formats.page_ranges import MAX_COLUMNS, MAX_ROWS, column_letters, column_number
from readroom.documents.formats.sheets.xlsx import Row

_CELL = re.compile(rb"<(?:\w+:)?c(?=[\s/>])[^>]*>")
_PLACE = re.compile(rb"""\sr\s*=\s*["']([A-Za-z]{1,3})(\d{1,7})["']""")
_FORMULA = re.compile(rb"<(?:\w+:)?f(?=[\s/>])([^>]*?)(?:/>|>([^<]*)</(?:\w+:)?f\s*>)")
_KIND = re.compile(rb"""\st\s*=\s*["'](\w+)["']""")
_SHARE = re.compile(rb"""\ssi\s*=\s*["'](\d{1,9})["']""")
_FIRST_SHARED = re.compile(
    rb"""<(?:\w+:)?c(?=\s)[^>]*\sr\s*=\s*["']([A-Za-z]{1,3})(\d{1,7})["'][^>]*>\s*"""
    rb"""<(?:\w+:)?f(?=\s)([^>]*\sref\s*=[^>]*[^/])>([^<]+)</"""
)
_CARRIED = 64 * 1024
"""Bytes of a piece that are looked at again with the next: the longest formula has 8,192 characters."""

_SHARES = 100_000
"""Shared formulas of a sheet that are remembered; each is a range filled by a user."""

_REFERENCE = re.compile(
    r"""
    "(?:[^"]|"")*" | '(?:[^']|'')*'                                              # text, and names of sheets
    | (?<![\w.$])(\$?)([A-Za-z]{1,3})(\$?)([0-9]{1,7})(?![\w(.!])                 # a cell
    | (?<![\w.$])(\$?)([A-Za-z]{1,3}):(\$?)([A-Za-z]{1,3})(?![\w(.!$])            # columns
    | (?<![\w.$:])(\$?)([0-9]{1,7}):(\$?)([0-9]{1,7})(?![\w(.!$])                 # rows
    """,
    re.VERBOSE,
)


class _Shared(Struct, frozen=True):
    """A formula, and the cell that it is written for."""

    row: int
    column: int
    text: str


class Formulas(Struct):
    """The shared formulas of one sheet."""

    shared: dict[int, _Shared] = field(default_factory=dict)

    def learn(self, pieces: Iterator[bytes]) -> None:
        """Remember the shared formulas of the XML of a sheet."""
        rest = b""
        for piece in pieces:
            data = rest + piece
            for match in _FIRST_SHARED.finditer(data):
                share = _SHARE.search(match[3])
                if share is not None and len(self.shared) < _SHARES:
                    cell = int(match[2]), column_number(match[1].decode())
                    self.shared.setdefault(int(share[1]), _Shared(*cell, _text(match[4])))
            rest = data[-_CARRIED:]

    def of(self, row: Row) -> Mapping[int, str]:
        """The formulas of a row by their column."""
        formulas: dict[int, str] = {}
        column = 0
        starts = [at.start() for at in _CELL.finditer(row.xml)]
        for start, end in pairwise([*starts, len(row.xml)]):
            place = _PLACE.search(row.xml, start, row.xml.index(b">", start, end))
            column = column_number(place[1].decode()) if place else column + 1
            formula = _FORMULA.search(row.xml, start, end)
            if formula is not None:
                formulas[column] = self._written(formula, row.number, column)
        return formulas

    def _written(self, formula: re.Match[bytes], row: int, column: int) -> str:
        kind, share = _KIND.search(formula[1]), _SHARE.search(formula[1])
        text = _text(formula[2] or b"")
        if text:
            return f"{{={text}}}" if kind is not None and kind[1] == b"array" else f"={text}"
        first = self.shared.get(int(share[1])) if share else None
        if first is None:
            return "=(not stored)"
        return f"={shifted(first.text, row - first.row, column - first.column)}"


def shifted(formula: str, rows: int, columns: int) -> str:
    """A formula shifted by a number of rows down and columns to the right."""

    def moved(match: re.Match[str]) -> str:
        if match[2]:
            return match[1] + _column(match[2], match[1], columns) + match[3] + _row(match[4], match[3], rows)
        if match[6]:
            left, right = _column(match[6], match[5], columns), _column(match[8], match[7], columns)
            return f"{match[5]}{left}:{match[7]}{right}"
        if match[10]:
            top, bottom = _row(match[10], match[9], rows), _row(match[12], match[11], rows)
            return f"{match[9]}{top}:{match[11]}{bottom}"
        return match[0]

    return _REFERENCE.sub(moved, formula)


def _column(letters: str, fixed: str, by: int) -> str:
    if fixed or column_number(letters) > MAX_COLUMNS:
        return letters
    return column_letters((column_number(letters) + by - 1) % MAX_COLUMNS + 1)


def _row(number: str, fixed: str, by: int) -> str:
    if fixed or not 0 < int(number) <= MAX_ROWS:
        return number
    return str((int(number) + by - 1) % MAX_ROWS + 1)


def _text(formula: bytes) -> str:
    return html.unescape(formula.decode("utf-8", "replace")).strip()
