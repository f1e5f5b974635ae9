"""The context of a conversation as an area chart: what each request carried, drawn without a library.

Results are carried from one request to another, so a chart is made of pieces with a first and a last place.
Many places are grouped, and a group shows its largest one, so that a picture has a bounded size.

Knows: bands, sums and SVG. A picture has a title, a description and a link per point; the numbers of a point
    are for a table next to it.
Does not know: sessions and ledgers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import Final, Literal, TypeAlias

from msgspec import Struct

Band: TypeAlias = Literal[
    "instructions", "conversation", "files", "searches", "commands", "others", "repeats", "unused"
]

BANDS: Final[Mapping[Band, str]] = {
    "instructions": "Instructions and first prompt",
    "conversation": "Prompts and answers",
    "files": "Files",
    "searches": "Searches",
    "commands": "Commands",
    "others": "Other tools",
    "repeats": "Shown again",
    "unused": "Thrown away",
}
"""The parts of a context, from the bottom of a chart to its top."""

ABOUT_BANDS: Final[Mapping[Band, str]] = {
    "repeats": "Shown again: lines that the model still had.",
    "unused": "Thrown away: results that nothing later used, of long sessions among the first results only.",
}
"""The meaning of bands whose names do not say it."""

_COLOURS: Final[Mapping[Band, tuple[str, str]]] = {
    "instructions": ("#6b7480", "#8d97a3"),
    "conversation": ("#b3bac3", "#565f6b"),
    "files": ("#1b5fc4", "#5c9dff"),
    "searches": ("#0f8a80", "#3cc4b7"),
    "commands": ("#b8621b", "#e9a15a"),
    "others": ("#8a4fbf", "#c69bf0"),
    "repeats": ("#c9a400", "#ecd25a"),
    "unused": ("#c2342b", "#ff8a80"),
}
"""In the light and in the dark."""

_OF_KINDS: Final[Mapping[str, Band]] = {
    "read": "files", "edit": "files", "write": "files", "search": "searches", "list": "searches",
    "command": "commands",
}  # fmt: skip


def band_of(kind: str) -> Band:
    """The band of the results of tools of a kind, see `tool_kinds`."""
    return _OF_KINDS.get(kind, "others")


MOST_POINTS: Final = 120
"""Points of a chart: one for each few pixels of a phone's width."""

WIDTH, HEIGHT = 1000, 240


Link: TypeAlias = Callable[[int], str]
"""The address for the point of an index."""


class Piece(Struct, frozen=True):
    """Tokens of one kind that the requests from `first` to `last` carried, counted from 1."""

    band: Band
    tokens: int
    first: int
    last: int


class Point(Struct, frozen=True):
    """Requests `first` to `last`, and the tokens of each band in `at`, the largest of them.

    `compactions` is how many came right before one of them.
    """

    first: int
    last: int
    at: int
    values: tuple[int, ...]
    compactions: int = 0

    @property
    def tokens(self) -> int:
        """All tokens of the largest request."""
        return sum(self.values)


class Course(Struct, frozen=True):
    """The context over a conversation: its points, and the bands that have any tokens."""

    points: Sequence[Point] = ()
    bands: Sequence[Band] = ()
    unit: str = "request"

    def of(self, point: Point) -> list[int]:
        """The tokens of a point by band, those of `bands`."""
        return [value for band, value in zip(BANDS, point.values, strict=True) if band in self.bands]

    def named(self, point: Point) -> str:
        """The requests of a point, in words."""
        unit = self.unit[:1].upper() + self.unit[1:]
        if point.first == point.last:
            return f"{unit} {point.first:,}"
        return f"{unit}s {point.first:,} to {point.last:,}"

    def at(self, place: int) -> int:
        """The index of the point of a request; -1 if it is in none."""
        return next((at for at, one in enumerate(self.points) if one.first <= place <= one.last), -1)


