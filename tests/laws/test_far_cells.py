"""A run of empty rows is one line: in every format of sheets, at every page, in searches and in areas."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping

import openpyxl
import pytest
import xlwt
from hypothesis import given, settings
from hypothesis import strategies as st

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats import Area
from readroom.documents.formats.sheets import open_document
from readroom.documents.formats.sheets.cells import EMPTY_COLUMNS, EMPTY_RUN
from tests.documents.formats import old_workbooks
from tests.each import each
from tests.hostile import office
from tests.laws.driving import Driver
from tests.suites import daily

Cells = Mapping[tuple[int, int], str]


def _xlsx(cells: Cells) -> bytes:
    book = openpyxl.Workbook()
    for (row, column), text in cells.items():
        book.active.cell(row, column, text)
    book.properties.creator = None
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _ods(cells: Cells) -> bytes:
    xml, at = "", 1
    for row in sorted({row for row, _ in cells}):
        xml += _empty("row", "rows", row - at, "<table:table-cell/>")
        inside, left = "", 1
        for column in sorted(column for number, column in cells if number == row):
            inside += _empty("cell", "columns", column - left, "")
            inside += (
                f'<table:table-cell office:value-type="string"><text:p>{cells[row, column]}</text:p>'
                "</table:table-cell>"
            )
            left = column + 1
        xml += f"<table:table-row>{inside}</table:table-row>"
        at = row + 1
    return office.spreadsheet(xml)


def _empty(name: str, repeated: str, count: int, inside: str) -> str:
    if not count:
        return ""
    return f'<table:table-{name} table:number-{repeated}-repeated="{count}">{inside}</table:table-{name}>'


def _xls(cells: Cells) -> bytes:
    book = xlwt.Workbook()
    sheet = book.add_sheet("s")
    for (row, column), text in cells.items():
        sheet.write(row - 1, column - 1, text)
    return old_workbooks.saved(book)


FORMATS: Mapping[str, tuple[Callable[[Cells], bytes], int, int]] = {
    "xlsx": (_xlsx, 1_048_576, 16_384),
    "ods": (_ods, 1_048_576, 16_384),
    "xls": (_xls, 65_536, 256),
}
every_format = pytest.mark.parametrize("form", FORMATS)


@every_format
def test_a_value_in_the_last_row_is_on_the_first_page(form: str) -> None:
    make, rows, columns = FORMATS[form]
    data = make({(1, 1): "top", (rows, 1): "FAR", (rows, columns): "CORNER"})
    driver = Driver(MemoryStore({f"a.{form}": data}))
    (reply,) = driver.pages("read_file", path=f"a.{form}")
    gap = f"2\t[rows 2-{rows - 1} are empty]\n{rows}\tFAR\t[columns B-"
    assert gap in reply.text
    assert f"rows 1-{rows} of {rows}" in reply.text
    assert reply.text.rstrip().endswith("CORNER\n[end of document]")
    driver.workspace.close()


@every_format
def test_a_search_says_the_row_and_finds_no_words_of_ours(form: str) -> None:
    make, rows, _ = FORMATS[form]
    driver = Driver(MemoryStore({f"a.{form}": make({(1, 1): "top", (9, 2): "mid", (rows, 1): "NEEDLE"})}))
    found = next(driver.pages("grep_files", path=".", pattern="NEEDLE|mid", documents=True)).text
    assert f"p1:{rows}" in found
    assert "p1:9" in found
    none = next(driver.pages("grep_files", path=".", pattern="are empty", documents=True)).text
    assert none.startswith("0 matches")
    driver.workspace.close()


@every_format
@each("offset", [2, 500, 60_000, -3])
def test_reading_on_from_within_a_run_says_the_rest_of_it(form: str, offset: int) -> None:
    make, rows, _ = FORMATS[form]
    driver = Driver(MemoryStore({f"a.{form}": make({(1, 1): "top", (rows, 1): "FAR"})}))
    reply = next(driver.pages("read_file", path=f"a.{form}", offset=offset)).text
    first = offset if offset > 0 else rows + offset + 1
    run = f"{first}\t[rows {first}-{rows - 1} are empty]\n"
    assert (run if rows - first >= EMPTY_RUN else f"{rows - 1}\t\n") + f"{rows}\tFAR" in reply
    assert "1\ttop" in reply
    driver.workspace.close()


@every_format
def test_an_area_ends_its_run_where_it_ends(form: str) -> None:
    make, rows, _ = FORMATS[form]
    document = open_document(io.BytesIO(make({(1, 1): "top", (rows, 1): "FAR"})))
    part = document.part(1, Area(1, 100))
    assert (list(part.lines), list(part.rows)) == (["top", "[rows 2-100 are empty]"], [1, 2, 101])
    part = document.part(1, Area(1, None, 2, 3))
    assert list(part.lines) == [f"[rows 1-{rows} are empty in these columns]"]


_PLACES = st.dictionaries(
    st.tuples(
        st.one_of(st.integers(1, 12), st.integers(1, 400), st.just(65_536)),
        st.one_of(st.integers(1, 4), st.integers(1, 250)),
    ),
    st.sampled_from(["a", "bb", "c" * 30, "d" * 2_500]),
    min_size=1,
    max_size=12,
)


@daily(1, "form", FORMATS)
@given(_PLACES, st.integers(1, 6))
@settings(max_examples=12, deadline=None)
def test_following_next_shows_every_cell_once_in_its_place(
    form: str, cells: dict[tuple[int, int], str], limit: int
) -> None:
    driver = Driver(MemoryStore({f"a.{form}": FORMATS[form][0](cells)}))
    lines: dict[int, str] = {}
    for reply in driver.pages("read_file", path=f"a.{form}", limit=limit):
        for number, rest, text in re.findall(r"^(\d+)(:\d+)?\t(.*)$", reply.text, re.MULTILINE):
            text = re.sub(r" \[\+\d+ chars\]$", "", text)
            if rest:
                lines[int(number)] = lines[int(number)][: int(rest[1:]) - 1] + text
            elif int(number) in lines:
                assert int(number) == 1  # the header, above a later page
            else:
                lines[int(number)] = text
    driver.workspace.close()
    assert _shown(lines) == cells
    assert all(_filled(lines, number) for number in lines)


def _filled(lines: Mapping[int, str], number: int) -> bool:
    """A run begins after its line before; every other line is one row."""
    run = re.fullmatch(r"\[rows (\d+)-(\d+) are empty\]", lines[number])
    return run is None or (int(run[1]) == number and not any(number < at <= int(run[2]) for at in lines))


def _shown(lines: Mapping[int, str]) -> Cells:
    """The cells that lines say, by row and column."""
    cells = {}
    for row, line in lines.items():
        if line.startswith("[rows "):
            continue
        column = 1
        for text in line.split("\t"):
            run = re.fullmatch(r"\[columns ([A-Z]+)-([A-Z]+) are empty\]", text)
            if run is not None:
                width = _number(run[2]) - _number(run[1]) + 1
                assert width >= EMPTY_COLUMNS
                assert _number(run[1]) == column
                column += width
                continue
            if text:
                cells[row, column] = text
            column += 1
    return cells


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number
