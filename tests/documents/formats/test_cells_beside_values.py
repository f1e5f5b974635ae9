"""What stands beside the value of a cell: comments, and the formula that it comes from."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator

import openpyxl
import pytest
import xlwt
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.comments import Comment
from openpyxl.formula.translate import Translator

from readroom.core.stores.memory import MemoryStore
from readroom.core.workspace import Workspace
from readroom.documents.formats.sheets.formulas import shifted
from tests.documents.formats.packages import relations, zipped
from tests.hostile import office
from tests.laws.driving import fact


def saved(book: openpyxl.Workbook | xlwt.Workbook) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def commented() -> bytes:
    book = openpyxl.Workbook()
    book.active.append(["Name", "Sum"])
    book.active.append(["a", 7])
    book.active["B2"].comment = Comment("Ann:\nplease check", "Ann")
    book.active["D5"].comment = Comment("far away", "Bob")
    return saved(book)


def threaded() -> bytes:
    """A thread as Excel writes it, with the comment that stands in for it."""
    main = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    threads = 'xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"'
    entries = {
        "xl/worksheets/_rels/sheet1.xml.rels": relations(
            ("r1", "comments", "../comments1.xml"), ("r2", "threadedComment", "../threadedComments/t1.xml")
        ),
        "xl/comments1.xml": f"<comments {main}><authors><author>tc=1</author></authors><commentList>"
        '<comment ref="A1" authorId="0"><text><t>[Threaded comment] Your version of Excel</t></text>'
        "</comment></commentList></comments>",
        "xl/threadedComments/t1.xml": f"<ThreadedComments {threads}>"
        '<threadedComment ref="A1" personId="p1" id="1"><text>Is this right?</text></threadedComment>'
        '<threadedComment ref="A1" personId="p2" id="2" parentId="1"><text>Yes.</text></threadedComment>'
        "</ThreadedComments>",
        "xl/persons/person.xml": f'<personList {threads}><person displayName="Ann" id="p1"/>'
        '<person displayName="Bob" id="p2"/></personList>',
    }
    with zipfile.ZipFile(io.BytesIO(office.workbook('<row r="1"><c r="A1"><v>5</v></c></row>'))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    key = "xl/_rels/workbook.xml.rels"
    person = relations(("rp", "person", "persons/person.xml")).partition("<Relationship ")[2]
    person = "<Relationship " + person.partition("/>")[0] + "/></Relationships>"
    members[key] = members[key].replace(b"</Relationships>", person.encode())
    return zipped({**members, **entries}).getvalue()


def old() -> bytes:
    book = xlwt.Workbook()
    book.add_sheet("s").write(0, 0, "x")
    return saved(book)


def annotated() -> bytes:
    return office.spreadsheet(
        '<table:table-row><table:table-cell office:value-type="float" office:value="5">'
        '<office:annotation><dc:creator xmlns:dc="http://purl.org/dc/elements/1.1/">Ann</dc:creator>'
        "<text:p>please</text:p><text:p>check</text:p></office:annotation><text:p>5</text:p></table:table-cell>"
        '<table:table-cell office:value-type="float" office:value="10" '
        'table:formula="of:=[.A1]*2+[$Other.B3]">'
        "<text:p>10</text:p></table:table-cell></table:table-row>"
    )


def computed() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append([2, "=A1*2"])
    sheet.append(["text", '=IF(A1>1,"a<b",SUM($A$1:A2))'])
    return saved(book)


@pytest.fixture(scope="module")
def space() -> Iterator[Workspace]:
    files = {
        "commented.xlsx": commented(), "threaded.xlsx": threaded(), "annotated.ods": annotated(),
        "computed.xlsx": computed(), "old.xls": old(), "plain.txt": b"x\n",
    }  # fmt: skip
    with Workspace(MemoryStore(files)) as found:
        yield found


def test_a_comment_is_shown_with_its_cell(space: Workspace) -> None:
    text = space.read("commented.xlsx").text
    assert "2\ta\t7 [comment: Ann: please check]\n" in text
    assert "5\t\t\t\t[comment: Bob: far away]\n" in text


def test_a_thread_is_shown_once_with_its_answers(space: Workspace) -> None:
    text = space.read("threaded.xlsx").text
    assert "1\t5 [comment: Ann: Is this right? / Bob: Yes.]\n" in text
    assert "Your version of Excel" not in text


def test_an_annotation_is_shown_with_its_cell(space: Workspace) -> None:
    assert "1\t5 [comment: Ann: please check]\t10\n" in space.read("annotated.ods").text


def test_comments_are_found_by_a_search_of_documents(space: Workspace) -> None:
    reply = space.call("grep_files", {"pattern": "please check|Is this right", "documents": True})
    assert all(name in reply.text for name in ("commented.xlsx", "threaded.xlsx", "annotated.ods"))


def test_formulas_are_shown_when_they_are_asked_for(space: Workspace) -> None:
    text = space.read("computed.xlsx", view="formulas").text
    assert '1\t2\t=A1*2\n2\ttext\t=IF(A1>1,"a<b",SUM($A$1:A2))\n' in text
    assert (
        "1\t5 [comment: Ann: please check]\t=A1*2+Other!B3\n"
        in space.read("annotated.ods", view="formulas").text
    )


def test_formulas_filled_down_are_those_of_each_cell() -> None:
    rows = (
        '<row r="1"><c r="A1"><v>1</v></c><c r="B1"><f t="shared" ref="B1:B3" si="0">A1*$C$1</f></c></row>'
        '<row r="2"><c r="B2"><f t="shared" si="0"/><v>2</v></c></row>'
        '<row r="3"><c r="B3"><f t="shared" si="0"/><v>3</v></c>'
        '<c r="C3"><f t="array" ref="C3">SUM(A1:A2)</f></c></row>'
    )
    with Workspace(MemoryStore({"a.xlsx": office.workbook(rows)})) as space:
        text = space.read("a.xlsx", view="formulas").text
        assert "1\t1\t=A1*$C$1\n2\t\t=A2*$C$1\n3\t\t=A3*$C$1\t{=SUM(A1:A2)}\n" in text
        assert "3\t\t=A3*$C$1\t" in space.read("a.xlsx", view="formulas", pages="A3:C3").text


@pytest.mark.parametrize("path", ["plain.txt", "old.xls"])
def test_formulas_of_what_has_none_are_refused_with_a_call_that_works(space: Workspace, path: str) -> None:
    error = fact(space.call("read_file", {"path": path, "view": "formulas"}), "error")
    assert error["code"] == "bad_value"
    assert not space.call(error["next"]["tool"], error["next"]["arguments"]).is_error


@given(
    st.sampled_from(
        ["A1+$B2-C$3", "SUM(A1:B9)*2", "IF(A1=\"B2\",Sheet1!C3,'My A1'!D4)", "LOG10(A10)+A1B", "$A:C", "4:$6"]
    ),
    st.integers(1, 50),
    st.integers(1, 50),
)
@settings(deadline=None, max_examples=30)
def test_a_shifted_formula_is_what_openpyxl_makes_of_it(formula: str, row: int, column: int) -> None:
    target = f"{openpyxl.utils.get_column_letter(column + 1)}{row + 1}"
    expected = Translator(f"={formula}", origin="A1").translate_formula(target)
    assert f"={shifted(formula, row, column)}" == expected
