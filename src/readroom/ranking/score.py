"""The score of files and of their parts, and what it is made of.

    file   BM25 of its words + pairs of neighbours + its name and folders + names it defines,
           times a factor for what it is for
    part   BM25 of its words, those of its name counted more, + pairs of neighbours
           + an exact definition, times the factor of the file, + a share of the file's score
    order  of files: their own score and that of their best part

How rare a word is comes from the files that were counted, and only from them: what may not be
seen moves no score.  Equal scores are ordered by path and line.  The weights are round and were
set on one half of the repositories of `benchmarks/find`; halving or doubling any of them moves
the result by less than two points, so nothing is gained by fine tuning.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from readroom.ranking.counting import CountedText, pairs_of
from readroom.ranking.parts import TextPart
from readroom.ranking.query import Query, Term
from readroom.ranking.roles import Role, older_versions, roles
from readroom.ranking.words import fold, lower, stem, sub_words

K1, B = 1.2, 0.5
"""Of BM25: how soon more of the same word counts no more, and how much length is held against a text."""

PAIR = 0.5
"""Words that stand together in question and text, against single ones: 0.7 points of NDCG, 2 of coverage."""

NAME = 2.0
"""A word in the name of the file, in units of its rareness: without it 7 points of NDCG less."""

FOLDER = 0.5
"""A word in the names of its folders: 0.3 points."""

COVERED = 0.5
"""A name whose words are all asked for raises the score by this share: 2 points."""

INSIDE = 0.6
"""A word that is only a part of one in a name (`dispatch` in `urldispatcher`), against a whole one."""

INSIDE_CHARS = 4
"""Letters of the shortest such part; shorter ones are in names by chance."""

SYMBOL = 8.0
"""A definition of the one symbol that is asked for, about the score of all words of a good file."""

EXACT = 1000.0
"""Of the part that begins with that definition, as a grammar tells: it comes before all others."""

NAMED = 2.0
"""A definition of a name that a longer question spells out: 1 to 4 points of NDCG."""

OWN_NAME = 3.0
"""How often a word counts in a part whose name holds it: with 1, coverage loses 2 points."""

IMPORTS = 0.5
"""Times the score of a list of imports: it names what is asked for, and shows nothing of it."""

FILE_SHARE = 0.2
"""Of the file's score in that of a part: with 0.5 coverage is 1 to 4 points lower."""

FACTORS: Mapping[Role, float] = MappingProxyType(
    {
        **dict.fromkeys(Role, 0.4),
        **dict.fromkeys((Role.TEST, Role.EXAMPLE, Role.GENERATED, Role.VENDORED), 0.25),
        Role.LEGAL: 0.3,
        Role.DATA: 0.6,
        Role.EXPORTS: 0.8,
    }
)
"""What the score of a file with a role is multiplied with; 1.3 points of NDCG and 4 of coverage together.
Documents and settings can be what is meant; licences hardly ever are."""

COUNTED = 2000
"""Occurrences of a word that are told apart in one file.  With 64 the long files lose: 1 to 6 points of NDCG
in four repositories where they are often the answer."""


class Why(Struct, frozen=True):
    """One thing that counted, and how many points it gave; `factor` for what multiplies the rest."""

    what: str
    points: float
    factor: bool = False


class Counted(Struct, frozen=True):
    """What ranking knows of a file before it is taken apart.

    Attributes:
        path: Relative to the root.
        place: Relative to the searched folder, by whose names it is judged.
        size: Length of the text.
        counts: Occurrences of each term.
        pairs: Occurrences of each pair of neighbours.
        defined: Names of the question that it seems to define.
    """

    path: str
    place: str
    size: int
    counts: Sequence[int]
    pairs: Sequence[int]
    defined: Sequence[str] = ()


class RankedFile(Struct, frozen=True):
    """A file with its score; `factor` is that of its roles."""

    path: str
    score: float
    factor: float
    counted: Counted


class RankedPart(Struct, frozen=True):
    """A part of a file with its score; `own` without what comes from the file."""

    path: str
    part: TextPart
    score: float
    own: float
    why: Sequence[Why]


class Candidate(Struct, frozen=True):
    """A file that was taken apart: `starts` are the places where its lines begin, and its end."""

    file: RankedFile
    text: CountedText
    parts: Sequence[TextPart]
    starts: Sequence[int]


def count(query: Query, path: str, place: str, text: CountedText, size: int) -> Counted | None:
    """What ranking knows of a file; None when nothing in it or its name is asked for."""
    counts = tuple([len(text.places(term, COUNTED)) for term in query.terms])
    if any(counts):
        pairs = tuple([len(text.pairs(first, second, COUNTED)) for first, second in pairs_of(query)])
        names = (query.symbol[-1],) if query.symbol else query.names
        defined = tuple([name for name in names if text.defines(name)])
        return Counted(path, place, size, counts, pairs, defined)
    if _in_names(place, query):
        return Counted(path, place, size, counts, (0,) * max(0, len(query.terms) - 1))
    return None


