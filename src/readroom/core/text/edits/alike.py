"""The place where two texts differ that are the same but for white space, case, or look-alike characters.

Each character is folded for itself, so that a place in a folded text leads back to the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from unicodedata import name

from msgspec import Struct

_SPACES = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_UNSEEN = (
    "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\ufeff"
)
_LETTERS = {
    "аеорсухіјѕһԛԝАВЕКМНОРСТУХІЈЅ": "aeopcyxijshqwABEKMHOPCTYXIJS",
    "οναικΑΒΕΖΗΙΚΜΝΟΡΤΥΧ": "ovaikABEZHIKMNOPTYX",
}
_ALIKE: Mapping[int, str] = MappingProxyType(
    {
        **dict.fromkeys(map(ord, _SPACES), " "),
        **dict.fromkeys(map(ord, _UNSEEN + "".join(map(chr, range(0xFE00, 0xFE10)))), ""),
        **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u00b4\u02bc\uff07"), "'"),
        **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02"), '"'),
        **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d"), "-"),
        ord("\u2026"): "...",
        **{
            ord(odd): plain
            for odds, plains in _LETTERS.items()
            for odd, plain in zip(odds, plains, strict=True)
        },
        **{
            code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F) if code not in (0xFF02, 0xFF07, 0xFF0D)
        },
    }
)
"""Characters that a reader takes for others, or does not see."""

_BLANKS = re.compile(r"[^\S\n]+")
_ALL_BLANKS = re.compile(r"\s+")


def alike(text: str) -> str:
    """The text with characters that look alike as one of them."""
    return text if text.isascii() else text.translate(_ALIKE)


def _tight(text: str) -> str:
    return _BLANKS.sub("", alike(text))


def _folded(text: str) -> str:
    return _tight(text).casefold()


def _bare(text: str) -> str:
    return _ALL_BLANKS.sub("", alike(text))


Fold = Callable[[str], str]

FOLDS: tuple[tuple[Fold, str], ...] = (
    (alike, "characters that look alike"),
    (_tight, "white space and characters that look alike"),
    (_folded, "case, white space and characters that look alike"),
    (_bare, "line breaks and other white space"),
)
"""From the smallest difference on, each with its words."""

_TELLING = 4
"""A shorter folded text is found by chance."""


class Place(Struct, frozen=True):
    """Characters `start` to `end` of a text, and in what they differ from another text."""

    start: int
    end: int
    words: str


def place_of(text: str, old: str, fold: Fold, words: str) -> Place | None:
    """The first place of `old` in a text, both folded."""
    wanted = fold(old)
    if len(wanted) < min(_TELLING, len(old.strip())) or not wanted.strip():
        return None
    at = fold(text).find(wanted)
    if at < 0:
        return None
    start, end = _index(text, fold, at, last=True), _index(text, fold, at + len(wanted), last=False)
    # Characters of these lines that are folded away belong to the place where old_text has some there, too.
    if not fold(old[0]):
        start = max(_index(text, fold, at, last=False), text.rfind("\n", 0, start) + 1)
    if not fold(old[-1]):
        after = text.find("\n", end)
        end = min(_index(text, fold, at + len(wanted), last=True), len(text) if after < 0 else after)
    return Place(start, max(start, end), words)


def _index(text: str, fold: Fold, at: int, *, last: bool) -> int:
    """The last, or the first, character of a text before which `at` folded ones are."""
    low, high, before = 0, len(text) + 1, 0
    while high - low > 1:
        middle = (low + high) // 2
        count = before + len(fold(text[low:middle]))
        if count < at or (last and count == at):
            low, before = middle, count
        else:
            high = middle
    return low if last or before >= at else high


def difference(text: str, place: Place, old: str) -> str:
    """The first difference between a place and `old`, in a sentence with its line, column and code points."""
    there = text[place.start : place.end]
    at = next((at for at, (a, b) in enumerate(zip(there, old, strict=False)) if a != b), None)
    at = min(len(there), len(old)) if at is None else at
    line = text.count("\n", 0, place.start + at) + 1
    column = place.start + at - (text.rfind("\n", 0, place.start + at) + 1) + 1
    own, other = _point(there, old, at), _point(old, there, at)
    return f"line {line}, column {column}: the file has {own}, old_text {other}"


def _point(text: str, other: str, at: int) -> str:
    if at >= len(text):
        return "nothing more"
    char = text[at]
    if char.isascii() and char.isprintable() and char != " " and at < len(other) and not other[at].isspace():
        return f"'{char}' (U+{ord(char):04X})"
    return f"U+{ord(char):04X} ({_NAMES.get(char) or name(char, 'no name').lower()})"


_NAMES = {"\n": "line break", "\t": "tab", "\r": "carriage return"}
