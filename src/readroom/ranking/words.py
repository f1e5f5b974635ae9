"""Words as ranking counts them: sub-words of names, stems, folded letters, pairs of ideographs.

`parseHTTPHeaders`, `parse_http_headers` and "parsing of HTTP headers" hold the same words.
Letters lose their accents, and what is written without blanks (Chinese, Japanese, Thai), or in words
that grow at their ends (Korean), is counted by pairs of neighbouring letters.  Folding and lowering
keep the number of characters, so that a place in what they return is the same place in the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snowballstemmer.basestemmer import BaseStemmer

SUB_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]+")
"""A sub-word of a folded text; the last alternative is a run of letters of any other script."""

_STEMMED_FROM = 4
"""Letters of the shortest word that has a stem of its own: `used` is `use`, but `bus` is not `bu`."""

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
    """Whether the script of a letter puts no blanks between words, or not between all."""
    code = ord(letter)
    return code >= _UNSPACED[0][0] and any(first <= code <= last for first, last in _UNSPACED)


_WITHOUT_ACCENT = {
    ord(letter): ord(plain) for letter, plain in zip("ßøØłŁđĐðÐæÆœŒþÞı", "soOlLdDdDaAoOtTi", strict=True)
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


# Each holds at most as many entries as there are characters; the same answer whoever asks.
_FOLDING, _LOWERING = _Folding(), _Lowering()

_OTHER = re.compile(r"[^\x00-\x7f\u2500-\u257f\u4e00-\u9fff\uac00-\ud7a3]+")
"""Runs of letters that may have accents; ASCII, lines of boxes, ideographs and Hangul have none."""


@lru_cache(maxsize=16384)
def _folded(run: str) -> str:
    return run.translate(_FOLDING)


def fold(text: str) -> str:
    """The text without accents, in as many characters."""
    # Translating only what is not ASCII is 20 times faster where that is little, and seldom slower.
    return text if text.isascii() else _OTHER.sub(lambda run: _folded(run[0]), text)


def lower(folded: str) -> str:
    """The text in small letters, in as many characters."""
    small = folded.lower()
    if small.isascii():
        return small
    # No character has a shorter small form, and few a longer one.  A sigma is one wherever it stands.
    return (small if len(small) == len(folded) else folded.translate(_LOWERING)).replace("ς", "σ")


_CHUNK_CHARS = 512


def folded_and_lowered(text: str) -> tuple[str, str]:
    """`fold` of a text, and `lower` of that."""
    if text.isascii():
        return text, text.lower()
    folded, lowered = list[str](), list[str]()
    # Most of a text with some other letters is ASCII, which takes a tenth of the time.
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
    """The stem of a word in small letters; other scripts than Latin and Cyrillic have none."""
    if len(word) < _STEMMED_FROM:
        return word
    if word.isascii():
        return str(_stemmer("english").stemWord(word))
    if all(_CYRILLIC[0] <= letter <= _CYRILLIC[1] for letter in word):
        return str(_stemmer("russian").stemWord(word))
    return word


def sub_words(text: str) -> list[str]:
    """The sub-words of a name or a sentence in order: folded, in small letters, not stemmed."""
    folded_words: list[str] = []
    for match in SUB_WORD.finditer(fold(text)):
        word = lower(match[0])
        if is_unspaced(word[0]) and len(word) > 1:
            folded_words += [word[at : at + 2] for at in range(len(word) - 1)]
        else:
            folded_words.append(word)
    return folded_words
