"""Find where the words of a question occur in a text.

The key of a term is looked for in the small letters of the text; only where it stands are the
borders and the stem of the word around it examined.  So a word that is absent costs one search
at the speed of memory, and no text is ever split into words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import final

import stringzilla

from readroom.core.ranking import words
from readroom.core.ranking.query import MAX_TERMS, Query, Term

COUNTED = 2000
"""Occurrences of a word that are told apart in one file.  With 64 the long files lose: 1 to 6 points of NDCG
in four repositories where they are often the answer."""

DENSE_CHARS = 300
"""Mean line length from which a file is taken for generated, and ranked after the others."""

_DENSE_SIZE = 5000
"""Size from which line lengths mean something; a short text may have a single long line."""

_NEIGHBOUR_CHARS = 6
"""From the end of a word to the beginning of its neighbour, an ending and a separator included."""

_ENDING_CHARS = 8
"""Characters after the beginning of a word; if its end is among them, they decide which word it is."""

_KEPT_WORDS = 2 * MAX_TERMS
"""Words whose places are cached per text: those of the last two questions."""

_NEAR_CHARS = 200
"""Characters around a name that are examined for a definition: a line may be as long as a file."""

_DEFINING = re.compile(
    r"(?:^|[\s({;])(?:class|def|defp|defmodule|defmacro|fn|fun|func|function|interface|struct|type|trait|enum"
    r"|const|let|var|val|object|module|namespace|typedef|union|impl|protocol|macro_rules!|#define|record)\s+"
    r"(?:\([^()\n]*\)\s*)?(?:[\w.:]*[.:])?\Z"
)
"""What precedes a defined name in most languages."""

_DEFINED_AFTER = re.compile(r"\s*(?:=(?![=>])|:(?!:)[^=\n]*=(?![=>])|:\s*function\b)")
_TYPED_BEFORE = re.compile(r"[A-Za-z_][\w \t*&:<>,]*[ \t*&:]\Z")
_CALL_AFTER = re.compile(r"[ \t]*\([^;\n]*\Z")


@final
class CountedText:
    """A text in which words are looked up. Places are character positions from 0."""

    __slots__ = ("_added", "_folded", "_low", "_places", "size")

    def __init__(self, text: str) -> None:
        self.size = len(text)
        text, self._added = words.spelled_out(text)
        self._folded, self._low = words.folded_and_lowered(text)
        self._places: dict[str, Sequence[int]] = {}

    @property
    def is_dense(self) -> bool:
        """Whether its lines are longer than people write: minified code or data."""
        return self.size > _DENSE_SIZE and self.size > DENSE_CHARS * (self._low.count("\n") + 1)

    @property
    def folded(self) -> str:
        """The text with plain letters."""
        return self._folded

    def lowered(self, start: int, end: int) -> str:
        """The text between two places, folded, in small letters."""
        if self._added:
            start, end = (at + bisect_left(self._added, at) for at in (start, end))
        return self._low[start:end]

    def places(self, term: Term, maximum: int) -> Sequence[int]:
        """The first places of words with the stem of the term, at most `maximum`."""
        places = self._places.get(term.stem)
        if places is None:
            if len(self._places) >= _KEPT_WORDS:
                self._places.clear()
            positions = self._look(term, maximum)
            if self._added:  # each letter that was spelled out shifts the rest
                positions = [at - bisect_left(self._added, at) for at in positions]
            places = self._places[term.stem] = positions
        return places

    def bounds(self, terms: Sequence[Term]) -> tuple[int, ...]:
        """For each term an upper bound of its occurrences; 0 only if there is none.

        The words after the first one are not examined, so that common ones cost nothing.
        """
        low = self._low
        plain, find = low.isascii(), stringzilla.find
        # This runs for every word in every file of a tree; one call fewer saves a tenth of the time.
        firsts = [
            find(low, term.key) if plain and term.key.isascii() else low.find(term.key) for term in terms
        ]
        if max(firsts, default=-1) < 0:
            return (0,) * len(terms)
        return tuple(
            [0 if at < 0 else self._most_from(term, at) for term, at in zip(terms, firsts, strict=True)]
        )

    def _most_from(self, term: Term, at: int) -> int:
        low, key = self._low, term.key
        while at >= 0:
            if term.anywhere or self._is_word_of(term, at):
                plain = low.isascii() and key.isascii()
                return min(COUNTED, stringzilla.count(low, key, at) if plain else low.count(key, at))
            at = low.find(key, at + len(key))
        return 0

    def pairs(self, first: Term, second: Term) -> list[int]:
        """The places of the first term that are followed directly by the second."""
        seconds = self.places(second, COUNTED)
        if not seconds:
            return []
        reach = len(first.word) + _NEIGHBOUR_CHARS
        together = []
        for at in self.places(first, COUNTED):
            following = bisect_right(seconds, at)
            if following < len(seconds) and seconds[following] - at <= reach:
                together.append(at)
        return together

    def defines(self, name: str) -> bool:
        """Whether a line looks like a definition of the name; a grammar knows better."""
        folded, name = self._folded, words.fold(words.spelled_out(name)[0])
        at = folded.find(name)
        for _ in range(COUNTED):
            if at < 0:
                break
            end = at + len(name)
            alone = not _is_word(folded[at - 1 : at]) and not _is_word(folded[end : end + 1])
            if alone and self._is_defined(at, end):
                return True
            at = folded.find(name, end)
        return False

    def _is_defined(self, at: int, end: int) -> bool:
        folded, nearest = self._folded, max(0, at - _NEAR_CHARS)
        start = folded.rfind("\n", nearest, at) + 1
        if not start and nearest:  # this far into its line, a name cannot be both a type's and a call's
            return _DEFINING.search(folded[nearest:at]) is not None
        stop = folded.find("\n", end, end + _NEAR_CHARS)
        return _defining(folded[start:at], folded[end : stop if stop >= 0 else end + _NEAR_CHARS])

    def _look(self, term: Term, maximum: int) -> list[int]:
        low, key = self._low, term.key
        at = self._find(key)
        places: list[int] = []
        known: dict[str, bool] = {}
        # That comparison is not enough if letters before a word may not belong to it.
        is_word_of = self._is_any_word_of if words.may_be_attached_to(key[0]) else self._is_known_word_of
        while at >= 0 and len(places) < maximum:
            if term.anywhere or is_word_of(term, at, known):
                places.append(at)
            at = low.find(key, at + len(key))
        return places

    def _is_known_word_of(self, term: Term, at: int, known: dict[str, bool]) -> bool:
        """Whether a word with the stem of the term begins here; `known` has answers by the text around it."""
        end = at + len(term.key)
        after = self._folded[end : end + _ENDING_CHARS]
        if not at or after.isalnum():
            return self._is_word_of(term, at)  # the word may continue after the compared part
        around = self._folded[at - 1 : end] + after
        is_word = known.get(around)
        if is_word is None:
            is_word = known[around] = self._is_word_of(term, at)
        return is_word

    def _is_any_word_of(self, term: Term, at: int, _known: dict[str, bool]) -> bool:
        return self._is_word_of(term, at)

    def _find(self, key: str) -> int:
        low = self._low
        # Most words are in few texts; if byte offsets are equal, this check is ten times faster.
        return stringzilla.find(low, key) if low.isascii() and key.isascii() else low.find(key)

    def _is_word_of(self, term: Term, at: int) -> bool:
        """Whether a word with the stem of the term begins here."""
        folded = self._folded
        before = folded[at - 1 : at]
        if term.key[0].isdigit():
            if before.isdigit():
                return False
        elif (
            before.isalpha()
            and not (folded[at].isupper() and (before.islower() or folded[at + 1 : at + 2].islower()))
            and not (words.may_be_attached_to(term.key[0]) and words.is_attached(folded, at))
        ):
            return False
        word = words.SUB_WORD.match(folded, at)
        if word is None:
            return False
        end = word.end()
        if term.is_stem_of(self._low[at:end]):
            return True
        if end - at < len(term.key):
            # `websocket` and `filename` may be spelled `WebSocket` and `fileName` elsewhere.
            while end - at < len(term.key) and folded[end : end + 1].isupper():
                end = words.sub_word_end(folded, end)
        else:
            end = words.sub_word_end(folded, at)
        return end != word.end() and term.is_stem_of(self._low[at:end])


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def _defining(before: str, after: str) -> bool:
    if _DEFINING.search(before):
        return True
    if not before:
        return _DEFINED_AFTER.match(after) is not None
    if before[0].isspace() or not _CALL_AFTER.match(after):
        return before.endswith(("exports.", "prototype.")) and _DEFINED_AFTER.match(after) is not None
    return _TYPED_BEFORE.match(before) is not None and not before.lstrip().startswith(("return", "else"))


def pairs_of(query: Query) -> list[tuple[Term, Term]]:
    """The pairs of adjacent words in the question."""
    return list(zip(query.terms, query.terms[1:], strict=False))
