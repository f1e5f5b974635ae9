"""Values of ranked searches: requests and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct, field

from readroom.limits.find import SCORE_SCALE
from readroom.values.files import Cut

FindOutput: TypeAlias = Literal["passages", "outline", "files"]
FindInclude: TypeAlias = Literal["hidden", "ignored", "archives", "compressed"]


class FindRequest(Struct, frozen=True):
    """The passages below one path that best answer a question.

    `budget_tokens` bounds a page, None for the default.  With `output` outline only the signatures of
    the passages are shown, with files only their names.  `explain` adds what counted.  With `documents`
    the text of PDF, Office, notebooks and mail is ranked, too.
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

    `rows` of them are shown: all, or signatures alone.

    `symbol` is the qualified name of the definition it is of or in, if any, or the title of the part;
    `around` are the lines with the signatures that enclose it and stand above it.  `cuts` says which lines
    are partial.
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
    """One file of a page; its passages stand in the order of its lines, which is not that of their scores.

    The hash is not known where only the name is shown.  A document has no lines of its own but parts, which
    are called `unit`.
    """

    path: str
    score: float
    passages: Sequence[Passage] = ()
    content_hash: str | None = None
    total_lines: int | None = None
    why: Sequence[Reason] = ()
    unit: str | None = None
    total_parts: int | None = None
