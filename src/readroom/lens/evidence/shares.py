"""Divide the rows of an output among its commands, if every possible division agrees.

A command prints up to a known number of lines, a file may end without a line end, so that two files
share a row, and only a line that is known word for word, such as that of `echo`, proves its place. So all
divisions are compared: the rows that are the same in all of them are certain, and the rest is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from readroom.lens.evidence.shell import ANY_LINE, Piece

_MOST = 20_000
"""Rows times pieces that are looked at."""

Place = tuple[int, int, int | None]
"""The first row that is certainly of a piece, the row after the last one, and the row in which it begins, if
that is certain."""


def shares(pieces: Sequence[Piece], rows: Sequence[str]) -> list[Place]:
    """The rows of each piece; none at all where nothing is certain."""
    if len(rows) * len(pieces) > _MOST * 10:
        return [(0, 0, None)] * len(pieces)
    # Boundary 2p lies before row p, and 2p + 1 inside it.
    end = 2 * len(rows)
    reached = [{0}]
    for piece in pieces:
        reached.append(_after(piece, rows, reached[-1], end))
    reached[-1] &= {end}
    for at in range(len(pieces) - 1, -1, -1):
        reached[at] &= _before(pieces[at], rows, reached[at + 1], end)
    return [_place(starts, ends) for starts, ends in pairwise(reached)]


def _place(starts: set[int], ends: set[int]) -> Place:
    if not starts or not ends:
        return 0, 0, None
    first, after = (max(starts) + 1) // 2, min(ends) // 2
    return first, max(first, after), min(starts) // 2 if len(starts) == 1 else None


def _says(piece: Piece, rows: Sequence[str], start: int) -> bool:
    row = start // 2
    if row >= len(rows):
        return False
    if start % 2 == 0:
        return piece.says in (ANY_LINE, rows[row])
    if not rows[row]:
        return False  # text before it in its row is at least one character
    return piece.says == ANY_LINE or rows[row][1:].endswith(piece.says or "")


def _after(piece: Piece, rows: Sequence[str], starts: set[int], end: int) -> set[int]:
    if piece.says is not None:
        said = {start // 2 * 2 + 2 for start in starts if _says(piece, rows, start)}
        return said | starts if piece.optional else said
    ends: set[int] = set()
    limit = -1
    for boundary in range(min(starts, default=end + 1), end + 1):
        if boundary in starts:
            limit = end if piece.count is None else 2 * (boundary // 2 + piece.count)
        if boundary <= limit or boundary in starts:
            ends.add(boundary)
    return ends


def _before(piece: Piece, rows: Sequence[str], ends: set[int], end: int) -> set[int]:
    if piece.says is not None:
        row_ends = (at for at in ends if at % 2 == 0 and at)
        said = {at - back for at in row_ends for back in (2, 1) if _says(piece, rows, at - back)}
        return said | ends if piece.optional else said
    starts: set[int] = set()
    nearest = end + 1
    for boundary in range(max(ends, default=-1), -1, -1):
        if boundary in ends:
            nearest = boundary
        most = end if piece.count is None else 2 * (boundary // 2 + piece.count)
        if nearest <= most or nearest == boundary:
            starts.add(boundary)
    return starts
