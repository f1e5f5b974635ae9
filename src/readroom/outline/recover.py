"""What a parser lost after it stumbled: pieces of the text around its errors, each parsed on its own.

A parser that has stumbled may take all that follows for one piece of nonsense.  Lines
that close something at the left margin are where people see an end, too: between two
of them a text is tried again, without what went wrong before.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec.structs import replace

from readroom.limits.outline import OUTLINE_PIECES
from readroom.values.files import Item, rows

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
    """The items of a text, with those that its pieces have beside them."""
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
    """The items of a text, with those that are certain when it is read in another way."""
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


def _pieces(source: bytes, errors: Sequence[tuple[int, int]]) -> Iterator[Range]:
    """The pieces that have errors, in a text of several."""
    from tree_sitter import Range

    firsts, start, row, left = [first for first, _ in errors], 0, 0, OUTLINE_PIECES
    # How far those reach that begin before one: there are some of many lines.
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
