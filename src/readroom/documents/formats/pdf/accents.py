"""Accents that a PDF draws apart from their letters, as older fonts of TeX do, put together with them.

Such a font has no `é`: the file draws `´` and `e` at one place, in either order, or all accents of a line at
its end.  So a letter and its accent are found by their places, and not by their order.  Characters keep their
indexes in the text of the page: a mark replaces each accent, and is removed at the end.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any
from unicodedata import normalize

from msgspec import Struct, field
from pypdfium2 import raw

GONE = "\0"
"""The place of a removed accent or space; broken fonts also give it for characters, and it is never shown."""

_MARKS = {
    "\u00b4": "\u0301", "\u02ca": "\u0301", "`": "\u0300", "\u02cb": "\u0300", "^": "\u0302",
    "\u02c6": "\u0302",
    "~": "\u0303", "\u02dc": "\u0303", "\u00a8": "\u0308", "\u00b8": "\u0327", "\u02db": "\u0328",
    "\u02c7": "\u030c", "\u02d8": "\u0306", "\u02d9": "\u0307", "\u02da": "\u030a", "\u00af": "\u0304",
    "\u02c9": "\u0304", "\u02dd": "\u030b",
}  # fmt: skip
"""Standalone accents, and the combining mark of each."""

_ACCENTS = (
    frozenset(_MARKS) | frozenset(map(chr, range(0x300, 0x315))) | frozenset("\u0323\u0327\u0328\u0331")
)
_BELOW = frozenset("\u0323\u0327\u0328\u0331")
_DOTLESS = {"\u0131": "i", "\u0237": "j"}

_OVERLAP = 0.5
"""The share of the narrower of letter and accent that must be directly above or below the other."""

_SHIFT = 0.7
"""Maximum distance of the base lines of letter and accent, in letter sizes: on capitals it is raised."""

_LEVEL = 0.1
"""Maximum distance from the base line, and overlap, of characters of one line, in letter sizes."""

_SPACE = 0.15
"""In letter sizes: a wider gap between two letters is a space."""


class _Glyph(Struct, frozen=True):
    left: float
    bottom: float
    right: float
    top: float
    base: float
    size: float
    turn: int
    """Quarter turns to the right in which it is written: its place is that of the page turned back."""

    @property
    def center(self) -> float:
        return (self.left + self.right) / 2

    @property
    def middle(self) -> float:
        return (self.bottom + self.top) / 2


def composed(textpage: Any, text: str) -> str:
    """The text of a page with accents on their letters, each character at the index that it has.

    `text` has a character for each of PDFium's.
    """
    accents = [at for at, letter in enumerate(text) if letter in _ACCENTS]
    return _Page(textpage, text).written(accents) if accents else text


class _Page(Struct):
    textpage: Any
    text: str
    glyphs: dict[int, _Glyph | None] = field(default_factory=dict)

    def written(self, accents: Sequence[int]) -> str:
        letters = list(self.text)
        lines = set[int]()
        for at in accents:
            base = self._base(at)
            if base is not None and self._put(letters, at, base):
                self._close(letters, at)
                lines |= {self.text.count("\n", 0, at), self.text.count("\n", 0, base)}
        if lines:
            self._rejoin(letters, lines)
        return "".join(letters)

    def _rejoin(self, letters: list[str], lines: set[int]) -> None:
        """Take away line ends that PDFium has put around the accents of some lines, by their numbers from 0.

        It takes an accent that is raised over a capital for one of another line.
        """
        at = -1
        for line in range(self.text.count("\n")):
            at = self.text.index("\n", at + 1)
            if not lines & {line, line + 1}:
                continue
            before, after = self._beside(letters, at, -1), self._beside(letters, at, 1)
            if before is not None and after is not None and _goes_on(before, after):
                letters[at] = " " if after.left - before.right > _SPACE * before.size else GONE
                lines |= {line, line + 1}

    def _beside(self, letters: Sequence[str], at: int, step: int) -> _Glyph | None:
        """The next character that is shown, in either direction, with its place."""
        at += step
        while 0 <= at < len(letters) and (letters[at] == GONE or letters[at] in "\r "):
            at += step
        return self._glyph(at)

    def _base(self, at: int) -> int | None:
        """The letter that an accent is on: of those above or below it, the one that it is centered at."""
        accent = self._glyph(at)
        if accent is None:
            return None
        mark = _MARKS.get(self.text[at], self.text[at])
        near = [
            (abs(letter.center - accent.center), other)
            for other in self._around(at)
            if self.text[other].isalpha() and (letter := self._glyph(other)) is not None
            and _fits(letter, accent, below=mark in _BELOW)
        ]  # fmt: skip
        return min(near)[1] if near else None

    def _around(self, at: int) -> Sequence[int]:
        """The characters that may be the letter of an accent: those of its line and of the two next to it."""
        start = self.text.rfind("\n", 0, max(0, self.text.rfind("\n", 0, at)))
        following = self.text.find("\n", at)
        end = self.text.find("\n", following + 1) if following >= 0 else -1
        return range(start + 1, end if end >= 0 else len(self.text))

    def _put(self, letters: list[str], at: int, base: int) -> bool:
        mark = _MARKS.get(self.text[at], self.text[at])
        letter = normalize("NFC", _DOTLESS.get(letters[base], letters[base]) + mark)
        if len(letter) == 1:
            letters[base], letters[at] = letter, GONE
        elif at == base + 1:
            letters[base], letters[at] = letter[0], letter[1:]
        elif at == base - 1:
            letters[at], letters[base] = letter[0], letter[1:]
        else:
            return False
        return True

    def _close(self, letters: list[str], at: int) -> None:
        """Take away the spaces that PDFium has put around an accent, if no gap is there without it."""
        if letters[at] != GONE:
            return
        first, last = at, at
        while first and letters[first - 1] in (" ", GONE) and self._is_added(first - 1):
            first -= 1
        while last + 1 < len(letters) and letters[last + 1] in (" ", GONE) and self._is_added(last + 1):
            last += 1
        spaces = [index for index in range(first, last + 1) if letters[index] == " "]
        before, after = self._glyph(first - 1), self._glyph(last + 1)
        apart = before is None or after is None or after.left - before.right > _SPACE * before.size
        for index in spaces[1:] if apart else spaces:
            letters[index] = GONE

    def _is_added(self, at: int) -> bool:
        return self.text[at] in _ACCENTS or raw.FPDFText_IsGenerated(self.textpage, at) == 1

    def _glyph(self, at: int) -> _Glyph | None:
        """The place of a character; None for one that has none."""
        if at not in self.glyphs:
            self.glyphs[at] = _measured(self.textpage, at) if 0 <= at < len(self.text) else None
        return self.glyphs[at]


def _measured(textpage: Any, at: int) -> _Glyph | None:
    left, right, bottom, top, x, y = (ctypes.c_double() for _ in range(6))
    if not raw.FPDFText_GetCharBox(textpage, at, left, right, bottom, top):
        return None
    if right.value <= left.value or not raw.FPDFText_GetCharOrigin(textpage, at, x, y):
        return None
    turn = round(2 * raw.FPDFText_GetCharAngle(textpage, at) / math.pi) % 4
    first, last = _turned(left.value, bottom.value, turn), _turned(right.value, top.value, turn)
    (start, end), (low, high) = (sorted(pair) for pair in zip(first, last, strict=True))
    size = max(float(raw.FPDFText_GetFontSize(textpage, at)), high - low)
    return _Glyph(start, low, end, high, _turned(x.value, y.value, turn)[1], size, turn)


def _turned(x: float, y: float, turn: int) -> tuple[float, float]:
    """A place after a number of quarter turns to the left."""
    return ((x, y), (-y, x), (-x, -y), (y, -x))[turn]


def _goes_on(before: _Glyph, after: _Glyph) -> bool:
    """Whether a character follows another one in a line."""
    size = max(before.size, after.size)
    if before.turn != after.turn:
        return False
    return abs(before.base - after.base) < _LEVEL * size and -_LEVEL < (after.left - before.right) / size < 1


def _fits(letter: _Glyph, accent: _Glyph, *, below: bool) -> bool:
    """Whether an accent is drawn on this letter."""
    over = min(letter.right, accent.right) - max(letter.left, accent.left)
    if over < _OVERLAP * min(letter.right - letter.left, accent.right - accent.left):
        return False
    if letter.turn != accent.turn or abs(letter.base - accent.base) > _SHIFT * letter.size:
        return False
    return accent.middle < letter.middle if below else accent.middle > letter.middle
