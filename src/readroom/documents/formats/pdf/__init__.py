"""PDF, by pypdfium2: pages of text in reading order, and pages as images: without text, or on demand.

Only requested pages are read. Lines end where PDFium or the positions of characters show
it; a word hyphenated there is joined again, so that it can be found. Values of form fields and notes are
shown in place.

Knows: what PDFium says about a page.
Does not know: files and processes.
May be touched: freely.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import BinaryIO, final

import pypdfium2
from msgspec.structs import replace
from pypdfium2 import raw

from readroom.core.formats.regions import WHOLE, Region
from readroom.documents import formats
from readroom.documents.formats.pdf import carried, drawn
from readroom.documents.formats.pdf import text as pdf_text
from readroom.documents.formats.pdf.fields import Fields
from readroom.documents.formats.pdf.unseen import Layers
from readroom.documents.limits import DOCUMENT_CONTENTS

_MAX_DEPTH = 12
"""Maximum headings of the table of contents."""

_OTHER_COPY = "Ask the user for another copy."


@final
class Pdf:
    """An opened PDF."""

    unit = formats.Unit.PAGE

    def __init__(self, document: pypdfium2.PdfDocument, file: BinaryIO) -> None:
        self._document = document
        self._fields = Fields(document, lambda: pypdfium2.PdfDocument(file))
        self._layers = Layers(file, lambda: pypdfium2.PdfDocument(file))
        self.titles: Sequence[str] = [""] * len(document)
        self.contents = _contents(document)

    def part(self, number: int, area: formats.Area | None = None) -> formats.Part:
        """The page with this number."""
        part = self.text_part(number)
        page = self._page(number)
        if self._is_picture(page, part):
            return replace(part, pictures=[formats.Picture(drawn.rendered(page, WHOLE), "image/png")])
        figures = drawn.figures(page)
        return replace(part, figures=figures, drawn=drawn.size_of(page, WHOLE)) if figures else part

    def picture_of(self, number: int, region: Region) -> formats.Part:
        """A region of the page with this number as a picture."""
        picture = formats.Picture(drawn.rendered(self._page(number), region), "image/png")
        return formats.Part(number, "", (), pictures=[picture])

    def text_part(self, number: int) -> formats.Part:
        """The page with this number, without rendering it."""
        page = self._page(number)
        beside = self._fields.of(page, number)
        try:
            textpage = page.get_textpage()
            unseen = self._layers.unseen(page, number, textpage)
            beside.dropped.update(unseen.counts)
            lines = pdf_text.lines(textpage, beside.placed, unseen.indexes)
        except pypdfium2.PdfiumError:
            lines = [line for placed in beside.placed for line in placed.lines]
        if number == 1:
            beside.dropped.update(carried.of_document(self._document))
        return formats.Part(number, "", lines, notes=formats.omission_note(beside.dropped))

    def _is_picture(self, page: pypdfium2.PdfPage, part: formats.Part) -> bool:
        """Whether it shows something but has no text other than that of fields."""
        if raw.FPDFPage_CountObjects(page) <= 0 and raw.FPDFPage_GetAnnotCount(page) <= 0:
            return False
        return not part.lines or not page.get_textpage().get_text_range(errors="replace").strip()

    def _page(self, number: int) -> pypdfium2.PdfPage:
        try:
            return self._document[number - 1]
        except pypdfium2.PdfiumError:
            raise formats.Unreadable(
                "its description is damaged", "Read other pages, or ask for another copy."
            ) from None


def open_document(file: BinaryIO) -> formats.Document:
    """Open a PDF. Raises Unreadable."""
    try:
        document = pypdfium2.PdfDocument(file)
        if document.get_formtype() != raw.FORMTYPE_NONE:
            document.init_forms()
        return Pdf(document, file)
    except pypdfium2.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise formats.Encrypted(
                "it is encrypted and opens only with a password", "Ask the user for a copy without one."
            ) from None
        raise formats.Unreadable(
            "it is damaged: its objects or its first page cannot be found", _OTHER_COPY
        ) from None


def _contents(document: pypdfium2.PdfDocument) -> list[formats.Heading]:
    """The outline; an entry that leads nowhere in this document is left out."""
    headings = []
    for entry in itertools.islice(document.get_toc(max_depth=_MAX_DEPTH), DOCUMENT_CONTENTS):
        destination = entry.get_dest()
        page = None if destination is None else destination.get_index()
        title = entry.get_title().strip()
        if page is not None and title:
            headings.append(formats.Heading(entry.level + 1, title, page + 1))
    return headings
