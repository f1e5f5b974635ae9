"""A document in a ranked search: one text that knows which part each line is from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Protocol

from msgspec import Struct, field

from readroom.core.deadline import Deadline
from readroom.core.errors import BadDocument, EncryptedDocument
from readroom.core.policy.guard import Guard
from readroom.core.quoting import quote
from readroom.core.ranking.parts import TextPart, cut, cut_rows
from readroom.core.stores.base import Source


class RanksDocuments(Protocol):
    """Reads documents for one search."""

    def may_take(self, path: str) -> bool:
        """Whether a file may be a document, by its name."""

    def takes(self, source: Source) -> bool:
        """Whether an opened file is a document."""

    def read(self, guard: Guard, source: Source, deadline: Deadline) -> DocumentText:
        """Read a document; one read before in this search is read as far as then."""


class PlacedLines(Struct, frozen=True):
    """A run of lines from one part: its first line in the text, from 0, the part, and its line there."""

    line: int
    part: int
    first: int


class DocumentText(Struct):
    """The text of a document, as far as it was read.

    Attributes:
        format: The format it is read as.
        digits: The SHA-256 of its bytes, in hex; empty if there was no time for it.
        unit: The name of its parts.
        has_rows: Whether their lines are rows.
        has_files: Whether they can be files with names of their own.
        total: The number of its parts.
        titles: The titles of the parts; none if no part has one.
        text: The lines of the parts.
        runs: The origin of the lines.
        rest: The first part that was not read to its end; None if all were.
        line: The number of the first line in it that was not read.
        reason: Why: timeout or too_large.
        problems: Parts that cannot be read, and why; part 0 is the document.
        encrypted: Whether it needs a password.
        advice: What to do if none of it can be read.
    """

    format: str
    digits: str = ""
    unit: str = "part"
    has_rows: bool = False
    has_files: bool = False
    total: int = 0
    titles: Sequence[str] = ()
    text: str = ""
    runs: Sequence[PlacedLines] = ()
    rest: int | None = None
    line: int = 1
    reason: str = ""
    problems: list[tuple[int, str]] = field(default_factory=list)
    encrypted: bool = False
    advice: str = ""

    @property
    def is_open(self) -> bool:
        """Whether any of it could be read."""
        return not self.problems or self.problems[0][0] > 0

    @property
    def may_be_kept(self) -> bool:
        """Whether the text does not depend on the rules, or on how much time there was."""
        return self.rest is None and not (self.is_open and self.has_files)

    def unreadable(self, path: str) -> list[str]:
        """Clauses about what cannot be read of it."""
        if self.is_open:
            return [f"{self.unit} {part} of {quote(path)}: {problem}" for part, problem in self.problems]
        return [f"{quote(path)}: {self.problems[0][1]}"]

    def failure(self, path: str) -> BadDocument:
        """The error if it was the only file asked for."""
        kind = EncryptedDocument if self.encrypted else BadDocument
        return kind(path, self.format, self.problems[0][1], self.advice)

    def at(self, line: int) -> tuple[int, int]:
        """The part that a line of the text is in, and its number there; both from 1."""
        run = self.runs[bisect_right(self.runs, line - 1, key=attrgetter("line")) - 1]
        return run.part, run.first + line - 1 - run.line

    def parts(self, lines: Sequence[str]) -> list[TextPart]:
        """Parts for ranking: windows of text, or a few rows of a sheet, each with the title above it."""
        parts, ends = list[TextPart](), [run.line for run in self.runs[1:]] + [len(lines)]
        top: PlacedLines | None = None
        for run, end in zip(self.runs, ends, strict=True):
            if top is None or top.part != run.part:
                top = run
            own = lines[run.line : end]
            title = self.titles[run.part - 1] if run.part <= len(self.titles) else ""
            # The first row of a sheet names the columns of the others.
            headed = ((top.line + 1, lines[top.line]),) if self.has_rows and end > top.line else ()
            for part in cut_rows(own) if self.has_rows else cut(own, ()):
                parts.append(
                    TextPart(part.first + run.line, part.last + run.line, (title,) if title else (), headed)
                )
        return parts
