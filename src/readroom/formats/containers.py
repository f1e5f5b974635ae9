"""Which kind of document a ZIP or an OLE file is, by its first bytes.

For the classification of files, which has the head of a file and nothing else.
The names of an archive's members stand uncompressed in front of each member, and
every program writes the tell-tale ones near the start; a kind told so is a reason
to start the extractor, which looks at the whole directory and may still refuse.
"""

from __future__ import annotations

from collections.abc import Mapping

ZIP_MAGIC = (b"PK\3\4", b"PK\5\6", b"PK\7\x08")
OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

MARKS: Mapping[bytes, str] = {
    b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet": "ods",
    b"mimetypeapplication/epub+zip": "epub",
    b"word/": "docx",
    b"ppt/": "pptx",
    b"xl/": "xlsx",
}
"""Kind of document (a key of `documents.OPENERS`) by what stands in its head.  The two with a member
`mimetype` have it first and stored, as their standards demand; the others have these folders."""

OFFICE = (b"[Content_Types].xml", b"_rels/.rels", b"docProps/")
"""One of these is in the head of every Office Open XML file; `word/` alone may be any archive."""


def document_kind(head: bytes) -> str | None:
    """The kind of document that a file starting with `head` is, as a key of `documents.OPENERS`.

    Give it HEAD_BYTES, or all of a smaller file.  None for every other ZIP, for an
    OpenDocument text or presentation, and for what is neither ZIP nor OLE.  Every OLE
    file is "ole": its extractor reads workbooks of Excel before 2007 and tells of
    others what they are (encrypted, Word, PowerPoint) and what to do.
    """
    if head.startswith(OLE_MAGIC):
        return "ole"
    if not head.startswith(ZIP_MAGIC):
        return None
    office = any(mark in head for mark in OFFICE)
    for mark, kind in MARKS.items():
        if mark in head and (office or mark.startswith(b"mimetype")):
            return kind
    return None
