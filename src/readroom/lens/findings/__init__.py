"""Lines that sessions lost, repeated, leaked or wasted: a detector for each kind of finding.

Detectors share a bounded list of findings, and the lines of a result with their places in
files.

Knows: the text of results and what the model wrote afterwards, each seen once.
Does not know: records, reports, or the meaning of a text: no model judges.
May be touched: freely. A new kind is a class with the methods of `Detector`, made in `audit`, and a row in
    `normal_form.FINDINGS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from readroom.core.rows import Finding, FindingKind
from readroom.lens.evidence.numbering import WIDE_CHARS
from readroom.lens.limits import HELD_LINES_OF_CALL, Bounds
from readroom.lens.sessions import Result

EXCERPT_CHARS = 160
"""How much of a line a finding quotes: enough to recognise it in an editor."""


class Listing:
    """A detector that lists what it finds in results, up to a limit."""

    def __init__(self, bounds: Bounds) -> None:
        self._most = bounds.findings
        self._rows: list[Finding] = []
        self.left_out = 0
        """How many findings were too many to list."""

    @property
    def held(self) -> int:
        """The memory of its findings, in remembered lines."""
        return len(self._rows) * HELD_LINES_OF_CALL

    def model(self, text: str) -> None:
        """Ignores text of the model."""

    def findings(self) -> Iterator[Finding]:
        """The findings."""
        return iter(self._rows)

    def _add(self, finding: Finding) -> bool:
        """List one more; False if there are too many."""
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
    """A finding about a result, by default in its file."""
    file = result.seen.file if file is None else file
    return Finding("", kind, result.number, result.turn, file, *lines, tokens, 0, what, quoted)


class Place(msgspec.Struct, frozen=True):
    """A line the model read; `line` is 0 if its number is unknown, as in the output of a command."""

    file: str
    line: int
    text: str


def places(result: Result) -> Iterator[Place]:
    """Every line of a result, once, with its place if that is known."""
    seen = result.seen
    for run in seen.runs:
        for number, text in enumerate(run.lines, run.first):
            yield Place(run.file, number, text)
    wide = iter(seen.wide)
    # Of several commands, some may print lines of unknown files.
    shown = {hash(text) for run in seen.runs for text in run.lines} if seen.kind == "command" else set()
    if seen.runs and not seen.wide and not shown:
        return
    for text in seen.text.split("\n"):
        if len(text) >= WIDE_CHARS:
            file, line, _ = next(wide, (seen.sole_file, 0, 0))
            yield Place(file, line, text)
        elif not seen.runs:
            yield Place(seen.sole_file, 0, text)
        elif shown and not any(hash(end) in shown for end in _ends(text)):
            yield Place("", 0, text)


_LEADS = re.compile(r"[:\t-]")


def _ends(text: str) -> Iterator[str]:
    """A line, and its rest after a path or a number that a command may put in front."""
    yield text.removesuffix("\r")
    for lead in islice(_LEADS.finditer(text), 8):
        yield text[lead.end() :].removesuffix("\r")


def excerpt(text: str, start: int = 0) -> str:
    """A little of a line, from near `start`."""
    begin = max(0, min(start - EXCERPT_CHARS // 4, len(text) - EXCERPT_CHARS))
    return text[begin : begin + EXCERPT_CHARS]
