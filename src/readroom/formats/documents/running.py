"""Running text that was written block by block, as a document of sections with its notes.

Readers of formats without pages of their own (Word, OpenDocument text, RTF) give
their blocks in order; marks of notes stand in the text as `[^3]`, `[^e1]`, `[^c2]`
and the notes themselves follow at the end of the section that refers to them first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.formats.documents import Part, sections
from readroom.formats.documents.sections import Sections
from readroom.formats.documents.unshown import beside_note
from readroom.limits.documents import TABLE_LINE_CHARS

_MARK = re.compile(r"\[\^([ec]?\d+)\]")


class Block(Struct, frozen=True):
    """A paragraph or a table.

    Attributes:
        level: Of a heading, from 1; 0 for all else.
        lines: Its text.
        table: Whether it is a table.
        marks: Notes that it refers to: `3`, `e1`, `c2`.
        dropped: How many pieces of which sort are not shown.
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
    """The document that these blocks are.

    Args:
        blocks: All of its text, in order.
        margins: Headers and footers as `margin` writes them; each different one stands once, at the start.
        notes: Lines of foot- and endnotes and comments, by their marks.
        beside: What belongs to the whole document and is not shown, by its kind.
    """
    spans = sections.spans([block.level for block in blocks])
    groups = [blocks[span.start : span.stop] for span in spans]
    headings = [
        sections.entry(block.level, block.lines[0], number)
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
    return Sections(parts, sections.bounded(headings))


def margin(kind: str, lines: Sequence[str]) -> list[str]:
    """A header or footer in brackets: one line where it fits; nothing for an empty one."""
    text = " / ".join(lines)
    if not text:
        return []
    whole = len(text) <= TABLE_LINE_CHARS
    return [f"[{kind}: {text}]"] if whole else [f"[{kind}]", *lines, f"[end of {kind}]"]


def said(author: str, lines: Sequence[str]) -> list[str]:
    """The lines of a comment, behind the name of its author."""
    kept = [line.strip() for line in lines if line.strip()]
    return [f"{author}: {kept[0] if kept else ''}".rstrip(), *kept[1:]] if author else kept


def heading(level: int, label: str, text: str) -> tuple[str, ...]:
    """The line of a heading."""
    title = " ".join(text.split())
    return (f"{'#' * level} {label + ' ' if label else ''}{title}",)


def item(text: str, label: str, depth: int) -> tuple[str, ...]:
    """The lines of a paragraph, those of an item of a list behind its label."""
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
    return Part(number, title, lines, notes=beside_note(dict(sorted(dropped.items()))))
