"""Compound files (OLE) and what Office before 2007 and Outlook keep in them, written byte by byte."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence

SECTOR, MINI, CUTOFF = 512, 64, 4096
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A compound file of these streams; names are paths with `/`."""
    names = sorted({"/".join(name.split("/")[:depth]) for name in streams for depth in range(1, 9)
                    if depth <= len(name.split("/"))})  # fmt: skip
    numbers = {name: number for number, name in enumerate(names, 1)}
    small = b"".join(_padded(data, MINI) for data in streams.values() if len(data) < CUTOFF)
    bodies: list[bytes] = [_padded(small, SECTOR)] if small else []
    starts: dict[str, int] = {}
    at = 0
    for name, data in streams.items():
        if len(data) < CUTOFF:
            starts[name] = at
            at += len(_padded(data, MINI)) // MINI
    place = len(bodies[0]) // SECTOR if small else 0
    chains = [range(place)] if small else []
    for name, data in streams.items():
        if len(data) >= CUTOFF:
            body = _padded(data, SECTOR)
            starts[name] = place
            chains.append(range(place, place + len(body) // SECTOR))
            place += len(body) // SECTOR
            bodies.append(body)
    mini_fat = _table([_mini_chain(data) for data in streams.values() if len(data) < CUTOFF])
    entries = [_entry("Root Entry", 5, _children(names, numbers, ""), 0 if small else END, len(small))]
    for name in names:
        is_stream = name in streams
        child = FREE if is_stream else _children(names, numbers, name)
        sibling = _sibling(names, numbers, name)
        size = len(streams[name]) if is_stream else 0
        start = starts.get(name, 0) if size else END if is_stream else 0
        entries.append(_entry(name.split("/")[-1], 2 if is_stream else 1, child, start, size, sibling))
    directory = _padded(b"".join(entries), SECTOR)
    for extra in (mini_fat, directory):
        chains.append(range(place, place + len(extra) // SECTOR))
        place += len(extra) // SECTOR
        bodies.append(extra)
    fats = 1
    while (place + fats) > fats * 128:
        fats += 1
    fat = [FREE] * (fats * 128)
    for chain in chains:
        for sector in chain:
            fat[sector] = sector + 1 if sector + 1 < chain.stop else END
    for sector in range(place, place + fats):
        fat[sector] = FAT
    mini_start = chains[-2].start if mini_fat else END
    numbers_of_head = (0x3E, 3, 0xFFFE, 9, 6, 0, fats, chains[-1].start, 0)
    head = struct.pack("<8s16xHHHHH6xIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", *numbers_of_head)
    head += struct.pack("<IIIII", CUTOFF, mini_start, len(mini_fat) // SECTOR, END, 0)
    head += b"".join(struct.pack("<I", place + at if at < fats else FREE) for at in range(109))
    return head + b"".join(bodies) + struct.pack(f"<{len(fat)}I", *fat)


def _padded(data: bytes, size: int) -> bytes:
    return data + b"\0" * (-len(data) % size)


def _mini_chain(data: bytes) -> int:
    return (len(data) + MINI - 1) // MINI


def _table(counts: Iterable[int]) -> bytes:
    found: list[int] = []
    for count in counts:
        first = len(found)
        found += [first + at + 1 if at + 1 < count else END for at in range(count)]
    found += [FREE] * (-len(found) % 128)
    return struct.pack(f"<{len(found)}I", *found)


def _inside(names: Sequence[str], folder: str) -> list[str]:
    start = f"{folder}/" if folder else ""
    return [
        name for name in names if name.startswith(start) and name != folder and "/" not in name[len(start) :]
    ]


def _children(names: Sequence[str], numbers: Mapping[str, int], folder: str) -> int:
    inside = _inside(names, folder)
    return numbers[inside[0]] if inside else FREE


def _sibling(names: Sequence[str], numbers: Mapping[str, int], name: str) -> int:
    inside = _inside(names, name.rpartition("/")[0])
    at = inside.index(name) + 1
    return numbers[inside[at]] if at < len(inside) else FREE


def _entry(name: str, kind: int, child: int, start: int, size: int, right: int = FREE) -> bytes:
    words = name.encode("utf-16-le")[:62]
    return struct.pack(
        "<64sHBBIII16xI8x8xIII", words, len(words) + 2, kind, 1, FREE, right, child, 0, start, size, 0
    )


def summary(**properties: str) -> bytes:
    """A stream of document properties: title, subject, author, keywords."""
    keys = {"title": 2, "subject": 3, "author": 4, "keywords": 5, "comments": 6}
    values = [(keys[name], _padded(struct.pack("<II", 30, len(text) + 1) + text.encode() + b"\0", 4))
              for name, text in properties.items()]  # fmt: skip
    head, at = b"", 8 + 8 * len(values)
    for key, value in values:
        head += struct.pack("<II", key, at)
        at += len(value)
    body = b"".join(value for _, value in values)
    section = struct.pack("<II", 8 + len(head) + len(body), len(values)) + head + body
    identity = bytes.fromhex("e0859ff2f94f6810ab9108002b27b3d9")
    return struct.pack("<HHI16xI", 0xFFFE, 0, 0x20006, 1) + identity + struct.pack("<I", 48) + section


# --- Word --------------------------------------------------------------------------------------------------

HEADING, HIDDEN, DELETED = "heading", "hidden", "deleted"
CELL = (0x2416, 1)
ROW_END = (0x2417, 1)


class Word:
    """A document of Word 97, text appended paragraph by paragraph, runs by their kind."""

    def __init__(self) -> None:
        self.text = ""
        self._characters: list[tuple[int, int, bytes]] = []
        self._paragraphs: list[tuple[int, int, bytes]] = []
        self._stories: dict[str, str] = dict.fromkeys(
            ("footnotes", "margins", "comments", "endnotes", "boxes"), ""
        )
        self._marks: dict[str, list[int]] = {"footnotes": [], "comments": [], "endnotes": [], "boxes": []}
        self._ends: dict[str, list[int]] = {name: [0] for name in self._stories}
        self.bookmarks: list[str] = []
        self.drawings: list[tuple[int, str]] = []
        self.fonts: list[str] = []

    def paragraph(self, text: str, *modifiers: tuple[int, int], end: str = "\r", **runs: str) -> None:
        """`runs` are words of the text and what they are: hidden, deleted."""
        start = len(self.text)
        self.text += text + end
        self._paragraphs.append((start, len(self.text), _modifiers(modifiers)))
        for kind, words in runs.items():
            at = start + text.index(words)
            value = _modifiers([(0x083C if kind == HIDDEN else 0x0800, 1)])
            self._characters.append((at, at + len(words), value))

    def refer(self, char: str, place: int) -> None:
        """Let a character stand for what stands at a place of the stream of data."""
        at = self.text.index(char)
        self._characters.append((at, at + 1, _modifiers([(0x6A03, place), (0x0855, 1)])))

    def sign(self, font: int, code: int) -> None:
        """Let the last character of the text show a sign of a font, by its number."""
        at = self.text.rindex("\x28")
        self._characters.append((at, at + 1, _modifiers([(0x6A09, code << 16 | font), (0x0855, 1)])))

    def note(self, kind: str, text: str, mark: str) -> None:
        """A paragraph that refers to a note."""
        self._marks[kind].append(len(self.text) + 1)
        self.story(kind, f"{mark}{text}\r")
        self.paragraph(f"x{mark}")

    def drawing(self, description: str) -> None:
        """A paragraph at which a picture with a description hangs, 5 cm wide and 2 cm high."""
        self.drawings.append((len(self.text) + 1, description))
        self.paragraph("x\x08")

    def story(self, kind: str, text: str) -> None:
        """More text of a story, as one of its pieces."""
        self._stories[kind] += text
        self._ends[kind].append(len(self._stories[kind]))

    def build(self, **streams: bytes) -> bytes:
        """The file, with other streams beside."""
        self.text += "" if self.text else "\r"
        stories = [self.text, *self._stories.values()]
        text = "".join(stories) + "\r"
        base = 1024
        body = text.encode("utf-16-le")
        document = bytearray(base) + body
        document += bytes(-len(document) % 512)
        pages: dict[str, tuple[list[tuple[int, int]], list[int]]] = {}
        for name, runs in (("characters", self._characters), ("paragraphs", self._paragraphs)):
            bounds, numbers = [], []
            for at in range((len(runs) + 9) // 10 or 1):
                page, bound = _page(runs[10 * at : 10 * at + 10], base, name == "paragraphs")
                numbers.append(len(document) // 512)
                bounds.append(bound)
                document += page
            pages[name] = (bounds, numbers)
        table = bytearray(b"\0" * 4)
        fixed: dict[int, tuple[int, int]] = {}

        def put(number: int, data: bytes) -> None:
            fixed[number] = (len(table), len(data))
            table.extend(data)

        pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, base, 0)
        put(33, b"\2" + struct.pack("<I", len(pieces)) + pieces)
        for number, name in ((12, "characters"), (13, "paragraphs")):
            spans, numbers = pages[name]
            edges = [spans[0][0], *(end for _, end in spans)]
            put(number, struct.pack(f"<{len(edges)}I", *edges) + struct.pack(f"<{len(numbers)}I", *numbers))
        for marks, texts, name, size in (
            (2, 3, "footnotes", 2),
            (4, 5, "comments", 30),
            (46, 47, "endnotes", 2),
        ):
            if self._marks[name]:
                places = [*self._marks[name], len(self.text)]
                put(marks, struct.pack(f"<{len(places)}I", *places) + bytes(size * len(self._marks[name])))
                ends = [*self._ends[name], len(self._stories[name]) + 1]
                put(texts, struct.pack(f"<{len(ends)}I", *ends))
        if self._stories["margins"]:
            ends = [0] * 6 + self._ends["margins"] + [len(self._stories["margins"]) + 1]
            put(11, struct.pack(f"<{len(ends)}I", *ends))
        if self._stories["boxes"]:
            ends = self._ends["boxes"]
            put(56, struct.pack(f"<{len(ends)}I", *ends) + bytes(22 * (len(ends) - 1)))
        if self.fonts:
            entries = (bytes(39) + f"{name}\0".encode("utf-16-le") for name in self.fonts)
            table_of = b"".join(bytes((len(entry),)) + entry for entry in entries)
            put(15, struct.pack("<HH", len(self.fonts), 0) + table_of)
        if self.bookmarks:
            words = b"".join(
                struct.pack("<H", len(name)) + name.encode("utf-16-le") for name in self.bookmarks
            )
            put(21, struct.pack("<HHH", 0xFFFF, len(self.bookmarks), 0) + words)
        if self.drawings:
            places = [*(place for place, _ in self.drawings), len(self.text)]
            shapes = (struct.pack("<I4i6x", 1025 + at, 0, 0, 2835, 1134) for at in range(len(self.drawings)))
            put(40, struct.pack(f"<{len(places)}I", *places) + b"".join(shapes))
            drawn = [_numbered(1025 + at, words) for at, (_, words) in enumerate(self.drawings)]
            put(50, record(0xF000, [record(0xF006, bytes(16))]) + b"\0" + record(0xF002, drawn))
        head = _fib([len(story) for story in stories], fixed)
        document[: len(head)] = head
        return compound({"WordDocument": bytes(document), "1Table": bytes(table), **streams})


def _fib(counts: Sequence[int], places: Mapping[int, tuple[int, int]], flags: int = 0x0200) -> bytes:
    head = struct.pack("<HHHHHH", 0xA5EC, 0xC1, 0, 0x409, 0, flags) + bytes(20)
    numbers = [0] * 22
    body, footnotes, margins, comments, endnotes, boxes = counts
    numbers[3:11] = [body, footnotes, margins, 0, comments, endnotes, boxes, 0]
    pairs = [places.get(at, (0, 0)) for at in range(93)]
    return b"".join(
        (head, struct.pack("<H", 14), bytes(28), struct.pack("<H", 22), struct.pack("<22i", *numbers),
         struct.pack("<H", 93), *(struct.pack("<II", *pair) for pair in pairs))
    )  # fmt: skip


def _modifiers(said: Iterable[tuple[int, int]]) -> bytes:
    sizes = {0: 1, 1: 1, 2: 2, 3: 4}
    return b"".join(
        struct.pack("<H", word) + value.to_bytes(sizes[word >> 13], "little") for word, value in said
    )


def _page(
    runs: Sequence[tuple[int, int, bytes]], base: int, paragraphs: bool
) -> tuple[bytes, tuple[int, int]]:
    page = bytearray(512)
    bounds = [base + 2 * runs[0][0], *(base + 2 * end for _, end, _ in runs)] if runs else [base, base]
    # Characters between two runs are a run of their own without properties.
    spans: list[tuple[int, bytes]] = []
    if runs and not paragraphs:
        bounds = [base + 2 * runs[0][0]]
        for at, (start, end, value) in enumerate(runs):
            if at and base + 2 * start > bounds[-1]:
                bounds.append(base + 2 * start)
                spans.append((0, b""))
            bounds.append(base + 2 * end)
            spans.append((1, value))
    else:
        spans = [(1, value) for _, _, value in runs] or [(0, b"")]
    struct.pack_into(f"<{len(bounds)}I", page, 0, *bounds)
    at, place = 4 * len(bounds), 510
    for filled, value in spans:
        data = b""
        if filled:
            data = bytes((len(value),)) + value
            if paragraphs:
                words = b"\0\0" + value
                data = (
                    bytes(((len(words) + 2) // 2,)) + words
                    if len(words) % 2
                    else bytes((0, len(words) // 2)) + words
                )
        place -= len(data) + len(data) % 2
        page[place : place + len(data)] = data
        page[at] = place // 2 if filled else 0
        at += 13 if paragraphs else 1
    page[511] = len(spans)
    return bytes(page), (bounds[0], bounds[-1])


def word_6(*pieces: bytes, language: int = 0x409, table: bytes | None = None) -> bytes:
    """A document of Word 6; of several pieces it was saved in a quick way, the last one stands first.

    `table` is that of the pieces, where it is not to be true.
    """
    stored = b""
    places: list[int] = []
    for piece in reversed(pieces):
        places.insert(0, 0x300 + len(stored))
        stored += piece
    end = 0x300 + len(stored)
    head = struct.pack("<HHHHHH", 0xA5DC, 101, 0, language, 0, 0x0004 if len(pieces) > 1 else 0)
    head = (head + bytes(12) + struct.pack("<II", 0x300, end)).ljust(0x34, b"\0")
    head = (head + struct.pack("<8I", len(stored), *[0] * 7)).ljust(0x160, b"\0")
    if table is None:
        starts = [0, *itertools.accumulate(map(len, pieces))]
        listed = struct.pack(f"<{len(starts)}I", *starts)
        listed += b"".join(struct.pack("<HIH", 0, place, 0) for place in places)
        table = b"\1\2\0\0\0\2" + struct.pack("<I", len(listed)) + listed
    head = (head + struct.pack("<II", end, len(table))).ljust(0x300, b"\0")
    return compound({"WordDocument": head + stored + table})


# --- PowerPoint ------


def record(kind: int, data: bytes | Sequence[bytes], instance: int = 0) -> bytes:
    """A record of a presentation; one that holds others is given as their list."""
    holds = not isinstance(data, bytes)
    body = data if isinstance(data, bytes) else b"".join(data)
    return struct.pack("<HHI", instance << 4 | (0xF if holds else 0), kind, len(body)) + body


def words(text: str) -> bytes:
    """A text of a slide."""
    return record(4000, text.encode("utf-16-le"))


def shape(text: str, kind: int = 4, place: int = 0) -> bytes:
    """A shape with a text; `place` is the number of its placeholder, 0 for none."""
    box = record(0xF00D, [record(3999, struct.pack("<I", kind)), words(text)])
    held = [record(0xF011, [record(3011, struct.pack("<iBBH", 0, place, 0, 0))])] if place else []
    return record(0xF004, [*held, box])


def picture(description: str) -> bytes:
    """A shape with a picture, and what is said of it."""
    words = f"{description}\0".encode("utf-16-le")
    said = struct.pack("<HIHI", 0x4104, 1, 0xC381, len(words)) + words
    return record(0xF004, [record(0xF00B, said, 2)])


def _numbered(number: int, description: str) -> bytes:
    """A shape of a Word document with its number and a picture that is described."""
    words = f"{description}\0".encode("utf-16-le")
    said = struct.pack("<HIHI", 0x4104, 1, 0xC381, len(words)) + words
    return record(0xF004, [record(0xF00A, struct.pack("<II", number, 0)), record(0xF00B, said, 2)])


def drawing(*shapes: bytes) -> bytes:
    """What is drawn on a slide."""
    return record(
        1036, [record(0xF002, [record(0xF003, [record(0xF004, [record(0xF00A, bytes(8))]), *shapes])])]
    )


def slides(
    pages: Sequence[Sequence[bytes]],
    beside: Sequence[bytes] = (),
    notes: Sequence[bytes] = (),
    stored: Sequence[bytes] = (),
    **streams: bytes,
) -> bytes:
    """A presentation: records of each slide, of the presentation, and of notes of the first slide.

    `stored` are records that it has by numbers, after those of the slides and of the notes.
    """
    bodies = [
        record(
            1006,
            [record(1007, bytes(16) + struct.pack("<I", 900 if notes and not at else 0) + bytes(4)), *page],
        )
        for at, page in enumerate(pages)
    ]
    lists = [record(4080, [record(1011, struct.pack("<4I", at + 2, 0, 0, 256 + at) + bytes(4))
                           for at in range(len(pages))], 0)]  # fmt: skip
    if notes:
        bodies.append(record(1008, [record(1009, struct.pack("<II", 256, 0)), *notes]))
        lists.append(
            record(4080, [record(1011, struct.pack("<4I", len(pages) + 2, 0, 0, 900) + bytes(4))], 2)
        )
    bodies = [record(1000, [*lists, *beside]), *bodies, *stored]
    stream, places = b"", []
    for body in bodies:
        places.append(len(stream))
        stream += body
    table = len(stream)
    stream += record(6002, struct.pack(f"<I{len(places)}I", 1 | len(places) << 20, *places))
    edit = len(stream)
    stream += record(4085, struct.pack("<IIIIII", 0, 0, 0, table, 1, len(places) + 1) + bytes(4))
    user = struct.pack("<HHIIIII", 0, 4086, 20, 20, 0xE391C05F, edit, 0)
    return compound({"PowerPoint Document": stream, "Current User": user, **streams})


# --- Outlook ------


def texts(folder: str = "", **properties: str) -> dict[str, bytes]:
    """Texts of a message by the numbers of their properties, as `p0037="subject"`."""
    return {
        f"{folder}__substg1.0_{key[1:].upper()}001F": text.encode("utf-16-le")
        for key, text in properties.items()
    }


def message(streams: Mapping[str, bytes], **properties: str) -> bytes:
    """A message of Outlook with these texts, and other streams."""
    found = {"__properties_version1.0": bytes(32), **texts(**properties), **streams}
    for folder in {name.rpartition("/")[0] for name in found if "/" in name}:
        inner = 24 if folder.endswith("000D") else 8
        found.setdefault(f"{folder}/__properties_version1.0", bytes(inner))
    return compound(found)


def attachment(
    number: int, name: str, data: bytes, mime: str = "application/octet-stream"
) -> dict[str, bytes]:
    """An attachment of a message."""
    folder = f"__attach_version1.0_#{number:08X}/"
    return {**texts(folder, p3707=name, p370E=mime), f"{folder}__substg1.0_37010102": data}
