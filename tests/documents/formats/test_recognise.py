"""Kinds of documents by their first bytes and names, as the libraries of office programs write them."""

from __future__ import annotations

import io

import docx
import openpyxl
import pptx
import pytest

from readroom.core.formats.kinds import recognise
from readroom.core.formats.registry import table
from readroom.core.limits import HEAD_BYTES
from tests.documents.formats.packages import zipped
from tests.each import each
from tests.hostile import office


def _format(name: str, data: bytes) -> str | None:
    found = recognise(name, data[:HEAD_BYTES])
    return None if found is None else found.format


def test_files_of_office_libraries_are_told_apart_under_any_name() -> None:
    word, slides, sheets = io.BytesIO(), io.BytesIO(), io.BytesIO()
    docx.Document().save(word)
    pptx.Presentation().save(slides)
    openpyxl.Workbook().save(sheets)
    for name in ("x", "x.zip", "x.bin"):
        assert [_format(name, file.getvalue()) for file in (word, slides, sheets)] == ["docx", "pptx", "xlsx"]


def test_an_archive_of_documents_is_an_archive() -> None:
    """Its members have members of their own, and folders are named as anybody likes."""
    word = io.BytesIO()
    docx.Document().save(word)
    for compression in (0, 8):
        outer = zipped({"report.docx": word.getvalue(), "x.txt": "x"}, compression=compression).getvalue()
        assert _format("all.zip", outer) is None
    assert _format("site.zip", zipped({"word/list.txt": "x", "xl/y": "y"}).getvalue()) is None


@each(
    ("name", "data", "kind"),
    [
        ("report.xls", b"<html><table><tr><td>7</td></tr></table></html>", "html"),
        ("report.xls", b'\xef\xbb\xbf\r\n<TABLE border="1">', "html"),
        ("letter.doc", b"MIME-Version: 1.0\nContent-Type: multipart/related\n", "eml"),
        ("letter.docx", b"{\\rtf1 x}", "rtf"),
        ("page.html", "<p>words</p>".encode("utf-16"), "html"),
        ("page.html", b"<p>\0", None),
        ("page.mht", b"From: <Saved by Blink>\n", "eml"),
        ("letter.msg", b"Received: from a.test\r\n by b.test\r\nSubject: x\r\n\r\ntext", "eml"),
        ("letter.msg", b'msgid ""\nmsgstr: x\n', None),
        ("letter.eml", b"Subject: x\n\n\x78\x9f\x3e\x22\0\0", "eml"),
        ("letter.eml", b"Subj\0ect: x\n\n", None),
        ("template.oft", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "msg"),
        ("winmail.dat", b"\x78\x9f\x3e\x22\1\0", "tnef"),
        ("table.xls", b"a,b\n1,2\n", None),
        ("table.csv", b"<html>", None),
        ("letter.rtf", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "doc"),
        *[(f"empty.{ending}", b"", None) for ending in ("rtf", "eml", "mbox", "ipynb", "docx", "html")],
    ],
)
def test_texts_under_names_of_office_are_what_they_are(name: str, data: bytes, kind: str | None) -> None:
    assert _format(name, data) == kind


def test_a_document_of_office_under_the_name_of_another_kind_is_what_it_is() -> None:
    word, sheets = io.BytesIO(), io.BytesIO()
    docx.Document().save(word)
    openpyxl.Workbook().save(sheets)
    names = ("x.xlsx", "x.docx", "x.odt", "x.epub", "x.pdf")
    assert [_format(name, word.getvalue()) for name in names] == ["docx"] * 5
    assert [_format(name, sheets.getvalue()) for name in names] == ["xlsx"] * 5
    assert _format("x.xlsb", sheets.getvalue()) == "xlsx"
    assert _format("x.docx", zipped({"a.txt": "x"}).getvalue()) == "docx"  # its reader says what is missing


@each(
    ("mimetype", "kind"),
    [
        ("application/epub+zip", "epub"),
        ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
        ("application/vnd.oasis.opendocument.text", "odt"),
        ("application/vnd.oasis.opendocument.text-template", "odt"),
        ("application/vnd.oasis.opendocument.presentation", "odp"),
        ("application/vnd.oasis.opendocument.graphics", "odp"),
        ("application/vnd.oasis.opendocument.formula", None),
    ],
)
def test_a_stored_mimetype_tells(mimetype: str, kind: str | None) -> None:
    assert _format("x", zipped({"mimetype": mimetype, "x.xml": ""}, compression=0).getvalue()) == kind


@pytest.mark.parametrize(
    ("name", "kind"), [("a.doc", "doc"), ("A.XLS", "xls"), ("a.pps", "ppt"), ("a.msi", None), ("a", None)]
)
def test_files_of_old_office_programs_are_told_by_their_names(name: str, kind: str | None) -> None:
    assert _format(name, office.old_doc()) == kind
    assert kind is None or kind in table().rows
