"""The scores of files and of their parts, and their explanation.

    file   BM25 of its words + pairs of neighbours + its name and folders + names it defines,
           times a factor for what it is for
    order  of files: their own score and twice that of their best part; for pages of passages, program text
           before tests, documentation and the like (`passages` has the scores of parts)

How rare a word is comes from the files that were counted, and only from them: what may not be
seen moves no score.  Equal scores are ordered by path and line.  The weights are round and were set
on some repositories of `benchmarks/find`; fine tuning moves others by less than two points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct

from readroom.core.ranking import names as naming
from readroom.core.ranking.counting import COUNTED, CountedText, pairs_of
from readroom.core.ranking.parts import TextPart
from readroom.core.ranking.query import Query
from readroom.core.ranking.roles import ASIDE, Role, confirmed, roles
from readroom.core.ranking.words import plain

K1, B = 1.2, 0.5
"""Of BM25: how soon more of the same word counts no more, and how much length is held against a text."""

PAIR = 0.5
"""Words next to each other in question and text, against single ones: 0.7 points of NDCG, 2 of coverage."""

NAME = 2.0
"""A word in the name of the file, in units of its rareness: without it 7 points of NDCG less."""

FOLDER = 0.5
"""A word in the names of its folders: 0.3 points."""

COVERED = 0.5
"""A name whose words are all asked for raises the score by this share: 2 points."""

SYMBOL = 8.0
"""A definition of the one symbol, or the file, that is asked for: about all words of a good file."""

NAMED = 2.0
"""A definition of a name that a longer question spells out: 1 to 4 points of NDCG."""

FACTORS: Mapping[Role, float] = MappingProxyType(
    {
        **dict.fromkeys(Role, 0.4),
        **dict.fromkeys((Role.TEST, Role.EXAMPLE, Role.GENERATED, Role.VENDORED), 0.25),
        Role.LEGAL: 0.3,
        **dict.fromkeys((Role.DATA, Role.BUILD), 0.6),
        Role.EXPORTS: 0.8,
    }
)
"""What the score of a file with a role is multiplied with; 1.3 points of NDCG and 4 of coverage together.
Documents and settings can be what is meant; licences hardly ever are."""


class Why(Struct, frozen=True):
    """A reason for a score, and its points; with `factor`, a multiplier for the rest."""

    what: str
    points: float
    factor: bool = False


class Glimpse(Struct, frozen=True, gc=False):
    """The result of a first look at a file: which words it has, and an upper bound of its score.

    Attributes:
        path: Relative to the root.
        place: Relative to the searched folder, by whose names it is judged.
        size: Length of the text.
        bounds: The most occurrences of each term that are possible; 0 only if it does not occur.
        named: Whether its names may have words of the question.
        defined: Names of the question that it seems to define.
        shown: The roles that its text shows.
    """

    path: str
    place: str
    size: int
    bounds: Sequence[int]
    named: bool = False
    defined: Sequence[str] = ()
    shown: Sequence[Role] = ()


class Counted(Struct, frozen=True):
    """What is counted in a file before it is split.

    Attributes:
        path: Relative to the root.
        place: Relative to the searched folder, by whose names it is judged.
        size: Length of the text.
        counts: Occurrences of each term.
        pairs: Occurrences of each pair of neighbours.
        defined: Names of the question that it seems to define.
        shown: The roles that its text shows.
    """

    path: str
    place: str
    size: int
    counts: Sequence[int]
    pairs: Sequence[int]
    defined: Sequence[str] = ()
    shown: Sequence[Role] = ()


class RankedFile(Struct, frozen=True):
    """A file with its score; `factor` is the factor of its roles.
    `aside` says whether it is no program text and not asked for.
    """

    path: str
    score: float
    factor: float
    counted: Counted
    aside: bool = False


class Standing(IntEnum):
    """What goes before the score in the order of parts."""

    PROGRAM = 0
    ASIDE = 1
    REPEATED = 2


class RankedPart(Struct, frozen=True):
    """A part with its score; `own` is the score of its words, 0 if it has none of the question.

    `minor` are line and signature of the fields, constants and inner functions in it that are asked for;
    `defines` says whether it is of the definition of the symbol that is asked for.
    """

    path: str
    part: TextPart
    score: float
    own: float
    why: Sequence[Why]
    minor: Sequence[tuple[int, str]] = ()
    defines: bool = False
    standing: Standing = Standing.PROGRAM


class Candidate(Struct, frozen=True):
    """A file split into parts; `starts` are the positions where its lines begin, and its end."""

    file: RankedFile
    text: CountedText
    parts: Sequence[TextPart]
    starts: Sequence[int]


def glance(query: Query, hints: naming.NameHints, path: str, place: str, text: CountedText) -> Glimpse | None:
    """A first look at a file; None if neither its text nor its name has a word of the question."""
    bounds = text.bounds(query.terms)
    named = hints.may_hold(place)
    if any(bounds):
        names = (query.symbol[-1],) if query.symbol else query.names
        defined = tuple([name for name in names if text.defines(name)])
        shown = confirmed(place, text) if place else ()  # a window of a large file is compared with others
        return Glimpse(path, place, text.size, bounds, named, defined, shown)
    return Glimpse(path, place, text.size, bounds, named) if named and naming.in_names(place, query) else None


def count(query: Query, glimpse: Glimpse, text: CountedText) -> Counted:
    """Count the words of the question in a text."""
    counts = tuple([len(text.places(term, COUNTED)) for term in query.terms])
    pairs = tuple([len(text.pairs(first, second)) for first, second in pairs_of(query)])
    return Counted(glimpse.path, glimpse.place, text.size, counts, pairs, glimpse.defined, glimpse.shown)


class Scale:
    """How rare each word is in the files that were looked at, and how long these are.

    A pair is as rare as the rarer of its words: to count pairs in every file would cost as much as all
    the rest, and the order of the answers is not better for it.
    """

    def __init__(self, query: Query, glimpses: Sequence[Glimpse], files: int, size: int) -> None:
        """Compute the scale from the files.

        Args:
            query: The question.
            glimpses: Files that have words of the question.
            files: The number of files read.
            size: Their total length.
        """
        self.query = query
        self.files = max(files, 1)
        self.mean = max(size / self.files, 1.0)
        holding = [sum(map(bool, column)) for column in zip(*(each.bounds for each in glimpses), strict=True)]
        rareness = [
            math.log(1 + (self.files - files + 0.5) / (files + 0.5))
            for files in holding or [0] * len(query.terms)
        ]
        self.terms = [term.weight * rare for term, rare in zip(query.terms, rareness, strict=True)]
        self.pairs = [
            PAIR * min(first.weight, second.weight) * max(rare)
            for (first, second), rare in zip(pairs_of(query), pairwise(rareness), strict=True)
        ]


def best_possible(scale: Scale, glimpse: Glimpse) -> float:
    """An upper bound of the score of a file without matching names."""
    return math.fsum(_possible_points(scale, glimpse))


def best_named(scale: Scale, glimpse: Glimpse, older: Callable[[str], bool]) -> tuple[float, bool]:
    """An upper bound of a file's score that includes its names, and whether it is no program text."""
    names = (why.points for why in _name_points(scale, glimpse.place))
    score, _, aside = _in_all([*_possible_points(scale, glimpse), *names], scale, glimpse, older)
    return score, aside


