"""Formatting in the binary Word format: styles, lists, and properties of characters and paragraphs.

Properties are in pages of 512 bytes, by offsets into the file. Only what a reader needs is kept: heading
levels, places in lists and tables, and what is hidden, deleted or a special character.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from readroom.documents.formats import symbols
from readroom.documents.formats.docx.lists import ListLevel, Lists

PAGE = 512
MAX_STYLES = 5_000
MAX_BASED_ON = 20
MAX_LISTS = 5_000
LEVELS = 9

_IN_TABLE, _ROW_END, _DEPTH, _INNER_CELL, _INNER_END = 0x2416, 0x2417, 0x6649, 0x244B, 0x244C
_OUTLINE, _LIST_LEVEL, _LIST = 0x2640, 0x260A, 0x460B
_PARAGRAPH_WORDS = frozenset(
    (_IN_TABLE, _ROW_END, _DEPTH, _INNER_CELL, _INNER_END, _OUTLINE, _LIST_LEVEL, _LIST)
)
_DELETED, _HIDDEN, _SPECIAL = 0x0800, 0x083C, 0x0855
_DATA_PLACE, _SIGN = 0x6A03, 0x6A09
HIDDEN, DELETED, SPECIAL = 1, 2, 4
"""Properties of characters; they add up."""

_SIZES = {0: 1, 1: 1, 2: 2, 3: 4, 4: 2, 5: 2, 7: 3}
_TITLE = 62
"""The number of the style of titles; 1 to 9 are those of headings."""

_FORMS = {0: "decimal", 1: "upperRoman", 2: "lowerRoman", 3: "upperLetter", 4: "lowerLetter",
          22: "decimalZero", 23: "bullet", 255: "none"}  # fmt: skip


def modifiers(data: bytes) -> Iterator[tuple[int, int]]:
    """The properties of a list of them, as their numbers and values; long values are left out."""
    at = 0
    while at + 3 <= len(data):
        word = int.from_bytes(data[at : at + 2], "little")
        at += 2
        size = _SIZES.get(word >> 13)
        if size is None:
            if word == 0xD608:
                at += int.from_bytes(data[at : at + 2], "little") + 1
            else:
                at += data[at] + 1
            continue
        yield word, int.from_bytes(data[at : at + size], "little")
        at += size


class Properties(Struct, frozen=True):
    """Properties of a paragraph. `heading` is its level or 0; `listed` is the number of its list."""

    heading: int = 0
    in_table: bool = False
    depth: int = 1
    ends_cell: bool = False
    ends_row: bool = False
    listed: int = 0
    list_level: int = 0


class _Runs(Struct, frozen=True):
    """Places in the file where properties begin and end, in order."""

    starts: Sequence[int]
    ends: Sequence[int]
    values: Sequence[object]

    def at(self, place: int) -> object | None:
        index = bisect_right(self.starts, place) - 1
        return self.values[index] if index >= 0 and place < self.ends[index] else None


NO_RUNS = _Runs((), (), ())
NO_LISTS = Lists({}, {})


class Formats(Struct, frozen=True):
    """The formats of a document."""

    styles: Sequence[Mapping[int, int]]
    paragraphs: _Runs
    characters: _Runs
    data: _Runs
    lists: Lists
    signs: _Runs = NO_RUNS
    fonts: Sequence[str] = ()
    _known: dict[object, Properties] = field(default_factory=dict)

    def paragraph(self, place: int) -> Properties:
        """The properties of the paragraph that ends at this offset."""
        stated = self.paragraphs.at(place)
        if stated is None:
            return Properties()
        if stated not in self._known:
            self._known[stated] = self._properties(*stated)  # type: ignore[misc]
        return self._known[stated]

    def _properties(self, style: int, own: tuple[tuple[int, int], ...]) -> Properties:
        inherited = self.styles[style] if style < len(self.styles) else {}
        properties = {**inherited, **dict(own)}
        outline = properties.get(_OUTLINE, LEVELS)
        depth = properties.get(_DEPTH, 1)
        in_inner = bool(properties.get(_INNER_CELL) or properties.get(_INNER_END))
        return Properties(
            outline + 1 if outline < LEVELS else 0,
            bool(properties.get(_IN_TABLE)) or depth > 1 or in_inner,
            max(1, min(depth, LEVELS)),
            bool(properties.get(_INNER_CELL)),
            bool(properties.get(_ROW_END) or properties.get(_INNER_END)),
            min(properties.get(_LIST, 0), 0x7FFF),
            min(properties.get(_LIST_LEVEL, 0), LEVELS - 1),
        )

    def sign(self, place: int) -> str:
        """The characters that a symbol font shows at a place; empty for other fonts."""
        stated = self.signs.at(place)
        if not isinstance(stated, int):
            return ""
        font, code = stated & 0xFFFF, stated >> 16
        return symbols.sign(self.fonts[font] if font < len(self.fonts) else "", code)

    def kinds(self, first: int, last: int) -> Iterator[tuple[int, int, int]]:
        """Runs of characters between two places that are hidden, deleted or special, and which."""
        runs = self.characters
        at = max(0, bisect_right(runs.starts, first) - 1)
        while at < len(runs.starts) and runs.starts[at] < last:
            if runs.ends[at] > first:
                kind = runs.values[at]
                assert isinstance(kind, int)
                yield max(first, runs.starts[at]), min(last, runs.ends[at]), kind
            at += 1


def formats(document: bytes, table: bytes, places: Mapping[str, tuple[int, int]]) -> Formats:
    """The formats at these places of the table stream."""

    def of(name: str) -> bytes:
        start, size = places[name]
        return table[start : start + size]

    start, size = places["lists"]
    characters, data, signs = _characters(document, of("characters"))
    return Formats(
        styles(of("styles")),
        _paragraphs(document, of("paragraphs")),
        characters,
        data,
        lists(table, start, start + size, of("used lists")),
        signs,
        _fonts(of("fonts")),
    )


# --- runs ------------------------------------------------------------------------------------------


def _pages(document: bytes, table: bytes) -> Iterator[tuple[bytes, int]]:
    """The pages that a table of them names, and how many runs each has."""
    count = (len(table) - 4) // 8
    for at in range(count):
        number = int.from_bytes(table[4 * (count + 1 + at) :][:4], "little") & 0x3FFFFF
        page = document[PAGE * number : PAGE * (number + 1)]
        if len(page) == PAGE:
            yield page, min(page[-1], 101)


def _paragraphs(document: bytes, table: bytes) -> _Runs:
    runs: list[tuple[int, int, object]] = []
    for page, count in _pages(document, table):
        places = struct.unpack_from(f"<{count + 1}I", page)
        for at in range(count):
            entry = 4 * (count + 1) + 13 * at
            offset = page[entry] * 2 if entry < PAGE else 0
            runs.append((places[at], places[at + 1], _paragraph(page, offset)))
    return _sorted(runs)


def _paragraph(page: bytes, offset: int) -> tuple[int, tuple[tuple[int, int], ...]]:
    """The style number of a paragraph, and its own properties."""
    if not 0 < offset < PAGE - 3:
        return 0, ()
    size = 2 * page[offset] - 1
    start = offset + 1
    if size < 0:
        size, start = 2 * page[offset + 1], offset + 2
    content = page[start : start + size]
    words = tuple(modifier for modifier in modifiers(content[2:]) if modifier[0] in _PARAGRAPH_WORDS)
    return int.from_bytes(content[:2], "little"), words


def _fonts(table: bytes) -> list[str]:
    """The names of the fonts, by their numbers."""
    names: list[str] = []
    at = 4
    for _ in range(int.from_bytes(table[:2], "little")):
        size = table[at] if at < len(table) else 0
        name = table[at + 40 : at + 1 + size].decode("utf-16-le", "replace")
        names.append(name.partition("\0")[0])
        at += 1 + size
    return names


def _characters(document: bytes, table: bytes) -> tuple[_Runs, _Runs, _Runs]:
    """Properties of runs of characters, where in the data stream their objects are, and signs of fonts."""
    runs: list[tuple[int, int, object]] = []
    data: list[tuple[int, int, object]] = []
    signs: list[tuple[int, int, object]] = []
    for page, count in _pages(document, table):
        places = struct.unpack_from(f"<{count + 1}I", page)
        for at in range(count):
            offset = page[4 * (count + 1) + at] * 2
            properties = dict(modifiers(page[offset + 1 : offset + 1 + page[offset]])) if offset else {}
            kind = HIDDEN * (properties.get(_HIDDEN, 0) in (1, 129)) + DELETED * (
                properties.get(_DELETED, 0) == 1
            )
            kind += SPECIAL * (properties.get(_SPECIAL, 0) == 1)
            if kind:
                runs.append((places[at], places[at + 1], kind))
            if _DATA_PLACE in properties:
                data.append((places[at], places[at + 1], properties[_DATA_PLACE]))
            if _SIGN in properties:
                signs.append((places[at], places[at + 1], properties[_SIGN]))
    return _sorted(runs), _sorted(data), _sorted(signs)


def _sorted(runs: list[tuple[int, int, object]]) -> _Runs:
    runs.sort(key=lambda run: run[0])
    return _Runs([run[0] for run in runs], [run[1] for run in runs], [run[2] for run in runs])


# --- fields of forms ---------------------------------------------------------------------------------

_TICKED, _CHOSEN = 1, 2
_USUAL = 25
"""The state of a field that was never changed."""


class FormField(Struct, frozen=True):
    """The content of a form field: `text` is empty if its text is in the document."""

    text: str = ""
    others: int = 0


def form_field(data: bytes, place: object) -> FormField:
    """The field with its properties at this place of the data stream, if there are any."""
    if not isinstance(place, int) or len(data) < place + 6:
        return FormField()
    at = place + int.from_bytes(data[place + 4 : place + 6], "little")
    if data[at : at + 4] != b"\xff\xff\xff\xff" or len(data) < at + 10:
        return FormField()
    bits = int.from_bytes(data[at + 4 : at + 6], "little")
    kind, state = bits & 3, bits >> 2 & 0x1F
    at += 10 + 2 * int.from_bytes(data[at + 10 : at + 12], "little") + 4
    if state == _USUAL:
        state = int.from_bytes(data[at : at + 2], "little")
    if kind == _TICKED:
        return FormField("[x]" if state else "[ ]")
    at += 2
    for _ in range(5):  # its format, two texts of help, two macros
        at += 2 * int.from_bytes(data[at : at + 2], "little") + 4
    entries = _strings(data, at) if kind == _CHOSEN else []
    return FormField(entries[state] if state < len(entries) else "", max(0, len(entries) - 1))


def _strings(data: bytes, at: int) -> list[str]:
    """A table of texts."""
    count, extra = (int.from_bytes(data[at + place : at + place + 2], "little") for place in (2, 4))
    at += 6
    texts: list[str] = []
    while len(texts) < count and at + 2 <= len(data):
        size = 2 * int.from_bytes(data[at : at + 2], "little")
        texts.append(data[at + 2 : at + 2 + size].decode("utf-16-le", "replace"))
        at += 2 + size + extra
    return texts


# --- styles ------------------------------------------------------------------------------------------


def styles(sheet: bytes) -> Sequence[Mapping[int, int]]:
    """Inherited properties of the paragraphs of each style, by its number."""
    if len(sheet) < 6:
        return ()
    head, count, base_size = struct.unpack_from("<HHH", sheet)
    at = 2 + head
    own: list[tuple[int, Mapping[int, int]]] = []
    for _ in range(min(count, MAX_STYLES)):
        size = int.from_bytes(sheet[at : at + 2], "little")
        own.append(_style(sheet[at + 2 : at + 2 + size], base_size))
        at += 2 + size + size % 2
    return [_inherited(number, own) for number in range(len(own))]


def _style(style: bytes, base_size: int) -> tuple[int, Mapping[int, int]]:
    """The number of the style that this one is based on, and its own properties."""
    if len(style) < base_size or len(style) < 4:
        return 0xFFF, {}
    builtin, kind_and_base = struct.unpack_from("<HH", style)
    builtin &= 0xFFF
    own: dict[int, int] = {}
    if 1 <= builtin <= LEVELS:
        own[_OUTLINE] = builtin - 1
    elif builtin == _TITLE:
        own[_OUTLINE] = 0
    if kind_and_base & 0xF == 1:
        name = int.from_bytes(style[base_size : base_size + 2], "little")
        at = base_size + 2 + 2 * name + 2
        size = int.from_bytes(style[at : at + 2], "little")
        modified = modifiers(style[at + 4 : at + 2 + size])
        own |= {word: value for word, value in modified if word in _PARAGRAPH_WORDS}
    return kind_and_base >> 4, own


def _inherited(number: int, own: Sequence[tuple[int, Mapping[int, int]]]) -> Mapping[int, int]:
    merged: dict[int, int] = {}
    for _ in range(MAX_BASED_ON):
        if number >= len(own):
            break
        based_on, properties = own[number]
        merged = {**properties, **merged}
        number = based_on
    return merged


# --- lists -------------------------------------------------------------------------------------------


def lists(table: bytes, start: int, end: int, used: bytes) -> Lists:
    """The lists of a document, by the number under which paragraphs refer to them."""
    count = min(int.from_bytes(table[start : start + 2], "little"), MAX_LISTS) if end > start else 0
    definitions: dict[bytes, dict[int, ListLevel]] = {}
    at = end
    for number in range(count):
        entry = table[start + 2 + 28 * number :][:28]
        if len(entry) < 28:
            break
        own_levels: dict[int, ListLevel] = {}
        for level in range(1 if entry[26] & 1 else LEVELS):
            own_levels[level], at = _level(table, at)
        definitions[entry[:4]] = own_levels
    levels: dict[str, Mapping[int, ListLevel]] = {}
    origin: dict[str, str] = {}
    overrides = _overrides(used)
    for number in range(1, min(int.from_bytes(used[:4], "little"), MAX_LISTS) + 1):
        identity = used[4 + 16 * (number - 1) :][:4]
        own = next(overrides, {})
        base = definitions.get(identity)
        if base is None:
            continue
        changed = {level: start if isinstance(start, ListLevel) else _started(base, level, start)
                   for level, start in own.items()}  # fmt: skip
        levels[str(number)] = {**base, **changed}
        origin[str(number)] = f"{identity.hex()} {number}" if own else identity.hex()
    return Lists(levels, origin)


def _started(base: Mapping[int, ListLevel], level: int, start: int) -> ListLevel:
    known = base.get(level, ListLevel("decimal", f"%{level + 1}.", 1))
    return ListLevel(known.form, known.text, start)


def _overrides(used: bytes) -> Iterator[dict[int, ListLevel | int]]:
    """Overrides in each use of a list: a level, or its start."""
    count = min(int.from_bytes(used[:4], "little"), MAX_LISTS)
    at = 4 + 16 * count
    for number in range(count):
        entry = used[4 + 16 * number :][:16]
        levels: dict[int, ListLevel | int] = {}
        at += 4
        for _ in range(entry[12] if len(entry) == 16 else 0):
            if at + 8 > len(used):
                break
            start, flags = struct.unpack_from("<iI", used, at)
            at += 8
            level = min(flags & 0xF, LEVELS - 1)
            if flags & 0x20:
                levels[level], at = _level(used, at)
            elif flags & 0x10:
                levels[level] = max(0, start)
        yield levels


def _level(table: bytes, at: int) -> tuple[ListLevel, int]:
    """One level of a list, and where the next one begins."""
    head = table[at : at + 28]
    if len(head) < 28:
        return ListLevel("none", "", 1), at
    start, form = struct.unpack_from("<iB", head)
    at += 28 + head[24] + head[25]
    count = int.from_bytes(table[at : at + 2], "little")
    letters = table[at + 2 : at + 2 + 2 * count].decode("utf-16-le", "replace")
    text = "".join(f"%{ord(letter) + 1}" if ord(letter) < LEVELS else letter for letter in letters)
    return ListLevel(_FORMS.get(form, "decimal"), text, max(0, start)), at + 2 + 2 * count
