"""The formulas of cells in rows of a sheet, as they are typed.

Formulas that were filled down stand once, at the first cell of the range; of the
others the file says only that they are the same, shifted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field

from readroom.formats.documents.sheets.cells import Value
from readroom.formats.documents.sheets.xlsx import MAX_COLUMNS, MAX_ROWS, Row, column_letters, column_number

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
"""Shared formulas of a sheet that are remembered; each is a range that somebody filled."""

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
            for found in _FIRST_SHARED.finditer(data):
                share = _SHARE.search(found[3])
                if share is not None and len(self.shared) < _SHARES:
                    cell = int(found[2]), column_number(found[1].decode())
                    self.shared.setdefault(int(share[1]), _Shared(*cell, _text(found[4])))
            rest = data[-_CARRIED:]

    def of(self, row: Row) -> Mapping[int, str]:
        """The formulas of a row by their column."""
        found: dict[int, str] = {}
        column = 0
        starts = [at.start() for at in _CELL.finditer(row.xml)]
        for start, end in pairwise([*starts, len(row.xml)]):
            place = _PLACE.search(row.xml, start, row.xml.index(b">", start, end))
            column = column_number(place[1].decode()) if place else column + 1
            formula = _FORMULA.search(row.xml, start, end)
            if formula is not None:
                found[column] = self._written(formula, row.number, column)
        return found

    def _written(self, formula: re.Match[bytes], row: int, column: int) -> str:
        kind, share = _KIND.search(formula[1]), _SHARE.search(formula[1])
        text = _text(formula[2] or b"")
        if text:
            return f"{{={text}}}" if kind is not None and kind[1] == b"array" else f"={text}"
        first = self.shared.get(int(share[1])) if share else None
        if first is None:
            return "=(not stored)"
        return f"={shifted(first.text, row - first.row, column - first.column)}"


def with_formulas(
    rows: Sequence[Sequence[Value]], first: int, found: Mapping[int, Mapping[int, str]]
) -> list[Sequence[Value]]:
    """Rows from `first` on, with formulas by row and column in place of values."""
    shown = list(rows)
    for number, formulas in found.items():
        shown += [()] * (number - first + 1 - len(shown))
        cells = [*shown[number - first]]
        for column, text in formulas.items():
            cells += [""] * (column - len(cells))
            cells[column - 1] = text
        shown[number - first] = cells
    return shown


def shifted(formula: str, rows: int, columns: int) -> str:
    """A formula as it is when its cell is filled so many rows down and columns to the right."""

    def moved(found: re.Match[str]) -> str:
        if found[2]:
            return found[1] + _column(found[2], found[1], columns) + found[3] + _row(found[4], found[3], rows)
        if found[6]:
            left, right = _column(found[6], found[5], columns), _column(found[8], found[7], columns)
            return f"{found[5]}{left}:{found[7]}{right}"
        if found[10]:
            top, bottom = _row(found[10], found[9], rows), _row(found[12], found[11], rows)
            return f"{found[9]}{top}:{found[11]}{bottom}"
        return found[0]

    return _REFERENCE.sub(moved, formula)


def _column(letters: str, fixed: str, by: int) -> str:
    if fixed or column_number(letters) > MAX_COLUMNS:
        return letters
    return column_letters((column_number(letters) + by - 1) % MAX_COLUMNS + 1)


def _row(number: str, fixed: str, by: int) -> str:
    if fixed or not 0 < int(number) <= MAX_ROWS:
        return number
    return str((int(number) + by - 1) % MAX_ROWS + 1)


def _text(found: bytes) -> str:
    return html.unescape(found.decode("utf-8", "replace")).strip()
