"""Text of a PDF page that no reader sees: of layers that are off, and outside of the page.

PDFium returns such text like any other, and does not report whether a layer is off.  It does not draw layers
that are off: so text that may be of a layer is drawn alone, in black, on a copy of the page, and text that
leaves no ink is off.
Text that is invisible by itself, as scans have under their pictures, is text.
"""

from __future__ import annotations

import ctypes
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, final

import pypdfium2
from msgspec import Struct
from pypdfium2 import raw

from readroom.documents.formats import told

_LAYERS = b"OCProperties"
_PIECE_BYTES = 1024 * 1024
_HELD_BYTES = 256 * 1024
"""Bytes of a piece that are searched again with the next one: a stream of objects has a hundred of them."""

_DEPTH = 12
"""Forms in forms; deeper ones are taken for shown."""

_INVISIBLE = (raw.FPDF_TEXTRENDERMODE_INVISIBLE, raw.FPDF_TEXTRENDERMODE_CLIP)


class Unseen(Struct, frozen=True):
    """Indexes of characters that are not shown, and counts by reason."""

    indexes: frozenset[int]
    counts: Counter[str]


PDF_INK_SIDE = 1_200
"""Pixels of the long side of a page on which text of layers is looked for: letters of 6 points have 9."""


@final
class Layers:
    """Finds hidden text on the pages of one document."""

    def __init__(self, file: BinaryIO, again: Callable[[], pypdfium2.PdfDocument]) -> None:
        """`again` opens the document a second time, to be changed."""
        self._file = file
        self._again = again
        self._has: bool | None = None

    def unseen(self, page: pypdfium2.PdfPage, number: int, textpage: Any) -> Unseen:
        """The characters of a page that are not shown."""
        outside = _outside(page, textpage)
        off = self._off(page, number, textpage) - outside
        counts = Counter({
            told("text outside of the page", _words(textpage, outside)): bool(outside),
            told("text of a layer that is off", _words(textpage, off)): bool(off),
        })  # fmt: skip
        return Unseen(frozenset(outside | off), counts)

    def _off(self, page: pypdfium2.PdfPage, number: int, textpage: Any) -> set[int]:
        if not any(True for _ in _doubtful(page.raw)) or not self._has_layers():
            return set()
        texts = {_address(text): at for at, text in enumerate(_doubtful(page.raw))}
        indexes: dict[int, list[int]] = {}
        for index in range(textpage.count_chars()):
            at = texts.get(_address(raw.FPDFText_GetTextObject(textpage, index)))
            if at is not None:
                indexes.setdefault(at, []).append(index)
        drawn = self._drawn(number)
        return {
            index
            for of_one in indexes.values()
            for index in of_one
            if not any(drawn.has_ink(textpage, index) for index in of_one)
        }

    def _has_layers(self) -> bool:
        """Whether the document declares layers, even in compressed objects."""
        if self._has is None:
            # To look costs all of the file; where that is much, it may have some.
            is_far = getattr(getattr(self._file, "raw", None), "far", False)
            self._has = is_far or says_layers(self._file)
        return self._has

    def _drawn(self, number: int) -> _Drawn:
        """The doubtful texts of a page alone, in black."""
        document = self._again()
        page = document[number - 1]
        for text in _doubtful(page.raw):
            raw.FPDFPageObj_SetFillColor(text, 0, 0, 0, 255)
        for at in reversed(range(raw.FPDFPage_CountObjects(page))):
            element = raw.FPDFPage_GetObject(page, at)
            kind = raw.FPDFPageObj_GetType(element)
            if kind != raw.FPDF_PAGEOBJ_FORM and not (kind == raw.FPDF_PAGEOBJ_TEXT and _is_marked(element)):
                raw.FPDFPage_RemoveObject(page, element)
        scale = PDF_INK_SIDE / max(*page.get_size(), 1)
        bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False, draw_annots=False)
        return _Drawn(document, page, bitmap)


@final
class _Drawn:
    """A page as it was drawn."""

    def __init__(self, document: Any, page: Any, bitmap: Any) -> None:
        self._document, self._page, self._bitmap = document, page, bitmap
        self._pixels = bytes(bitmap.buffer)

    def has_ink(self, textpage: Any, index: int) -> bool:
        """Whether something is drawn where a character is."""
        left, right, bottom, top = (ctypes.c_double() for _ in range(4))
        if not raw.FPDFText_GetCharBox(textpage, index, left, right, bottom, top):
            return False
        first = self._pixel(left.value, top.value)
        last = self._pixel(right.value, bottom.value)
        columns, rows = (sorted(pair) for pair in zip(first, last, strict=True))
        width = self._bitmap.width
        for row in range(max(0, rows[0]), min(self._bitmap.height, rows[1] + 1)):
            start = row * self._bitmap.stride
            line = self._pixels[start + max(0, columns[0]) : start + min(width, columns[1] + 1)]
            if line.strip(b"\xff"):
                return True
        return False

    def _pixel(self, x: float, y: float) -> tuple[int, int]:
        column, row = ctypes.c_int(), ctypes.c_int()
        size = self._bitmap.width, self._bitmap.height
        raw.FPDF_PageToDevice(self._page, 0, 0, *size, 0, x, y, column, row)
        return column.value, row.value


