"""Word documents from before 2007 (.doc, .dot), as sections of text.

The text is in pieces; control characters mark fields, notes, pictures, cells and rows. It is written like
text of today's documents. For Word 6 and 95 only the bare text is read.

Knows: the streams of Word before 2007.
Does not know: files and processes; compound files (`compound`).
May be touched: freely.
"""

from __future__ import annotations

import re
import struct
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import BinaryIO

from msgspec import Struct, field

from readroom.documents.formats import Document, macros, sections, told
from readroom.documents.formats import compound as compounds
from readroom.documents.formats import shapes as shapes_of
from readroom.documents.formats.compound import Ole
from readroom.documents.formats.doc import formats as doc_formats
from readroom.documents.formats.doc import pieces as doc_pieces
from readroom.documents.formats.doc.formats import DELETED, HIDDEN, SPECIAL, Formats, FormField, Properties
from readroom.documents.formats.doc.pieces import WORD_97, OldText
from readroom.documents.formats.embedded import told_object
from readroom.documents.formats.sections import Sections
from readroom.documents.formats.story import FlowStory, Paragraph, sound

CARRIES = True
"""It opens files of other formats, which it carries."""

DOCUMENT = "WordDocument"
_OBJECTS, _MACROS = "objectpool/_", "macros"
_BREAKS = re.compile("[\r\x07\x0c]")
_MARKS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x28\xad]")
_LINK = re.compile(r'HYPERLINK\s+(?:\\[a-z]\s+)*"([^"]*)"')
_CHOICES = ("FORMCHECKBOX", "FORMDROPDOWN")
"""Fields of forms that have no text in the document."""

_MARGIN = ("header", "header", "footer", "footer", "header", "footer")
_SEPARATORS = 6
"""Stories before the headers: lines between text and notes."""

_TWIPS = 567
"""Twentieths of a point in a centimetre."""

_UNDESCRIBED = "no description"
_UNSEEN = {DELETED: "tracked deletion", HIDDEN: "hidden text"}
_BREAKS_OF_LINES = str.maketrans("\x0b\x0e", "\n\n")
_CONTROLS = re.compile("[\x00-\x08\x0f-\x1f]")
_CHARACTERS = {"\x0b": "\n", "\x1e": "\u2011", "\x1f": "", "\x0e": "\n", "\xad": ""}


def open_document(file: BinaryIO) -> Document:
    """The document in `file`. Raises Unreadable."""
    compound = compounds.unencrypted(file)
    if not compound.has(DOCUMENT):
        return compounds.opened(file, Ole.WORD)
    document = compound.read(DOCUMENT)
    version, _ = doc_pieces.head(document)
    beside = compound.properties()
    for name in sorted(compound.storages):
        if name.startswith(_OBJECTS) and name.count("/") == 1:
            beside[told_object(compound, name, name.rpartition("/")[2])] += 1
    if _MACROS in compound.storages:
        beside[told(macros.KIND, "\n".join(macros.lines_of(compound, _MACROS)))] += 1
    if version < WORD_97:
        return _old(doc_pieces.old_text(document), beside)
    tables = {name: compound.optional(name) for name in ("0Table", "1Table")}
    text = doc_pieces.text(document, tables)
    formats = doc_formats.formats(document, tables[text.table], text.places)
    return _DocReader(text, formats, tables[text.table], beside, compound.optional("Data")).document()


def _old(text: OldText, beside: Counter[str]) -> Sections:
    """A document of Word 6 or 95: its stories without their formats."""
    none = doc_formats.NO_RUNS
    plain = Formats((), none, none, none, doc_formats.NO_LISTS)
    reader = _DocReader(text, plain, b"", beside, b"")
    blocks = [
        block for name, story in text.stories.items() if name != "macros" for block in reader.blocks(story)
    ]
    return sections.document(blocks, [], {}, beside)


_NO_FORM = FormField()


class _DocField(Struct):
    """A field that is being read: its code until the mark in its middle, then where its result begins."""

    code: list[str] = field(default_factory=list)
    start: int = 0
    block: int = 0
    in_code: bool = True
    form: FormField = _NO_FORM


