"""Kinds of documents by their first bytes and names, as the libraries of office programs write them."""

from __future__ import annotations

import io

import docx
import openpyxl
import pptx
import pytest

from readroom.formats.documents import OPENERS
from readroom.formats.kinds import recognise
from readroom.limits import HEAD_BYTES
from tests.formats.documents.packages import zipped
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


@pytest.mark.parametrize(
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
    assert kind is None or kind in OPENERS
