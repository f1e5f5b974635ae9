"""Word and PowerPoint before 2007, and binary workbooks: what is shown, and how."""

from __future__ import annotations

import io
import struct

import pytest
import xlwt

from readroom.documents.formats import Encrypted, doc, docx, ppt, pptx, sections, sheets
from tests.documents.formats import compounds, old_workbooks
from tests.documents.formats.compounds import CELL, ROW_END, Word, drawing, shape
from tests.documents.formats.packages import refused
from tests.each import each
from tests.hostile import letters, office

_OUTLINE = 0x2640


def test_headings_of_an_old_document_make_sections() -> None:
    word = Word()
    for level, words in ((0, "One"), (1, "Sub"), (0, "Two")):
        word.paragraph(words, (_OUTLINE, level))
        word.paragraph(f"text of {words}")
    document = doc.open_document(io.BytesIO(word.build()))
    assert document.titles == ["One", "Two"]
    assert document.part(1).lines == ["# One", "text of One", "", "## Sub", "text of Sub"]
    assert [(at.level, at.title, at.part) for at in document.contents] == [
        (1, "One", 1),
        (2, "Sub", 1),
        (1, "Two", 2),
    ]


def test_a_table_of_an_old_document_has_rows() -> None:
    word = Word()
    for row in (("a", "b"), ("c", "d")):
        for words in row:
            word.paragraph(words, CELL, end="\x07")
        word.paragraph("", CELL, ROW_END, end="\x07")
    word.paragraph("behind")
    assert doc.open_document(io.BytesIO(word.build())).part(1).lines == ["a | b", "c | d", "behind"]


def test_fields_in_fields_show_their_results() -> None:
    word = Word()
    word.paragraph('a \x13IF \x13PAGE\x141\x15 = 1\x14yes\x15 \x13HYPERLINK "https://x.test/y"\x14here\x15 z')
    assert doc.open_document(io.BytesIO(word.build())).part(1).lines == ["a yes [here](https://x.test/y) z"]


def _form_field(kind: int, state: int, usual: int = 0, entries: tuple[str, ...] = ()) -> bytes:
    """The properties of a field of a form, as the stream of data has them."""
    bits = kind | state << 2 | (0x8000 if entries else 0)
    none = struct.pack("<HH", 0, 0)
    body = b"\xff\xff\xff\xff" + struct.pack("<HHH", bits, 0, 0)
    body += struct.pack("<H", 4) + "Name".encode("utf-16-le") + b"\0\0" + struct.pack("<H", usual) + 5 * none
    body += struct.pack("<HHH", 0xFFFF, len(entries), 0) if entries else b""
    body += b"".join(struct.pack("<H", len(entry)) + entry.encode("utf-16-le") for entry in entries)
    return struct.pack("<IH", 68 + len(body), 68) + bytes(62) + body


@each(
    ("code", "field", "line", "notes"),
    [
        ("FORMCHECKBOX", _form_field(1, 1), "a [x] b", []),
        ("FORMCHECKBOX", _form_field(1, 0), "a [ ] b", []),
        ("FORMCHECKBOX", _form_field(1, 25, usual=1), "a [x] b", []),
        ("FORMDROPDOWN", _form_field(2, 1, entries=("one", "two")), "a two b", ["1 unselected choice"]),
        ("FORMDROPDOWN", _form_field(2, 25, 1, ("one", "two")), "a two b", ["1 unselected choice"]),
        ("FORMDROPDOWN", _form_field(2, 7, 0, ("one",)), "a  b", ["1 form control"]),
        ("FORMCHECKBOX", b"", "a  b", ["1 form control"]),
        ("FORMCHECKBOX", _form_field(1, 1)[:75], "a  b", ["1 form control"]),
    ],
)
def test_boxes_and_lists_of_a_form_of_an_old_document_show_their_state(
    code: str, field: bytes, line: str, notes: list[str]
) -> None:
    word = Word()
    word.paragraph(f"a \x13{code} \x01\x14\x15 b")
    word.refer("\x01", 30)
    part = doc.open_document(io.BytesIO(word.build(Data=bytes(30) + field))).part(1)
    assert part.lines == [line]
    assert part.notes == [f"Not shown: {note}." for note in notes]


def test_text_of_word_6_is_read_in_the_encoding_of_its_language() -> None:
    text = "Привет\r".encode("cp1251")
    data = compounds.word_6(text, language=0x419)
    assert doc.open_document(io.BytesIO(data)).part(1).lines == ["Привет"]


