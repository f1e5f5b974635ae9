"""The lines of a PDF page, from PDFium's text and the positions of characters.

PDFium takes a column of short labels for vertical writing and joins them: `02468`. Characters above each
other, with space between them, become lines of their own. Values of fields and notes are inserted where they
are on the page.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from pypdfium2 import raw

from readroom.documents.formats.pdf import accents

_JOINED = frozenset("\x02\ufffe")
"""PDFium's mark for a joined word that was hyphenated at the end of a line."""

_BEFORE_NUMBER = re.compile("[\x02\ufffe](?=[0-9])")
"""No word continues with a number: that is `Type-` and `2`, or the number of the line in the margin."""

_NO_TEXT = str.maketrans("", "", "".join(_JOINED) + accents.GONE + "\r")
"""Replacement character; broken fonts also give it."""

_LEFT_OUT = frozenset(accents.GONE + "\r ")
"""A line of nothing else has lost its characters."""

_STEP = 2.0
"""Points between base lines from which boxes are looked at: less is never another line."""

_PITCH = 0.7
"""Distance of the base lines of different lines, relative to a line's height; raised marks have less."""

_LETTERS_PITCH = 1.2
"""The same of letters that follow each other, which in names written downwards are a line apart."""

_ROTATED = 0.1
"""Radians: characters of text that runs upwards follow each other that way."""

_WIDE = "\u2e80"
"""From this angle on scripts are written downwards."""

_NEAR = 2.0
"""Maximum distance in points of a field from its line."""


class Box(Struct, frozen=True):
    """A rectangle in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> float:
        """Its height above the lower edge of the page."""
        return (self.bottom + self.top) / 2

    @property
    def words(self) -> str:
        """Its place, for people."""
        across, up = f"{self.left:.0f} to {self.right:.0f}", f"{self.bottom:.0f} to {self.top:.0f}"
        return f"{across} points from the left, {up} points up"


class Placed(Struct, frozen=True):
    """The text of a field or a note, and its place."""

    box: Box
    lines: Sequence[str]


class _Line(Struct):
    """Characters with their indexes in the text of the page."""

    text: str
    first: int


def lines(textpage: Any, placed: Sequence[Placed] = (), unseen: frozenset[int] = frozenset()) -> list[str]:
    """The lines of a page, without empty ones at the end, and without characters that are not seen."""
    text, exact = _text(textpage, unseen)
    parted = [line for line in _parted(text) if not line.text or set(line.text) - _LEFT_OUT]
    pieces = [piece for line in parted for piece in (_split(textpage, line) if exact else [line])]
    if placed:
        return _trimmed(_merged(textpage, pieces, placed, exact=exact))
    return _trimmed([_clean(piece.text) for piece in pieces])


def placed_lines(textpage: Any) -> list[tuple[Box, str]]:
    """The lines of a page with their places."""
    text, exact = _text(textpage)
    rows = [_row(textpage, piece, exact=exact) for line in _parted(text) for piece in _split(textpage, line)]
    return [(row.box, _clean(row.text)) for row in rows if row.box is not None and _clean(row.text)]


def _text(textpage: Any, unseen: frozenset[int] = frozenset()) -> tuple[str, bool]:
    """The text of a page, and whether it has a character for each of PDFium's, which have places."""
    text = textpage.get_text_range(errors="replace")
    count = textpage.count_chars()
    if count != len(text):  # PDFium leaves out some characters of a text as a whole
        units = [raw.FPDFText_GetUnicode(textpage, index) for index in range(count)]
        if any(0xD800 <= unit < 0xE000 for unit in units):
            return text, False
        text = "".join(map(chr, units))
    if unseen:
        gone = (at in unseen and letter not in "\r\n" for at, letter in enumerate(text))
        text = "".join(
            accents.GONE if is_gone else letter for is_gone, letter in zip(gone, text, strict=True)
        )
    return accents.composed(textpage, text), True


def _parted(text: str) -> Iterator[_Line]:
    at = 0
    for line in text.split("\n"):
        yield _Line(line, at)
        at += len(line) + 1


def _clean(text: str) -> str:
    return _BEFORE_NUMBER.sub("-", text).translate(_NO_TEXT).rstrip()


def _trimmed(texts: list[str]) -> list[str]:
    while texts and not texts[-1]:
        texts.pop()
    return texts


def _split(textpage: Any, line: _Line) -> list[_Line]:
    """The line, or the lines that it is by the places of its characters, from the top."""
    if len(line.text.rstrip()) < 2:
        return [line]
    x, y = ctypes.c_double(), ctypes.c_double()
    starts: list[int] = []
    before: int | None = None
    above = 0.0
    for index, letter in enumerate(line.text, line.first):
        if letter in _JOINED:
            before = None
        if letter.isspace() or letter in _JOINED or not raw.FPDFText_GetCharOrigin(textpage, index, x, y):
            continue
        step = abs(y.value - above)
        if before is not None and step > _STEP and _apart(textpage, before, index, step, line):
            starts.append(index - line.first)
        before, above = index, y.value
    if not starts:
        return [line]
    pieces = [
        _Line(line.text[start:end], line.first + start)
        for start, end in zip([0, *starts], [*starts, len(line.text)], strict=True)
    ]
    return sorted(pieces, key=lambda piece: -_top(textpage, piece))


