"""Split a text into the parts that ranking scores and a reply shows as one piece.

A part is a definition, a gap between definitions, a section, or a window of lines where no grammar knows
the text.  A part of more than `PART_LINES` lines is split, preferably at an empty line before a line with
the least indent.  Parts cover every line once, in order; blank lines and those that only close something
belong to the part above them, and a comment directly above a definition belongs to it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

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
_COMMENT = re.compile(
    r"\s*(?://|--|/\*|\*(?:[ /]|\Z)|\{-|\(\*|;;|%%|#(?!\s*(?:include|if|el|endif|define|undef|pragma)\b))"
)
"""A line of comment in most languages, and no directive of C."""

_CLOSING = re.compile(r"[\s)\]}>;,]*(?:end\b)?[\s)\]}>;,.]*")
"""A line that only closes what is open. Such lines belong to the part above them, as blank ones do."""

_LEAD_LINES = 3
"""Lines without a blank one above a definition that belong to it; more are statements of their own."""

_LICENCE = re.compile(
    r"licen[cs]ed under|SPDX-License|copyright|permission is hereby granted|all rights reserved"
    r"|redistribution and use",
    re.IGNORECASE,
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
        legal: Whether it is a comment with the licence.
    """

    first: int
    last: int
    names: tuple[str, ...] = ()
    signatures: tuple[tuple[int, str], ...] = ()
    inside: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    minor: tuple[tuple[int, str, tuple[str, ...]], ...] = ()
    imports: bool = False
    legal: bool = False


def cut(lines: Sequence[str], items: Sequence[Item]) -> list[TextPart]:
    """Split a text into parts.

    Args:
        lines: All of its lines, without line ends.
        items: Its outline; empty if no grammar covers it.
    """
    spans = list(_spans(lines, 1, len(lines), main_items(items), (), ()))
    parts = list(_with_blank_lines(spans, len(lines)))
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
    parts = [TextPart(first, last) for first, last in windows if any(map(str.strip, lines[first - 1 : last]))]
    return list(_with_blank_lines(parts, len(lines)))


def _with_blank_lines(parts: Sequence[TextPart], total: int) -> Iterator[TextPart]:
    """The parts with the blank lines after them, and before the first; many are parts themselves."""
    first = 1
    for part, following in pairwise([*parts, TextPart(total + 1, total)]):
        if part.first - first < PART_LINES:
            part = replace(part, first=first)
        else:
            yield from _blank(first, part.first - 1)
        first = following.first if following.first - part.last <= PART_LINES else part.last + 1
        yield replace(part, last=first - 1)
    yield from _blank(first, total)


def _blank(first: int, last: int) -> Iterator[TextPart]:
    for at in range(first, last + 1, PART_LINES):
        yield TextPart(at, min(at + PART_LINES - 1, last))


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
        start, end = max(_with_lead(lines, item.start, at), at), min(item.end, last)
        if end < start:
            continue
        yield from _pieces(lines, at, start - 1, names, signatures)
        yield from _definition(lines, start, end, item, names, signatures)
        at = end + 1
    yield from _pieces(lines, at, last, names, signatures)


def _with_comment(lines: Sequence[str], start: int, least: int) -> int:
    """The first line of a definition with the comment directly above it, as not every grammar has it."""
    while start > least and _COMMENT.match(lines[start - 2]):
        start -= 1
    return start


def _with_lead(lines: Sequence[str], start: int, least: int) -> int:
    """The same with some lines directly above: `sig { void }`, a macro, a decorator without a grammar."""
    start = first = _with_comment(lines, start, least)
    while first > least and lines[first - 2].strip():
        first -= 1
    return first if start - first <= _LEAD_LINES else start


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
    head = end
    if item.members:
        inner = max(_with_comment(lines, item.members[0].start, start + 1), start + 1)
        head = min(inner - 1, end)
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
    if first <= last and not all(map(_CLOSING.fullmatch, lines[first - 1 : last])):
        yield _piece(lines, first, last, names, signatures)


def _piece(
    lines: Sequence[str],
    first: int,
    last: int,
    names: tuple[str, ...],
    signatures: tuple[tuple[int, str], ...],
) -> TextPart:
    if names:
        return TextPart(first, last, names, signatures)
    own = lines[first - 1 : last]
    imports = sum(1 for line in own if _IMPORT.match(line)) >= _IMPORTS
    return TextPart(first, last, names, signatures, imports=imports, legal=_is_legal(own))


def _is_legal(own: Sequence[str]) -> bool:
    """Whether lines are mostly a comment, and speak of a licence."""
    if not any(map(_LICENCE.search, own)):
        return False
    written = [line for line in own if line.strip()]
    return sum(1 for line in written if _COMMENT.match(line)) * 2 > len(written)


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
