"""The scores and the order of the parts of files.

    part   BM25 of its words, those of its name counted more, + pairs of neighbours
           + an exact definition, times the factor of the file, + shares of the score of the
           better of its neighbours and of the file's
    order  program text by score, then tests, documentation and the like by score, then what repeats an
           earlier part in another format

A part without a word of the question has the shares of its neighbours and its file: it has its place as well.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from readroom.core.ranking import names as naming
from readroom.core.ranking.copies import repeated
from readroom.core.ranking.counting import COUNTED, pairs_of
from readroom.core.ranking.parts import TextPart
from readroom.core.ranking.query import Query
from readroom.core.ranking.roles import Role, are_tests
from readroom.core.ranking.score import (
    FACTORS,
    NAMED,
    SYMBOL,
    Candidate,
    Glimpse,
    RankedFile,
    RankedPart,
    Scale,
    Standing,
    Why,
    length_of,
    saturated,
)
from readroom.core.values.find import millionths

EXACT = 1000.0
"""The score of the part that begins with that definition, as a grammar tells: it comes before all others."""

CONTINUED = 500.0
"""The score of the parts in which a long definition of it continues, less one for each, in their order."""

MINOR = 250.0
"""The score of a part with a field, constant or inner function of that name: after those, before its uses."""

OWN_NAME = 3.0
"""How often a word counts in a part with it in its name: with 1, coverage loses 2 points."""

IMPORTS = 0.5
"""Times the score of a list of imports: it names what is asked for, and shows nothing of it."""

FILE_SHARE, BEST_PART = 0.2, 2.0
"""The share of the file's score in that of a part: with 0.5 coverage is 1 to 4 points lower; and of the best
part's score in the order of files: 0.4 to 2.5 points of NDCG more than with 1, and 3 is worse."""

NEIGHBOUR_SHARE = 0.3
"""The share of the better neighbouring part: code to be changed is next to the code in question.  It is worth
3 points of coverage, and half or twice as much is as good."""


def scale_within(query: Query, candidate: Candidate) -> Scale:
    """The scale of a single text: how rare each word is in its parts."""
    counts, _ = _counts(query, candidate)
    glimpses = [Glimpse("", "", 0, times) for times in counts]
    return Scale(query, glimpses, len(candidate.parts), candidate.starts[-1])


def rank_parts(scale: Scale, candidates: Sequence[Candidate]) -> list[RankedPart]:
    """All parts of files in the order of pages."""
    ranked = _ranked(scale, candidates)
    again = repeated(ranked, {each.file.path: each for each in candidates})
    if again:
        ranked = [
            replace(part, standing=Standing.REPEATED) if at in again else part
            for at, part in enumerate(ranked)
        ]
        ranked.sort(key=_place)
    return ranked


def _ranked(scale: Scale, candidates: Sequence[Candidate]) -> list[RankedPart]:
    sizes = [_size(scored, part) for scored in candidates for part in scored.parts]
    mean = max(sum(sizes) / max(len(sizes), 1), 1.0)
    names = _NameLikeness(scale.query)
    return sorted(
        (part for scored in candidates for part in _parts_of(scale, names, scored, mean)), key=_place
    )


def _place(ranked: RankedPart) -> tuple[int, int, str, int]:
    return ranked.standing, -millionths(ranked.score), ranked.path, ranked.part.first


def most_promising(scale: Scale, candidates: Sequence[Candidate]) -> list[str]:
    """The paths of files, first those that seem to define the symbol, then by their best parts."""
    defining = [candidate.file.path for candidate in candidates if candidate.file.counted.defined]
    # Use only each part's own text: its neighbours depend on where the split happens to be.
    parts = sorted(_ranked(scale, candidates), key=lambda part: (-part.own, part.path, part.part.first))
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
        beside, shared = NEIGHBOUR_SHARE * max(before, after), FILE_SHARE * file.score
        score = own + beside + shared
        if not whys:  # it has no word, and still its place
            whys = [Why("next to a better one", beside)] if beside else []
            whys.append(Why("of its file", shared))
        if place:
            score = CONTINUED - place
            whys = [*whys, Why(f"continues with {part.names[-1]}", 0.0)]
        elif place is not None:
            score += EXACT
        minor = _minor_asked_for(part, scale.query)
        if minor and place is None:
            score += MINOR
        is_wanted = bool(minor) or place is not None
        standing = Standing.PROGRAM
        if not is_wanted and _is_aside(file, part, scale.query, own):
            standing = Standing.ASIDE
        ranked.append(RankedPart(file.path, part, score, own, whys, minor, place is not None, standing))
    return ranked


def _is_aside(file: RankedFile, part: TextPart, query: Query, own: float) -> bool:
    """Whether a part is no text of the program; a comment with the licence may also say what is asked."""
    return file.aside or (part.legal and not own) or are_tests(part.names, query)


def _scored_alone(
    scale: Scale, names: _NameLikeness, candidate: Candidate, mean: float
) -> Iterator[tuple[float, Sequence[Why]]]:
    """For each part the score of its own words and names, and the reasons."""
    counts, pairs = _counts(scale.query, candidate)
    module = naming.module_of(candidate.file.path)
    # In a file of tests, all are equal.
    is_apart = candidate.file.factor <= FACTORS[Role.TEST]
    for part, times, together in zip(candidate.parts, counts, pairs, strict=True):
        named = names.counts(part.names)
        if not any(times) and not any(named):
            yield 0.0, ()
            continue
        whys = _part_points(scale, part, times, named, together, length_of(_size(candidate, part), mean))
        if spelled := _qualified_in(part, module, scale.query):
            whys.append(Why(f"defines {spelled}", SYMBOL))
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
            reasons.append(Why(word, weight * saturated(times + more, length)))
    for (first, second), weight, times in zip(pairs_of(query), scale.pairs, pairs, strict=True):
        if times:
            reasons.append(Why(f"{first.word} {second.word} x{times}", weight * saturated(times, length)))
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


def _qualified_in(part: TextPart, module: str, query: Query) -> str | None:
    """The name with its class or module that a longer question spells out and the part defines."""
    if query.symbol or not query.qualified:
        return None
    for _, _, names in part.inside:
        owner, name = (module, *names)[-2:]
        if (owner, name.rstrip("!?")) in query.qualified:
            return f"{owner}.{name}"
    return None


def _minor_asked_for(part: TextPart, query: Query) -> list[tuple[int, str]]:
    """The fields, constants and inner functions in a part that are the symbol, with their lines."""
    if not query.symbol:
        return []
    last = len(query.symbol)
    return [(line, signature) for line, signature, names in part.minor if names[-last:] == query.symbol]


def _size(candidate: Candidate, part: TextPart) -> int:
    return candidate.starts[part.last] - candidate.starts[part.first - 1]
