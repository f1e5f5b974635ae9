"""One odd cell, row or part of a workbook never costs its sheet: all else is shown, and the odd one too."""

from __future__ import annotations

import io
import struct
from datetime import date

import pytest
import xlrd
import xlwt

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats import Area
from readroom.documents.formats.sheets import open_document
from tests.documents.formats import old_workbooks
from tests.documents.formats.packages import relations, zipped
from tests.documents.formats.test_sheets import in_rows
from tests.each import each
from tests.hostile import office
from tests.laws.driving import Driver

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


@each("code", _EAST_ASIAN)
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


@pytest.mark.parametrize("number", [-1, -0.25, -45000])
def test_a_date_before_all_calendars_is_a_number(number: float) -> None:
    lines = open_document(io.BytesIO(_with_pattern(14, number))).part(1).lines
    assert lines[0] == f"name\t{number}"


def test_a_style_that_the_workbook_lacks_costs_no_cell() -> None:
    """The cell points past the last style; what xlrd cannot tell of it is its number."""
    data = bytearray(_with_pattern(31, 45000))
    at = data.find(struct.pack("<HHHH", 0x27E, 10, 0, 1))
    assert at >= 0
    struct.pack_into("<H", data, at + 8, 4000)
    part = open_document(io.BytesIO(bytes(data))).part(1)
    assert part.lines[1] == "LAST"
    assert part.lines[0].startswith("name\t45000")


# --- .xlsx: one odd thing each, and two rows around it that must stay --------------------------------------

_FIRST = '<row r="1"><c r="A1"><v>1</v></c></row>'
_LAST = '<row r="9"><c r="A9" t="str"><v>LAST</v></c></row>'

_ODD_CELLS = {
    '<c r="A5" t="n"><v> 42</v></c>': "42",
    '<c r="A5"><v>\t42\n</v></c>': "42",
    '<c r="A5"><v>12345678901234567890</v></c>': "12345678901234600000",
    '<c r="A5" t="n"><v>abc</v></c>': "abc",
    '<c r="A5" t="n"><v>1,5</v></c>': "1,5",
    '<c r="A5" s="x"><v>5</v></c>': "5",
    '<c r="A5" s="99999"><v>5</v></c>': "5",
    '<c r="A5" s="-1"><v>5</v></c>': "5",
    '<c r="A5" t="s"><v>x</v></c>': "[its text cannot be read]",
    '<c r="A5" t="s"><v>99999999</v></c>': "[its text cannot be read]",
    '<c r="A5" t="s"><v> 0 </v></c>': "SHARED",
    '<c r="A5" t="b"><v>maybe</v></c>': "maybe",
    '<c r="A5" t="d"><v>2020-13-45</v></c>': "2020-13-45",
    '<c r="A5" t="zzz"><v>5</v></c>': "5",
    '<c r="A5"><v>&nope;</v></c>': "&nope;",
    '<c r="A5"><v>5</v><odd/></c>': "5",
    '<c r="A5"><v>5</odd></c>': "5",
    '<c r="A5" t="str"><v><![CDATA[a < b]]></v></c>': "a < b",
    '<!-- <c r="A5"> --><c r="A5"><v>5</v></c><?odd <row?>': "5",
    '<c r="A5" t="inlineStr"><v>text</v></c>': "text",
    '<c r="A5" t="str"><is><t>text</t></is></c>': "text",
    '<c r="A5"><is><t>text</t></is></c>': "text",
    '<c r="A5" t="s"><is><t>text</t></is></c>': "text",
    '<c r="B7"><v>5</v></c>': "\t5",
    '<c r="A5"><v>5</v></c><c r="ZZZZ5"><v>6</v></c>': "5",
    '<c r="A5"><v>4</v></c><c r="A5"><v>5</v></c>': "5",
}  # fmt: skip


def _sheet(*rows: str) -> io.BytesIO:
    return io.BytesIO(office.workbook("".join(rows), strings="<si><t>SHARED</t></si>"))


