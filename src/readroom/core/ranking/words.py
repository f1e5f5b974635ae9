"""Split text into words for ranking: sub-words of names, stems, folded letters, pairs of ideographs.

`parseHTTPHeaders`, `parse_http_headers` and "parsing of HTTP headers" hold the same words.
Letters lose their accents, ligatures are spelled out, and what is written without blanks (Chinese,
Japanese, Thai), or in words that grow at their ends (Korean), is counted by pairs of neighbouring
letters.  Folding and lowering keep the number of characters, so that a place in what they return is
the same place in the text; where spelling out adds letters, it says so.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snowballstemmer.basestemmer import BaseStemmer

SUB_WORD = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
"""A sub-word of a folded text; the first alternative is `URLs`, the last letters of any other script."""

_STEMMED_FROM = 4
"""Letters of the shortest word with a stem of its own: `used` is `use`, but `bus` is not `bu`."""

_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # ideographs
    (0xAC00, 0xD7A3),  # Hangul: blanks stand between phrases, not words
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)

_CYRILLIC = ("Ѐ", "ӿ")


def is_unspaced(letter: str) -> bool:
    """Whether the script of a letter separates words without spaces, at least some of them."""
    code = ord(letter)
    return code >= _UNSPACED[0][0] and any(first <= code <= last for first, last in _UNSPACED)


_ATTACHED = (
    (0x0590, 0x05FF, re.compile(r"ו?ש?[הבלמכ]{0,2}")),
    (0x0600, 0x06FF, re.compile(r"[وف]?(?:لل|[بكل]?(?:ال)?)")),
)
"""Scripts in which articles and the shortest prepositions are attached to words, and these."""

_ATTACHED_CHARS = 4
"""Letters of the longest of them together."""

_CORE_LETTERS = 3
"""Letters of the shortest word that can have some attached."""


def attached(word: str) -> int:
    """How many of a word's first letters may be an article or preposition; 0 in most scripts."""
    code = ord(word[0])
    for first, last, pattern in _ATTACHED:
        if first <= code <= last:
            match = pattern.match(word, 0, max(0, len(word) - _CORE_LETTERS))
            return match.end() if match else 0
    return 0


def may_be_attached_to(letter: str) -> bool:
    """Whether letters before a word with this first letter may be attached to it."""
    return _ATTACHED[0][0] <= ord(letter) <= _ATTACHED[-1][1]


def is_attached(folded: str, at: int) -> bool:
    """Whether all letters before a place, back to the start of their word, may be attached."""
    start = at
    while start > 0 and folded[start - 1].isalpha():
        start -= 1
        if at - start > _ATTACHED_CHARS:
            return False
    return any(pattern.fullmatch(folded, start, at) for _, _, pattern in _ATTACHED)


_SPELLED_OUT: Mapping[str, str] = MappingProxyType(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
    | {"ß": "ss", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE"}
)
"""Ligatures, as PDF has them, and letters that are typed as two."""

_SPELLED = re.compile(f"[{''.join(_SPELLED_OUT)}]")


def spelled_out(text: str) -> tuple[str, Sequence[int]]:
    """The text with ligatures expanded, and the positions of the added letters in it."""
    # Most texts have none, and checking is instant if all letters take one byte.
    if text.isascii() or not any(letter in text for letter in _SPELLED_OUT):
        return text, ()
    added = list[int]()
    for match in _SPELLED.finditer(text):
        at = match.start() + len(added)
        added += range(at + 1, at + len(_SPELLED_OUT[match[0]]))
    return _SPELLED.sub(lambda match: _SPELLED_OUT[match[0]], text), added


_WITHOUT_ACCENT = {
    ord(letter): ord(plain) for letter, plain in zip("øØłŁđĐðÐþÞı", "oOlLdDdDtTi", strict=True)
}
"""Latin letters that Unicode takes apart into nothing; a word with one must not fall into pieces there."""


class _Folding(dict[int, int]):
    """To the letter that is left of a character without its accent, where that is one character."""

    def __missing__(self, code: int) -> int:
        plain = [one for one in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(one)]
        folded = ord(plain[0]) if len(plain) == 1 else code
        self[code] = folded = _WITHOUT_ACCENT.get(folded, folded)
        return folded


class _Lowering(dict[int, int]):
    """To the small letter, where that is one character."""

    def __missing__(self, code: int) -> int:
        small = chr(code).lower()
        self[code] = lowered = ord(small) if len(small) == 1 else code
        return lowered


# Each has at most as many entries as there are characters.
_FOLDING, _LOWERING = _Folding(), _Lowering()

_OTHER = re.compile(r"[^\x00-\x7f\u2500-\u257f\u4e00-\u9fff\uac00-\ud7a3]+")
"""Runs of letters that may have accents; ASCII, lines of boxes, ideographs and Hangul have none."""


@lru_cache(maxsize=16384)
def _folded(run: str) -> str:
    return run.translate(_FOLDING)


def fold(text: str) -> str:
    """The text without accents, with the same number of characters."""
    # Translating only the non-ASCII parts is 20 times faster if they are few, and rarely slower.
    return text if text.isascii() else _OTHER.sub(lambda run: _folded(run[0]), text)


def lower(folded: str) -> str:
    """The text in lower case, with the same number of characters."""
    small = folded.lower()
    if small.isascii():
        return small
    # No character has a shorter lower case, and few a longer one.  All forms of sigma count as one.
    return (small if len(small) == len(folded) else folded.translate(_LOWERING)).replace("ς", "σ")


def plain(name: str) -> str:
    """A name in lower case, without accents and ligatures."""
    return lower(fold(spelled_out(name)[0]))


_CHUNK_CHARS = 512


def folded_and_lowered(text: str) -> tuple[str, str]:
    """`fold` of a text, and `lower` of that."""
    if text.isascii():
        return text, text.lower()
    folded, lowered = list[str](), list[str]()
    # Most of a text with some other letters is ASCII, which takes a tenth of the time to process.
    for at in range(0, len(text), _CHUNK_CHARS):
        chunk = fold(text[at : at + _CHUNK_CHARS])
        folded.append(chunk)
        lowered.append(lower(chunk))
    return "".join(folded), "".join(lowered)


@lru_cache(maxsize=2)
def _stemmer(language: str) -> BaseStemmer:
    import snowballstemmer

    return snowballstemmer.stemmer(language)


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """The stem of a lower-case word; unchanged in scripts other than Latin and Cyrillic."""
    if len(word) < _STEMMED_FROM:
        return word
    if word.isascii():
        return str(_stemmer("english").stemWord(word))
    if all(_CYRILLIC[0] <= letter <= _CYRILLIC[1] for letter in word):
        return str(_stemmer("russian").stemWord(word))
    return word


def sub_word_end(folded: str, at: int) -> int:
    """Where the sub-word that begins at a place of a folded text ends; `at` if none begins there.

    The s of `URLs` is not part of it: it is one of many.
    """
    match = SUB_WORD.match(folded, at)
    if match is None:
        return at
    end = match.end()
    return end - 1 if end - at > 2 and folded[end - 1] == "s" and folded[end - 2].isupper() else end


def sub_words(text: str) -> list[str]:
    """The sub-words of a name or sentence in order: folded, in lower case, not stemmed."""
    words: list[str] = []
    folded = fold(spelled_out(text)[0])
    for match in SUB_WORD.finditer(folded):
        word = lower(folded[match.start() : sub_word_end(folded, match.start())])
        if is_unspaced(word[0]) and len(word) > 1:
            words += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            words.append(word)
    return words