def test_old_documents_that_cannot_be_read_say_why() -> None:
    assert isinstance(refused(doc.open_document, io.BytesIO(letters.encrypted_doc())), Encrypted)
    assert isinstance(refused(ppt.open_document, io.BytesIO(letters.encrypted_ppt())), Encrypted)
    assert "table of its text" in refused(doc.open_document, io.BytesIO(letters.quick_saved_doc())).problem


def test_a_document_of_word_6_that_was_saved_in_a_quick_way_is_put_together() -> None:
    data = compounds.word_6(b"one\rtw", b"o and a half\r", b"three\r")
    assert doc.open_document(io.BytesIO(data)).part(1).lines == ["one", "two and a half", "three"]


def test_a_presentation_that_is_encrypted_from_its_last_save_on_is_no_damaged_one() -> None:
    """Its slides are bytes without sense, and only the list of the last save leads to what locks them."""
    locked, table = (
        compounds.record(0x2F14, bytes(8)),
        compounds.record(6002, struct.pack("<II", 1 << 20 | 3, 600)),
    )
    stream = bytes(range(256)) * 2 + bytes(88) + locked
    stream += table
    edit = compounds.record(
        4085, struct.pack("<IIIIIII", 0, 0, 0, 600 + len(locked), 1, 4, 0) + struct.pack("<I", 3)
    )
    user = struct.pack("<HHIIIII", 0, 4086, 20, 20, 0xE391C05F, len(stream), 0)
    data = compounds.compound({"PowerPoint Document": stream + edit, "Current User": user})
    assert isinstance(refused(ppt.open_document, io.BytesIO(data)), Encrypted)


def test_what_is_embedded_in_a_file_is_not_what_it_is() -> None:
    data = compounds.compound({"Contents": bytes(64), "Object1/Workbook": bytes(64)})
    assert (
        refused(ppt.open_document, io.BytesIO(data)).problem
        == "it is a binary file of an older office program"
    )


def test_files_of_old_office_programs_are_read_as_what_they_are_whatever_their_names_say() -> None:
    word = Word()
    word.paragraph("a document")
    book = xlwt.Workbook()
    book.add_sheet("s").write(0, 0, 7)
    files = {
        "a document": word.build(),
        "# a slide": compounds.slides([[drawing(shape("a slide", 0))]]),
        "7": old_workbooks.saved(book),
    }
    for openers in (doc, ppt, sheets, docx, pptx):
        for line, data in files.items():
            assert openers.open_document(io.BytesIO(data)).part(1).lines[0] == line
    unknown = io.BytesIO(office.ole("Contents"))
    assert refused(docx.open_document, unknown).problem == "it is a binary file of an older office program"


def test_a_presentation_of_powerpoint_95_is_named() -> None:
    data = compounds.compound({"PowerPoint Document": bytes(600), "PersistentStorage Directory": bytes(40)})
    assert refused(ppt.open_document, io.BytesIO(data)).problem == "it is in the format of PowerPoint 95"


def test_slides_have_titles_lists_and_notes() -> None:
    pages = [[drawing(shape("Title", 0), shape("one\rtwo\x0bmore", 1), shape("free"))], [drawing(shape("x"))]]
    notes = [drawing(shape("*", 4, 8), shape("spoken", 2, 12), shape("*", 4, 9), shape("Secret", 4, 10))]
    document = ppt.open_document(io.BytesIO(compounds.slides(pages, notes=notes)))
    assert document.titles == ["Title", ""]
    assert document.part(1).lines == [
        "# Title",
        "- one",
        "- two",
        "  more",
        "free",
        "",
        "Notes:",
        "spoken",
        "Secret",
    ]
    assert document.part(2).lines == ["x"]


def test_a_hidden_slide_says_so() -> None:
    hidden = compounds.record(1017, bytes(10) + b"\x04\0\0\0\0\0")
    document = ppt.open_document(io.BytesIO(compounds.slides([[drawing(shape("x")), hidden]])))
    assert sections.HIDDEN_SLIDE in document.part(1).notes


def test_pictures_of_a_slide_have_their_descriptions() -> None:
    document = ppt.open_document(io.BytesIO(compounds.slides([[drawing(compounds.picture("A map\rof it"))]])))
    assert document.part(1).lines == ["[picture: A map of it]"]


@pytest.mark.parametrize("has_macros", [0, 1])
def test_a_presentation_has_macros_where_it_says_so(has_macros: int) -> None:
    about = compounds.record(1023, [compounds.record(1024, struct.pack("<3I", 0, has_macros, 2))])
    document = ppt.open_document(io.BytesIO(compounds.slides([[drawing(shape("x"))]], beside=[about])))
    assert document.part(1).notes == (["Not shown: 1 macro project."] if has_macros else [])
