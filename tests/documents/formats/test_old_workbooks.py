"""Workbooks of Excel before 2007 that other programs open are read: any spelling of names, sparse ones."""

from __future__ import annotations

import xlwt

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from tests.documents.formats.old_workbooks import comment, renamed, saved
from tests.suites import daily


def _book() -> xlwt.Workbook:
    book = xlwt.Workbook()
    book.add_sheet("Old").write(0, 0, "words of it")
    return book


@daily(2, "name", ["WORKBOOK", "BOOK", "Book", "workbook", "book", "wORKbOOK"])
def test_the_stream_of_a_workbook_is_found_in_any_case(name: str) -> None:
    with Workspace(MemoryStore({"a.xls": renamed(saved(_book()), name)})) as space:
        assert "1\twords of it" in space.read("a.xls").text


def test_two_cells_in_opposite_corners_are_read() -> None:
    book = _book()
    book.get_sheet(0).write(65_535, 255, "last")
    with Workspace(MemoryStore({"a.xls": saved(book)})) as space:
        assert "1\twords of it" in space.read("a.xls").text
        assert space.read("a.xls", offset=-1).text.count("\tlast") == 1
        assert "65536:" in space.call("grep_files", {"pattern": "last", "documents": True}).text


def test_a_comment_is_shown_with_its_cell() -> None:
    book = _book()
    comment(book.get_sheet(0), 2, 1, "Ann", "please check")
    with Workspace(MemoryStore({"a.xls": saved(book)})) as space:
        assert "3\t\t[comment: Ann: please check]" in space.read("a.xls").text
