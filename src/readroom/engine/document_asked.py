"""Whether a read of a file means the document that it is, or its plain text."""

from __future__ import annotations

from dataclasses import replace

from readroom.errors import BadValue
from readroom.formats.recognise import WITH_FORMULAS, Recognised, recognise
from readroom.model import ReadRequest


def asked_document(path: str, head: bytes, request: ReadRequest) -> Recognised | None:
    """The kind of document to be read; None where the bytes are to be read as they are.

    A notebook is a document unless an encoding is given, HTML one only where parts of
    it are asked for: both are texts, too, which can be edited.

    Args:
        path: The file's own name.
        head: Its first bytes.
        request: What is asked for.

    Raises:
        BadValue: `pages` of what has none, or `encoding` of what is no text.
    """
    found = recognise(path, head)
    if found is not None and request.encoding is not None and not found.is_text:
        raise BadValue(
            "encoding",
            request.encoding,
            f"means nothing in a document ({found.format})",
            "Leave it out.",
            next_request=replace(request, encoding=None),
        )
    if found is None or (found.is_text and request.encoding is not None):
        if request.view == "formulas":
            raise _no_formulas(request)
        if request.pages is None:
            return None
        raise BadValue(
            "pages",
            request.pages[:80],
            "is for documents, and this is plain text or another kind of file",
            "Use `offset` and `limit` for lines.",
            next_request=replace(request, pages=None),
        )
    if request.view == "formulas" and found.format not in WITH_FORMULAS:
        raise _no_formulas(request)
    return None if found.only_asked and request.pages is None else found


def _no_formulas(request: ReadRequest) -> BadValue:
    return BadValue(
        "view",
        request.view,
        "is for workbooks (.xlsx, .xlsm, .ods)",
        "Leave it out.",
        next_request=replace(request, view="text"),
    )
