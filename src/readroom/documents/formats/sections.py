"""Running text as a document of sections: a part begins at every heading of the top level.

The top level is the highest level with at least two headings, so that a text with a single title is divided
by its chapters. What comes before the first such heading is a part of its own, unless it is only the title.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.documents.formats import Area, Heading, Part, Unit, Unreadable, omission_note
from readroom.documents.limits import CONTENTS_HEADINGS, TABLE_LINE_CHARS


class Sections(Struct, frozen=True):
    """A document whose parts have all been made."""

    parts: Sequence[Part]
    contents: Sequence[Heading]
    unit: Unit = Unit.SECTION

    @property
    def titles(self) -> Sequence[str]:
        """The heading of each section; empty for text before the first."""
        return [part.title for part in self.parts]

    def part(self, number: int, area: Area | None = None) -> Part:
        """The section with this number. Raises Unreadable for one that does not exist."""
        return self.parts[checked(number, len(self.parts), self.unit, area) - 1]


def checked(number: int, count: int, unit: Unit, area: Area | None) -> int:
    """`number`, of the parts there are. Raises Unreadable."""
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


HEADING_CHARS = 200
"""Length of a heading in the table of contents; its own line shows all of it."""


def entry(level: int, line: str, part: int) -> Heading:
    """An entry of a table of contents from the line of a heading."""
    title = line.lstrip("#").strip()
    if len(title) > HEADING_CHARS:
        title = title[:HEADING_CHARS] + "…"
    return Heading(level, title, part)


def bounded(headings: Sequence[Heading]) -> Sequence[Heading]:
    """At most as many as a table of contents holds; the highest levels are kept, in their order."""
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
# Slides: shared by presentations of all formats.
# -----------------------------------------------------------------------------

HIDDEN_SLIDE = "This slide is hidden."


SLIDES = 3_000
"""Slides of a presentation; the title of each is read on opening, in 2 ms."""


def check_slides(count: int) -> None:
    """Refuse a presentation of too many slides. Raises Unreadable."""
    if count > SLIDES:
        raise Unreadable(
            f"it has {count:,} slides, more than the limit of {SLIDES:,}",
            "Ask for the presentation in smaller pieces, or as text.",
        )


def remarks(notes: Sequence[str], comments: Sequence[str]) -> list[str]:
    """Speaker notes and comments, as they follow the text of a slide."""
    lines: list[str] = []
    for name, said in (("Notes:", notes), ("Comments:", comments)):
        lines += ["", name, *said] if said else []
    return lines


# -----------------------------------------------------------------------------
# Links and pictures inside text: how they are written, the same in every kind of document.
# -----------------------------------------------------------------------------

_SCHEMES = ("http://", "https://", "mailto:", "ftp://")


LINK_CHARS = 120
"""Longest target shown after the words of a link; longer ones are tracking and signatures."""


def link(text: str, target: str) -> str:
    """The text of a link, with its target if that is short and adds to the text."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    known = {words, f"http://{words}", f"https://{words}", f"http://{words}/", f"https://{words}/"}
    if not words or bare in known or not target.startswith(_SCHEMES) or len(target) > LINK_CHARS:
        return text
    return f"[{words}]({target})"


def is_lost(text: str, target: str) -> bool:
    """Whether a link out of the document is shown without its target."""
    words = text.strip()
    bare = target.removeprefix("mailto:")
    if not bare or target.startswith("#") or bare in words or link(text, target) != text:
        return False
    return words not in (bare, bare.removeprefix("https://"), bare.removeprefix("http://")) and not any(
        words == bare.removeprefix(scheme).rstrip("/") for scheme in _SCHEMES
    )


def picture(description: str) -> str:
    """A picture's place in text, with its description if it has one."""
    words = " ".join(description.split())
    return f"[picture: {words}]" if words else "[picture]"


DRAWING_WORDS = 200
"""Titles, series and points of a chart or diagram that are shown where it stands."""


def drawing(kind: str, words: Sequence[str]) -> list[str]:
    """The words of a chart or diagram in brackets, on one line if they fit."""
    left = len(words) - DRAWING_WORDS
    listed = [*words[:DRAWING_WORDS]] + ([f"({left:,} more of its words are not shown)"] if left > 0 else [])
    line = f"[{kind}: {'; '.join(listed)}]" if listed else f"[{kind}]"
    if len(line) <= TABLE_LINE_CHARS:
        return [line]
    return [f"[{kind}: {listed[0]}", *(f"  {word}" for word in listed[1:]), f"[end of {kind}]"]