class Scale:
    """How rare each word is in the files that were looked at, and how long they are."""

    def __init__(self, query: Query, counted: Sequence[Counted], files: int, size: int) -> None:
        """Take the measure.

        Args:
            query: The question.
            found: Files in which something of it is.
            files: How many files were looked at.
            size: How long they are together.
        """
        self.query = query
        self.files = max(files, 1)
        self.mean = max(size / self.files, 1.0)
        self.terms = [
            term.weight * self._rareness(sum(1 for file in counted if file.counts[at]))
            for at, term in enumerate(query.terms)
        ]
        self.pairs = [
            PAIR
            * min(first.weight, second.weight)
            * self._rareness(sum(1 for file in counted if file.pairs[at]))
            for at, (first, second) in enumerate(pairs_of(query))
        ]

    @classmethod
    def within(cls, query: Query, candidate: Candidate) -> Scale:
        """The measure of one text alone: how rare each word is in its parts."""
        counts, pairs = _counts(query, candidate)
        counted = [Counted("", "", 0, times, together) for times, together in zip(counts, pairs, strict=True)]
        return cls(query, counted, len(candidate.parts), candidate.starts[-1])

    def _rareness(self, files: int) -> float:
        return math.log(1 + (self.files - files + 0.5) / (files + 0.5))


def rank_files(scale: Scale, counted: Sequence[Counted]) -> list[RankedFile]:
    """The files, best first."""
    older = older_versions(each.place for each in counted)
    ranked = [_ranked(scale, each, older) for each in counted]
    return sorted(ranked, key=lambda file: (-file.score, file.path))


def _ranked(scale: Scale, counted: Counted, older: Callable[[str], bool]) -> RankedFile:
    points = math.fsum(why.points for why in _file_points(scale, counted))
    points *= 1 + COVERED * _covered(counted.place, scale.query)
    factor = math.prod(FACTORS[role] for role in roles(counted.place, scale.query, older))
    return RankedFile(counted.path, points * factor, factor, counted)


def _file_points(scale: Scale, counted: Counted) -> list[Why]:
    length = _length(counted.size, scale.mean)
    query, reasons = scale.query, list[Why]()
    for term, weight, times in zip(query.terms, scale.terms, counted.counts, strict=True):
        if times:
            reasons.append(Why(f"{term.word} x{times}", weight * _saturated(times, length)))
    for (first, second), weight, times in zip(pairs_of(query), scale.pairs, counted.pairs, strict=True):
        if times:
            reasons.append(Why(f"{first.word} {second.word} x{times}", weight * _saturated(times, length)))
    folder, name = names_of(counted.place)
    for term, weight in zip(query.terms, scale.terms, strict=True):
        in_name = likeness(term, name)
        if in_name:
            reasons.append(Why(f"{term.word} in its name", NAME * in_name * weight))
        elif in_folder := likeness(term, folder):
            reasons.append(Why(f"{term.word} in its folders", FOLDER * in_folder * weight))
    for defined in counted.defined:
        reasons.append(Why(f"defines {defined}", SYMBOL if query.symbol else NAMED))
    if query.symbol and lower(fold(query.symbol[-1])) == "".join(word for word, _ in name):
        reasons.append(Why("bears its name", SYMBOL))
    return reasons


def explain_file(scale: Scale, file: RankedFile, counted: Iterable[Counted]) -> list[Why]:
    """What counted for a file, most first."""
    whys = sorted(_file_points(scale, file.counted), key=lambda why: (-why.points, why.what))
    covered = _covered(file.counted.place, scale.query)
    if covered:
        whys.append(Why(f"{covered:.0%} of its name asked for", 1 + COVERED * covered, factor=True))
    older = older_versions(other.place for other in counted)
    whys += [
        Why(role.value, FACTORS[role], factor=True) for role in roles(file.counted.place, scale.query, older)
    ]
    return whys


def rank_parts(scale: Scale, candidates: Sequence[Candidate]) -> list[RankedPart]:
    """The parts of files in which something of the question stands, best first."""
    sizes = [_size(scored, part) for scored in candidates for part in scored.parts]
    mean = max(sum(sizes) / max(len(sizes), 1), 1.0)
    names = _NameLikeness(scale.query)
    ranked = [part for scored in candidates for part in _parts_of(scale, names, scored, mean)]
    return sorted(ranked, key=lambda scored: (-scored.score, scored.path, scored.part.first))


def rank_with_parts(files: Sequence[RankedFile], parts: Sequence[RankedPart]) -> list[RankedFile]:
    """The files in the order that their best parts make of it."""
    best: dict[str, float] = {}
    for part in parts:
        best[part.path] = max(best.get(part.path, 0.0), part.own)
    scored = [replace(file, score=file.score + best.get(file.path, 0.0)) for file in files]
    return sorted(scored, key=lambda file: (-file.score, file.path))


