"""PowerPoint presentations from before 2007 (.ppt, .pps, .pot): a part for each slide, with notes and
comments.

Text is in records: titles and lists next to the slide, other text in the shapes of its drawing. The last save
has the offsets of slides; if that is damaged, they come in the order of the file.

Knows: the records of PowerPoint before 2007.
Does not know: files and processes; compound files (`compound`).
May be touched: freely.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from msgspec import Struct, field

from readroom.documents.formats import (
    Area,
    Document,
    Encrypted,
    Heading,
    Part,
    Unit,
    Unreadable,
    omission_note,
    sections,
    shapes,
    tables,
)
from readroom.documents.formats import compound as compounds
from readroom.documents.formats.archives import ANOTHER_COPY
from readroom.documents.formats.compound import Ole
from readroom.documents.formats.ppt import beside
from readroom.documents.formats.ppt import records as kinds
from readroom.documents.formats.ppt import records as ppt_records
from readroom.documents.formats.ppt.records import Record, records

CARRIES = True
"""It opens files of other formats, which it carries."""

STREAM = "PowerPoint Document"
TITLES = frozenset((0, 6))
LISTED = frozenset((1, 5, 7, 8))
NOTES = 2
_ENCRYPTED = 0xF3D1C4DF
_SAVES = 1_000
_OF_SLIDES = 3
"""The instance of the header and footer of all slides; that of notes is 4."""

_POWERPOINT_95 = "PersistentStorage Directory"
"""A stream that only PowerPoint writes, for names that its successors also use."""

_NOT_SHOWN = frozenset((5, 8, 11))
"""Placeholders without a text of their own: numbers of slides, and pictures of slides on notes."""

_MARGINS = frozenset((7, 9, 10))
"""Placeholders of dates, footers and headers; `*` means the text of the presentation."""

_BREAKS = str.maketrans({"\x0b": "\n", "\x1e": "\u2011", "\x1f": None, "\x0d": "\n"})


def open_document(file: BinaryIO) -> Document:
    """The presentation in `file`. Raises Unreadable."""
    compound = compounds.unencrypted(file)
    if not compound.has(STREAM):
        return compounds.opened(file, Ole.SLIDES)
    user = compound.optional("Current User")
    if len(user) >= 16 and struct.unpack_from("<I", user, 12)[0] == _ENCRYPTED:
        raise Encrypted("it is encrypted", "Ask for a copy without a password.")
    data = memoryview(compound.read(STREAM))
    saved = struct.unpack_from("<I", user, 16)[0] if len(user) >= 20 else -1
    places = _places(data, saved)
    top = {place: record for place in places.values() for record in _at(data, place)}
    if any(record.kind == kinds.ENCRYPTED for record in top.values()):
        raise Encrypted("it is encrypted", "Ask for a copy without a password.")
    if not any(record.kind in (kinds.DOCUMENT, kinds.SLIDE) for record in top.values()):
        places = {}
        top = {record.start: record for record in records(data)}
    slides = _slides(places, top)
    if not slides and not any(record.kind == kinds.DOCUMENT for record in top.values()):
        if compound.has(_POWERPOINT_95):
            raise Unreadable("it is in the format of PowerPoint 95", "Ask for it as PPTX or PDF.")
        raise Unreadable("no slides can be found in it", ANOTHER_COPY)
    sections.check_slides(len(slides))
    document = next((record for record in top.values() if record.kind == kinds.DOCUMENT), None)
    return OldSlides(slides, beside.counts(compound, places, top), tuple(_margins(document, _OF_SLIDES)))


def _at(data: memoryview, place: int) -> Iterator[Record]:
    if 0 <= place < len(data):
        yield from [record for record in [next(records(data, place), None)] if record is not None]


def _places(data: memoryview, saved: int) -> Mapping[int, int]:
    """Offsets of the presentation's objects, by their numbers, from the last save to the first."""
    places: dict[int, int] = {}
    seen: set[int] = set()
    while 0 <= saved < len(data) and saved not in seen and len(seen) < _SAVES:
        seen.add(saved)
        edit = next(records(data, saved), None)
        if edit is None or edit.kind != kinds.EDIT or len(edit.data) < 16:
            break
        saved, directory = struct.unpack_from("<8xII", edit.data)
        table = next(records(data, directory), None) if directory < len(data) else None
        if table is None or table.kind != kinds.PLACES:
            break
        for number, place in _listed(table.data):
            places.setdefault(number, place)
        if not saved:
            break
    return places


