"""Notes say what is true, in plurals that a reader knows."""

from __future__ import annotations

import io

from readroom.core.stores.memory import MemoryStore
from readroom.documents.formats import omission_note
from readroom.documents.formats.html import open_document as open_page
from readroom.documents.formats.sheets import open_document
from tests.documents.formats.packages import NAMESPACES, package, relations
from tests.each import each
from tests.laws.driving import Driver

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


@each(
    ("kind", "several"),
    [
        ("text box", "text boxes"), ("header or footer", "headers or footers"), ("link to it", "links to it"),
        ("document property", "document properties"), ("copy", "copies"), ("query", "queries"),
        ("box of a branch", "boxes of a branch"), ("class or branch", "classes or branches"),
        ("dash", "dashes"), ("key", "keys"),
    ],
)  # fmt: skip
def test_several_are_named_in_the_plural(kind: str, several: str) -> None:
    assert omission_note({kind: 1}) == [f"Not shown: 1 {kind}."]
    assert omission_note({kind: 2}) == [f"Not shown: 2 {several}."]


def test_a_declaration_is_no_comment() -> None:
    page = b'<?xml version="1.0" encoding="utf-8"?>\n<html><body><p>x</p></body></html>'
    assert list(open_page(io.BytesIO(page)).part(1).notes) == []
    counted = open_page(io.BytesIO(b"<?xml-stylesheet href='a'?><p>x</p><!-- a --><!-- b -->")).part(1).notes
    assert list(counted) == ["Not shown: 2 comments, 1 processing instruction."]


def _workbook(kind: str | None, *, target: str = "worksheets/sheet1.xml") -> bytes:
    entries = [] if kind is None else [("r1", kind, target)]
    cell = '<c r="A1" t="s"><v>0</v></c><c r="B1"><v>4712</v></c>'
    return package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"<workbook {_MAIN} {NAMESPACES}><sheets>"
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": "<broken" if kind == "" else relations(*entries),
            "xl/sharedStrings.xml": f"<sst {_MAIN}><si><t>WORD</t></si></sst>",
            "xl/worksheets/sheet1.xml": f'<worksheet {_MAIN}><sheetData><row r="1">{cell}</row>'
            "</sheetData></worksheet>",
        }
    ).getvalue()


@each(
    ("kind", "lines", "note"),
    [
        ("worksheet", ["WORD\t4712"], ""),
        ("xlMacrosheet", ["WORD\t4712"], ""),
        ("chartsheet", [], "It is a chart and has no cells."),
        ("dialogsheet", [], "It is a dialog and has no cells."),
        ("tablet", [], "It is a part of the kind tablet, which has no cells."),
        (None, ["WORD\t4712"], "The file does not say which part it is; xl/worksheets/sheet1.xml is shown."),
        ("", ["WORD\t4712"], "The file does not say which part it is; xl/worksheets/sheet1.xml is shown."),
    ],
)
def test_a_sheet_without_a_part_is_no_chart(kind: str | None, lines: list[str], note: str) -> None:
    part = open_document(io.BytesIO(_workbook(kind))).part(1)
    assert (list(part.lines), list(part.notes[:1])) == (lines, [note] if note else [])


def test_a_sheet_whose_part_is_nowhere_is_no_chart() -> None:
    data = package(
        {
            "_rels/.rels": relations(("r1", "officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f"<workbook {_MAIN} {NAMESPACES}><sheets>"
            '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        }
    )
    assert list(open_document(data).part(1).notes) == ["Its part is missing in the file."]


def test_contents_of_one_sheet_name_it_and_those_of_a_page_say_that_there_are_none() -> None:
    driver = Driver(MemoryStore({"a.xlsx": _workbook("worksheet"), "a.rtf": rb"{\rtf1 words}"}))
    assert "1\tS (sheet 1)" in next(driver.pages("read_file", path="a.xlsx", pages="contents")).text
    reply = next(driver.pages("read_file", path="a.rtf", pages="contents")).text
    assert "[It has no table of contents.]" in reply
    assert "[empty]" not in reply
    driver.workspace.close()
