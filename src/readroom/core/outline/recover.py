"""Recover definitions that a parser lost after an error, by parsing pieces of the text separately.

After an error a parser may take the whole rest for nonsense. Lines that close something at the left margin
are where people see an end too: the text between two of them is parsed again, without the error before it.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readroom.core.limits.outline import OUTLINE_NAME_CHARS
from readroom.core.outline.signatures import shortened
from readroom.core.values.files import Item, rows

if TYPE_CHECKING:
    from tree_sitter import Range, Tree

_CLOSED = re.compile(rb"^\}[^\n]*(?:\n|\Z)", re.MULTILINE)


def with_lost(
    items: tuple[Item, ...],
    source: bytes,
    errors: Sequence[tuple[int, int]],
    parse: Callable[[Range], Tree | None],
    walked: Callable[[Tree], tuple[Item, ...]],
) -> tuple[Item, ...]:
    """The items of a text, with those that are found only by parsing its pieces."""
    known = {(row.item.name, row.item.line) for row in rows(items)}
    added: list[Item] = []
    for piece in _pieces(source, errors):
        tree = parse(piece)
        if tree is None:
            break
        for item in walked(tree):
            if (item.name, item.line) not in known:
                known |= {(row.item.name, row.item.line) for row in rows([item])}
                added.append(item)
    return tuple(sorted([*items, *added], key=lambda item: (item.start, -item.end))) if added else items


def with_others(items: tuple[Item, ...], others: Sequence[Item]) -> tuple[Item, ...]:
    """The items of a text, with those that are certain in another parse of it."""
    listed = list(rows(items))
    known = {(row.item.name, row.item.line) for row in listed}
    added = list(_unknown(others, known, ()))
    return tuple(sorted([*items, *added], key=lambda item: (item.start, -item.end))) if added else items


def _unknown(items: Sequence[Item], known: set[tuple[str, int]], above: tuple[str, ...]) -> Iterator[Item]:
    for item in items:
        if (item.name, item.line) in known:
            yield from _unknown(item.members, known, (*above, *item.owner, item.name))
        elif item.certain:
            yield replace(item, owner=(*above, *item.owner), members=_certain(item.members))


def _certain(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(replace(item, members=_certain(item.members)) for item in items if item.certain)


_HERE = re.compile(rb"(?<!<)<<-?[ \t]*[\\'\"]?(\w{1,80})")


def with_headed(items: tuple[Item, ...], source: bytes, heads: re.Pattern[bytes]) -> tuple[Item, ...]:
    """The items of a text, with the functions whose first lines match `heads`.

    Shells have more syntax than the grammar, which loses the whole function around what it does not know.
    """
    lines = source.split(b"\n")
    known = {(row.item.name, row.item.line) for row in rows(items)}
    closes: dict[bytes, list[int]] = {}
    for row, line in enumerate(lines):
        if line.lstrip().startswith(b"}"):
            closes.setdefault(_indent(line), []).append(row)
    here, added = b"", list[Item]()
    for row, line in enumerate(lines):
        if here:
            here = b"" if line.strip() == here else here
            continue
        found = heads.match(line)
        if found is None:
            opened = _HERE.search(line) if b"<<" in line and not line.lstrip().startswith(b"#") else None
            here = b"" if opened is None else opened[1]
            continue
        name = next(filter(None, found.groups())).decode("utf-8", "replace")[:OUTLINE_NAME_CHARS]
        last = _last_row(lines, row, closes)
        if last is not None and (name, row + 1) not in known:
            added.append(_headed(name, lines, row, last))
    return _with_functions(items, added) if added else items


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip())]


def _last_row(lines: Sequence[bytes], row: int, closes: Mapping[bytes, Sequence[int]]) -> int | None:
    """The last row of the body that a line begins, by its indentation; None if there is no body."""
    head = lines[row].rstrip()
    if head.endswith(b"}"):
        return row
    if not head.endswith(b"{") and (row + 1 == len(lines) or lines[row + 1].strip() != b"{"):
        return None
    below = closes.get(_indent(head), ())
    at = bisect_left(below, row + 1)
    return below[at] if at < len(below) else None


def _headed(name: str, lines: Sequence[bytes], row: int, last: int) -> Item:
    first, line = row, lines[row]
    while first and lines[first - 1].startswith(b"#") and not lines[first - 1].startswith(b"#!"):
        first -= 1
    signature = shortened(line.decode("utf-8", "replace").partition("{")[0])
    return Item("function", name, signature, first + 1, last + 1, row + 1, minor=line[:1].isspace())


def _with_functions(items: Sequence[Item], added: Sequence[Item]) -> tuple[Item, ...]:
    """All items, without the variables that are local to the added functions."""
    starts = [item.start for item in added]
    ends = list(accumulate((item.end for item in added), max))

    def is_local(item: Item) -> bool:
        at = bisect_left(starts, item.start)
        return item.kind == "variable" and at > 0 and ends[at - 1] >= item.end

    kept = [item for item in items if not is_local(item)]
    return tuple(sorted([*kept, *added], key=lambda item: (item.start, -item.end)))


OUTLINE_PIECES = 200
"""Pieces of a text with syntax errors that are parsed again, each on its own: correct texts have none, and
real ones with that many damaged places are in another language than their names say."""


def _pieces(source: bytes, errors: Sequence[tuple[int, int]]) -> Iterator[Range]:
    """The pieces of a text that have errors, unless it is all one piece."""
    from tree_sitter import Range

    firsts, start, row, left = [first for first, _ in errors], 0, 0, OUTLINE_PIECES
    # The last line of all errors before each one: some errors span many lines.
    reached = list(accumulate((last for _, last in errors), max, initial=0))
    for close in _CLOSED.finditer(source):
        end = close.end()
        rows_in = source.count(b"\n", start, end)
        at = bisect_left(firsts, row + 1)
        touched = reached[at] > row or (at < len(firsts) and firsts[at] <= row + rows_in)
        if touched and (start or end < len(source)):
            left -= 1
            if left < 0:
                return
            yield Range((row, 0), (row + rows_in, 0), start, end)
        start, row = end, row + rows_in
