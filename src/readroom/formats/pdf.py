"""PDF by pypdfium2: the text of pages in their order, pages without text as images.

Only the pages that are asked for are looked at.  Lines end where PDFium sees that
they end; a word that is divided there is joined again, so that it is found.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Sequence
from typing import BinaryIO, final

import pypdfium2
from pypdfium2 import raw

from readroom.formats.documents import (
    Area,
    Document,
    Encrypted,
    Heading,
    Part,
    Picture,
    Unit,
    Unreadable,
)
from readroom.limits import IMAGE_LONG_SIDE
from readroom.limits_documents import DOCUMENT_CONTENTS

_NO_TEXT = str.maketrans("", "", "\x02\ufffe\0\r")
"""How PDFium marks a word that it has joined, and what broken fonts give for a character."""

_MAX_DEPTH = 12
"""Of the table of contents."""

_OTHER_COPY = "Ask the user for another copy."


@final
class Pdf:
    """An opened PDF."""

    unit = Unit.PAGE

    def __init__(self, document: pypdfium2.PdfDocument) -> None:
        self._document = document
        self.titles: Sequence[str] = [""] * len(document)
        self.contents = _contents(document)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The page with this number."""
        page = self._page(number)
        lines = _lines(page)
        if lines or not _shows_anything(page):
            return Part(number, "", lines)
        return Part(number, "", (), [Picture(_rendered(page), "image/png")])

    def text_part(self, number: int) -> Part:
        """The page with this number, without rendering it."""
        return Part(number, "", _lines(self._page(number)))

    def _page(self, number: int) -> pypdfium2.PdfPage:
        try:
            return self._document[number - 1]
        except pypdfium2.PdfiumError:
            raise Unreadable(
                "its description is damaged", "Read other pages, or ask for another copy."
            ) from None


def open_document(file: BinaryIO) -> Document:
    """Open a PDF. Raises Unreadable."""
    try:
        return Pdf(pypdfium2.PdfDocument(file))
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise Encrypted(
                "it is encrypted, and opens with a password only", "Ask the user for a copy without one."
            ) from None
        raise Unreadable(
            "it is damaged: its objects or its first page cannot be found", _OTHER_COPY
        ) from None


def _lines(page: pypdfium2.PdfPage) -> list[str]:
    try:
        textpage = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    text = textpage.get_text_range(errors="replace").translate(_NO_TEXT)
    lines = [line.rstrip() for line in text.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _shows_anything(page: pypdfium2.PdfPage) -> bool:
    return bool(raw.FPDFPage_CountObjects(page) > 0 or raw.FPDFPage_GetAnnotCount(page) > 0)


def _rendered(page: pypdfium2.PdfPage) -> bytes:
    """The page as a PNG whose long side is what models see; only this imports Pillow."""
    longest = max(*page.get_size(), 1)
    bitmap = page.render(scale=IMAGE_LONG_SIDE / longest)
    encoded = io.BytesIO()
    bitmap.to_pil().save(encoded, "PNG")
    return encoded.getvalue()


def _contents(document: pypdfium2.PdfDocument) -> list[Heading]:
    """The outline; an entry that leads nowhere in this document is left out."""
    found = []
    for entry in itertools.islice(document.get_toc(max_depth=_MAX_DEPTH), DOCUMENT_CONTENTS):
        destination = entry.get_dest()
        page = None if destination is None else destination.get_index()
        title = entry.get_title().strip()
        if page is not None and title:
            found.append(Heading(entry.level + 1, title, page + 1))
    return found
