"""The matches of a search, and what a name is in them. No I/O here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import Struct

UseKind: TypeAlias = Literal["definition", "call", "import", "use", "text", "comment"]

USE_KINDS: tuple[UseKind, ...] = get_args(UseKind)
"""In the order in which replies show them."""


class UseCounts(Struct, frozen=True):
    """The counts of a search for the places of a name, shown or not.

    Attributes:
        kinds: Lines by kind; a line with several kinds counts for each.
        unlabelled: Those of them that were not parsed, so that their kind is not certain.
        files_with_matches: Files with one.
    """

    kinds: Mapping[UseKind, int]
    unlabelled: int = 0
    files_with_matches: int = 0


class GrepLine(Struct, frozen=True):
    """One line of a search reply: a match or its context.

    `text` is the preview; `column` is the column of its first character in the line, and `chars` the length
    of the whole line, None if its end is too far away.  `part` is the part of a document that the number
    counts in, `symbol` the definition that contains a match.  In references, `kind` is what the name is at
    these `columns` (the first ones), and `certain` says whether the text there was parsed.
    """

    number: int
    text: str
    is_match: bool
    column: int = 1
    chars: int | None = 0
    part: int | None = None
    symbol: str | None = None
    kind: UseKind | None = None
    certain: bool = True
    columns: tuple[int, ...] = ()


class GrepFile(Struct, frozen=True):
    """One file of a search reply, or its lines of one `kind`.

    `matches` is the number of matching lines known so far.
    """

    path: str
    matches: int = 0
    lines: Sequence[GrepLine] = ()
    kind: UseKind | None = None
