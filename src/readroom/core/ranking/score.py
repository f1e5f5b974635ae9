"""The scores of files and of their parts, and their explanation.

    file   BM25 of its words + pairs of neighbours + its name and folders + names it defines,
           times a factor for what it is for
    part   BM25 of its words, those of its name counted more, + pairs of neighbours
           + an exact definition, times the factor of the file, + shares of the score of the
           better of its neighbours and of the file's
    order  of files: their own score and twice that of their best part

How rare a word is comes from the files that were counted, and only from them: what may not be
seen moves no score.  Equal scores are ordered by path and line.  The weights are round and were set
on some repositories of `benchmarks/find`; fine tuning moves others by less than two points.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.ranking import names as naming
from readroom.core.ranking.counting import COUNTED, CountedText, pairs_of
from readroom.core.ranking.parts import TextPart
from readroom.core.ranking.query import Query
from readroom.core.ranking.roles import Role, are_tests, confirmed, roles
from readroom.core.ranking.words import plain
from readroom.core.values.find import millionths

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

EXACT = 1000.0
"""Of the part that begins with that definition, as a grammar tells: it comes before all others."""

CONTINUED = 500.0
"""Of the parts in which a long definition of it continues, less one for each: they follow, in their order."""

MINOR = 250.0
"""Of the part with a field, a constant or an inner function of that name: after those, before its uses."""

NAMED = 2.0
"""A definition of a name that a longer question spells out: 1 to 4 points of NDCG."""

OWN_NAME = 3.0
"""How often a word counts in a part with it in its name: with 1, coverage loses 2 points."""

IMPORTS = 0.5
"""Times the score of a list of imports: it names what is asked for, and shows nothing of it."""

FILE_SHARE, BEST_PART = 0.2, 2.0
"""Of the file's score in that of a part: with 0.5 coverage is 1 to 4 points lower.  Of the best part's in the
order of files: 0.4 to 2.5 points of NDCG more than with 1, and 3 is worse."""

NEIGHBOUR_SHARE = 0.3
"""Of the better neighbouring part: code to be changed is next to the code in question; 3 points of coverage,
and half or twice as much is as good."""

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
    """A file with its score; `factor` is the factor of its roles."""

    path: str
    score: float
    factor: float
    counted: Counted


class RankedPart(Struct, frozen=True):
    """A part with its score; `own` is the score without the file's contribution.

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

    @classmethod
    def within(cls, query: Query, candidate: Candidate) -> Scale:
        """The scale of a single text: how rare each word is in its parts."""
        counts, _ = _counts(query, candidate)
        return cls(
            query, [Glimpse("", "", 0, times) for times in counts], len(candidate.parts), candidate.starts[-1]
        )


def best_possible(scale: Scale, glimpse: Glimpse) -> float:
    """An upper bound of the score of a file without matching names."""
    return math.fsum(_possible_points(scale, glimpse))


def best_named(scale: Scale, glimpse: Glimpse, older: Callable[[str], bool]) -> float:
    """An upper bound of a file's score that includes its names."""
    names = (why.points for why in _name_points(scale, glimpse.place))
    return _in_all([*_possible_points(scale, glimpse), *names], scale, glimpse, older)[0]


def rank(scale: Scale, counted: Counted, older: Callable[[str], bool]) -> RankedFile:
    """Compute the score of a file."""
    points = [why.points for why in _file_points(scale, counted)]
    score, factor = _in_all(points, scale, counted, older)
    return RankedFile(counted.path, score, factor, counted)


def _in_all(
    points: Sequence[float], scale: Scale, file: Glimpse | Counted, older: Callable[[str], bool]
) -> tuple[float, float]:
    """The score for points, and the factor of the roles in it."""
    factor = math.prod(FACTORS[role] for role in roles(file.place, scale.query, older, shown=file.shown))
    return math.fsum(points) * (1 + COVERED * naming.covered(file.place, scale.query)) * factor, factor


def _possible_points(scale: Scale, glimpse: Glimpse) -> list[float]:
    length = _length(glimpse.size, scale.mean)
    bounds = glimpse.bounds
    points = [
        weight * _saturated(times, length) for weight, times in zip(scale.terms, bounds, strict=True) if times
    ]
    points += [
        weight * _saturated(times, length)
        for weight, (times, following) in zip(scale.pairs, pairwise(bounds), strict=True)
        if times and following
    ]
    return points + [SYMBOL if scale.query.symbol else NAMED] * len(glimpse.defined)


def _file_points(scale: Scale, counted: Counted) -> list[Why]:
    length = _length(counted.size, scale.mean)
    query, reasons = scale.query, list[Why]()
    for term, weight, times in zip(query.terms, scale.terms, counted.counts, strict=True):
        if times:
            reasons.append(Why(f"{term.word} x{times}", weight * _saturated(times, length)))
    for (first, second), weight, times in zip(pairs_of(query), scale.pairs, counted.pairs, strict=True):
        if times:
            reasons.append(Why(f"{first.word} {second.word} x{times}", weight * _saturated(times, length)))
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


def rank_parts(scale: Scale, candidates: Sequence[Candidate]) -> list[RankedPart]:
    """The parts of files that have a word of the question, best first."""
    sizes = [_size(scored, part) for scored in candidates for part in scored.parts]
    mean = max(sum(sizes) / max(len(sizes), 1), 1.0)
    names = _NameLikeness(scale.query)
    ranked = [part for scored in candidates for part in _parts_of(scale, names, scored, mean)]
    return sorted(ranked, key=lambda scored: (-millionths(scored.score), scored.path, scored.part.first))


