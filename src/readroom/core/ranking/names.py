"""Match the words of a question against names of files, folders and definitions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from readroom.core.ranking.query import Query, Term
from readroom.core.ranking.words import plain, sub_words

INSIDE = 0.6
"""Weight of a word that is only part of a word in a name (`dispatch` in `urldispatcher`)."""

INSIDE_CHARS = 4
"""Letters of the shortest such part; shorter ones occur by chance."""


@lru_cache(maxsize=4096)
def words_of(name: str) -> tuple[str, ...]:
    """The sub-words of a name."""
    return tuple(sub_words(name))


def names_of(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the folders of a path, and of the name without its suffixes."""
    return words_of(path.rpartition("/")[0]), words_of(module_of(path))


def module_of(path: str) -> str:
    """The name of a file without its suffixes."""
    name = path.rpartition("/")[2]
    return name[:1] + name[1:].partition(".")[0]


def likeness(term: Term, words: Sequence[str]) -> float:
    """1 for a whole word, or one written as two; INSIDE for a part or a beginning of a word; else 0."""
    best = 0.0
    for word in words:
        if term.is_stem_of(word):
            return 1.0
        inside = len(term.key) >= INSIDE_CHARS and term.key in word
        if inside or (len(word) >= INSIDE_CHARS and term.word.startswith(word)):
            best = INSIDE
    # `web_socket` for "websocket".
    together = (one + two for one, two in pairwise(words) if term.key.startswith(one))
    return 1.0 if any(map(term.is_stem_of, together)) else best


class NameHints:
    """Quickly rules out paths whose names have no word of the question."""

    __slots__ = ("_any",)

    def __init__(self, query: Query) -> None:
        keys = {term.key for term in query.terms}
        # A name may also be the beginning of a word: `conn` of "connection".
        keys |= {term.word[:INSIDE_CHARS] for term in query.terms if len(term.word) >= INSIDE_CHARS}
        keys |= {_run_together(asked[-1]) for asked in query.paths}
        self._any = re.compile("|".join(map(re.escape, sorted(keys))))

    def may_hold(self, path: str) -> bool:
        """Whether the names of a path may have a word of the question."""
        return self._any.search(_run_together(path)) is not None


def _run_together(name: str) -> str:
    return plain(name).replace("_", "").replace("-", "")


def in_names(path: str, query: Query) -> bool:
    """Whether the names of a path have a word of the question."""
    folder, name = names_of(path)
    return any(likeness(term, name) or likeness(term, folder) for term in query.terms)


def is_spelled_out(path: str, query: Query) -> bool:
    """Whether the question names the file together with its folder."""
    parts = tuple(path.lower().split("/")[-2:])
    return any(parts == asked[-2:] for asked in query.paths)


def covered(path: str, query: Query) -> float:
    """The share of the words in a file's name that the question asks for."""
    words = names_of(path)[1]
    asked_for = sum(1 for word in words if any(term.is_stem_of(word) for term in query.terms))
    return asked_for / len(words) if words else 0.0
