"""Outlines as values: what a file defines, by lines.

Lines are 1-based and inclusive, those of the file.  A span holds the definition
with its decorators, attributes and the comment lines directly above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One definition, heading or key.

    `line` is where the signature stands, within `start` to `end`.  `owner` names
    what the item belongs to when that is not what it is nested in: the receiver
    of a Go method, the class before the `::` of a C++ one.  Where it is not `certain`
    the text around it does not parse, and it may end before `end`.
    """

    kind: str
    name: str
    signature: str
    start: int
    end: int
    line: int
    owner: tuple[str, ...] = ()
    members: tuple[Item, ...] = ()
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Outline:
    """The items of one file, in its order.

    `partial` says why some may be missing: the file does not parse everywhere,
    or is nested too deeply.  `errors` are the lines of what does not parse.
    """

    language: str
    items: tuple[Item, ...] = ()
    partial: str | None = None
    errors: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """An item on its own: how deep it is nested, and its names from the outermost."""

    item: Item
    depth: int
    path: tuple[str, ...]

    @property
    def name(self) -> str:
        """Its qualified name, as `symbol` takes it."""
        return ".".join(self.path)


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of an outline that is in a reply: `total` items are wanted, `left_out` of them not shown."""

    language: str
    rows: Sequence[Row]
    total: int
    left_out: int = 0
    partial: str | None = None


def rows(items: Sequence[Item], depth: int = 0, path: tuple[str, ...] = ()) -> Iterator[Row]:
    """All items, each before its members."""
    for item in items:
        names = (*path, *item.owner, item.name)
        yield Row(item, depth, names)
        yield from rows(item.members, depth + 1, names)
