"""The tokens of RTF (groups, control words, bytes of text), its encodings, and the state of groups."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from readroom.documents.formats import symbols
from readroom.documents.formats.formulas import FormulaParts
from readroom.documents.formats.story import FlowStory, Paragraph

_TOKEN = re.compile(
    rb"([{}])"
    rb"|\\([a-zA-Z]{1,40})(-?\d{1,10})? ?"
    rb"|\\'([0-9a-fA-F]{2})"
    rb"|\\([^a-zA-Z])"
    rb"|([^\\{}\r\n]+)"
    rb"|[\r\n]+"
    rb"|\\",
    re.DOTALL,
)
_END = re.compile(rb"\\bin(\d{1,9}) ?|\\.|[{}]", re.DOTALL)

_FONT = re.compile(rb"\\(f|fcharset|cpg)(\d{1,6})(?![a-zA-Z])")
_NAMED_FONT = re.compile(rb"\\f(\d{1,6})(?!\d)((?:[^;{}]|\{[^{}]*\})*);")
_AROUND_NAME = re.compile(rb"\{[^{}]*\}|\\[a-z]+-?\d* ?")
_SIGNS = "signs of "
"""Before the name of a symbol font, in place of an encoding."""

_STYLE = re.compile(rb"\{\s*\\s(\d{1,5})(?!\d)((?:[^{}]|\{[^{}]*\})*)\}")
_OUTLINE = re.compile(rb"\\outlinelevel([0-8])(?!\d)")
_NAME = re.compile(rb"[ \n](?:heading ([1-9])|Title)\s*(?:,[^;{}]*)?;\s*\Z", re.IGNORECASE)

CHARSETS: Mapping[int, str] = {
    0: "cp1252", 2: "cp1252", 77: "mac_roman", 78: "cp932", 79: "cp949", 80: "gbk", 81: "cp950", 128: "cp932",
    129: "cp949", 130: "johab", 134: "gbk", 136: "cp950", 161: "cp1253", 162: "cp1254", 163: "cp1258",
    177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874", 238: "cp1250", 254: "cp437",
    255: "cp850",
}  # fmt: skip
"""Encodings by the charset of a font; 1 means that of the document."""

_PAGES = {932: "cp932", 936: "gbk", 949: "cp949", 950: "cp950", 10000: "mac_roman", 10001: "cp932",
          10007: "mac_cyrillic", 10029: "mac_latin2", 65001: "utf-8", 708: "cp720", 709: "cp720"}  # fmt: skip


class Token(NamedTuple):
    """One of: the start or end of a group, a control word or symbol with its number, bytes of text."""

    brace: bytes = b""
    word: str = ""
    number: int | None = None
    data: bytes = b""


class Tokens:
    """The tokens of a file, one after the other; groups can be skipped."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __iter__(self) -> Iterator[Token]:
        while (match := _TOKEN.match(self._data, self._at)) is not None:
            self._at = match.end()
            brace, word, number, pair, symbol, text = match.groups()
            if text is not None:
                yield Token(data=text)
            elif word is not None:
                if word == b"bin":
                    self._at += max(0, int(number or 0))
                    continue
                yield Token(word=word.decode("ascii"), number=None if number is None else int(number))
            elif pair is not None:
                yield Token(data=bytes((int(pair, 16),)))
            elif brace is not None:
                yield Token(brace=brace)
            elif symbol is not None:
                yield Token(word=symbol.decode("latin-1"))

    def rest(self) -> bytes:
        """The unread rest."""
        return self._data[self._at :]

    def skip_group(self) -> bytes:
        """Jump to the end of the open group; returns the skipped bytes."""
        depth, start = 0, self._at
        while (match := _END.search(self._data, self._at)) is not None:
            self._at = match.end()
            if match[1] is not None:
                self._at += int(match[1])
            elif match[0] == b"{":
                depth += 1
            elif match[0] == b"}":
                if not depth:
                    self._at = match.start()
                    return self._data[start : self._at]
                depth -= 1
        self._at = len(self._data)
        return self._data[start:]


def fonts(table: bytes, usual: str) -> dict[int, str]:
    """The encodings of the fonts of a font table; `usual` is that of the document."""
    encodings: dict[int, str] = {}
    font = 0
    for word, number in _FONT.findall(table):
        if word == b"f":
            font = int(number)
        elif word == b"cpg":
            encodings[font] = code_page(int(number))
        elif int(number) != 1:
            encodings.setdefault(font, CHARSETS.get(int(number), usual))
    for number, about in _NAMED_FONT.findall(table):
        name = _AROUND_NAME.sub(b"", about).decode("latin-1").strip()
        if symbols.known(name):
            encodings[int(number)] = _SIGNS + name
    return encodings


def headings(sheet: bytes) -> dict[int, int]:
    """The outline levels, from 0, of the styles of a style sheet that are headings."""
    levels: dict[int, int] = {}
    for number, about in _STYLE.findall(sheet):
        outline, name = _OUTLINE.search(about), _NAME.search(about)
        if outline is not None:
            levels[int(number)] = int(outline[1])
        elif name is not None:
            levels[int(number)] = int(name[1] or 1) - 1
    return levels


def code_page(number: int) -> str:
    """The codec of a code page by its number; that of western Windows for unknown ones."""
    name = _PAGES.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return "cp1252"
    return name


def decoded(data: bytes, codec: str) -> str:
    """Decoded text, with U+FFFD for bytes outside of its encoding. A symbol font's signs are translated."""
    if codec.startswith(_SIGNS):
        return as_shown(data.decode("latin-1"), codec)
    return data.decode(codec, "replace")


def as_shown(text: str, codec: str) -> str:
    """A text written as characters; a symbol font's signs are translated."""
    return symbols.shown(codec.removeprefix(_SIGNS), text) if codec.startswith(_SIGNS) else text


# -----------------------------------------------------------------------------
# The state inside a group, and fields.
# -----------------------------------------------------------------------------


class RtfField(Struct):
    """A field while it is read: its code, and the state of a form field."""

    code: str = ""
    kind: int = 0
    chosen: int | None = None
    usual: int = 0
    entries: list[str] = []

    @property
    def state(self) -> int:
        """Whether a box is ticked, or the number of the chosen entry."""
        return self.usual if self.chosen in (None, _USUAL) else max(0, self.chosen)


TICKED, _USUAL = 1, 25
PLAIN = Paragraph()


class State(Struct):
    """The state inside a group. `words` takes text outside of stories; `close` ends the group."""

    story: FlowStory | None
    words: list[str] | None = None
    close: Callable[[], None] | None = None
    paragraph: Paragraph = PLAIN
    codec: str = "cp1252"
    far: str = "cp1252"
    is_far: bool = False
    skipped: int = 1
    hidden: bool = False
    deleted: bool = False
    starred: bool = False
    field: RtfField | None = None
    formula: FormulaParts | None = None