def most_promising(scale: Scale, candidates: Sequence[Candidate]) -> list[str]:
    """The paths of files, first those that seem to define the symbol, then by their best parts."""
    defining = [candidate.file.path for candidate in candidates if candidate.file.counted.defined]
    # Use only each part's own text: its neighbours depend on where the split happens to be.
    parts = sorted(rank_parts(scale, candidates), key=lambda part: (-part.own, part.path, part.part.first))
    return list(dict.fromkeys([*defining, *(part.path for part in parts)]))


def rank_with_parts(files: Sequence[RankedFile], parts: Sequence[RankedPart]) -> list[RankedFile]:
    """The files in the order of their best parts."""
    best: dict[str, float] = {}
    for part in parts:
        best[part.path] = max(best.get(part.path, 0.0), part.own)
    scored = [replace(file, score=file.score + BEST_PART * best.get(file.path, 0.0)) for file in files]
    return sorted(scored, key=lambda file: (-millionths(file.score), file.path))


class _NameLikeness:
    """How similar names of definitions are to each term; cached, since names enclose many parts."""

    def __init__(self, query: Query) -> None:
        self._terms = query.terms
        self._known: dict[str, list[float]] = {}

    def likenesses(self, name: str) -> list[float]:
        """For each term, how similar the name is to it."""
        values = self._known.get(name)
        if values is None:
            words = naming.words_of(name)
            values = self._known[name] = [naming.likeness(term, words) for term in self._terms]
        return values

    def counts(self, names: Sequence[str]) -> list[float]:
        """For each term, how many occurrences the qualified name of a part counts for."""
        if not names:
            return [0.0] * len(self._terms)
        counts = [OWN_NAME * like for like in self.likenesses(names[-1])]
        for name in names[:-1]:
            for at, like in enumerate(self.likenesses(name)):
                counts[at] += like == 1.0
        return counts


def _parts_of(scale: Scale, names: _NameLikeness, candidate: Candidate, mean: float) -> list[RankedPart]:
    file, scored = candidate.file, list(_scored_alone(scale, names, candidate, mean))
    padded = [0.0, *(own for own, _ in scored), 0.0]
    ranked = []
    asked = _places_in_definition(candidate.parts, scale.query)
    for part, (own, whys), place, before, after in zip(
        candidate.parts, scored, asked, padded[:-2], padded[2:], strict=True
    ):
        score = own + NEIGHBOUR_SHARE * max(before, after) + FILE_SHARE * file.score
        if place:
            score = CONTINUED - place
            whys = [*whys, Why(f"continues with {part.names[-1]}", 0.0)]
        elif place is not None:
            score += EXACT
        minor = _minor_asked_for(part, scale.query)
        if minor and place is None:
            score += MINOR
        if whys:
            ranked.append(RankedPart(file.path, part, score, own, whys, minor, place is not None))
    return ranked


def _scored_alone(
    scale: Scale, names: _NameLikeness, candidate: Candidate, mean: float
) -> Iterator[tuple[float, Sequence[Why]]]:
    """For each part the score of its own words and names, and the reasons."""
    counts, pairs = _counts(scale.query, candidate)
    # Tests in the file they test rank after the rest of it; in a file of tests, all are equal.
    is_apart = candidate.file.factor <= FACTORS[Role.TEST]
    for part, times, together in zip(candidate.parts, counts, pairs, strict=True):
        named = names.counts(part.names)
        if not any(times) and not any(named):
            yield 0.0, ()
            continue
        whys = _part_points(scale, part, times, named, together, _length(_size(candidate, part), mean))
        own = math.fsum(why.points for why in whys) * candidate.file.factor
        if part.imports:
            own *= IMPORTS
        if not is_apart and are_tests(part.names, scale.query):
            own *= FACTORS[Role.TEST]
        yield own, whys


def _places_in_definition(parts: Sequence[TextPart], query: Query) -> list[int | None]:
    """For each part, whether the definition of the symbol begins in it (0) or continues in it (1, 2, ...)."""
    if not query.symbol:
        return [None] * len(parts)
    places: list[int | None] = []
    whole: tuple[str, ...] | None = None
    for part in parts:
        if _asked_for(part, query):
            whole = part.names
            places.append(0)
        elif whole is not None and part.names == whole and not part.inside and places[-1] is not None:
            places.append(places[-1] + 1)
        else:
            places.append(None)
    return places


def _counts(query: Query, candidate: Candidate) -> tuple[list[list[int]], list[list[int]]]:
    """How often each term, and each pair of adjacent terms, occurs in each part."""
    firsts = [candidate.starts[part.first - 1] for part in candidate.parts]
    neighbours = pairs_of(query)
    counts = [[0] * len(query.terms) for _ in candidate.parts]
    pairs = [[0] * len(neighbours) for _ in candidate.parts]
    for at, term in enumerate(query.terms):
        _spread(candidate.text.places(term, COUNTED), firsts, counts, at)
    for at, (first, second) in enumerate(neighbours):
        _spread(candidate.text.pairs(first, second), firsts, pairs, at)
    return counts, pairs


def _spread(places: Sequence[int], firsts: Sequence[int], counts: Sequence[list[int]], at: int) -> None:
    """Count each place in the part that it is in."""
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


def _minor_asked_for(part: TextPart, query: Query) -> list[tuple[int, str]]:
    """The fields, constants and inner functions in a part that are the symbol, with their lines."""
    if not query.symbol:
        return []
    last = len(query.symbol)
    return [(line, signature) for line, signature, names in part.minor if names[-last:] == query.symbol]


def _size(candidate: Candidate, part: TextPart) -> int:
    return candidate.starts[part.last] - candidate.starts[part.first - 1]


def _length(size: float, mean: float) -> float:
    return K1 * (1 - B + B * size / mean)


def _saturated(times: float, length: float) -> float:
    return times * (1 + K1) / (times + length)
