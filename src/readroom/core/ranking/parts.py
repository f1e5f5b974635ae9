"""Split a text into the parts that ranking scores and a reply shows as one piece.

A part is a definition, a gap between definitions, a section, or a window of lines where no grammar knows
the text.  A part of more than `PART_LINES` lines is split, preferably at an empty line before a line with
the least indent.  Parts cover every line that is not blank, once, in order.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.values.files import Item, main_items, rows

PART_LINES = 40
"""A screen of lines: long enough for nine of ten functions, short enough that a page holds several."""

ROW_LINES = 8
"""Lines of a part of a log or table: a record with its context; a traceback is two or three."""

_LEAST_LINES = 12
"""Least length of a piece of a long part: crumbs rank by luck."""


_IMPORT = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#\s*include\b|(?:pub\s+)?use\s+[\w:{]|using\s+\w|require\b|package\s"
    r"|export\s+(?:\*|(?:type\s+)?\{)|(?:const|let|var)\s+.*=\s*require\(|extern\s+crate\b|@import\b|alias\s+[A-Z])"
)
_IMPORTS = 2
"""Import lines from which a piece between definitions is a list of imports."""


class TextPart(Struct, frozen=True):
    """Lines `first` to `last` of a text.

    Attributes:
        names: The qualified names of the definitions it begins inside, outermost first.
        signatures: Their signatures, which a reader of the part needs to know.
        inside: What is defined in it, the definition that it starts with and those within that: line of the
            signature, signature, qualified name. Nothing where it starts amid a definition.
        minor: The same of the fields, constants and inner functions in it, wherever it starts.
        imports: Whether it is outside of definitions and names definitions of other files.
    """

    first: int
    last: int
    names: tuple[str, ...] = ()
    signatures: tuple[tuple[int, str], ...] = ()
    inside: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    minor: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    imports: bool = False


def cut(lines: Sequence[str], items: Sequence[Item]) -> list[TextPart]:
    """Split a text into parts.

    Args:
        lines: All of its lines, without line ends.
        items: Its outline; empty if no grammar covers it.
    """
    parts = list(_spans(lines, 1, len(lines), main_items(items), (), ()))
    firsts, minor = [part.first for part in parts], dict[int, list[tuple[int, str, tuple[str, ...]]]]()
    for row in rows(items):
        at = bisect_right(firsts, row.item.line) - 1
        if row.item.minor and at >= 0 and row.item.line <= parts[at].last:
            minor.setdefault(at, []).append((row.item.line, row.item.signature, row.path))
    return [replace(part, minor=tuple(minor[at])) if at in minor else part for at, part in enumerate(parts)]


def cut_rows(lines: Sequence[str]) -> list[TextPart]:
    """Split a log or table into parts of a few lines."""
    firsts = range(1, len(lines) + 1, ROW_LINES)
    windows = ((first, min(first + ROW_LINES - 1, len(lines))) for first in firsts)
    return [TextPart(first, last) for first, last in windows if any(map(str.strip, lines[first - 1 : last]))]


def _spans(
    lines: Sequence[str],
    first: int,
    last: int,
    items: Sequence[Item],
    names: tuple[str, ...],
    signatures: tuple[tuple[int, str], ...],
) -> Iterator[TextPart]:
    at = first
    for item in items:
        start, end = max(item.start, at), min(item.end, last)
        if end < start:
            continue
        yield from _pieces(lines, at, start - 1, names, signatures)
        yield from _definition(lines, start, end, item, names, signatures)
        at = end + 1
    yield from _pieces(lines, at, last, names, signatures)


def _definition(
    lines: Sequence[str],
    start: int,
    end: int,
    item: Item,
    names: tuple[str, ...],
    signatures: tuple[tuple[int, str], ...],
) -> Iterator[TextPart]:
    own = (*names, *item.owner, item.name)
    headed = (*signatures, (item.line, item.signature))
    if end - start < PART_LINES:
        inside = tuple((row.item.line, row.item.signature, (*names, *row.path)) for row in rows([item]))
        yield TextPart(start, end, own, headed, inside)
        return
    head = end if not item.members else max(start, min(item.members[0].start - 1, end))
    for at, part in enumerate(_pieces(lines, start, head, own, headed)):
        yield part if at else replace(part, inside=((item.line, item.signature, own),))
    yield from _spans(lines, head + 1, end, item.members, own, headed)


def _pieces(
    lines: Sequence[str],
    first: int,
    last: int,
    names: tuple[str, ...],
    signatures: tuple[tuple[int, str], ...],
) -> Iterator[TextPart]:
    """Lines without definitions of their own, split into short pieces."""
    while first <= last and not lines[first - 1].strip():
        first += 1
    while last >= first and not lines[last - 1].strip():
        last -= 1
    while last - first >= PART_LINES:
        end = _breath(lines, first)
        yield _piece(lines, first, end, names, signatures)
        first = end + 1
        while first <= last and not lines[first - 1].strip():
            first += 1
    if first <= last:
        yield _piece(lines, first, last, names, signatures)


def _piece(
    lines: Sequence[str],
    first: int,
    last: int,
    names: tuple[str, ...],
    signatures: tuple[tuple[int, str], ...],
) -> TextPart:
    imports = sum(1 for line in lines[first - 1 : last] if _IMPORT.match(line)) if not names else 0
    return TextPart(first, last, names, signatures, imports=imports >= _IMPORTS)


def _breath(lines: Sequence[str], first: int) -> int:
    """The last line of the piece that begins at line `first`."""
    best, indent = first + PART_LINES - 1, None
    for number in range(first + _LEAST_LINES, first + PART_LINES):
        line = lines[number - 1]
        if lines[number - 2].strip() or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        if indent is None or depth <= indent:
            best, indent = number - 1, depth
    while best > first and not lines[best - 1].strip():
        best -= 1
    return best
