"""Names as whole words: a pattern that finds their lines, and their places in a line."""

from __future__ import annotations

import re
import unicodedata

from readroom.core.search.prefilter import escaped

_IN_WORDS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nl", "Mn", "Mc", "Me", "Nd", "Pc"})
"""Categories of Unicode of the characters in words."""

_ASCII_WORD = re.compile(r"\w", re.ASCII)
_JOINERS = "\u200c\u200d"


def _is_in_word(char: str) -> bool:
    """Whether a character is part of a word, as rg takes it."""
    return unicodedata.category(char) in _IN_WORDS or char in _JOINERS


def whole_word(name: str) -> str:
    """A pattern for at least all lines with a name as a whole word; `places_in_line` gives the places.

    RE2, which searches a store without files, knows borders of words only around ASCII letters.
    """
    before, after = (r"\b" if _ASCII_WORD.fullmatch(char) else "" for char in (name[:1], name[-1:]))
    return f"{before}{escaped(name)}{after}"


def places_in_line(line: str, name: str, *, ignore_case: bool) -> list[tuple[int, int]]:
    """The places of a name as a whole word, in characters from 0."""
    text, sought = line, name
    if ignore_case and len(line.casefold()) == len(line):
        text, sought = line.casefold(), name.casefold()
    before, after = _is_in_word(name[0]), _is_in_word(name[-1])
    found, at = [], text.find(sought)
    while at >= 0:
        end = at + len(sought)
        begins = not before or not at or not _is_in_word(text[at - 1])
        if begins and not (after and end < len(text) and _is_in_word(text[end])):
            found.append((at, end))
            at = text.find(sought, end)
        else:
            at = text.find(sought, at + 1)
    return found
