"""Kinds of documents by their first bytes, as real programs' libraries write them."""

from __future__ import annotations

import io

import docx
import openpyxl
import pptx
import pytest

from readroom.formats.containers import document_kind
from readroom.limits import HEAD_BYTES
from tests.formats.packages import zipped
from tests.hostile import office


def _head(file: io.BytesIO) -> bytes:
    return file.getvalue()[:HEAD_BYTES]


def test_files_of_office_libraries_are_told_apart() -> None:
    word, slides, sheets = io.BytesIO(), io.BytesIO(), io.BytesIO()
    docx.Document().save(word)
    pptx.Presentation().save(slides)
    openpyxl.Workbook().save(sheets)
    assert [document_kind(_head(file)) for file in (word, slides, sheets)] == ["docx", "pptx", "xlsx"]


@pytest.mark.parametrize(
    ("mimetype", "kind"),
    [
        ("application/epub+zip", "epub"),
        ("application/vnd.oasis.opendocument.spreadsheet", "ods"),
        ("application/vnd.oasis.opendocument.text", None),
        ("text/plain", None),
    ],
)
def test_a_stored_mimetype_tells(mimetype: str, kind: str | None) -> None:
    assert document_kind(_head(zipped({"mimetype": mimetype, "x.xml": ""}, compression=0))) == kind


def test_other_archives_and_other_files_are_no_documents() -> None:
    for members in ({"word/list.txt": ""}, {"a.txt": "ppt/"}, {"META-INF/MANIFEST.MF": ""}):
        assert document_kind(_head(zipped(members))) is None
    assert document_kind(b"") is None
    assert document_kind(b"[Content_Types].xml word/") is None


def test_every_ole_file_goes_to_the_extractor_that_knows_them() -> None:
    assert document_kind(office.encrypted_docx()) == "ole"
