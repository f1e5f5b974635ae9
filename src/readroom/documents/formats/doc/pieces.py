"""The text of a Word document from before 2007, put together from pieces and divided into stories."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings
from readroom.documents.formats import Encrypted, Unreadable
from readroom.documents.formats.archives import ANOTHER_COPY

WORD_97 = 0xC1
"""The first version of the format with pieces of two kinds of characters."""

_PLACES = {
    "styles": 1, "footnote marks": 2, "footnotes": 3, "comment marks": 4, "comments": 5, "margins": 11,
    "characters": 12, "paragraphs": 13, "fonts": 15, "bookmarks": 21, "pieces": 33, "authors": 36,
    "shapes": 40, "drawings": 50,
    "endnote marks": 46, "endnotes": 47, "boxes": 56, "lists": 73, "used lists": 74,
}  # fmt: skip
"""Indexes of places in the table stream."""

_STORIES = {
    "body": 3,
    "footnotes": 4,
    "margins": 5,
    "comments": 7,
    "endnotes": 8,
    "boxes": 9,
    "margin boxes": 10,
}
"""Indexes of the head's numbers with the characters of each story, in the order of the text."""

_LANGUAGES = {
    0x01: "cp1256", 0x02: "cp1251", 0x04: "gbk", 0x05: "cp1250", 0x08: "cp1253", 0x0D: "cp1255",
    0x0E: "cp1250", 0x11: "cp932", 0x12: "cp949", 0x15: "cp1250", 0x18: "cp1250", 0x19: "cp1251",
    0x1A: "cp1250",
    0x1B: "cp1250", 0x1E: "cp874", 0x1F: "cp1254", 0x22: "cp1251", 0x23: "cp1251", 0x24: "cp1250",
    0x25: "cp1257", 0x26: "cp1257", 0x27: "cp1257", 0x2A: "cp1258", 0x2F: "cp1251",
}  # fmt: skip
"""Encodings of Word 6 and 95 by the language of the document."""

_NO_CONTROLS = bytes(byte if byte >= 0x20 or byte == 0x0A else 0x20 for byte in range(256))

_OLD_PIECES = 0x160
"""Offset of the table of pieces in the head of Word 6 and 95."""

_NO_TABLE = "the table of its text is damaged or missing"


class TextPiece(Struct, frozen=True):
    """A stretch of text: its characters, its offset in the file, and bytes for each character."""

    start: int
    end: int
    place: int
    width: int


class OldText(Struct, frozen=True):
    """The text of a document and the facts in its head.

    Attributes:
        text: All stories.
        pieces: Where the characters are in the file; without them nothing else is known.
        stories: The first and last character of each story.
        places: Starts and sizes in the table stream, by their names.
        table: The name of the table stream; empty before Word 97.
    """

    text: str
    pieces: Sequence[TextPiece]
    stories: Mapping[str, range]
    places: Mapping[str, tuple[int, int]]
    table: str

    def place(self, at: int) -> int:
        """The offset of a character in the file; -1 if it has none."""
        index = bisect_right(self.pieces, at, key=lambda piece: piece.start) - 1
        if index < 0 or at >= self.pieces[index].end:
            return -1
        piece = self.pieces[index]
        return piece.place + (at - piece.start) * piece.width

    def stretches(self, story: range) -> Iterator[tuple[TextPiece, int, int]]:
        """The pieces of a story, and which characters of them belong to it."""
        first = max(0, bisect_right(self.pieces, story.start, key=lambda piece: piece.start) - 1)
        for piece in self.pieces[first:]:
            if piece.start >= story.stop:
                return
            yield piece, max(piece.start, story.start), min(piece.end, story.stop)


def head(document: bytes) -> tuple[int, int]:
    """The version and the flags of a document. Raises Unreadable, Encrypted."""
    if len(document) < 0x60 or document[1:2] != b"\xa5":
        raise Unreadable("it is damaged or cut short", ANOTHER_COPY)
    version, flags = struct.unpack_from("<H6xH", document, 2)
    if flags & 0x0100:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.")
    return version, flags


