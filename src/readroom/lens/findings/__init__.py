"""What sessions lost, repeated, leaked or wasted: one detector for each kind of finding.

Here is what they have in common: a bounded list of what they found, and lines with their places in files.

Knows: what is written in results and what the model wrote afterwards, each seen once as it passes.
Does not know: records, reports, or what a text means: no model judges.
May be touched: a new kind is a class with the methods of `Detector` and a word in `normal_form.FINDINGS`;
    `audit` makes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from readroom.lens.evidence.numbering import WIDE_CHARS
from readroom.lens.normal_form import Finding, FindingKind
from readroom.lens.sessions import Result
from readroom.limits.lens import EXCERPT_CHARS, HELD_LINES_OF_CALL, Bounds


class Listing:
    """A detector that lists what it finds in results, in bounds, and takes no notice of what else passes."""

    def __init__(self, bounds: Bounds) -> None:
        self._most = bounds.findings
        self._rows: list[Finding] = []
        self.left_out = 0
        """Findings beyond those that are listed."""

    @property
    def held(self) -> int:
        """What its findings take, in remembered lines."""
        return len(self._rows) * HELD_LINES_OF_CALL

    def model(self, text: str) -> None:
        """What the model says is not looked at."""

    def findings(self) -> Iterator[Finding]:
        """What was found."""
        return iter(self._rows)

    def _add(self, finding: Finding) -> bool:
        """Keep one more; False when there are too many."""
        if len(self._rows) >= self._most:
            self.left_out += 1
            return False
        self._rows.append(finding)
        return True


def finding_about(
    result: Result,
    kind: FindingKind,
    tokens: int,
    what: str,
    *,
    file: str | None = None,
    lines: tuple[int, int] = (0, 0),
    quoted: str = "",
) -> Finding:
    """A finding about a result, in its file unless another is named."""
    file = result.seen.file if file is None else file
    return Finding("", kind, result.number, result.turn, file, *lines, tokens, 0, what, quoted)


class Place(msgspec.Struct, frozen=True):
    """A line of text the model read; `line` is 0 where its number is not known, as in the output of a
    command.
    """

    file: str
    line: int
    text: str


def places(result: Result) -> Iterator[Place]:
    """Every line of a result, once, with its place where that is known."""
    seen = result.seen
    for run in seen.runs:
        for number, text in enumerate(run.lines, run.first):
            yield Place(run.file, number, text)
    wide = iter(seen.wide)
    # Of several commands only some may say which lines they print: the others' are in no file that is known.
    told = {hash(text) for run in seen.runs for text in run.lines} if seen.kind == "command" else set()
    if seen.runs and not seen.wide and not told:
        return
    for text in seen.text.split("\n"):
        if len(text) >= WIDE_CHARS:
            file, line, _ = next(wide, (seen.file, 0, 0))
            yield Place(file, line, text)
        elif not seen.runs:
            yield Place(seen.file, 0, text)
        elif told and not any(hash(end) in told for end in _ends(text)):
            yield Place("", 0, text)


_LEADS = re.compile(r"[:\t-]")


def _ends(text: str) -> Iterator[str]:
    """A line, and what is left of it behind a path or a number that a command may put before it."""
    yield text.removesuffix("\r")
    for lead in islice(_LEADS.finditer(text), 8):
        yield text[lead.end() :].removesuffix("\r")


def excerpt(text: str, start: int = 0) -> str:
    """A little of a line, from near `start`."""
    begin = max(0, min(start - EXCERPT_CHARS // 4, len(text) - EXCERPT_CHARS))
    return text[begin : begin + EXCERPT_CHARS]