class _DocReader:
    """Writes the stories of one document."""

    def __init__(
        self, text: OldText, formats: Formats, table: bytes, beside: Counter[str], data: bytes
    ) -> None:
        self._text = text
        self._formats = formats
        self._table = table
        self._data = data
        self._beside = beside
        self._notes: dict[str, list[str]] = {}
        self._refers: dict[int, str] = {}
        self._boxes: dict[int, list[range]] = {}
        self._drawn: dict[int, str] = {}
        """Facts about the shapes, by the characters at which they hang."""

    def document(self) -> Sections:
        for name, prefix, size in (("footnote", "", 2), ("endnote", "e", 2), ("comment", "c", 30)):
            self._note_stories(name, prefix, size)
        loose = self._box_stories()
        blocks = self.blocks(self._text.stories["body"])
        for story in (*loose, self._text.stories["margin boxes"]):
            blocks += self.blocks(story)
        margins = list(self._margins())
        self._beside.update(told("bookmark", name) for name in self._bookmarks())
        return sections.document(blocks, margins, self._notes, self._beside)

    # --- stories -----------------------------------------------------------------------------------

    def blocks(self, story: range) -> list[sections.Block]:
        """The blocks of the text between two characters."""
        writer = _StoryWriter(
            self._text, self._formats, story, self._refers, self._box_lines, self._drawn, self._form_field
        )
        return writer.blocks()

    def _form_field(self, at: int) -> FormField:
        """The form field at a character."""
        return doc_formats.form_field(self._data, self._formats.data.at(self._text.place(at)))

    def _lines(self, story: range) -> list[str]:
        blocks = self.blocks(story)
        for block in blocks:
            self._beside += block.dropped
        return [line.strip() for block in blocks for line in block.lines if line.strip()]

    def _plex(self, name: str, size: int) -> tuple[Sequence[int], Sequence[bytes]]:
        """A table of positions, with an entry for each stretch between them."""
        start, length = self._text.places[name]
        data = self._table[start : start + length]
        count = (len(data) - 4) // (4 + size)
        if count < 1:
            return (), ()
        places = struct.unpack_from(f"<{count + 1}I", data)
        rest = data[4 * (count + 1) :]
        return places, [rest[size * at : size * (at + 1)] for at in range(count)]

    def _note_stories(self, name: str, prefix: str, size: int) -> None:
        marks, about = self._plex(f"{name} marks", size)
        starts, _ = self._plex(f"{name}s", 0)
        base = self._text.stories[f"{name}s"].start
        authors = self._authors() if prefix == "c" else ()
        for at, entry in enumerate(about):
            if at + 1 >= len(starts):
                break
            mark = f"{prefix}{at + 1}"
            self._refers[marks[at]] = mark
            lines = self._lines(range(base + starts[at], base + starts[at + 1]))
            number = int.from_bytes(entry[20:22], "little") if prefix == "c" else len(authors)
            author = authors[number] if number < len(authors) else ""
            self._notes[mark] = sections.comment(author, lines)

    def _authors(self) -> Sequence[str]:
        start, length = self._text.places["authors"]
        data = self._table[start : start + length]
        authors, at = [], 0
        while at + 2 <= len(data):
            count = int.from_bytes(data[at : at + 2], "little")
            authors.append(data[at + 2 : at + 2 + 2 * count].decode("utf-16-le", "replace"))
            at += 2 + 2 * count
        return authors

    def _margins(self) -> Iterator[list[str]]:
        starts, _ = self._plex("margins", 0)
        base = self._text.stories["margins"].start
        for at in range(_SEPARATORS, len(starts) - 1):
            lines = self._lines(range(base + starts[at], base + starts[at + 1]))
            yield sections.margin(_MARGIN[(at - _SEPARATORS) % len(_MARGIN)], lines)

    def _bookmarks(self) -> Iterator[str]:
        """Bookmarks made by users; names made by programs begin with `_`."""
        start, length = self._text.places["bookmarks"]
        data = self._table[start : start + length]
        at = 6
        while at + 2 <= len(data):
            count = int.from_bytes(data[at : at + 2], "little")
            name = data[at + 2 : at + 2 + 2 * count].decode("utf-16-le", "replace")
            if name and not name.startswith("_"):
                yield name
            at += 2 + 2 * count

    # --- text boxes --------------------------------------------------------------------------------

    def _box_stories(self) -> list[range]:
        """OldText boxes go to the characters at which they hang; those that hang nowhere are returned."""
        starts, about = self._plex("boxes", 22)
        base = self._text.stories["boxes"].start
        shapes, drawn = self._plex("shapes", 26)
        anchors = {shape[:4]: place for place, shape in zip(shapes, drawn, strict=False)}
        start, length = self._text.places["drawings"]
        known = shapes_of.of_word(self._table[start : start + length])
        for hangs, shape in zip(shapes, drawn, strict=False):
            words = known.get(int.from_bytes(shape[:4], "little"), "")
            self._drawn[hangs] = ", ".join(filter(None, (_size(shape), words))) or _UNDESCRIBED
        loose = []
        for at, box in enumerate(about):
            story = range(base + starts[at], base + starts[at + 1])
            place = anchors.get(box[14:18])
            if place is None:
                loose.append(story)
            else:
                self._boxes.setdefault(place, []).append(story)
        return loose

    def _box_lines(self, place: int) -> list[str]:
        """The lines of the boxes that hang at a character; each is written once."""
        return [line for story in self._boxes.pop(place, []) for line in self._lines(story)]


