"""Bar charts as SVG: text that scales, on a ground of its own, in the colours of a light or a dark page.

A chart is a title, rows and a source.  The longest bar of a panel fills it; every bar has its
figure beside it, so that nothing is read off an axis, and the description holds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

WIDTH = 760
LABEL = 250
FIGURE = 120
BAR = 16
STEP = 26
HEAD = 30
MARGIN = 20

OURS = "#0b5cad"
"""Of readroom; against the ground at 6.5 to 1."""

OTHERS = "#6b7280"
TONES = {"exact": "#0b5cad", "refused": "#a3a9b3", "damaged": "#b42318", "wrong inside": "#7a271a"}

INSIDE = "#101418"
"""Of a figure inside a light bar, whatever the page."""

DARK = {
    "#f8fafc": "#161b22",
    "#1f2328": "#e6edf3",
    "#57606a": "#9aa4b0",
    "#0b5cad": "#1f6fc4",
    "#6b7280": "#7d8794",
    "#b42318": "#c93c31",
    "#7a271a": "#9c4a3a",
}
"""What stands for a colour where the reader's page is dark; bars stay at 3 to 1 against the ground."""


class Bar(Struct, frozen=True):
    """One row: who, how much, and the figure as it is written."""

    label: str
    value: float
    figure: str

    @property
    def is_ours(self) -> bool:
        """Whether it is readroom."""
        return self.label.startswith("readroom")


class Panel(Struct, frozen=True):
    """Bars that share a measure."""

    title: str
    bars: Sequence[Bar]


class Parted(Struct, frozen=True):
    """One row of a chart of shares: who, and how many of each sort."""

    label: str
    counts: dict[str, int]


def bars(title: str, panels: Sequence[Panel], source: str) -> str:
    """A chart of panels, one above the other."""
    parts: list[str] = []
    top = MARGIN + HEAD
    for panel in panels:
        if len(panels) > 1:
            parts.append(_text(MARGIN, top + 12, panel.title, weight=600))
            top += HEAD - 8
        most = max(bar.value for bar in panel.bars) or 1
        for bar in panel.bars:
            long = max(2.0, (WIDTH - LABEL - FIGURE - 2 * MARGIN) * bar.value / most)
            parts += _row(top, bar.label, weight=600 if bar.is_ours else 400)
            parts.append(_rect(MARGIN + LABEL, top, long, OURS if bar.is_ours else OTHERS))
            parts.append(_text(MARGIN + LABEL + long + 8, top + 13, bar.figure, weight=600))
            top += STEP
        top += 12
    said = "; ".join(
        f"{panel.title}: " + ", ".join(f"{bar.label} {bar.figure}" for bar in panel.bars) for panel in panels
    )
    return _drawing(title, said, parts, top, source)


def parted(title: str, rows: Sequence[Parted], source: str) -> str:
    """A chart of shares: each row is one bar, parted by sort."""
    sorts = list(rows[0].counts)
    parts: list[str] = []
    across = float(MARGIN)
    for sort in sorts:
        parts.append(_rect(across, MARGIN + HEAD, 14, TONES[sort], height=14))
        parts.append(_text(across + 20, MARGIN + HEAD + 12, sort))
        across += 40 + 8 * len(sort)
    top = MARGIN + 2 * HEAD
    room = WIDTH - LABEL - 2 * MARGIN
    for row in rows:
        total = sum(row.counts.values())
        parts += _row(top, row.label, weight=600 if row.label.startswith("readroom") else 400)
        left = float(MARGIN + LABEL)
        for sort in sorts:
            long = room * row.counts[sort] / total
            if long:
                parts.append(_rect(left, top, long, TONES[sort]))
            if long > 30:
                ink = INSIDE if sort == "refused" else "#ffffff"
                parts.append(_text(left + 6, top + 13, str(row.counts[sort]), ink=ink, size=12))
            left += long
        top += STEP
    said = "; ".join(
        f"{row.label}: " + ", ".join(f"{count} {sort}" for sort, count in row.counts.items()) for row in rows
    )
    return _drawing(title, said, parts, top + 8, source)


def _dark() -> str:
    return " ".join(f'[fill="{light}"] {{ fill: {dark} }}' for light, dark in DARK.items())


def _drawing(title: str, said: str, parts: Sequence[str], top: float, source: str) -> str:
    height = round(top + 26)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
            ' aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="13">',
            f'<title id="title">{escape(title)}</title>',
            f'<desc id="desc">{escape(said)}. Source: {escape(source)}.</desc>',
            f"<style>@media (prefers-color-scheme: dark) {{ {_dark()} }}</style>",
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#f8fafc"/>',
            _text(MARGIN, MARGIN + 10, title, weight=700, size=16),
            *parts,
            _text(MARGIN, height - 12, f"Source: {source}", ink="#57606a", size=11),
            "</svg>\n",
        ]
    )


def _row(top: float, label: str, weight: int) -> list[str]:
    return [_text(MARGIN + LABEL - 10, top + 13, label, weight=weight, anchor="end")]


def _rect(left: float, top: float, long: float, fill: str, height: int = BAR) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{long:.1f}" height="{height}" fill="{fill}"/>'


def _text(
    left: float,
    top: float,
    words: str,
    *,
    weight: int = 400,
    size: int = 13,
    ink: str = "#1f2328",
    anchor: str = "start",
) -> str:
    place = f'x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}"'
    return f'<text {place} font-size="{size}" font-weight="{weight}" fill="{ink}">{escape(words)}</text>'