def _words(textpage: Any, indexes: set[int]) -> str:
    """The text that these characters are; what is between two stretches of them is a line end."""
    pieces: list[str] = []
    last: int | None = None
    for index in sorted(indexes):
        pieces += ["\n"] if last is not None and index > last + 1 else []
        pieces.append(chr(raw.FPDFText_GetUnicode(textpage, index)))
        last = index
    return "".join(pieces).replace("\r\n", "\n").replace("\r", "\n")


def _outside(page: pypdfium2.PdfPage, textpage: Any) -> set[int]:
    """The characters outside of the sheet; cropped ones may be meant to be read."""
    sheet = page.get_mediabox()
    # Few pages have anything there, and bounds of pieces are much faster than those of letters.
    edges = [ctypes.c_float() for _ in range(4)]
    pieces = (raw.FPDFPage_GetObject(page, at) for at in range(raw.FPDFPage_CountObjects(page)))
    if all(raw.FPDFPageObj_GetBounds(one, *edges) and _is_within(edges, sheet) for one in pieces):
        return set()
    found = set()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    for index in range(textpage.count_chars()):
        known = raw.FPDFText_GetCharBox(textpage, index, left, right, bottom, top)
        if known and not _touches((left.value, bottom.value, right.value, top.value), sheet):
            found.add(index)
    return found


def _is_within(edges: Sequence[ctypes.c_float], sheet: Sequence[float]) -> bool:
    left, bottom, right, top = (edge.value for edge in edges)
    return sheet[0] <= left and sheet[1] <= bottom and right <= sheet[2] and top <= sheet[3]


def _touches(box: Sequence[float], sheet: Sequence[float]) -> bool:
    return box[2] >= sheet[0] and box[0] <= sheet[2] and box[3] >= sheet[1] and box[1] <= sheet[3]


def _doubtful(page: Any) -> Iterator[Any]:
    """The texts of a page that may be of a layer: marked so, or inside of a form."""
    for at in range(raw.FPDFPage_CountObjects(page)):
        element = raw.FPDFPage_GetObject(page, at)
        kind = raw.FPDFPageObj_GetType(element)
        if kind == raw.FPDF_PAGEOBJ_FORM:
            yield from _inside(element, 1)
        elif _is_drawn(element) and _is_marked(element):
            yield element


def _inside(form: Any, depth: int) -> Iterator[Any]:
    for at in range(raw.FPDFFormObj_CountObjects(form) if depth < _DEPTH else 0):
        element = raw.FPDFFormObj_GetObject(form, at)
        kind = raw.FPDFPageObj_GetType(element)
        if kind == raw.FPDF_PAGEOBJ_FORM:
            yield from _inside(element, depth + 1)
        elif _is_drawn(element):
            yield element


def _is_drawn(element: Any) -> bool:
    """Whether it is a text that is not invisible by itself."""
    if raw.FPDFPageObj_GetType(element) != raw.FPDF_PAGEOBJ_TEXT:
        return False
    return raw.FPDFTextObj_GetTextRenderMode(element) not in _INVISIBLE


def _is_marked(element: Any) -> bool:
    for at in range(max(0, raw.FPDFPageObj_CountMarks(element))):
        size = ctypes.c_ulong()
        name = (ctypes.c_ushort * 8)()
        raw.FPDFPageObjMark_GetName(raw.FPDFPageObj_GetMark(element, at), name, ctypes.sizeof(name), size)
        if size.value == 6 and (name[0], name[1]) == (ord("O"), ord("C")):
            return True
    return False


def _address(pointer: Any) -> int:
    return ctypes.addressof(pointer.contents) if pointer else 0


def says_layers(file: BinaryIO) -> bool:
    """Whether the bytes of a document speak of layers, also in streams of packed objects."""
    file.seek(0)
    rest = b""
    while piece := file.read(_PIECE_BYTES):
        data = rest + piece
        if _LAYERS in data or any(_LAYERS in text for text in _packed(data)):
            return True
        rest = data[-_HELD_BYTES:]
    return False


def _packed(data: bytes) -> Iterator[bytes]:
    """The beginnings of streams of objects; one of them may have the catalog."""
    at = -1
    while (at := data.find(b"/ObjStm", at + 1)) >= 0:
        start = data.find(b"stream", at)
        if start >= 0:
            packed = data[start + len(b"stream") :][:_HELD_BYTES].lstrip(b"\r\n")
            with suppress(zlib.error):
                yield zlib.decompressobj().decompress(packed, _PIECE_BYTES)
