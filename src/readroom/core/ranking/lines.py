"""Choose the lines of a part to show when it is longer than a page: those that match most."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from readroom.core.ranking.counting import COUNTED
from readroom.core.ranking.parts import TextPart
from readroom.core.ranking.score import Candidate, Scale


def points_of_lines(scale: Scale, candidate: Candidate, part: TextPart) -> list[float]:
    """The points of each line of a part for the words in it, each word once."""
    starts, above = candidate.starts, part.first - 1
    points = [0.0] * (part.last - above)
    for term, weight in zip(scale.query.terms, scale.terms, strict=True):
        places = candidate.text.places(term, COUNTED)
        end = bisect_left(places, starts[part.last])
        inside = places[bisect_left(places, starts[above], 0, end) : end]
        for line in {bisect_right(starts, place, above, part.last) for place in inside}:
            points[line - part.first] += weight
    return points


def best_run(points: Sequence[float], costs: Sequence[int], room: int) -> range:
    """The run of adjacent lines with the most points within `room`; at least one line.

    Of equal ones the first; what room its first and last lines with points leave is for those around them.
    """
    best, highest, first, cost, gained = range(1), -1.0, 0, 0, 0.0
    for last, (own, points_here) in enumerate(zip(costs, points, strict=True)):
        cost, gained = cost + own, gained + points_here
        while cost > room and first < last:
            cost, gained, first = cost - costs[first], gained - points[first], first + 1
        # Adding and subtracting leaves rounding errors, which are not points.
        if gained > highest + 1e-6:
            best, highest = range(first, last + 1), gained
    telling = [at for at in best if points[at]] or [0]
    return _widened(range(telling[0], telling[-1] + 1), costs, room)


def _widened(run: range, costs: Sequence[int], room: int) -> range:
    """The run extended at both ends, alternately, while there is room."""
    first, end = run.start, run.stop
    room -= sum(costs[first:end])
    while True:
        grown = first, end
        if end < len(costs) and costs[end] <= room:
            room -= costs[end]
            end += 1
        if first > 0 and costs[first - 1] <= room:
            first -= 1
            room -= costs[first]
        if grown == (first, end):
            return range(first, end)
