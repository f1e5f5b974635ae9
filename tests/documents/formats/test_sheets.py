"""Workbooks: areas are slices of the whole, values as openpyxl reads them, repeated cells stay small."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import pytest
import python_calamine
import xlwt
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.formats.kinds import recognise
from readroom.documents.formats import Area, Part, Unit
from readroom.documents.formats.sheets import cells as sheet_cells
from readroom.documents.formats.sheets import open_document
from readroom.documents.formats.sheets.cells import ESCAPED, FORMULA
from readroom.documents.limits import SHEET_CELLS
from tests.documents.formats import old_workbooks
from tests.documents.formats.packages import refused, survives, zipped
from tests.each import each
from tests.hostile import office

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), max_size=8).filter(
    lambda text: not text.startswith("=") and "_x" not in text and not {"\ufffe", "\uffff"} & set(text)
)
CELLS = st.one_of(
    st.none(),
    TEXTS,
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(-1e9, 1e9).map(lambda number: round(number, 4)),
    st.dates(date(1950, 1, 1), date(2100, 1, 1)),
)


def _saved(*sheets: Sequence[Sequence[Any]]) -> io.BytesIO:
    book = openpyxl.Workbook()
    for at, rows in enumerate(sheets):
        sheet = book.active if at == 0 else book.create_sheet()
        for row in rows:
            sheet.append(list(row))
    return _file(book)


def _file(book: openpyxl.Workbook) -> io.BytesIO:
    book.properties.creator = None  # the library names itself
    file = io.BytesIO()
    book.save(file)
    return file


def _lines(file: io.BytesIO, area: Area | None = None, number: int = 1) -> list[str]:
    return in_rows(open_document(file).part(number, area))


def in_rows(part: Part) -> list[str]:
    """The lines, those of runs of empty rows written out."""
    if not part.rows:
        return list(part.lines)
    lines = list[str]()
    for line, row, after in zip(part.lines, part.rows, part.rows[1:], strict=False):
        if after - row > 1:
            assert line.startswith(f"[rows {row}-{after - 1} are empty")
        lines += [""] * (after - row) if after - row > 1 else [line]
    return lines


def test_values_have_one_form_each() -> None:
    file = _saved([
        [1, 1.5, 0.1 + 0.2, 1e20, 1e21, -0.0, 123456789012345],
        [True, date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5), time(3, 4, 5), timedelta(hours=30)],
        ["#N/A", "text", "  spaces ", None, None],
    ])  # fmt: skip
    assert _lines(file) == [
        "1\t1.5\t0.3\t100000000000000000000\t1e+21\t0\t123456789012345",
        "TRUE\t2024-01-02\t2024-01-02 03:04:05\t03:04:05\t30:00:00",
        "#N/A\ttext\t  spaces ",
    ]


def test_tabs_and_line_ends_inside_cells_are_written_and_noted() -> None:
    part = open_document(_saved([["a\tb\nc", "\\n"]])).part(1)
    assert (list(part.lines), list(part.notes)) == (["a\\tb\\nc\t\\n"], [ESCAPED])


def test_an_area_has_its_rows_its_columns_and_the_header() -> None:
    file = _saved([["Name", "Old", "New"], ["a", 1, 2], ["b", 3, 4], ["c", 5, 6]])
    part = open_document(file).part(1, Area(3, 4, 2, 3))
    assert part == Part(1, "Sheet", ["3\t4", "5\t6"], header="Old\tNew", first_row=3, total_rows=4, notes=[])


def test_an_area_below_the_last_row_is_empty_and_says_how_many_there_are() -> None:
    part = open_document(_saved([["x"]])).part(1, Area(5, 9))
    assert (list(part.lines), part.header, part.total_rows) == ([], "x", 1)


def test_empty_rows_and_columns_before_the_first_value_are_there() -> None:
    book = openpyxl.Workbook()
    book.active["C3"] = "x"
    book.active["B5"] = "y"
    opened = open_document(_file(book))
    assert list(opened.part(1).lines) == ["", "", "\t\tx", "", "\ty"]
    assert list(opened.part(1, Area(4, 5)).lines) == ["", "\ty"]
    assert opened.part(1, Area(4, 5)).header == ""
    assert list(opened.part(1, Area(3, 3, 3)).lines) == ["x"]


def test_sheets_are_parts_by_name_and_hidden_ones_say_so() -> None:
    book = openpyxl.Workbook()
    book.active.title = "First"
    book.create_sheet("Tom & Jerry").append([2])
    book.create_sheet("Secret").sheet_state = "hidden"
    book.create_chartsheet("Chart")
    opened = open_document(_file(book))
    assert (opened.unit, list(opened.titles)) == (Unit.SHEET, ["First", "Tom & Jerry", "Secret", "Chart"])
    assert [list(opened.part(number).lines) for number in (1, 2, 3, 4)] == [[], ["2"], [], []]
    assert list(opened.part(3).notes) == ["This sheet is hidden."]
    assert list(opened.part(4).notes) == ["It is a chart and has no cells."]


def test_formulas_show_their_stored_value_and_those_without_are_counted() -> None:
    book = openpyxl.Workbook()
    book.active.append([2, "=A1*2"])
    part = open_document(_file(book)).part(1)
    assert (list(part.lines), list(part.notes)) == (["2"], [f"1 {FORMULA}"])
    members = _members(_file(book))
    members["xl/worksheets/sheet1.xml"] = members["xl/worksheets/sheet1.xml"].replace(b"<v></v>", b"<v>4</v>")
    part = open_document(zipped(members)).part(1)
    assert (list(part.lines), list(part.notes)) == (["2\t4"], ["1 formula is shown as its value."])


def test_merged_cells_and_hidden_rows_are_noted() -> None:
    book = openpyxl.Workbook()
    book.active["A1"], book.active["A2"] = "wide", "hidden"
    book.active.merge_cells("A1:C1")
    book.active.row_dimensions[2].hidden = True
    part = open_document(_file(book)).part(1)
    assert list(part.lines) == ["wide", "hidden"]
    assert list(part.notes) == [
        "1 row is hidden in the sheet.",
        "Merged cells have their value in the first one only: A1:C1.",
    ]


def test_two_cells_at_the_corners_of_a_sheet_cost_what_they_are() -> None:
    """The library alone would allocate 549 GB for them."""
    opened = open_document(io.BytesIO(office.FILES["corners.xlsx"]()))
    part = opened.part(1, Area(1, 2))
    assert (list(part.lines), part.total_rows) == (["first", ""], 1_048_576)
    last = opened.part(1, Area(1_048_576, None, 16_380)).lines
    assert list(last) == ["\t\t\t\tlast"]


@pytest.mark.whole
def test_a_sheet_of_a_million_rows_gives_any_window_and_its_length() -> None:
    opened = open_document(io.BytesIO(office.FILES["million-rows.xlsx"]()))
    part = opened.part(1, Area(700_000, 700_001))
    assert (list(part.lines), part.header, part.total_rows) == (
        ["700000\tx", "700001\tx"], "1\tx", 1_048_576
    )  # fmt: skip
    assert list(opened.part(1, Area(1_048_576)).lines) == ["1048576\tx"]
    whole = opened.part(1)
    assert len(whole.lines) == SHEET_CELLS // 2
    assert list(whole.notes) == ["Shown up to row 125,000; ask for the rows from 125001 on."]


def test_rows_and_cells_that_do_not_say_their_place_are_counted() -> None:
    members = _members(_saved([["x"]]))
    sheet = (
        b'<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>'
        b"<x:row><x:c><x:v>1</x:v></x:c><x:c><x:v>2</x:v></x:c></x:row><x:row/>"
        b"<x:row><x:c><x:v>3</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    )
    members["xl/worksheets/sheet1.xml"] = sheet
    opened = open_document(zipped(members))
    assert list(opened.part(1).lines) == ["1\t2", "", "3"]
    assert list(opened.part(1, Area(3)).lines) == ["3"]


@given(st.lists(st.lists(CELLS, max_size=5), max_size=8), st.tuples(*[st.integers(1, 9)] * 4))
@settings(max_examples=30, deadline=None)
def test_any_area_is_a_slice_of_what_openpyxl_reads(rows: list[list[Any]], corner: tuple[int, ...]) -> None:
    file = _saved(rows)
    read = openpyxl.load_workbook(file).active.iter_rows(values_only=True)
    expected = [["" if cell is None else _plain(cell) for cell in row] for row in read]
    while expected and not any(expected[-1]):
        expected.pop()
    first, height, left, width = corner
    area = Area(first, first + height - 1, left, left + width - 1)
    opened = open_document(file)
    assert in_rows(opened.part(1)) == ["\t".join(row).rstrip("\t") for row in expected]
    part = opened.part(1, area)
    assert in_rows(part) == [
        "\t".join(row[left - 1 : left + width - 1]).rstrip("\t")
        for row in expected[first - 1 : first + height - 1]
    ]
    assert part.total_rows == len(expected)


def _plain(value: Any) -> str:
    """As `sheet_cells.text`, of what openpyxl has read."""
    if isinstance(value, datetime) and value.time() == time(0):
        value = value.date()
    return sheet_cells.cell_text(value)


def _members(file: io.BytesIO) -> dict[str, Any]:
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_shared_strings_are_those_of_the_cells() -> None:
    cells = "".join(
        f'<row r="{row}"><c r="A{row}" t="s"><v>{text}</v></c></row>'
        for row, text in ((1, 2), (2, 0), (3, 9))
    )
    rich = '<si><r><t>two</t></r><r><t xml:space="preserve"> parts</t></r></si>'
    strings = f"<si><t>zero</t></si><si/>{rich}<si><t>three</t></si>"
    file = office.workbook(cells, strings=strings)
    opened = open_document(io.BytesIO(file))
    assert list(opened.part(1, Area(1, 2)).lines) == ["two parts", "zero"]


ODS_CELL = '<table:table-cell office:value-type="{}" office:{}="{}"><text:p>shown</text:p></table:table-cell>'


@each(
    ("cell", "shown"),
    [
        ('<c r="A2" t="zzz"><v>5</v></c>', "5"),
        ('<c r="A2" t=""><v>5</v></c>', "5"),
        ('<c r="A2" t="e"><v>#N/A</v></c>', "#N/A"),
        ('<c r="A2" t="s"><v>0</v></c>', "[its text is missing in the file]"),
        ('<c r="A2" t="s"><v>7</v></c>', "[its text is missing in the file]"),
    ],
)
@each("has_table", [True, False])
def test_a_cell_that_cannot_be_told_costs_no_other(cell: str, shown: str, has_table: bool) -> None:
    data = office.workbook(f'<row r="1"><c r="A1"><v>42</v></c></row><row r="2">{cell}</row>')
    members = {
        name: data for name, data in _members(io.BytesIO(data)).items() if has_table or "Str" not in name
    }
    assert _lines(zipped(members)) == ["42", shown]


def test_open_document_sheets_have_the_same_forms() -> None:
    cells = "".join(
        ODS_CELL.format(*cell)
        for cell in (
            ("float", "value", "1.50"), ("percentage", "value", "0.3"), ("boolean", "boolean-value", "true"),
            ("date", "date-value", "2024-01-02"), ("date", "date-value", "2024-01-02T03:04:05"),
            ("time", "time-value", "PT30H05M00S"),
        )
    )  # fmt: skip
    text = (
        '<table:table-cell office:value-type="string"><text:p>a<text:s text:c="3"/>b<text:tab/>'
        "<text:span>c</text:span></text:p><text:p>d</text:p></table:table-cell>"
    )
    part = open_document(
        io.BytesIO(office.spreadsheet(f"<table:table-row>{cells}{text}</table:table-row>"))
    ).part(1)
    assert list(part.lines) == ["1.5\t0.3\tTRUE\t2024-01-02\t2024-01-02 03:04:05\t30:05:00\ta   b\\tc\\nd"]


def test_spans_of_time_are_whole_and_parts_of_a_day_the_time_that_they_mean() -> None:
    written = (
        "PT1045737H51M15.999998208S", "PT03H23M59.999999665S", "-PT0H0M1.5S", "P2DT1H", "PT99999999H", "PT",
    )  # fmt: skip
    cells = "".join(ODS_CELL.format("time", "time-value", span) for span in written)
    cells += ODS_CELL.format("date", "date-value", "2024-01-02T09:59:59.999998208")
    file = io.BytesIO(office.spreadsheet(f"<table:table-row>{cells}</table:table-row>"))
    assert _lines(file) == [
        "1045737:51:16\t3:24:00\t-0:00:01.500\t49:00:00\t99999999:00:00\t0:00:00\t2024-01-02 10:00:00"
    ]
    assert _lines(_saved([[time(5, 35, 31, 200_000), datetime(2024, 1, 2, 3, 4, 5, 999_900)]])) == [
        "05:35:31.200\t2024-01-02 03:04:06"
    ]


def test_repeated_rows_and_cells_are_written_out_where_they_are_asked_for() -> None:
    one = ODS_CELL.format("float", "value", "7")
    two = one.replace("cell ", 'cell table:number-columns-repeated="2" ')
    rows = (
        f"<table:table-row><table:table-cell/>{two}"
        '<table:table-cell table:number-columns-repeated="16380"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="3"><table:table-cell/></table:table-row>'
        f'<table:table-row table:number-rows-repeated="1000">{one}</table:table-row>'
        '<table:table-row table:number-rows-repeated="1047572"><table:table-cell/></table:table-row>'
    )  # fmt: skip
    opened = open_document(io.BytesIO(office.spreadsheet(rows)))
    part = opened.part(1, Area(1, 5))
    assert (list(part.lines), part.total_rows) == (["\t7\t7", "[rows 2-4 are empty]", "7"], 1004)
    assert list(part.rows) == [1, 2, 5, 6]
    part = opened.part(1, Area(1003))
    assert (list(part.lines), part.header) == (["7", "7"], "\t7\t7")


@given(
    st.lists(st.lists(st.one_of(st.none(), st.integers(0, 99)), max_size=4), max_size=6), st.integers(1, 7)
)
@settings(max_examples=20, deadline=None)
def test_open_document_sheets_are_what_calamine_reads(rows: list[list[int | None]], first: int) -> None:
    xml = "".join(
        "<table:table-row>"
        + "".join(
            "<table:table-cell/>" if cell is None else ODS_CELL.format("float", "value", cell) for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    data = office.spreadsheet(xml)
    sheet = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
    expected = [sheet_cells.line(row, 1, None) for row in sheet.to_python(skip_empty_area=False)]
    assert _lines(io.BytesIO(data), Area(first)) == expected[first - 1 :]


def test_workbooks_of_excel_before_2007_are_read() -> None:
    book = xlwt.Workbook()
    sheet = book.add_sheet("Old")
    for row, column, value in ((1, 1, "x"), (2, 0, 1.5), (2, 2, True)):
        sheet.write(row, column, value)
    book.add_sheet("Secret").visibility = 1
    file = io.BytesIO()
    book.save(file)
    opened = open_document(file)
    assert list(opened.titles) == ["Old", "Secret"]
    assert list(opened.part(1).lines) == ["", "\tx", "1.5\t\tTRUE"]
    assert opened.part(1, Area(3, 3, 1, 1)) == Part(
        1, "Old", ["1.5"], header="", first_row=3, total_rows=3, notes=[]
    )
    assert list(opened.part(2).notes) == ["This sheet is hidden."]


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_a_workbook_with_damage_beside_its_cells_shows_them(mark: bytes) -> None:
    book = xlwt.Workbook()
    book.add_sheet("Old").write(1, 1, "x")
    data = bytearray(old_workbooks.saved(book))
    data[28:30] = mark  # which says in which order bytes stand
    part = open_document(io.BytesIO(bytes(data))).part(1)
    assert list(part.lines) == ["", "\tx"]
    assert any("damaged" in note for note in part.notes) == (mark == b"\xff\xfe")


def test_old_and_encrypted_workbooks_are_told_apart() -> None:
    assert refused(open_document, io.BytesIO(office.ole("EncryptedPackage"))).problem == "it is encrypted"
    assert refused(open_document, io.BytesIO(office.ole("Workbook"))).problem == "its tables are damaged"


HOSTILE = [name for name in office.FILES if name.endswith((".xlsx", ".ods")) and name != "million-rows.xlsx"]
"""The largest has a test of its own, above."""


@each("name", HOSTILE)
def test_hostile_workbooks_are_read_or_refused_with_advice(name: str) -> None:
    problem = survives(open_document, office.FILES[name]())
    assert (problem is None) == (name in office.READABLE)
    assert problem is None or problem.advice


def test_a_workbook_cut_or_changed_anywhere_is_read_or_refused() -> None:
    whole = _saved([["a", 1], ["b", 2]]).getvalue()
    for size in range(0, len(whole), 499):
        assert survives(open_document, whole[:size]) is not None
    for at in range(0, len(whole), 61):
        survives(open_document, whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
    sheet = _members(io.BytesIO(whole))["xl/worksheets/sheet1.xml"]
    for size in range(0, len(sheet), 3):
        survives(
            open_document,
            zipped(_members(io.BytesIO(whole)) | {"xl/worksheets/sheet1.xml": sheet[:size]}).getvalue(),
        )


def test_a_workbook_of_excel_2_is_read() -> None:
    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    cell = struct.pack("<HH3x", 0, 0) + b"\x04name"
    number = struct.pack("<HH3xd", 0, 1, 1.5)
    data = b"".join((record(9, b"\2\0\x10\0"), record(4, cell), record(3, number), record(10, b"")))
    opened = open_document(io.BytesIO(data))
    assert (list(opened.part(1).lines), list(opened.part(1).notes)) == (["name\t1.5"], [])
    found = recognise("old.xls", data)
    assert found is not None
    assert found.format == "xls"