def _size(shape: bytes) -> str:
    """Width and height of a shape by its edges; empty if it has none."""
    left, top, right, bottom = struct.unpack_from("<4i", shape, 4)
    width, height = (right - left) / _TWIPS, (bottom - top) / _TWIPS
    return f"{width:.1f} x {height:.1f} cm" if width > 0 and height > 0 else ""


class _StoryWriter:
    """Writes one story, with the state that its steps share."""

    def __init__(
        self,
        text: OldText,
        formats: Formats,
        story: range,
        refers: Mapping[int, str],
        boxes: Callable[[int], list[str]],
        drawn: Mapping[int, str],
        form_field: Callable[[int], FormField],
    ) -> None:
        self._text = text
        self._formats = formats
        self._range = range(max(0, story.start), min(story.stop, len(text.text)))
        self._refers = refers
        self._box_lines = boxes
        self._drawn = drawn
        self._form_field = form_field
        self._story = FlowStory()
        self._fields: list[_DocField] = []
        self._unseen = ""
        self._away = ""
        """The stretch that is hidden or deleted, so far."""
        self._kinds = deque(self._all_kinds())

    def blocks(self) -> list[sections.Block]:
        at = self._range.start
        while at < self._range.stop:
            stop = _BREAKS.search(self._text.text, at, self._range.stop)
            end = self._range.stop if stop is None else stop.start()
            self._inline(at, end)
            last = min(end, self._range.stop - 1)
            self._end(self._formats.paragraph(self._text.place(last)), "" if stop is None else stop[0])
            self._away += "\n" if self._unseen else ""
            at = end + 1
        self._end_unseen()
        self._story.end(Paragraph(), 0)
        return self._story.blocks

    def _all_kinds(self) -> Iterator[tuple[int, int, int]]:
        """Stretches of the story that are hidden, deleted or special, by their characters."""
        for piece, first, last in self._text.stretches(self._range):
            start = piece.place + (first - piece.start) * piece.width
            end = piece.place + (last - piece.start) * piece.width
            for begin, stop, kind in self._formats.kinds(start, end):
                yield (
                    piece.start + (begin - piece.place) // piece.width,
                    piece.start + (stop - piece.place + piece.width - 1) // piece.width,
                    kind,
                )

    def _end(self, about: Properties, mark: str) -> None:
        story = self._story
        paragraph = Paragraph(in_table=about.in_table, table_depth=about.depth, list_depth=about.list_level)
        if about.ends_row and (mark == "\x07" or about.depth > 1):
            story.end_row(about.depth)
            return
        if about.listed and "".join(story.text).strip():
            story.label = self._formats.lists.label(str(about.listed), about.list_level)
        if mark == "\x07" or about.ends_cell:
            depth = about.depth if about.in_table else 1
            story.end_paragraph(Paragraph(in_table=True, table_depth=depth), about.heading)
            story.end_cell(depth)
            return
        story.end_paragraph(paragraph, about.heading)

    # --- inside paragraphs -------------------------------------------------------------------------

    def _inline(self, first: int, last: int) -> None:
        """OldText between two ends of paragraphs, stretch by stretch of one kind."""
        at = first
        while self._kinds and self._kinds[0][1] <= at:
            self._kinds.popleft()
        for start, end, kind in self._kinds:
            if start >= last:
                break
            self._stretch(at, max(at, start), 0)
            at = max(at, start)
            self._stretch(at, min(end, last), kind)
            at = max(at, min(end, last))
        self._stretch(at, last, 0)

    def _stretch(self, first: int, last: int, kind: int) -> None:
        if first >= last:
            return
        unseen = next((name for flag, name in _UNSEEN.items() if kind & flag), "")
        text = self._text.text
        if unseen != self._unseen:
            self._end_unseen()
            self._unseen = unseen
        if unseen:
            self._away += "" if any(at.in_code for at in self._fields) else text[first:last]
            for match in re.finditer("[\x13-\x15]", text[first:last]):
                self._mark(match[0], first + match.start(), 0)
            return
        at = first
        for match in _MARKS.finditer(text, first, last):
            self._out(text[at : match.start()])
            self._mark(match[0], match.start(), kind)
            at = match.end()
        self._out(text[at:last])

    def _end_unseen(self) -> None:
        """Count a stretch of text that is hidden or deleted, with its words."""
        words = sound(_CONTROLS.sub("", self._away.translate(_BREAKS_OF_LINES)))
        self._story.dropped[told(self._unseen, words)] += bool(self._unseen and words.strip())
        self._away = ""

    def _out(self, text: str) -> None:
        if not text:
            return
        code = next((at for at in self._fields if at.in_code), None)
        (self._story.text if code is None else code.code).append(text)

    def _mark(self, char: str, at: int, kind: int) -> None:
        """A character with a meaning of its own."""
        story = self._story
        if char in "\x13\x14\x15":
            self._field(char)
        elif char in _CHARACTERS:
            self._out(_CHARACTERS[char])
        elif char == "\x28" and not kind & SPECIAL:
            self._out("(")
        elif (mark := self._refers.get(at)) is not None and not any(
            open_field.in_code for open_field in self._fields
        ):
            story.text.append(f"[^{mark}]")
            story.marks.append(mark)
        elif char == "\x01" and not any(open_field.in_code for open_field in self._fields):
            self._out(sections.picture(""))
        elif char == "\x01":
            self._fields[-1].form = self._form_field(at)
        elif char == "\x08":
            lines = self._box_lines(at)
            story.boxes += lines
            story.dropped[told("drawing", self._drawn.get(at, _UNDESCRIBED))] += not lines
        elif char == "\x28":
            sign = self._formats.sign(self._text.place(at))
            self._out(sign)
            story.dropped["symbol"] += not sign

    def _field(self, char: str) -> None:
        story = self._story
        if char == "\x13":
            self._fields.append(_DocField())
        elif self._fields and char == "\x14":
            open_field = self._fields[-1]
            open_field.in_code, open_field.start, open_field.block = False, len(story.text), len(story.blocks)
        elif self._fields:
            open_field = self._fields.pop()
            code = "".join(open_field.code).strip()
            link = _LINK.search(code)
            self._out(open_field.form.text)
            story.dropped["unselected choice"] += open_field.form.others
            story.dropped["form control"] += code.startswith(_CHOICES) and not open_field.form.text
            if code.startswith("HYPERLINK") and link is None:
                story.dropped[told("link target", code)] += "://" in code
            elif open_field.in_code or link is None:
                is_other = bool(code) and not code.startswith(("HYPERLINK", "FORM"))
                story.dropped[told("field code", code)] += is_other
            elif len(story.blocks) == open_field.block and len(story.text) >= open_field.start:
                words = "".join(story.text[open_field.start :])
                story.dropped[told("link target", link[1])] += sections.is_lost(words, link[1])
                story.text[open_field.start :] = [sections.link(words, link[1])]
