"""Replies to clients that count lines beside characters.

What is listed row by row is charged at least its share of the reply, so that rows which
fit its bytes fit its lines; lines of a text are counted where they are chosen.
"""

from __future__ import annotations

from msgspec.structs import replace

from readroom.limits import LINES_AROUND
from readroom.values import Cap, GrepLine, ListMeasure, Measure, PartsMeasure, SearchMeasure
from readroom.values.files import PartView

_ROWS_OF_MATCH = 3
"""The definition that a match stands in, the match, and the end of that definition."""


def in_lines(cap: Cap, lines: int) -> Cap:
    """The cap of a reply that has at most so many lines, those around its content included."""
    left = max(1, lines - LINES_AROUND)
    return replace(cap, measure=_in_rows(cap.measure, -(-cap.size // left)), lines=left)


def _in_rows(measure: Measure, least: int) -> Measure:
    """The measure by which no row costs less than so many bytes."""
    read, parts, search, listing = measure.read, measure.parts, measure.search, measure.list
    return replace(
        measure,
        read=replace(read, outlined=lambda row: max(least, read.outlined(row))),
        parts=None if parts is None else _parts_in_rows(parts, least),
        search=None if search is None else _search_in_rows(search, least),
        list=None if listing is None else ListMeasure(lambda entry: max(least, listing.listed(entry))),
    )


def _parts_in_rows(measure: PartsMeasure, least: int) -> PartsMeasure:
    def part(part: PartView, unit: str, total: int) -> int:
        return max(least * (LINES_AROUND + len(part.notes)), measure.part(part, unit, total))

    return PartsMeasure(lambda heading: max(least, measure.heading(heading)), part)


def _search_in_rows(measure: SearchMeasure, least: int) -> SearchMeasure:
    def found(line: GrepLine) -> int:
        rows = 1 if line.symbol is None else _ROWS_OF_MATCH
        return max(least * rows, measure.found(line))

    return replace(measure, found_in=lambda file: max(least, measure.found_in(file)), found=found)
