"""Files in order of their score, each examined only as closely as its rank requires.

A first look at a file gives an upper bound of its score.  A file that cannot be among those shown is never
examined further, so that a word that occurs in every file of a large tree costs no more than a rare one.
The order is still that of the exact scores: a file is returned only when none of the rest can be better.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import TypeAlias, final

from readroom.core.ranking import score as scoring
from readroom.core.ranking.roles import older_versions
from readroom.core.ranking.score import Counted, Glimpse, RankedFile, Scale, Why
from readroom.core.values.find import millionths

Examine: TypeAlias = Callable[[Glimpse], Counted | None]
"""Returns what a file has of the question, exactly; None if it is gone."""

_GLANCED, _NAMED, _EXACT = range(3)
"""How closely a file was examined: its words; its names and role; everything."""


@final
class BestFirst:
    """The files for one question, best first. `len` is their number."""

    def __init__(
        self, scale: Scale, glimpses: Sequence[Glimpse], examine: Examine, *, program_first: bool = False
    ) -> None:
        """Begin; with `program_first`, files that are no program text come after all others."""
        self._scale = scale
        self._examine = examine
        self._divides = program_first
        self._older = older_versions(each.place for each in glimpses)
        self._ranked: list[RankedFile] = []
        # Equal scores are ordered by path, even if parts of them are still unknown.
        self._left: list[tuple[bool, int, str, int, Glimpse | RankedFile]] = []
        for each in glimpses:
            if each.named:
                self._left.append(self._named(each))
            else:
                best = scoring.best_possible(scale, each)
                self._left.append((False, -millionths(best), each.path, _GLANCED, each))
        heapq.heapify(self._left)

    def __len__(self) -> int:
        return len(self._ranked) + len(self._left)

    def first(self, count: int) -> Sequence[RankedFile]:
        """The first `count` files, or all."""
        while len(self._ranked) < count and self._left:
            self._advance()
        return self._ranked[:count]

    def at(self, position: int) -> RankedFile | None:
        """The file at a position from 0; None past the end."""
        while len(self._ranked) <= position and self._left:
            self._advance()
        return self._ranked[position] if position < len(self._ranked) else None

    def explain(self, file: RankedFile) -> list[Why]:
        """The reasons for a file's score, the strongest first."""
        return scoring.explain_file(self._scale, file, self._older)

    def _named(self, glimpse: Glimpse) -> tuple[bool, int, str, int, Glimpse | RankedFile]:
        best, aside = scoring.best_named(self._scale, glimpse, self._older)
        return aside and self._divides, -millionths(best), glimpse.path, _NAMED, glimpse

    def _advance(self) -> None:
        """Examine the most promising file more closely, or move it to the result."""
        aside, _, path, step, best = self._left[0]
        if isinstance(best, RankedFile):
            heapq.heappop(self._left)
            self._ranked.append(best)
            return
        if step == _GLANCED:
            heapq.heapreplace(self._left, self._named(best))
            return
        counted = self._examine(best)
        if counted is None:
            heapq.heappop(self._left)
            return
        file = scoring.rank(self._scale, counted, self._older)
        heapq.heapreplace(self._left, (aside, -millionths(file.score), path, _EXACT, file))