# -----------------------------------------------------------------------------
# Labels of list items and headings as they are written: 3, c, iv.
# -----------------------------------------------------------------------------

ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
         (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
MAX_ROMAN = 10_000
"""Larger numbers are written in digits."""

MAX_LETTERS = 20
"""Letters of a number: the 27th item is aa."""


def numeral(count: int, form: str) -> str:
    """A number in a form: `1`, `01` with a zero before one digit, `a`, `A`, `i`, `I`; others as `1`."""
    if form in ("a", "A") and count > 0:
        return chr(ord(form) + (count - 1) % 26) * min(1 + (count - 1) // 26, MAX_LETTERS)
    if form in ("i", "I") and 0 < count < MAX_ROMAN:
        return roman(count).upper() if form == "I" else roman(count)
    return f"{count:02}" if form == "01" else str(count)


def roman(count: int) -> str:
    """A Roman number in lower case."""
    numeral = ""
    for value, letters in ROMAN:
        numeral += letters * (count // value)
        count %= value
    return numeral


# -----------------------------------------------------------------------------
# Text that readers give block by block (Word, OpenDocument, RTF).
#
# Marks of notes are `[^3]`, `[^e1]`, `[^c2]`; the notes follow at the end of the first section that refers to
# them.
# -----------------------------------------------------------------------------

_MARK = re.compile(r"\[\^([ec]?\d+)\]")


class Block(Struct, frozen=True):
    """A paragraph or a table.

    Attributes:
        level: Of a heading, from 1; 0 for other text.
        lines: Its text.
        table: Whether it is a table.
        marks: Notes that it refers to: `3`, `e1`, `c2`.
        dropped: Numbers of pieces that are not shown, by kind.
    """

    level: int
    lines: tuple[str, ...]
    table: bool = False
    marks: tuple[str, ...] = ()
    dropped: Counter[str] = field(default_factory=Counter)


def document(
    blocks: Sequence[Block],
    margins: Iterable[Sequence[str]],
    notes: Mapping[str, Sequence[str]],
    beside: Counter[str],
) -> Sections:
    """The document made of these blocks.

    Args:
        blocks: All of its text, in order.
        margins: Headers and footers as `margin` writes them; each different one once, at the start.
        notes: Lines of foot- and endnotes and comments, by their marks.
        beside: Numbers of things of the whole document that are not shown, by kind.
    """
    ranges = spans([block.level for block in blocks])
    groups = [blocks[span.start : span.stop] for span in ranges]
    headings = [
        entry(block.level, block.lines[0], number)
        for number, group in enumerate(groups, 1)
        for block in group
        if block.level
    ]
    left = dict(notes)
    parts = [
        _part(number, group, left, beside if number == 1 else Counter())
        for number, group in enumerate(groups, 1)
    ]
    texts = dict.fromkeys("\n".join(lines) for lines in margins if lines)
    if above := [line for text in texts for line in text.split("\n")]:
        parts[0] = replace(parts[0], lines=[*above, *parts[0].lines])
    return Sections(parts, bounded(headings))


def margin(kind: str, lines: Sequence[str]) -> list[str]:
    """A header or footer in brackets, on one line if it fits; nothing for an empty one."""
    text = " / ".join(lines)
    if not text:
        return []
    whole = len(text) <= TABLE_LINE_CHARS
    return [f"[{kind}: {text}]"] if whole else [f"[{kind}]", *lines, f"[end of {kind}]"]


def comment(author: str, lines: Sequence[str]) -> list[str]:
    """The lines of a comment, after the name of its author."""
    kept = [line.strip() for line in lines if line.strip()]
    return [f"{author}: {kept[0] if kept else ''}".rstrip(), *kept[1:]] if author else kept


def heading(level: int, label: str, text: str) -> tuple[str, ...]:
    """The line of a heading."""
    title = " ".join(text.split())
    return (f"{'#' * level} {label + ' ' if label else ''}{title}",)


def item(text: str, label: str, depth: int) -> tuple[str, ...]:
    """The lines of a paragraph; those of a list item come after its label."""
    lines = text.split("\n")
    if not label:
        return tuple(lines)
    indent = "  " * depth
    return (f"{indent}{label} {lines[0].lstrip()}", *(f"{indent}  {line}" for line in lines[1:]))


def _part(
    number: int, blocks: Sequence[Block], notes: dict[str, Sequence[str]], beside: Counter[str]
) -> Part:
    """A section; the notes it refers to are taken out of `notes`, since each is shown once."""
    lines: list[str] = []
    dropped: Counter[str] = Counter()
    table = False
    for block in blocks:
        if lines and (block.level or (table and block.table)):
            lines.append("")
        lines += block.lines
        dropped += block.dropped
        table = block.table
    waiting = list(dict.fromkeys(mark for block in blocks for mark in block.marks))
    for mark in waiting:
        first, *others = notes.get(mark) or ["(missing)"]
        notes[mark] = ["(see above)"]
        lines += [f"[^{mark}]: {first}", *(f"  {line}" for line in others)]
        inner = (at for line in (first, *others) for at in _MARK.findall(line))
        waiting += [at for at in inner if at in notes and at not in waiting]
    title = blocks[0].lines[0].lstrip("#").strip() if blocks and blocks[0].level else ""
    dropped += beside
    return Part(number, title, lines, notes=omission_note(dict(sorted(dropped.items()))))
