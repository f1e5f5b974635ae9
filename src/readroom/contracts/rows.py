"""Replies to clients that count lines beside characters.

What is listed row by row is charged at least its share of the reply, so that rows which
fit its bytes fit its lines; lines of a text are counted by whoever chooses them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from readroom.limits import LINES_AROUND
from readroom.model import Cap, GrepFile, GrepLine, ListEntry, Measure
from readroom.outlines import Row
from readroom.shown import ShownPart

_ROWS_OF_MATCH = 3
"""The definition that a match stands in, the match, and the end of that definition."""


def in_lines(cap: Cap, lines: int) -> Cap:
    """The cap of a reply that has at most so many lines, those around its content included."""
    left = max(1, lines - LINES_AROUND)
    return replace(cap, measure=_InRows(cap.measure, -(-cap.size // left)), lines=left)


@dataclass(frozen=True, slots=True)
class _InRows:
    """A measure by which no row costs less than `least` bytes."""

    measure: Measure
    least: int

    def frame(self, path: str) -> int:
        return self.measure.frame(path)

    def numbered(self, number: int) -> int:
        return self.measure.numbered(number)

    def heading(self, heading: tuple[int, str, int]) -> int:
        return max(self.least, self.measure.heading(heading))

    def part(self, part: ShownPart, unit: str, total: int) -> int:
        return max(self.least * (LINES_AROUND + len(part.notes)), self.measure.part(part, unit, total))

    def found_in(self, file: GrepFile) -> int:
        return max(self.least, self.measure.found_in(file))

    def found(self, line: GrepLine) -> int:
        rows = 1 if line.symbol is None else _ROWS_OF_MATCH
        return max(self.least * rows, self.measure.found(line))

    def listed(self, entry: ListEntry) -> int:
        return max(self.least, self.measure.listed(entry))

    def outlined(self, row: Row) -> int:
        return max(self.least, self.measure.outlined(row))
