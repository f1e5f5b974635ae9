"""PDF pages with annotations, form fields and what else a document has, written by hand."""

from __future__ import annotations

from collections.abc import Mapping

from tests.documents.reading.making import assembled

FONT, PAGE, CONTENT, FIRST = 3, 4, 5, 10
"""Numbers of objects; those that a test gives begin with FIRST."""


def page(
    content: bytes,
    objects: Mapping[int, bytes] | None = None,
    *,
    annotations: tuple[int, ...] = (),
    fields: tuple[int, ...] = (),
    form: bytes = b"",
    catalog: bytes = b"",
    resources: bytes = b"",
    trailer: bytes = b"",
) -> bytes:
    """A PDF of one page, whose annotations and fields are objects by their numbers."""
    default = b"/DA(/F 10 Tf 0 g)/DR<</Font<</F 3 0 R>>>>"
    filled = b"/AcroForm<</Fields[%s]%s%s>>" % (_references(fields), default, form)
    found = {
        1: b"<</Type/Catalog/Pages 2 0 R%s%s>>" % (filled if fields or form else b"", catalog),
        2: b"<</Type/Pages/Count 1/Kids[4 0 R]>>",
        FONT: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        PAGE: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>%s>>"
        b"/Contents 5 0 R/Annots[%s]>>" % (resources, _references(annotations)),
        CONTENT: stream(content),
        **(objects or {}),
    }
    for number in range(1, max(found)):
        found.setdefault(number, b"null")
    return assembled(found, trailer)


def _references(numbers: tuple[int, ...]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def text(words: str, left: int, bottom: int) -> bytes:
    """Operators that write a line."""
    return b"BT /F 10 Tf 1 0 0 1 %d %d Tm (%s) Tj ET " % (left, bottom, words.encode("latin-1"))


def drawing(words: str) -> bytes:
    """An appearance that shows these words."""
    entries = b"/Type/XObject/Subtype/Form/BBox[0 0 200 20]/Resources<</Font<</F 3 0 R>>>>"
    return stream(text(words, 2, 5) if words else b"", entries)


def annotation(kind: str, entries: str, rect: tuple[int, int, int, int]) -> bytes:
    """An annotation or, of the kind Widget, a field."""
    place = " ".join(map(str, rect))
    return f"<</Type/Annot/Subtype/{kind}/Rect[{place}]{entries}>>".encode("latin-1")
