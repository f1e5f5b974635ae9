"""Values of ranked searches: requests and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from readroom.core.values.files import Cut

FindOutput: TypeAlias = Literal["passages", "outline", "files"]
FindInclude: TypeAlias = Literal["hidden", "ignored", "archives", "compressed"]


class FindRequest(Struct, frozen=True):
    """The passages below one path that best answer a question.

    `budget_tokens` limits a page, None for the default.  With `output` outline only the signatures of the
    passages are shown, with files only names.  `explain` adds what counted.  With `documents` the text of
    PDF, Office files, notebooks and mail is ranked as well.
    """

    query: str
    path: str = "."
    glob: tuple[str, ...] = ()
    type: str | None = None
    output: FindOutput = "passages"
    budget_tokens: int | None = None
    include: frozenset[FindInclude] = frozenset()
    explain: bool = False
    cursor: str | None = None
    documents: bool = False


SCORE_SCALE = 1_000_000
"""Scores are compared in millionths, so that a cursor can name one."""


def millionths(score: float) -> int:
    """A score as it is compared: in whole numbers, so that the cursor of a page can name it."""
    return round(score * SCORE_SCALE)


class Reason(Struct, frozen=True):
    """One thing that counted for a file or passage: points, or a factor for the rest."""

    what: str
    value: float
    factor: bool = False


class Passage(Struct, frozen=True):
    """Lines `first` to `last` of a file, or of part `part` of a document.

    `rows` are the shown lines: all of them, or only signatures.

    `symbol` is the qualified name of the definition that contains it, if any, or the title of the part;
    `around` are the signature lines of the enclosing definitions above it.  `cuts` says which lines are
    partial.
    """

    first: int
    last: int
    rows: Sequence[tuple[int, str]]
    score: float
    symbol: str | None = None
    signature: str | None = None
    around: Sequence[tuple[int, str]] = ()
    cuts: Mapping[int, Cut] = field(default_factory=dict)
    why: Sequence[Reason] = ()
    part: int | None = None


class FoundFile(Struct, frozen=True):
    """One file of a page; its passages are in line order, not in order of score.

    The hash is not known if only the name is shown.  A document has parts, called `unit`, instead of lines.
    """

    path: str
    score: float
    passages: Sequence[Passage] = ()
    content_hash: str | None = None
    total_lines: int | None = None
    why: Sequence[Reason] = ()
    unit: str | None = None
    total_parts: int | None = None