def old_text(document: bytes) -> OldText:
    """The text of a document of Word 6 or 95. Raises Unreadable."""
    _, flags = head(document)
    language, first, last = struct.unpack_from("<6xH16xII", document)
    if not 0 < first <= last <= len(document):
        raise Unreadable("it is damaged or cut short", ANOTHER_COPY)
    codec = _LANGUAGES.get(language & 0x3FF, "cp1252")
    counts = struct.unpack_from("<8I", document, 0x34)
    data = _put_together(document) if flags & 0x0004 else document[first:last]
    if codec == "cp1252" and not data.isascii():  # many claim to be English and are not
        detected = encodings.detect(data.translate(_NO_CONTROLS)[:HEAD_BYTES], complete=False)
        codec = codec if detected is None or detected.unit > 1 or detected.name == "utf-8" else detected.name
    stories, at = {}, 0
    names = ("body", "footnotes", "margins", "macros", "comments", "endnotes", "boxes", "margin boxes")
    parts: list[str] = []
    for name, count in zip(names, counts, strict=True):
        piece = data[at : at + count]
        text = piece.decode(codec, "replace")
        start = sum(map(len, parts))
        parts.append(text)
        stories[name] = range(start, start + len(text))
        at += len(piece)
    return OldText("".join(parts), (), stories, {}, "")


def _put_together(document: bytes) -> bytes:
    """The text of a quick-saved document, which has later changes after the rest."""
    if len(document) < _OLD_PIECES + 8:
        raise Unreadable(_NO_TABLE, ANOTHER_COPY)
    start, size = struct.unpack_from("<II", document, _OLD_PIECES)
    try:
        pieces = list(_pieces(document[start : start + size], len(document), widths=False))
    except struct.error:
        pieces = []
    if not pieces:
        raise Unreadable(_NO_TABLE, ANOTHER_COPY)
    return b"".join(document[piece.place : piece.place + piece.end - piece.start] for piece in pieces)


def text(document: bytes, tables: Mapping[str, bytes]) -> OldText:
    """The text of a document of Word 97 or later. Raises Unreadable."""
    _, flags = head(document)
    name = "1Table" if flags & 0x0200 else "0Table"
    table = tables.get(name, b"")
    try:
        words = struct.unpack_from("<H", document, 32)[0]
        at = 34 + 2 * words
        longs = struct.unpack_from("<H", document, at)[0]
        numbers = struct.unpack_from(f"<{longs}i", document, at + 2)
        at += 2 + 4 * longs
        pairs = struct.unpack_from("<H", document, at)[0]
        offsets = struct.unpack_from(f"<{2 * pairs}I", document, at + 2)
        places = {
            key: (offsets[2 * number], offsets[2 * number + 1]) if number < pairs else (0, 0)
            for key, number in _PLACES.items()
        }
        start, size = places["pieces"]
        pieces = tuple(_pieces(table[start : start + size], len(document)))
        stories = _stories(numbers)
    except (struct.error, IndexError):
        raise Unreadable("it is damaged or cut short", ANOTHER_COPY) from None
    if not pieces:
        raise Unreadable(_NO_TABLE, ANOTHER_COPY)
    return OldText("".join(_joined(document, pieces)), pieces, stories, places, name)


def _stories(numbers: Sequence[int]) -> Mapping[str, range]:
    ranges, at = {}, 0
    for name, number in _STORIES.items():
        count = max(0, numbers[number])
        ranges[name] = range(at, at + count)
        at += count
        if name == "margins":
            at += max(0, numbers[6])
    return ranges


OLD_TEXT_CHARS = 16 * 1024 * 1024
"""Characters of a Word document from before 2007, notes and headers included: some 8,000 pages."""


def _pieces(table: bytes, size: int, *, widths: bool = True) -> Iterator[TextPiece]:
    """The pieces of a text, in its order; before Word 97 each character is a byte."""
    at = 0
    while at + 3 <= len(table) and table[at] == 1:
        at += 3 + int.from_bytes(table[at + 1 : at + 3], "little")
    if at + 5 > len(table) or table[at] != 2:
        return
    count = (int.from_bytes(table[at + 1 : at + 5], "little") - 4) // 12
    at += 5
    total = 0
    for number in range(count):
        start, end = struct.unpack_from("<2I", table, at + 4 * number)
        place = struct.unpack_from("<I", table, at + 4 * (count + 1) + 8 * number + 2)[0]
        width = 1 if place & 0x4000_0000 or not widths else 2
        if widths:
            place = (place & 0x3FFF_FFFF) // 2 if width == 1 else place & 0x3FFF_FFFF
        total += end - start
        if end < start or total > OLD_TEXT_CHARS or place + (end - start) * width > size:
            raise Unreadable(_NO_TABLE, ANOTHER_COPY)
        yield TextPiece(start, end, place, width)


def _joined(document: bytes, pieces: Sequence[TextPiece]) -> Iterator[str]:
    at = 0
    for piece in pieces:
        if piece.start != at:
            raise Unreadable(_NO_TABLE, ANOTHER_COPY)
        data = document[piece.place : piece.place + (piece.end - piece.start) * piece.width]
        if piece.width == 1:
            yield data.decode("cp1252", "replace")
        else:
            # One character for each pair of bytes, so that places are right; surrogates are joined later.
            yield "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data)))
        at = piece.end
