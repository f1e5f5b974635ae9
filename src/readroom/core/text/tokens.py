"""Estimate the number of tokens in a text from weighted counts of character classes.

A byte-pair vocabulary splits text where character classes change (words, runs of digits, punctuation) and
has single tokens for common words; so the counts of letters, digits, punctuation and of some changes
between them predict most of its result.  The weights are a least-squares fit to o200k over 1,021 files of
code, markup, data and prose from 39 repositories and 192 replies with numbered lines.  With weights fitted
to the other repositories, nine in ten files are estimated within 0.88-1.10 and replies within 0.92-1.06.
It is an estimate and must be called one: other vocabularies differ, and there is no exact offline counter
for Claude.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import stringzilla

_LEADS = {
    "e": (0xC4, 0xC5),
    "w": (0xC0, 0xCF),
    "x": (0xD0, 0xDF),
    "h": (0xE0, 0xE2),
    "k": (0xE3, 0xE3),
    "z": (0xE4, 0xE9),
}
_LEADS |= {"o": (0xEA, 0xED), "m": (0xEE, 0xEF), "q": (0xF0, 0xFF)}


def _class(byte: int) -> str:
    char = chr(byte)
    if byte >= 0x80:
        return next((name for name, (low, high) in _LEADS.items() if low <= byte <= high), "c")
    if char.isalpha():
        return "U" if char.isupper() else "l"
    if char.isdigit():
        return "d"
    if char in "\r\n":
        return "n"
    return "s" if char in "\t " else "p"


CLASSES = "".join(map(_class, range(256))).encode()
"""By byte of UTF-8: l lower and U upper letters, d digits, n line ends, s spaces, p other ASCII.

By the first byte of other characters: e letters that Latin has east of Germany, w
other accented Latin and Greek, x Cyrillic to Arabic, h Thai and symbols, k kana, z
Chinese, o Korean, m full-width forms, q emoji; c for their further bytes.
"""

WEIGHTS: Mapping[bytes, float] = MappingProxyType(
    {
        b"d": 1.54,
        b"n": 0.8,
        b"p": 0.4,
        b"sl": 1.07,
        b"nl": 1.32,
        b"pl": 1.19,
        b"dl": 0.66,
        b"lU": 0.64,
        b"Ul": 0.16,
        b"sU": 1.04,
        b"pU": 1.25,
        b"nU": 1.89,
        b"dU": 1.5,
        b"sd": 0.52,
        b"ns": 0.77,
        b"sp": 0.61,
        # These runs may overlap: several digits, marks or line ends count less, long words count more.
        b"dd": -1.54,
        b"ddd": 0.33,
        b"pp": -0.33,
        b"nn": -0.75,
        b"l" * 9: 0.19,
        b"U" * 5: 0.3,
    }
)
SCRIPT_WEIGHTS: Mapping[bytes, float] = MappingProxyType(
    {b"e": 1.6, b"w": 0.5, b"x": 0.38, b"h": 0.45, b"k": 0.69, b"z": 0.89, b"o": 0.79, b"m": 0.45, b"q": 2.2}
)
"""Tokens for each occurrence of a class, or of some in a row."""


def estimate(text: str) -> int:
    """About how many o200k tokens `text` is; 0 only when it is empty."""
    if not text:
        return 0
    classes = text.encode("utf-8", "surrogatepass").translate(CLASSES)
    tokens = _weighed(classes, WEIGHTS)
    if not text.isascii():
        tokens += _weighed(classes, SCRIPT_WEIGHTS)
    return max(1, round(tokens))


def _weighed(classes: bytes, weights: Mapping[bytes, float]) -> float:
    count = stringzilla.count
    return sum(weight * int(count(classes, run, allowoverlap=True)) for run, weight in weights.items())