def course(
    places: int, pieces: Iterable[Piece], compactions: Iterable[int] = (), unit: str = "request"
) -> Course:
    """The context over so many requests; `compactions` are those right after one, perhaps several times."""
    names = list(BANDS)
    changes = [[0] * (places + 2) for _ in names]
    for piece in pieces:
        first, last = max(1, piece.first), min(places, piece.last)
        if first <= last:
            row = changes[names.index(piece.band)]
            row[first] += piece.tokens
            row[last + 1] -= piece.tokens
    sums = [list(accumulate(row)) for row in changes]
    compacted = [0] * (places + 2)
    for place in compactions:
        compacted[min(max(place, 1), places + 1)] += 1
    size = max(1, -(-places // MOST_POINTS))
    points = [
        _point(first, min(places, first + size - 1), sums, compacted) for first in range(1, places + 1, size)
    ]
    bands = [band for at, band in enumerate(names) if any(point.values[at] for point in points)]
    return Course(points, bands, unit)


def _point(first: int, last: int, sums: Sequence[Sequence[int]], compacted: Sequence[int]) -> Point:
    at = max(range(first, last + 1), key=lambda place: (sum(row[place] for row in sums), -place))
    return Point(first, last, at, tuple(row[at] for row in sums), sum(compacted[first : last + 1]))


# -----------------------------------------------------------------------------
# The picture.
# -----------------------------------------------------------------------------


def picture(drawn: Course, name: str, title: str, link: Link) -> str:
    """The chart as SVG: `name` is unique in its page, `link` gives the address for the point of an index."""
    most = max((point.tokens for point in drawn.points), default=0) or 1
    ends = [round(WIDTH * at / len(drawn.points), 1) for at in range(len(drawn.points) + 1)]
    parts = [
        f'<svg class="course" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="group" '
        f'aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-about">{escape(described(drawn))}</desc>'
    ]
    low = [0] * len(drawn.points)
    for band in drawn.bands:
        at = list(BANDS).index(band)
        high = [under + point.values[at] for under, point in zip(low, drawn.points, strict=True)]
        parts.append(f'<path class="band-{band}" d="{_area(ends, low, high, most)}"/>')
        low = high
    for at, point in enumerate(drawn.points):
        left, width = ends[at], round(ends[at + 1] - ends[at], 1)
        if point.compactions:
            parts.append(f'<line class="compacted" x1="{left}" x2="{left}" y1="0" y2="{HEIGHT}"/>')
        parts.append(
            f'<a href="{escape(link(at))}" tabindex="-1"><title>{escape(said(drawn, point))}</title>'
            f'<rect class="point" x="{left}" y="0" width="{width}" height="{HEIGHT}"/></a>'
        )
    return "".join(parts) + "</svg>"


def _area(ends: Sequence[float], low: Sequence[int], high: Sequence[int], most: int) -> str:
    """A band as steps: over its upper edge to the right, and under its lower one back."""

    def height(value: int) -> float:
        return round(HEIGHT - HEIGHT * value / most, 1)

    over = "".join(f"V{height(value)}H{ends[at + 1]}" for at, value in enumerate(high))
    back = "".join(f"V{height(low[at])}H{ends[at]}" for at in reversed(range(len(low))))
    return f"M0 {height(low[0])}{over}{back}Z"


def said(drawn: Course, point: Point) -> str:
    """The numbers of a point in a sentence."""
    values = zip(drawn.bands, drawn.of(point), strict=True)
    bands = "; ".join(f"{BANDS[band].lower()} {value:,}" for band, value in values if value)
    compacted = {0: "", 1: ", after a compaction"}.get(point.compactions, ", after compactions")
    largest = f" (the largest, {point.at:,})" if point.first != point.last else ""
    return f"{drawn.named(point)}{largest}{compacted}: {point.tokens:,} tokens. {bands}".rstrip(". ")


def described(drawn: Course) -> str:
    """The chart in words: how long, its largest request, and how many compactions."""
    largest = max(drawn.points, key=lambda point: point.tokens, default=None)
    if largest is None:
        return "No request."
    count = sum(point.compactions for point in drawn.points)
    compacted = {0: "no compaction", 1: "1 compaction"}.get(count, f"{count:,} compactions")
    return (
        f"Tokens that each {drawn.unit} carried, up to {largest.tokens:,} in {drawn.unit} {largest.at:,}; "
        f"{compacted}. The table below has the same numbers."
    )


def swatch(band: Band) -> str:
    """The colour of a band, for a legend."""
    square = f'<rect class="band-{band}" width="10" height="10"/>'
    return f'<svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">{square}</svg>'


def stylesheet() -> str:
    """The colours and lines of charts, for light and dark."""
    light = "".join(f" --band-{band}: {pair[0]};" for band, pair in _COLOURS.items())
    dark = "".join(f" --band-{band}: {pair[1]};" for band, pair in _COLOURS.items())
    fills = "\n".join(f".band-{band} {{ fill: var(--band-{band}); }}" for band in BANDS)
    return f"""
:root {{{light} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{{dark} }} }}
{fills}
.course {{ display: block; width: 100%; height: 15rem; border-bottom: 1px solid var(--soft); }}
.course .point {{ fill: transparent; }}
.course a:hover .point, .course a:focus .point {{ fill: var(--ink); fill-opacity: .18; }}
.course .compacted {{
  stroke: var(--ink); stroke-width: 2; stroke-dasharray: 4 3; vector-effect: non-scaling-stroke;
}}
.swatch {{ width: .8rem; height: .8rem; vertical-align: -.05rem; margin-right: .35rem; }}
.bands {{ display: flex; flex-wrap: wrap; gap: .2rem 1rem; list-style: none; margin: .5rem 0; padding: 0; }}
.ends {{ display: flex; justify-content: space-between; gap: 1rem; margin: .1rem 0; color: var(--soft); }}
.bands, .ends {{ font-size: .85rem; }}
"""
