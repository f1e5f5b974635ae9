"""The possible names of files in a text: its words, several of them together, and their shell expansions.

A name may hold blanks, commas, quotes and brackets, and a text says nowhere where a name begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

MOST_WORDS: Final = 500
"""Texts with more words are not searched for names."""

_WORD = re.compile(r"""[^\s"'`=,;|&<>(){}\[\]]+""")
_PARTS = re.compile(r"[:@!?*#]+")
_SLASHES = re.compile(r"[/\\]+")
_ONE_OF = re.compile(r"\[(.)\]")
_ENCODED_TIMES = 2
_TOGETHER = 8
"""Words of a name that nothing else delimits."""
_STRETCHES = 1_500
_MARKS = 40
"""Marks around a word that may belong to a name."""


def spellings(name: str) -> Iterator[str]:
    """A name as written, and decoded from paths of Windows, URLs or a glob."""
    yield name
    plain = name
    for _ in range(_ENCODED_TIMES):
        plain = unquote(plain)
    plain = _SLASHES.sub("/", plain)
    if plain != name:
        yield plain
    if "[" in plain:
        yield _ONE_OF.sub(r"\1", plain)


def names_in(text: str) -> Iterator[str]:
    """Everything in a text that may be the name of a file, each perhaps several times."""
    yield from _strings_in(text, 3)


def _strings_in(text: str, depth: int) -> Iterator[str]:
    for shown in dict.fromkeys((text, *_shell_words(text))):
        yield from _parts_of(shown)
        yield from _stretches(shown)
    if depth and text.lstrip()[:1] in ("{", "[", '"'):
        try:
            values = [json.loads(text)]
        except (ValueError, RecursionError):
            return
        while values:
            value = values.pop()
            if isinstance(value, str) and value != text:
                yield from _strings_in(value, depth - 1)
            elif isinstance(value, dict):
                values += [*value, *value.values()]
            elif isinstance(value, list):
                values += value


def _stretches(text: str) -> Iterator[str]:
    """Words, and neighbouring words with the characters between them."""
    words = list(_WORD.finditer(text))
    most = max(2, min(_TOGETHER, _STRETCHES // max(1, len(words))))
    for at, word in enumerate(words):
        yield from _parts_of(word[0])
        starts = {word.start(), _edge(text, word.start(), -1)}
        for last in words[at : at + most]:
            ends = {last.end(), _edge(text, last.end(), 1)}
            for stretch in {text[start:end] for start in starts for end in ends} - {word[0]}:
                yield from spellings(stretch)


def _edge(text: str, at: int, step: int) -> int:
    """The end of the marks around a word that may belong to a name, such as brackets and quotes."""
    beside = at if step > 0 else at - 1
    while 0 <= beside < len(text) and not text[beside].isspace() and abs(beside - at) < _MARKS:
        beside += step
    return beside if step > 0 else beside + 1


def _parts_of(word: str) -> Iterator[str]:
    # `cat .env`, `user@host:.env`, `**/.env*`, `/srv/x/.env` and `lib.zip!/.env` all name it.
    spelled = list(spellings(word))
    yield from spelled
    for spelling in spelled:
        for piece in _PARTS.split(spelling):
            piece = piece.strip("/")
            yield piece
            yield piece.rpartition("/")[2]


_QUOTES = re.compile(
    r"""\$'(?P<coded>(?:[^'\\]|\\.)*)'|'(?P<single>[^']*)'|"(?P<double>(?:[^"\\]|\\.)*)"|\\(?P<next>.)"""
    r"""|(?P<end>[\s;|&<>()=]+)|(?P<plain>.)""",
    re.DOTALL,
)
_CODES = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)


def _shell_words(text: str) -> Iterator[str]:
    """The words of a command line without their quotes, where it has any."""
    if not any(mark in text for mark in "'\"\\"):
        return
    word: list[str] = []
    for match in _QUOTES.finditer(text):
        kind, part = match.lastgroup, match[match.lastgroup or 0]
        if kind == "end":
            yield "".join(word)
            word = []
        elif kind == "coded":
            word.append(_CODES.sub(_decoded, part))
        elif kind == "double":
            word.append(re.sub(r'\\(["\\$`])', r"\1", part))
        else:
            word.append(part)
    yield "".join(word)


def _decoded(code: re.Match[str]) -> str:
    hexadecimal = code[1] or code[2] or code[3]
    number = int(hexadecimal, 16) if hexadecimal else int(code[4], 8) if code[4] else -1
    return chr(number) if 0 <= number < 0x11_0000 else code[5] or ""


def is_long(text: str) -> bool:
    """Whether a text has too many words to look for names in it."""
    return len(list(islice(_WORD.finditer(text), MOST_WORDS + 1))) > MOST_WORDS