class _NameLikeness:
    """How much the names of definitions are like each term; most names stand around many parts."""

    def __init__(self, query: Query) -> None:
        self._terms = query.terms
        self._known: dict[str, list[float]] = {}

    def likenesses(self, name: str) -> list[float]:
        """For each term, how much the name is like it."""
        values = self._known.get(name)
        if values is None:
            words = words_of(name)
            values = self._known[name] = [likeness(term, words) for term in self._terms]
        return values

    def counts(self, names: Sequence[str]) -> list[float]:
        """For each term, how many occurrences the qualified name of a part stands for."""
        if not names:
            return [0.0] * len(self._terms)
        counts = [OWN_NAME * like for like in self.likenesses(names[-1])]
        for name in names[:-1]:
            for at, like in enumerate(self.likenesses(name)):
                counts[at] += like == 1.0
        return counts


def _parts_of(scale: Scale, names: _NameLikeness, candidate: Candidate, mean: float) -> list[RankedPart]:
    query, parts = scale.query, candidate.parts
    counts, pairs = _counts(query, candidate)
    ranked = []
    for part, times, together in zip(parts, counts, pairs, strict=True):
        named = names.counts(part.names)
        if not any(times) and not any(named):
            continue
        whys = _part_points(scale, part, times, named, together, _length(_size(candidate, part), mean))
        if whys:
            own = math.fsum(why.points for why in whys) * candidate.file.factor
            if part.imports:
                own *= IMPORTS
            score = own + FILE_SHARE * candidate.file.score
            if query.symbol and _asked_for(part, query):
                score += EXACT
            ranked.append(RankedPart(candidate.file.path, part, score, own, whys))
    return ranked


def _counts(query: Query, candidate: Candidate) -> tuple[list[list[int]], list[list[int]]]:
    """How often each term, and each pair of neighbours, stands in each part."""
    firsts = [candidate.starts[part.first - 1] for part in candidate.parts]
    neighbours = pairs_of(query)
    counts = [[0] * len(query.terms) for _ in candidate.parts]
    pairs = [[0] * len(neighbours) for _ in candidate.parts]
    for at, term in enumerate(query.terms):
        _spread(candidate.text.places(term, COUNTED), firsts, counts, at)
    for at, (first, second) in enumerate(neighbours):
        _spread(candidate.text.pairs(first, second, COUNTED), firsts, pairs, at)
    return counts, pairs


def _spread(places: Sequence[int], firsts: Sequence[int], counts: Sequence[list[int]], at: int) -> None:
    """Count each place in the part that it lies in."""
    for place in places:
        part = bisect_right(firsts, place) - 1
        if part >= 0:
            counts[part][at] += 1


def _part_points(
    scale: Scale,
    part: TextPart,
    counts: Sequence[int],
    named: Sequence[float],
    pairs: Sequence[int],
    length: float,
) -> list[Why]:
    query, reasons = scale.query, list[Why]()
    for term, weight, times, more in zip(query.terms, scale.terms, counts, named, strict=True):
        if times or more:
            word = f"{term.word} x{times}" + (" and in its name" if more else "")
            reasons.append(Why(word, weight * _saturated(times + more, length)))
    for (first, second), weight, times in zip(pairs_of(query), scale.pairs, pairs, strict=True):
        if times:
            reasons.append(Why(f"{first.word} {second.word} x{times}", weight * _saturated(times, length)))
    defined = _asked_for(part, query)
    if defined is not None:
        reasons.append(Why(f"defines {defined}", SYMBOL if query.symbol else NAMED))
    return reasons


def _asked_for(part: TextPart, query: Query) -> str | None:
    """The name that the question spells out and the part defines."""
    for _, _, names in part.inside:
        if query.symbol:
            if names[-len(query.symbol) :] == query.symbol:
                return names[-1]
        elif names[-1] in query.names:
            return names[-1]
    return None


def _size(candidate: Candidate, part: TextPart) -> int:
    return candidate.starts[part.last] - candidate.starts[part.first - 1]


def _length(size: float, mean: float) -> float:
    return K1 * (1 - B + B * size / mean)


def _saturated(times: float, length: float) -> float:
    return times * (1 + K1) / (times + length)


# --- names ------------------------------------------------------------------------------------


@lru_cache(maxsize=16384)
def words_of(name: str) -> tuple[tuple[str, str], ...]:
    """The sub-words of a name, each with its stem."""
    return tuple((word, stem(word)) for word in sub_words(name))


def names_of(path: str) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """The words of the folders of a path, and of the name without its endings."""
    folder, _, name = path.rpartition("/")
    return words_of(folder), words_of(name[:1] + name[1:].partition(".")[0])


def likeness(term: Term, words: Sequence[tuple[str, str]]) -> float:
    """1 when the term is one of the words, INSIDE when it is within one or begins with one, else 0."""
    best = 0.0
    for word, stemmed in words:
        if stemmed == term.stem:
            return 1.0
        inside = len(term.key) >= INSIDE_CHARS and term.key in word
        if inside or (len(word) >= INSIDE_CHARS and term.word.startswith(word)):
            best = INSIDE
    return best


def _in_names(path: str, query: Query) -> bool:
    folder, name = names_of(path)
    return any(likeness(term, name) or likeness(term, folder) for term in query.terms)


def _covered(path: str, query: Query) -> float:
    """The share of the words of a file's name that the question asks for."""
    words = names_of(path)[1]
    stems = {term.stem for term in query.terms}
    return sum(1 for _, stemmed in words if stemmed in stems) / len(words) if words else 0.0