def test_a_number_below_zero_set_as_a_date_is_a_number() -> None:
    """What counts hours stays a duration, also in a row that is read by itself."""
    formats = '<numFmts><numFmt numFmtId="164" formatCode="[h]:mm"/></numFmts>'
    cells = "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 164))
    styles = f"<styleSheet xmlns='{office.SPREADSHEET}'>{formats}<cellXfs>{cells}</cellXfs></styleSheet>"
    dates = '<c s="1"><v>-5</v></c><c s="1"><v>0.5</v></c><c s="2"><v>-0.25</v></c><c s="1"><v>45000</v></c>'
    shown = "-5\t12:00:00\t-6:00:00\t2023-03-15"
    for last, line in (("", ""), ('<c t="b"><v>maybe</v></c>', "\tmaybe")):
        file = io.BytesIO(office.workbook(f'<row r="1">{dates}{last}</row>', styles=styles))
        assert open_document(file).part(1).lines == [shown + line]


@each("cell", _ODD_CELLS)
@each("area", [Area(), Area(1, 9), Area(1, lines=5)])
def test_an_odd_cell_costs_no_other(cell: str, area: Area) -> None:
    part = open_document(_sheet(_FIRST, f'<row r="5">{cell}</row>', _LAST)).part(1, area)
    assert in_rows(part) == ["1", "", "", "", _ODD_CELLS[cell], "", "", "", "LAST"]
    assert "damaged" not in " ".join(part.notes)


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        ('<c r="B7"><v>5</v></c>', "1 cell claims to be in another row and is shown where it is stored."),
        ('<c r="A5"><v>4</v></c><c r="A5"><v>5</v></c>', "1 value is not shown: its cell is repeated."),
        ('<c r="ZZZZ5"><v>6</v></c>', "1 row has more than 16,384 columns: the rest of it is not shown."),
        (
            "<c r='A5'><v>5</odd></c>",
            "1 row cannot be interpreted: its cells are shown as stored.",
        ),
    ],
)
def test_what_is_odd_is_said(cells: str, note: str) -> None:
    assert list(open_document(_sheet(_FIRST, f'<row r="5">{cells}</row>', _LAST)).part(1).notes) == [note]


def _row(number: object, *texts: str) -> str:
    cells = "".join(
        f'<c r="{letter}{number}" t="str"><v>{text}</v></c>'
        for letter, text in zip("AB", texts, strict=False)
    )
    return f'<row r="{number}">{cells}</row>'


_BEYOND = "1 row lies after row 1,048,576 and is not shown."
_AGAIN = "1 value is not shown: its cell is repeated."
_IN_ORDER = "Its rows are out of order or repeated: they are shown in order."


@each(
    ("rows", "lines", "notes"),
    [
        ([_row(1, "a"), _row(2, "b"), '<row r="2"><c r="B2"><v>7</v></c></row>'], ["a", "b\t7"], [_IN_ORDER]),
        ([_row(3, "c"), _row(1, "a"), _row(2, "b")], ["a", "b", "c"], [_IN_ORDER]),
        ([_row(1, "a"), _row(1, "x"), _row(2, "b")], ["x", "b"], [_AGAIN, _IN_ORDER]),
        ([_row(0, "z"), _row(1, "a")], ["a"], [_IN_ORDER, _BEYOND]),
        ([_row(1, "a"), _row(1_048_577, "z")], ["a"], [_IN_ORDER, _BEYOND]),
        (["<row><c r='A2'><v>5</v></c></row>", "<row><c><v>6</v></c></row>"], ["", "5", "6"], []),
    ],
)  # fmt: skip
def test_odd_rows_cost_no_other(rows: list[str], lines: list[str], notes: list[str]) -> None:
    part = open_document(_sheet(*rows)).part(1)
    assert (list(part.lines), list(part.notes)) == (lines, notes)


def test_rows_in_any_order_are_shown_page_by_page() -> None:
    """Also where the odd row stands among rows that a page passes over."""
    numbers = [*range(1, 3001), 5000, 2500, *range(3001, 4000), 4]
    rows = "".join(f'<row r="{at}"><c r="A{at}" t="str"><v>v{at}</v></c></row>' for at in numbers)
    driver = Driver(MemoryStore({"a.xlsx": office.workbook(rows)}))
    lines = [
        line
        for reply in driver.pages("read_file", path="a.xlsx")
        for line in reply.text.split("\n")
        if "\tv" in line
    ]
    driver.workspace.close()
    shown = dict(line.split("\t") for line in lines)
    assert shown == {str(at): f"v{at}" for at in set(numbers)}