def _listed(table: memoryview) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 4 <= len(table):
        head = struct.unpack_from("<I", table, at)[0]
        first, count = head & 0xFFFFF, head >> 20
        at += 4
        for number in range(min(count, (len(table) - at) // 4)):
            yield first + number, struct.unpack_from("<I", table, at + 4 * number)[0]
        at += 4 * count


class _Text(Struct, frozen=True):
    """A text: the kind of its placeholder, and its paragraphs."""

    kind: int
    text: str

    def lines(self, listed: bool = True) -> Iterator[str]:
        for paragraph in self.text.split("\r"):
            words = paragraph.translate(_BREAKS).replace("\x00", "").rstrip()
            if words.strip():
                first, *others = words.split("\n")
                mark = "- " if listed and self.kind in LISTED else ""
                yield f"{mark}{first}"
                yield from (f"{'  ' if mark else ''}{line}" for line in others)


class _OldSlide(Struct, frozen=True):
    """A slide: its record, the texts next to it, and the speaker notes."""

    record: Record | None
    texts: Sequence[_Text]
    notes: Record | None = None


def _slides(places: Mapping[int, int], top: Mapping[int, Record]) -> Sequence[_OldSlide]:
    """The slides in their order, by the list of the presentation or else of the file."""
    document = next((record for record in top.values() if record.kind == kinds.DOCUMENT), None)
    lists = {} if document is None else {at.instance: at for at in document if at.kind == kinds.LIST}
    own = {_slide_of(record): record for record in top.values() if record.kind == kinds.NOTES}
    if not places or 0 not in lists:
        slides = [record for record in top.values() if record.kind == kinds.SLIDE]
        return [_OldSlide(record, (), own.get(_notes_of(record))) for record in slides]
    spoken = {number: _record(places, top, place) for place, number, _ in _entries(lists.get(2))}
    found_slides = []
    for place, number, texts in _entries(lists[0]):
        record = _record(places, top, place)
        notes = None if record is None else spoken.get(_notes_of(record))
        found_slides.append(_OldSlide(record, texts, notes or own.get(number)))
    return found_slides


def _record(places: Mapping[int, int], top: Mapping[int, Record], number: int) -> Record | None:
    return top.get(places.get(number, -1))


def _entries(entries: Record | None) -> Iterator[tuple[int, int, list[_Text]]]:
    """The number of each object of a list, that by which others refer to it, and its texts."""
    entries_: list[tuple[int, int, list[_Text]]] = []
    kind = 0
    for record in entries or ():
        if record.kind == kinds.PERSIST and len(record.data) >= 16:
            place, _, _, number = struct.unpack_from("<4I", record.data)
            entries_.append((place, number, []))
        elif record.kind == kinds.TEXT_KIND and len(record.data) >= 4:
            kind = struct.unpack_from("<I", record.data)[0]
            if entries_:
                entries_[-1][2].append(_Text(kind, ""))
        elif record.kind in (kinds.TEXT_WIDE, kinds.TEXT_NARROW) and entries_ and entries_[-1][2]:
            entries_[-1][2][-1] = _Text(kind, ppt_records.text(record))
    yield from entries_


def _notes_of(slide: Record) -> int:
    """The number of the notes of a slide; 0 for none."""
    about = slide.first(1007)
    return struct.unpack_from("<16xI", about.data)[0] if about is not None and len(about.data) >= 20 else 0


def _slide_of(notes: Record) -> int:
    """The number of the slide that notes belong to; -1 for none."""
    about = notes.first(1009)
    return struct.unpack_from("<I", about.data)[0] if about is not None and len(about.data) >= 4 else -1


class OldSlides(Struct, frozen=True, dict=True):
    """An opened presentation."""

    slides: Sequence[_OldSlide]
    beside: Counter[str]
    standing: Sequence[str] = ()
    unit: Unit = Unit.SLIDE
    _titles: list[str] = field(default_factory=list)

    @property
    def titles(self) -> Sequence[str]:
        """The title of each slide; empty where it has none."""
        if not self._titles:
            self._titles.extend(_SlideWriter(slide).title() for slide in self.slides)
        return self._titles

    @property
    def contents(self) -> Sequence[Heading]:
        """The slides that have a title."""
        return sections.titled(self.titles)

    def part(self, number: int, area: Area | None = None) -> Part:
        """The slide with this number. Raises Unreadable."""
        slide = self.slides[sections.checked(number, len(self.slides), self.unit, area) - 1]
        if slide.record is None and not slide.texts:
            raise Unreadable("it is missing in the file", ANOTHER_COPY)
        writer = _SlideWriter(slide)
        title = writer.title()
        lines = [f"# {title}"] if title else []
        lines += writer.lines()
        lines += writer.margins(self.standing if number == 1 else ())
        lines += sections.remarks(writer.notes(), writer.comments())
        notes = [sections.HIDDEN_SLIDE] if writer.is_hidden() else []
        dropped = writer.dropped + (self.beside if number == 1 else Counter())
        notes += omission_note(dict(sorted(dropped.items())))
        return Part(number, title, lines, notes=notes)


class _SlideWriter:
    """Writes one slide."""

    def __init__(self, slide: _OldSlide) -> None:
        self._slide = slide
        self.dropped: Counter[str] = Counter()
        self._shapes = [] if slide.record is None else list(self._drawn(slide.record, slide.texts))
        in_shapes = {id(text) for texts in self._shapes for cell in texts for text in cell}
        rest = [text for text in slide.texts if id(text) not in in_shapes and text.text.strip()]
        self._shapes += [[[text]] for text in rest]

    def title(self) -> str:
        """The first title that has words."""
        title = self._title()
        return "" if title is None else " ".join(" ".join(title.lines()).split())

    def lines(self) -> list[str]:
        """The lines of the shapes, but for the title."""
        title = self._title()
        lines = []
        for cells in self._shapes:
            written = [
                [line for text in cell if text is not title for line in text.lines()] for cell in cells
            ]
            if len(cells) > 1:
                lines += [
                    line for _, block in tables.row([[(0, cell)] for cell in written]) for line in block
                ]
            else:
                lines += written[0]
        return lines

    def notes(self) -> list[str]:
        """The speaker notes."""
        record = self._slide.notes
        shapes = () if record is None else self._drawn(record, ())
        return [
            line for cells in shapes for cell in cells for text in cell for line in text.lines(listed=False)
        ]

    def margins(self, standing: Sequence[str]) -> list[str]:
        """The header and footer of a slide, by default those of all slides."""
        return list(dict.fromkeys((*_margins(self._slide.record), *standing)))

    def comments(self) -> list[str]:
        """Comments, after their authors."""
        comments = []
        for holder in self._slide.record.walk() if self._slide.record is not None else ():
            if holder.kind == kinds.COMMENT:
                strings = {at.instance: ppt_records.text(at) for at in holder if at.kind == kinds.TEXT_STRING}
                author, words = strings.get(0, "").strip("\0 "), " ".join(strings.get(1, "").split())
                comments.append(f"{author}: {words}" if author else words)
        return comments

    def is_hidden(self) -> bool:
        """Whether a show leaves the slide out."""
        about = None if self._slide.record is None else self._slide.record.first(kinds.SLIDE_SHOW)
        return about is not None and len(about.data) >= 12 and bool(about.data[10] & 0x04)

    def _title(self) -> _Text | None:
        texts = (text for cells in self._shapes for cell in cells for text in cell)
        return next((text for text in texts if text.kind in TITLES and text.text.strip()), None)

    # --- shapes ------------------------------------------------------------------------------------

    def _drawn(self, slide: Record, texts: Sequence[_Text]) -> Iterator[list[list[_Text]]]:
        """The texts of each shape in order; of each row of a table those of its cells."""
        drawing = slide.first(kinds.DRAWING)
        for holder in drawing or ():
            for record in holder:
                if record.kind == kinds.GROUP:
                    yield from self._group(record, texts, 0)
                elif record.kind == kinds.SHAPE and record.holds:
                    yield from self._shape(record, texts)

    def _group(self, group: Record, texts: Sequence[_Text], depth: int) -> Iterator[list[list[_Text]]]:
        rows: dict[int, list[tuple[int, list[_Text]]]] = {}
        is_table = any(_is_table(record) for record in group if record.kind == kinds.SHAPE)
        for record in group:
            if record.kind == kinds.GROUP and depth < kinds.MAX_DEPTH:
                yield from self._group(record, texts, depth + 1)
            elif record.kind == kinds.SHAPE:
                place = _place(record) if is_table else None
                shape = list(self._shape(record, texts))
                if place is None:
                    yield from shape
                else:
                    cell = [text for cells in shape for cell in cells for text in cell]
                    rows.setdefault(place[0], []).append((place[1], cell))
        for _, cells in sorted(rows.items()):
            row = [cell for _, cell in sorted(cells, key=lambda cell: cell[0])]
            if any(row):
                yield row

    def _shape(self, shape: Record, texts: Sequence[_Text]) -> Iterator[list[list[_Text]]]:
        place = _placeholder(shape)
        if place in _NOT_SHOWN:
            return
        box = shape.first(kinds.TEXT_BOX)
        texts_inside: list[_Text] = []
        kind = 4
        for record in box or ():
            if record.kind == kinds.TEXT_KIND and len(record.data) >= 4:
                kind = struct.unpack_from("<I", record.data)[0]
            elif record.kind in (kinds.TEXT_WIDE, kinds.TEXT_NARROW):
                texts_inside.append(_Text(kind, ppt_records.text(record)))
            elif record.kind == kinds.TEXT_OUTLINE and len(record.data) >= 4:
                number = struct.unpack_from("<i", record.data)[0]
                texts_inside += texts[number : number + 1] if number >= 0 else ()
        options = shape.first(kinds.OPTIONS)
        if options is not None:
            texts_inside += [_Text(4, words) for words in shapes.word_art(options)]
        if place in _MARGINS:
            texts_inside = [text for text in texts_inside if text.text.strip("*\r ")]
        if any(text.text.strip() for text in texts_inside):
            yield [texts_inside]
        elif options is not None and any(key == shapes.PICTURE for key, _, _ in shapes.options(options)):
            yield [[_Text(4, sections.picture(shapes.described(options)))]]


def _margins(holder: Record | None, instance: int | None = None) -> Iterator[str]:
    """Headers, footers and dates directly in a slide, or in the presentation for all slides."""
    for record in holder or ():
        if record.kind == kinds.HEADERS and instance in (None, record.instance):
            for at in record:
                if at.kind == kinds.TEXT_STRING and (words := " ".join(ppt_records.text(at).split())):
                    yield f"[{ ({0: 'date', 1: 'header'}.get(at.instance, 'footer')) }: {words}]"


def _placeholder(shape: Record) -> int:
    client = shape.first(kinds.CLIENT)
    record = None if client is None else client.first(kinds.PLACEHOLDER)
    return record.data[4] if record is not None and len(record.data) >= 5 else -1


def _is_table(shape: Record) -> bool:
    return any(
        key == 0x39F and value & 1
        for at in shape
        if at.kind in (0xF122, 0xF121)
        for key, value, _ in shapes.options(at)
    )


def _place(shape: Record) -> tuple[int, int] | None:
    """The upper edge and the left edge of a shape in its group."""
    record = shape.first(kinds.PLACE)
    if record is None or len(record.data) < 16:
        return None
    left, top = struct.unpack_from("<2i", record.data)
    return top, left
