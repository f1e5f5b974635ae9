"""Tables inside text: a row is one line if it fits, and several lines if its cells are long.

    Name | Old | New          a row of short cells
    a / b |  | 5              lines of a short cell

    |-                        a row of long cells, as in wiki markup
    | the first paragraph     a cell
      the second one
    | another cell

Many pages use a table only for layout: if one cell of a row has text, its paragraphs are shown as paragraphs,
and its headings as headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from readroom.documents.limits import TABLE_LINE_CHARS

CELL = " | "
"""Between the cells of a row: one token, and readable without counting."""

WITHIN_CELL = " / "
"""Between the lines of one cell."""

ROW = "|-"
"""Before a row whose cells are lines."""

_FIRST, _OTHER = "| ", "  "

Block: TypeAlias = tuple[int, Sequence[str]]
"""The level of a heading, 0 for all else, and its lines."""

Cell: TypeAlias = Sequence[Block]


def row(cells: Sequence[Cell]) -> Iterator[Block]:
    """The blocks that a row is written as; none for an empty one."""
    texts = [[line.strip() for _, lines in cell for line in lines if line.strip()] for cell in cells]
    if not any(texts):
        return
    written = CELL.join(map(WITHIN_CELL.join, texts)).rstrip()
    if len(cells) > 1 and _fits(written, texts):
        yield 0, (written,)
    elif sum(map(bool, texts)) == 1:
        yield from next(cell for cell, text in zip(cells, texts, strict=True) if text)
    else:
        yield 0, (ROW,)
        for cell in cells:
            yield from _parted(cell)


def merged(rows: Iterable[Sequence[Block]]) -> Iterator[tuple[Block, bool]]:
    """The blocks of all rows; those that are a line each become one block together, marked by True."""
    lines: list[str] = []
    for blocks in rows:
        if len(blocks) == 1 and not blocks[0][0] and len(blocks[0][1]) == 1:
            lines += blocks[0][1]
            continue
        if lines:
            yield (0, tuple(lines)), True
            lines = []
        for block in blocks:
            yield block, False
    if lines:
        yield (0, tuple(lines)), True


TABLE_ROW_CHARS = 1_000
"""Up to this length, a row with single-line cells is one line: half of the visible part of a line."""


def _fits(written: str, texts: Sequence[Sequence[str]]) -> bool:
    plain = all(len(text) <= 1 for text in texts)
    return len(written) <= (TABLE_ROW_CHARS if plain else TABLE_LINE_CHARS)


def _parted(cell: Cell) -> Iterator[Block]:
    """A cell whose lines are its own; headings keep their marks."""
    mark = _FIRST
    for level, lines in cell:
        if level:
            if mark == _FIRST:
                yield 0, (_FIRST.rstrip(),)
            yield level, lines
            mark = _OTHER
            continue
        kept = [line for line in lines if line.strip()]
        if kept:
            yield 0, (f"{mark}{kept[0]}", *(f"{_OTHER}{line}" for line in kept[1:]))
            mark = _OTHER
    if mark == _FIRST:
        yield 0, (_FIRST.rstrip(),)