@each("size", range(60, 220, 7))
def test_a_sheet_that_is_cut_short_shows_what_there_is(size: int) -> None:
    sheet = "".join(_row(at, *texts) for at, texts in enumerate(("ab", "cd", "ef"), 1))
    sheet = f"<worksheet><sheetData>{sheet}</sheetData></worksheet>"
    part = open_document(io.BytesIO(office.workbook("", sheet=sheet[:size].encode()))).part(1)
    shown = "\n".join(part.lines)
    assert [text for text in "abcdef" if f"<v>{text}</v></c>" in sheet[:size] and text not in shown] == []
    assert any(note.startswith("It is cut short: the rows after ") for note in part.notes)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_sheet_in_wide_characters_is_read(encoding: str) -> None:
    sheet = f"<?xml version='1.0'?><worksheet><sheetData>{_row(1, 'ä')}</sheetData></worksheet>"
    assert list(
        open_document(io.BytesIO(office.workbook("", sheet=sheet.encode(encoding)))).part(1).lines
    ) == ["ä"]


def test_broken_styles_cost_dates_and_no_cell() -> None:
    data = office.workbook(_FIRST + '<row r="2"><c r="A2" s="1"><v>45000</v></c></row>', styles="<broken")
    part = open_document(io.BytesIO(data)).part(1)
    assert list(part.lines) == ["1", "45000"]
    assert list(part.notes) == ["Its styles cannot be read: dates are shown as numbers."]


# --- .ods: values that are only in attributes ----------------------------------------------------------


@each(
    ("attributes", "shown"),
    [
        ("office:value-type='string' office:string-value='ATTR'", "ATTR"),
        ("office:string-value='ATTR'", "ATTR"),
        ("office:value-type='float' office:value='1.5'", "1.5"),
        ("office:value-type='percentage' office:value='0.25'", "0.25"),
        ("office:value-type='currency' office:currency='EUR' office:value='9.9'", "9.9"),
        ("office:value-type='boolean' office:boolean-value='true'", "TRUE"),
        ("office:value-type='date' office:date-value='2024-02-03'", "2024-02-03"),
        ("office:value-type='time' office:time-value='PT26H01M00S'", "26:01:00"),
        ("office:value-type='time' office:time-value='odd'", "odd"),
        ("office:value-type='float' office:value='odd'", "odd"),
        ("office:value-type='odd' office:value='3'", "3"),
        ("office:value='3'", "3"),
        ("office:value-type='void'", ""),
    ],
)
def test_a_value_that_is_only_in_attributes_is_shown(attributes: str, shown: str) -> None:
    word = "<table:table-cell office:value-type='string'><text:p>b</text:p></table:table-cell>"
    rows = f"<table:table-row><table:table-cell {attributes}/>{word}</table:table-row>"
    assert list(open_document(io.BytesIO(office.spreadsheet(rows))).part(1).lines) == [f"{shown}\tb"]


@pytest.mark.parametrize("kind", ["string", "date", "boolean", "time", "float"])
def test_a_text_without_the_value_that_its_type_promises_is_shown(kind: str) -> None:
    cell = f"<table:table-cell office:value-type='{kind}'><text:p>WORD</text:p></table:table-cell>"
    rows = f"<table:table-row>{cell}</table:table-row>"
    assert list(open_document(io.BytesIO(office.spreadsheet(rows))).part(1).lines) == ["WORD"]


def test_a_binary_workbook_is_named_with_what_to_do() -> None:
    parts: dict[str, str | bytes] = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.bin")),
        "xl/workbook.bin": b"\x83\x01\0\x84\x01\0",
    }
    driver = Driver(MemoryStore({"a.xlsb": zipped(parts).getvalue()}))
    reply = driver.call("read_file", path="a.xlsb")
    assert reply.is_error
    assert "(xlsx) cannot be read: it is a binary workbook (.xlsb), which is not read" in reply.text
    assert "save it as .xlsx" in reply.text
    found = driver.call("grep_files", pattern="words", documents=True)
    assert "a.xlsb" in found.text
