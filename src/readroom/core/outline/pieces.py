"""The outline of a prefix of a large text, in pieces that are parsed separately.

For texts that cannot be parsed as a whole within the limits. A piece ends where something ends at the left
margin; nesting around such a place is lost after it, and the outline says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.limits.outline import OUTLINE_ERRORS, OUTLINE_PIECE_CHARS
from readroom.core.outline import Unparsable, build
from readroom.core.values.files import Item, Outline

_CLOSED = re.compile(r"(?:\A|\n)(?:[})\]]|end\b)[^\n]*\n")
_PARTED = re.compile(r"\n[ \t\r]*\n(?=[^\s})\]])")
"""Where a piece may end: after a line that closes something at the margin, or before a paragraph there."""

_LOOKED = 64 * 1024
"""Characters before the longest size of a piece in which such a place is searched."""


def outline_in_pieces(
    text: str, language: str, deadline: Deadline, chars: int = OUTLINE_PIECE_CHARS
) -> Outline:
    """The outline of the first pieces of a text that can be parsed, of at most `chars` characters each.

    Raises:
        Cancelled: From the deadline.
        TimedOut, Unparsable: From the first piece.
    """
    items, errors, rows = list[Item](), list[tuple[int, int]](), 0
    partial = "it is too large to parse whole and was parsed in pieces"
    for piece in _pieces(text, chars):
        try:
            outline = build(piece, language, deadline)
        except (TimedOut, Unparsable):
            if not rows:
                raise
            partial = f"it is too large to parse: only its first {rows:,} lines were parsed, in pieces"
            break
        items += (_shifted(item, rows) for item in outline.items)
        errors += ((first + rows, last + rows) for first, last in outline.errors)
        rows += piece.count("\n")
    return Outline(language, tuple(items), partial, tuple(errors[:OUTLINE_ERRORS]))


def _pieces(text: str, chars: int) -> Iterator[str]:
    """Pieces of whole lines; a line that is longer than a piece is a piece by itself."""
    start = 0
    while start < len(text):
        end = start + chars
        if end < len(text):
            end = _end(text, start, end)
        yield text[start:end]
        start = end


def _end(text: str, start: int, maximum: int) -> int:
    looked = max(start, maximum - _LOOKED)
    for pattern in (_CLOSED, _PARTED):
        found = [match.end() for match in pattern.finditer(text, looked, maximum)]
        if found:
            return found[-1]
    return text.rfind("\n", start, maximum) + 1 or text.find("\n", maximum) + 1 or len(text)


def _shifted(item: Item, rows: int) -> Item:
    """The item, moved down by `rows`."""
    members: Sequence[Item] = [_shifted(member, rows) for member in item.members]
    return replace(
        item,
        start=item.start + rows,
        end=item.end + rows,
        line=item.line + rows,
        members=tuple(members),
    )