def _apart(textpage: Any, before: int, index: int, step: float, line: _Line) -> bool:
    """Whether two characters with base lines this far apart are in different lines."""
    character, other = line.text[before - line.first], line.text[index - line.first]
    if min(character, other) >= _WIDE or abs(raw.FPDFText_GetCharAngle(textpage, index)) > _ROTATED:
        return False
    height = max(_height(textpage, before), _height(textpage, index))
    letters = character.isalpha() and other.isalpha() and index == before + 1
    return height > 0 and step > height * (_LETTERS_PITCH if letters else _PITCH)


def _height(textpage: Any, index: int) -> float:
    """The line height of a character's font, whatever the character."""
    rectangle = raw.FS_RECTF()
    if not raw.FPDFText_GetLooseCharBox(textpage, index, rectangle):
        return 0.0
    return abs(float(rectangle.top) - float(rectangle.bottom))


def _top(textpage: Any, piece: _Line) -> float:
    for index, letter in enumerate(piece.text, piece.first):
        place = None if letter.isspace() else box(textpage, index)
        if place is not None:
            return place.top
    return 0.0


def box(textpage: Any, index: int) -> Box | None:
    """The box of a character; None for one that PDFium has added."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    if not raw.FPDFText_GetCharBox(textpage, index, left, right, bottom, top):
        return None
    place = Box(left.value, bottom.value, right.value, top.value)
    return place if place.right > place.left or place.top > place.bottom else None


# --- text of fields and notes -----------------------------------------------------------------------


class _Row(Struct):
    """A line with its place, and insertions by the index of the character that follows them."""

    text: str
    box: Box | None
    starts: Sequence[float]
    inside: list[tuple[int, str]]
    behind: list[str]

    def written(self) -> str:
        line, at = "", 0
        for index, words in sorted(self.inside, key=lambda item: item[0]):
            line += self.text[at:index]
            line += f"{'' if not line or line[-1].isspace() else ' '}{words} "
            at = index
        return _clean(line + self.text[at:])


def _merged(textpage: Any, pieces: Sequence[_Line], placed: Sequence[Placed], *, exact: bool) -> list[str]:
    rows = [_row(textpage, piece, exact=exact) for piece in pieces]
    alone: list[Placed] = []
    for field in placed:
        row = _beside(rows, field.box)
        if row is None:
            alone.append(field)
        elif len(field.lines) == 1:
            at = next((at for at, left in enumerate(row.starts) if left >= field.box.left - _NEAR), None)
            row.inside.append((len(row.text.rstrip()) if at is None else at, field.lines[0]))
        else:
            row.behind += field.lines
    for field in sorted(alone, key=lambda field: (-field.box.middle, field.box.left)):
        _insert(rows, field)
    return [line for row in rows for line in (row.written(), *row.behind)]


def _row(textpage: Any, piece: _Line, *, exact: bool) -> _Row:
    starts: list[float] = []
    low, high, right = float("inf"), float("-inf"), float("-inf")
    for index, letter in enumerate(piece.text, piece.first):
        letter_box = None if letter.isspace() or not exact else box(textpage, index)
        if letter_box is None:
            starts.append(starts[-1] if starts else float("-inf"))
            continue
        starts.append(letter_box.left)
        low, high, right = (
            min(low, letter_box.bottom),
            max(high, letter_box.top),
            max(right, letter_box.right),
        )
    place = Box(min((left for left in starts if left > float("-inf")), default=0.0), low, right, high)
    return _Row(piece.text, place if low < high else None, starts, [], [])


def _beside(rows: Sequence[_Row], box: Box) -> _Row | None:
    """The line that a field is in: of those at its height, the one that ends nearest to it."""
    level_rows = [
        row
        for row in rows
        if row.box is not None
        and row.box.bottom - _NEAR <= box.middle <= row.box.top + _NEAR
        and (box.top - box.bottom) < 4 * (row.box.top - row.box.bottom + 2 * _NEAR)
    ]
    return min(level_rows, key=lambda row: _away(row, box), default=None)


def _away(row: _Row, box: Box) -> float:
    assert row.box is not None
    return (
        max(row.box.left - box.right, box.left - row.box.right, 0.0) + abs(row.box.middle - box.middle) / 100
    )


def _insert(rows: list[_Row], field: Placed) -> None:
    """Insert fields outside of lines between the lines above and below them."""
    for at, row in enumerate(rows):
        if row.box is None:
            continue
        same = not row.starts and abs(row.box.middle - field.box.middle) < _NEAR
        if same and len(field.lines) == 1 and not row.behind:
            row.text += f"  {field.lines[0]}"
            return
        if row.box.middle < field.box.middle - _NEAR:
            rows.insert(at, _Row(field.lines[0], field.box, (), [], list(field.lines[1:])))
            return
    rows.append(_Row(field.lines[0], field.box, (), [], list(field.lines[1:])))
