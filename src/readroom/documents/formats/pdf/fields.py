"""Text on a PDF page that is not page text, with its place: form fields, notes, stamps, signatures.

Values come from the fields themselves, which have them even when they are not drawn. What is only drawn, such
as stamps and signatures, is read from a second copy of the page: everything else is removed, the drawing is
merged into the page, and its text extracted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, final

import pypdfium2
from msgspec import Struct, field
from pypdfium2 import raw

from readroom.documents.formats import told
from readroom.documents.formats.pdf import text as pdf_text
from readroom.documents.formats.pdf.carried import ATTACHED, attached
from readroom.documents.formats.pdf.strings import ascii_text, wide_text
from readroom.documents.formats.pdf.text import Box, Placed

_UNSEEN = raw.FPDF_ANNOT_FLAG_HIDDEN | raw.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13
"""Flag of a text field whose value is shown as stars."""

_MEDIA = (
    raw.FPDF_ANNOT_SOUND,
    raw.FPDF_ANNOT_MOVIE,
    raw.FPDF_ANNOT_SCREEN,
    raw.FPDF_ANNOT_RICHMEDIA,
    raw.FPDF_ANNOT_THREED,
)
_DRAWN = (raw.FPDF_ANNOT_STAMP, raw.FPDF_ANNOT_WATERMARK)
_NO_FORM: Final = -1


class FieldTexts(Struct):
    """Content of a page outside of its text, and counts of what is not shown."""

    placed: list[Placed] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    drawn: list[tuple[int, Box, str]] = field(default_factory=list)
    """By index: annotations with content only in their drawing, and the text to show if that has none."""


PDF_ANNOTATIONS = 5_000
"""Fields, notes and links of a page; the longest forms have some hundreds."""

PDF_CHOICES = 5_000
"""Choices of a drop-down that are examined for the chosen ones: all cities of a country."""


@final
class Fields:
    """Reads the annotations of pages of one document."""

    def __init__(self, document: pypdfium2.PdfDocument, again: Callable[[], pypdfium2.PdfDocument]) -> None:
        """`again` opens the document a second time, to be changed."""
        self._form = document.formenv.raw if document.formenv is not None else None
        self._document = document.raw
        self._again = again
        self._copy: pypdfium2.PdfDocument | None = None
        self._changed: set[int] = set()
        """Pages of the copy that were changed: asking for one again needs a new copy."""

    def of(self, page: pypdfium2.PdfPage, number: int) -> FieldTexts:
        """Reads the content of a page outside of its text."""
        texts = FieldTexts()
        count = raw.FPDFPage_GetAnnotCount(page)
        if count > PDF_ANNOTATIONS:
            texts.dropped["field or note"] += count - PDF_ANNOTATIONS
        for index in range(min(count, PDF_ANNOTATIONS)):
            annotation = raw.FPDFPage_GetAnnot(page, index)
            if not annotation:
                continue
            try:
                self._one(annotation, index, texts)
            finally:
                raw.FPDFPage_CloseAnnot(annotation)
        if texts.drawn:
            texts.placed += self._drawings(number, texts)
        return texts

    def _one(self, annotation: Any, index: int, texts: FieldTexts) -> None:
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        place = _place(annotation)
        if kind == raw.FPDF_ANNOT_LINK:
            target = _address(self._document, annotation)
            texts.dropped[told("link target", target)] += bool(target)
            return
        if raw.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
            words = _string(annotation, "Contents")
            hidden = words or kind == raw.FPDF_ANNOT_WIDGET
            words = words or _string(annotation, "V") or _string(annotation, "T")
            texts.dropped[told("hidden field or note", words)] += bool(hidden)
            return
        if kind == raw.FPDF_ANNOT_WIDGET:
            self._widget(annotation, index, place, texts)
            return
        words = _string(annotation, "Contents")
        if kind == raw.FPDF_ANNOT_FILEATTACHMENT:
            if attachment := raw.FPDFAnnot_GetFileAttachment(annotation):
                texts.dropped[attached(attachment, f"note {index + 1} of the page")] += 1
            else:
                texts.dropped[told(ATTACHED, words or "it cannot be read")] += 1
        elif kind in _MEDIA:
            said = words or _string(annotation, "T") or _string(annotation, "NM")
            texts.dropped[told("film or sound", said or f"{place.words} of the page")] += 1
        elif kind in _DRAWN or (kind == raw.FPDF_ANNOT_FREETEXT and not words):
            name = words or _string(annotation, "Name")
            texts.drawn.append((index, place, f"[stamp: {name}]" if name else "[stamp]"))
            return
        if kind == raw.FPDF_ANNOT_REDACT:
            words = words or _string(annotation, "OverlayText")
        if words:
            texts.placed.append(Placed(place, _note(annotation, kind, words)))

    # --- form fields --------------------------------------------------------------------------

    def _widget(self, annotation: Any, index: int, place: Box, texts: FieldTexts) -> None:
        form = self._form
        kind = raw.FPDFAnnot_GetFormFieldType(form, annotation) if form else _NO_FORM
        if kind == raw.FPDF_FORMFIELD_CHECKBOX:
            mark = "[x]" if raw.FPDFAnnot_IsChecked(form, annotation) else "[ ]"
            texts.placed.append(Placed(place, [mark]))
        elif kind == raw.FPDF_FORMFIELD_RADIOBUTTON:
            mark = "(x)" if raw.FPDFAnnot_IsChecked(form, annotation) else "( )"
            texts.placed.append(Placed(place, [mark]))
        elif kind in (raw.FPDF_FORMFIELD_COMBOBOX, raw.FPDF_FORMFIELD_LISTBOX):
            chosen, others, left = self._choices(annotation)
            words = ", ".join(chosen) or self._value(annotation)
            texts.dropped[told("unselected choice", "; ".join(others))] += left
            if words:
                texts.placed.append(Placed(place, [words]))
        elif kind == raw.FPDF_FORMFIELD_TEXTFIELD:
            secret = raw.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD
            value = self._value(annotation)
            if value and secret:
                texts.dropped[told("password", value)] += 1
            elif value:
                texts.placed.append(Placed(place, _written(value)))
        else:  # signatures, buttons, fields outside a form
            signed = kind == raw.FPDF_FORMFIELD_SIGNATURE
            texts.drawn.append((index, place, "[signature field]" if signed else _string(annotation, "V")))

    def _value(self, annotation: Any) -> str:
        def value(room: Any, size: int) -> int:
            return int(raw.FPDFAnnot_GetFormFieldValue(self._form, annotation, room, size))

        return wide_text(value)

    def _choices(self, annotation: Any) -> tuple[list[str], list[str], int]:
        """The options that are chosen, the others, and how many of those there are."""
        form = self._form
        count = max(0, raw.FPDFAnnot_GetOptionCount(form, annotation))
        chosen: list[str] = []
        others: list[str] = []
        for at in range(min(count, PDF_CHOICES)):

            def label(room: Any, size: int, at: int = at) -> int:
                return int(raw.FPDFAnnot_GetOptionLabel(form, annotation, at, room, size))

            is_chosen = raw.FPDFAnnot_IsOptionSelected(form, annotation, at)
            (chosen if is_chosen else others).append(wide_text(label))
        return chosen, others, count - len(chosen)

    # --- drawn annotations ----------------------------------------------------------------------

    def _drawings(self, number: int, page_texts: FieldTexts) -> Iterator[Placed]:
        kept = {index for index, _, _ in page_texts.drawn}
        texts = self._extracted(number, kept)
        for _, place, otherwise in page_texts.drawn:
            lines = [line for box, line in texts if _inside(box, place)]
            if lines or otherwise:
                yield Placed(place, lines or _written(otherwise))

    def _extracted(self, number: int, kept: set[int]) -> list[tuple[Box, str]]:
        """The text of the drawings of some annotations of a page, line by line."""
        try:
            if self._copy is None or number in self._changed:
                if self._copy is not None:
                    self._copy.close()
                self._copy, self._changed = self._again(), set()
            self._changed.add(number)
            page = self._copy[number - 1]
            for index in reversed(range(raw.FPDFPage_GetAnnotCount(page))):
                if index not in kept:
                    raw.FPDFPage_RemoveAnnot(page, index)
            for thing in [*page.get_objects(max_depth=1)]:
                raw.FPDFPage_RemoveObject(page, thing)
            raw.FPDFPage_GenerateContent(page)
            if raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY) != raw.FLATTEN_SUCCESS:
                return []
            page.close()
            return pdf_text.placed_lines(self._copy[number - 1].get_textpage())
        except pypdfium2.PdfiumError:
            return []


def _inside(box: Box, place: Box) -> bool:
    middle = (box.left + box.right) / 2
    return place.left - 1 <= middle <= place.right + 1 and place.bottom - 1 <= box.middle <= place.top + 1


def _note(annotation: Any, kind: int, words: str) -> Sequence[str]:
    if kind == raw.FPDF_ANNOT_FREETEXT:
        return _written(words)
    author = _string(annotation, "T")
    first, *others = _written(f"{author}: {words}" if author else words)
    if not others:
        return [f"[note: {first}]"]
    return [f"[note: {first}", *others[:-1], f"{others[-1]}]"]


def _written(words: str) -> list[str]:
    lines = words.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return [line.rstrip() for line in lines]


def _place(annotation: Any) -> Box:
    rectangle = raw.FS_RECTF()
    if not raw.FPDFAnnot_GetRect(annotation, rectangle):
        return Box(0.0, 0.0, 0.0, 0.0)
    left, right = sorted((float(rectangle.left), float(rectangle.right)))
    bottom, top = sorted((float(rectangle.bottom), float(rectangle.top)))
    return Box(left, bottom, right, top)


def _string(annotation: Any, key: str) -> str:
    def value(room: Any, size: int) -> int:
        return int(raw.FPDFAnnot_GetStringValue(annotation, key.encode(), room, size))

    return wide_text(value).strip()


def _address(form: Any, annotation: Any) -> str:
    """The target of a link out of the document; empty for one that does not lead out."""
    link = raw.FPDFAnnot_GetLink(annotation)
    action = raw.FPDFLink_GetAction(link) if link else None
    kind = raw.FPDFAction_GetType(action) if action else raw.PDFACTION_UNSUPPORTED
    if kind == raw.PDFACTION_URI:
        return (
            ascii_text(lambda room, size: raw.FPDFAction_GetURIPath(form, action, room, size)) or "an address"
        )
    if kind in (raw.PDFACTION_REMOTEGOTO, raw.PDFACTION_LAUNCH):
        return ascii_text(lambda room, size: raw.FPDFAction_GetFilePath(action, room, size)) or "a file"
    return ""
