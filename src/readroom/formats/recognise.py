"""Which documents are read as text, by their bytes and their name.

Bytes decide what they can decide: a PDF with any name is a PDF.  Archives of the
same make are told apart by what is in them or, where that stands far behind the
beginning, by their name.  A notebook is JSON, and HTML is text: only their names
say what they are, and whoever asks for their encoding means the text itself.
"""

from __future__ import annotations

from dataclasses import dataclass

PDF_MARK = b"%PDF-"
_PDF_WITHIN = 1024
"""Readers of PDF look for its mark in the first 1,024 bytes: mail gateways put lines before it."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Office before 2007, and everything since that is encrypted."""

_ZIP = b"PK\3\4"

_BY_MEMBER = (
    (b"word/", "docx"),
    (b"xl/", "xlsx"),
    (b"ppt/", "pptx"),
    (b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "ods"),
    (b"mimetypeapplication/epub+zip", "epub"),
)

_BY_NAME = {
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), "docx"),
    **dict.fromkeys(("xlsx", "xlsm", "xltx", "xltm", "xlsb"), "xlsx"),
    **dict.fromkeys(("pptx", "pptm", "ppsx", "ppsm", "potx", "potm"), "pptx"),
    "ods": "ods",
    "epub": "epub",
}

_OLD = {"xls": "xls", "xlt": "xls", "doc": "doc", "dot": "doc", "ppt": "ppt", "pps": "ppt"}
"""Office before 2007: sheets are read, of the others it is said what to ask for."""

_TEXTS = {"ipynb": "ipynb", "html": "html", "htm": "html", "xhtml": "html"}

WITH_FORMULAS = frozenset({"xlsx", "ods"})
"""Kinds of documents whose cells can show their formulas."""

SEARCHED = frozenset({"pdf", "ipynb", "xls", *_BY_NAME})
"""Endings of the documents that a search of documents looks into; HTML is searched as the text it is."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """A kind of document.

    Attributes:
        format: As in `documents.OPENERS`.
        is_text: It can be read as plain text, too.
        only_asked: It is read as a document only when parts of it are asked for.
    """

    format: str
    is_text: bool = False
    only_asked: bool = False


def reads_as_cells(path: str) -> bool:
    """Whether a file's name says that it is a notebook, whose lines as plain text are others."""
    return suffix(path) == "ipynb"


def suffix(path: str) -> str:
    """What follows the last full stop of a name, in lower case; empty without one."""
    name, dot, found = path.rpartition("/")[2].rpartition(".")
    return found.lower() if dot and name else ""


def recognise(path: str, head: bytes) -> Recognised | None:
    """The kind of document that a file is, by its name and first bytes; None for none."""
    if head.startswith(PDF_MARK):
        return Recognised("pdf")
    if head.startswith(_ZIP):
        return _archive(path, head)
    ending = suffix(path)
    if ending in _TEXTS:
        kind = _TEXTS[ending]
        return None if b"\0" in head else Recognised(kind, is_text=True, only_asked=kind == "html")
    if ending in _BY_NAME and head.startswith(_OLE):
        return Recognised(_BY_NAME[ending])  # encrypted, or of an older format: its reader tells
    if ending in _OLD and head.startswith(_OLE):
        return Recognised(_OLD[ending])
    if ending == "pdf" and PDF_MARK in head[:_PDF_WITHIN]:
        return Recognised("pdf")
    return None


def _archive(path: str, head: bytes) -> Recognised | None:
    named = _BY_NAME.get(suffix(path))
    found = next((kind for mark, kind in _BY_MEMBER if mark in head), None)
    if found is None and b"mimetypeapplication/" in head[:64]:
        return None  # an OpenDocument of another sort
    # Members can hold members: the name decides between what the bytes leave open.
    kind = named or found
    return None if kind is None else Recognised(kind)
