"""Running text as a document of sections: a part begins at every heading of the top level.

The top level is the highest one of which there are at least two, so that a text
with a single title is still parted by its chapters.  What stands before the first
such heading is a part of its own, unless it is only that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from readroom.formats.documents import Area, Heading, Part, Unit, Unreadable
from readroom.limits.documents import CONTENTS_HEADINGS, HEADING_CHARS, LINK_CHARS, SLIDES


class Sections(Struct, frozen=True):
    """A document whose parts have all been made."""

    parts: Sequence[Part]
    contents: Sequence[Heading]
    unit: Unit = Unit.SECTION

    @property
    def titles(self) -> Sequence[str]:
        """The heading of each section; empty for what stands before the first."""
        return [part.title for part in self.parts]

    def part(self, number: int, area: Area | None = None) -> Part:
        """The section with this number. Raises Unreadable for one that does not exist."""
        return self.parts[checked(number, len(self.parts), self.unit, area) - 1]


def checked(number: int, count: int, unit: Unit, area: Area | None) -> int:
    """`number`, of the parts there are.

    Raises:
        Unreadable: There is none of this number, or an area is asked of what is not a sheet.
    """
    if not 1 <= number <= count:
        raise Unreadable(f"it has no {unit} {number}", f"It has {count}; they are numbered from 1.")
    if area is not None and unit is not Unit.SHEET:
        raise Unreadable(f"a {unit} has no rows and columns", f"Ask for the {unit} without an area.")
    return number


def spans(levels: Sequence[int]) -> list[range]:
    """The sections of a text, by the level of the heading that each block is, 0 for other blocks."""
    counts = Counter(level for level in levels if level)
    top = min((level for level, count in counts.items() if count > 1), default=0)
    starts = [0, *(at for at, level in enumerate(levels) if at and 0 < level <= top)]
    return [range(start, end) for start, end in pairwise([*starts, len(levels)])]


def entry(level: int, line: str, part: int) -> Heading:
    """An entry of a table of contents from the line of a heading."""
    title = line.lstrip("#").strip()
    if len(title) > HEADING_CHARS:
        title = title[:HEADING_CHARS] + "…"
    return Heading(level, title, part)


def bounded(headings: Sequence[Heading]) -> Sequence[Heading]:
    """As many as a table of contents holds, the highest levels first to stay, in their order."""
    if len(headings) <= CONTENTS_HEADINGS:
        return headings
    deepest = 1
    while sum(heading.level <= deepest + 1 for heading in headings) <= CONTENTS_HEADINGS:
        deepest += 1
    return [heading for heading in headings if heading.level <= deepest][:CONTENTS_HEADINGS]


def titled(titles: Sequence[str]) -> Sequence[Heading]:
    """The table of contents of parts with titles: those that have one."""
    return bounded([entry(1, title, number) for number, title in enumerate(titles, 1) if title])


# -----------------------------------------------------------------------------
# Slides: what every presentation shares, whatever its format.
# -----------------------------------------------------------------------------

HIDDEN_SLIDE = "This slide is hidden."


def check_slides(count: int) -> None:
    """Refuse a presentation of too many slides. Raises Unreadable."""
    if count > SLIDES:
        raise Unreadable(
            f"it has {count:,} slides, and at most {SLIDES:,} are taken",
            "Ask for the presentation in smaller pieces, or as text.",
        )


def remarks(notes: Sequence[str], comments: Sequence[str]) -> list[str]:
    """What the speaker is to say, and comments, as they stand behind the text of a slide."""
    lines: list[str] = []
    for name, said in (("Notes:", notes), ("Comments:", comments)):
        lines += ["", name, *said] if said else []
    return lines


# -----------------------------------------------------------------------------
# Links and pictures inside text: how they are written, the same in every kind of document.
# -----------------------------------------------------------------------------

_SCHEMES = ("http://", "https://", "mailto:", "ftp://")


def shown(text: str, target: str) -> str:
    """The words of a link, with its target where that is short and says more than the words."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    known = {words, f"http://{words}", f"https://{words}", f"http://{words}/", f"https://{words}/"}
    if not words or bare in known or not target.startswith(_SCHEMES) or len(target) > LINK_CHARS:
        return text
    return f"[{words}]({target})"


def is_lost(text: str, target: str) -> bool:
    """Whether the target of a link is not shown, and leads out of the document."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    if not bare or target.startswith("#") or bare in words or shown(text, target) != text:
        return False
    return words not in (bare, bare.removeprefix("https://"), bare.removeprefix("http://")) and not any(
        words == bare.removeprefix(scheme).rstrip("/") for scheme in _SCHEMES
    )


def picture(description: str) -> str:
    """Where a picture is, with its description when it has one."""
    words = " ".join(description.split())
    return f"[picture: {words}]" if words else "[picture]"