def rank(scale: Scale, counted: Counted, older: Callable[[str], bool]) -> RankedFile:
    """Compute the score of a file."""
    points = [why.points for why in _file_points(scale, counted)]
    score, factor, aside = _in_all(points, scale, counted, older)
    return RankedFile(counted.path, score, factor, counted, aside)


def _in_all(
    points: Sequence[float], scale: Scale, file: Glimpse | Counted, older: Callable[[str], bool]
) -> tuple[float, float, bool]:
    """The score for points, the factor of the roles in it, and whether one of them is of no program text."""
    query = scale.query
    matching = roles(file.place, query, older, shown=file.shown)
    factor = math.prod(FACTORS[role] for role in matching)
    aside = not ASIDE.isdisjoint(matching) and not naming.is_spelled_out(file.place, query)
    return math.fsum(points) * (1 + COVERED * naming.covered(file.place, query)) * factor, factor, aside


def _possible_points(scale: Scale, glimpse: Glimpse) -> list[float]:
    length = length_of(glimpse.size, scale.mean)
    bounds = glimpse.bounds
    points = [
        weight * saturated(times, length) for weight, times in zip(scale.terms, bounds, strict=True) if times
    ]
    points += [
        weight * saturated(times, length)
        for weight, (times, following) in zip(scale.pairs, pairwise(bounds), strict=True)
        if times and following
    ]
    return points + [SYMBOL if scale.query.symbol else NAMED] * len(glimpse.defined)


def _file_points(scale: Scale, counted: Counted) -> list[Why]:
    length = length_of(counted.size, scale.mean)
    query, reasons = scale.query, list[Why]()
    for term, weight, times in zip(query.terms, scale.terms, counted.counts, strict=True):
        if times:
            reasons.append(Why(f"{term.word} x{times}", weight * saturated(times, length)))
    for (first, second), weight, times in zip(pairs_of(query), scale.pairs, counted.pairs, strict=True):
        if times:
            reasons.append(Why(f"{first.word} {second.word} x{times}", weight * saturated(times, length)))
    reasons += _name_points(scale, counted.place)
    for defined in counted.defined:
        reasons.append(Why(f"defines {defined}", SYMBOL if query.symbol else NAMED))
    return reasons


def _name_points(scale: Scale, place: str) -> list[Why]:
    query, reasons = scale.query, list[Why]()
    folder, name = naming.names_of(place)
    for term, weight in zip(query.terms, scale.terms, strict=True):
        in_name = naming.likeness(term, name)
        if in_name:
            reasons.append(Why(f"{term.word} in its name", NAME * in_name * weight))
        elif in_folder := naming.likeness(term, folder):
            reasons.append(Why(f"{term.word} in its folders", FOLDER * in_folder * weight))
    if query.symbol and plain(query.symbol[-1]) == "".join(name):
        reasons.append(Why("has its name", SYMBOL))
    if naming.is_spelled_out(place, query):
        reasons.append(Why("named in the question", SYMBOL))
    return reasons


def explain_file(scale: Scale, file: RankedFile, older: Callable[[str], bool]) -> list[Why]:
    """The reasons for a file's score, the strongest first."""
    place = file.counted.place
    whys = sorted(_file_points(scale, file.counted), key=lambda why: (-why.points, why.what))
    share = naming.covered(place, scale.query)
    if share:
        whys.append(Why(f"{share:.0%} of its name asked for", 1 + COVERED * share, factor=True))
    matching = roles(place, scale.query, older, shown=file.counted.shown)
    return whys + [Why(role.value, FACTORS[role], factor=True) for role in matching]


def length_of(size: float, mean: float) -> float:
    """What a length is held against a text with, where texts have this mean length."""
    return K1 * (1 - B + B * size / mean)


def saturated(times: float, length: float) -> float:
    """The points of so many occurrences, each counting less than the one before."""
    return times * (1 + K1) / (times + length)
