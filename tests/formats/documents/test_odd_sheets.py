"""One odd cell, row or part of a workbook never costs its sheet: all else is shown, and the odd one too."""

from __future__ import annotations

import io
import struct
from datetime import date

import pytest
import xlrd
import xlwt

from readroom.formats.documents.sheets import open_document
from tests.formats.documents import old_workbooks

_STYLE = 0xE0
"""The record of a style in a workbook of before 2007."""

_EAST_ASIAN = (*range(27, 37), *range(50, 59))
"""Patterns that such a workbook names by number alone: the usual dates of Japan, China and Korea."""


def _with_pattern(code: int, serial: float) -> bytes:
    """A workbook whose only styled cell has the built-in pattern `code`."""
    book = xlwt.Workbook()
    sheet = book.add_sheet("A")
    sheet.write(0, 0, "name")
    sheet.write(0, 1, serial, xlwt.easyxf(num_format_str='yyyy"Q"'))
    sheet.write(1, 0, "LAST")
    data = bytearray(old_workbooks.saved(book))
    at = -1
    while (at := data.find(struct.pack("<HH", _STYLE, 20), at + 1)) >= 0:
        if struct.unpack_from("<H", data, at + 6)[0] >= 164:
            struct.pack_into("<H", data, at + 6, code)
    return bytes(data)


@pytest.mark.parametrize("code", _EAST_ASIAN)
def test_a_date_in_a_pattern_without_words_is_a_date(code: int) -> None:
    data = _with_pattern(code, 45000)
    with xlrd.open_workbook(file_contents=data, formatting_info=True) as book:
        days = book.sheet_by_index(0).cell_value(0, 1)
        expected: date = xlrd.xldate.xldate_as_datetime(days, book.datemode).date()
    part = open_document(io.BytesIO(data)).part(1)
    assert (list(part.lines), list(part.notes)) == ([f"name\t{expected}", "LAST"], [])


@pytest.mark.parametrize(
    ("code", "shown"), [(46, "36:00:00"), (21, "1900-01-01 12:00:00"), (20, "1900-01-01 12:00:00")]
)
def test_only_a_pattern_that_counts_hours_is_a_duration(code: int, shown: str) -> None:
    assert open_document(io.BytesIO(_with_pattern(code, 1.5))).part(1).lines[0] == f"name\t{shown}"


def test_a_style_that_the_workbook_lacks_costs_no_cell() -> None:
    """The cell points past the last style; what xlrd cannot tell of it is its number."""
    data = bytearray(_with_pattern(31, 45000))
    at = data.find(struct.pack("<HHHH", 0x27E, 10, 0, 1))
    assert at >= 0
    struct.pack_into("<H", data, at + 8, 4000)
    part = open_document(io.BytesIO(bytes(data))).part(1)
    assert part.lines[1] == "LAST"
    assert part.lines[0].startswith("name\t45000")
