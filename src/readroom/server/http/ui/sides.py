"""Two states of a text side by side: the rows of a table, from the hunks of a diff.

A line that was replaced is next to the line that replaced it, with the part that differs marked in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Literal

from msgspec import Struct

from readroom.core.text.edits.diff import common_end, common_start
from readroom.core.values.changes import Hunk


class Side(Struct, frozen=True):
    """One line in one of the two states: its number, and its text around the part that differs.

    `unended` says that the file ends here without a line end.
    """

    number: int
    before: str
    differs: str = ""
    after: str = ""
    unended: bool = False


class SideRow(Struct, frozen=True):
    """A row: both lines, or the one that there is; `heading` is that of a hunk, above its lines."""

    kind: Literal["hunk", "same", "changed"]
    old: Side | None = None
    new: Side | None = None
    heading: str = ""


def side_rows(hunks: Iterable[Hunk]) -> Iterator[SideRow]:
    """The rows of a diff, each hunk below its heading."""
    for hunk in hunks:
        yield SideRow("hunk", heading=hunk.heading)
        yield from _rows(hunk)


def _rows(hunk: Hunk) -> Iterator[SideRow]:
    old, new = max(1, hunk.old_start), max(1, hunk.new_start)
    # As in a unified diff, a side without lines names the line before.
    old += not hunk.old_count and bool(hunk.old_start)
    new += not hunk.new_count and bool(hunk.new_start)
    removed: list[Side] = []
    added: list[Side] = []
    for at, line in enumerate(hunk.lines):
        mark, text = line[:1], line[1:]
        unended = hunk.lines[at + 1][:1] == "\\" if at + 1 < len(hunk.lines) else False
        if mark == "\\":
            continue
        if mark == " ":
            yield from _replaced(removed, added)
            removed, added = [], []
            yield SideRow("same", Side(old, text, unended=unended), Side(new, text, unended=unended))
        elif mark == "-":
            if added:  # a new block right after another
                yield from _replaced(removed, added)
                removed, added = [], []
            removed.append(Side(old, text, unended=unended))
        else:
            added.append(Side(new, text, unended=unended))
        old, new = old + (mark != "+"), new + (mark != "-")
    yield from _replaced(removed, added)


def _replaced(removed: Sequence[Side], added: Sequence[Side]) -> Iterator[SideRow]:
    for old, new in zip_longest(removed, added):
        if old is None or new is None:
            yield SideRow("changed", old, new)
            continue
        start = common_start(old.before, new.before)
        end = common_end(old.before, new.before, start)
        yield SideRow("changed", _marked(old, start, end), _marked(new, start, end))


def _marked(side: Side, start: int, end: int) -> Side:
    """The line with the part between a common start and a common end marked; all of it if they are none."""
    text = side.before
    if not start and not end:
        return side
    stop = len(text) - end
    return Side(side.number, text[:start], text[start:stop], text[stop:], side.unended)
