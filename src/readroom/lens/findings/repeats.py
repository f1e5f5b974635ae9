"""Lines that were shown again with the same text: while they were in view, or after a compaction threw
them away.
"""

from __future__ import annotations

from collections.abc import Iterator

from readroom.lens.bounds import Bounds
from readroom.lens.findings.places import KeptFindings
from readroom.lens.normal_form import Finding, FindingKind, Lines
from readroom.lens.sessions import Result
from readroom.text.tokens import estimate

_NAMED = 5
"""Places that are named of lines that do not follow each other."""

_LEAST_LINES = 3
"""Fewer lines in a row are the context of something new and not a repetition: a file that is read after a
search has the matches again.
"""


class Repeats:
    """Unchanged lines shown again; `kind` says whether while in view, or since a compaction."""

    def __init__(self, bounds: Bounds) -> None:
        self._found = KeptFindings(bounds)

    @property
    def held(self) -> int:
        """Its findings."""
        return self._found.held

    @property
    def left_out(self) -> int:
        """Findings beyond those that are listed."""
        return self._found.left_out

    def model(self, turn: int, text: str) -> None:
        """What the model says repeats nothing."""

    def attached(self, turn: int, text: str) -> None:
        """What a client attaches has no place."""

    def result(self, result: Result) -> None:
        """Take what the session remembers of each line."""
        texts = {
            (run.file, number): line
            for run in result.seen.runs
            for number, line in enumerate(run.lines, run.first)
        }
        by_file: dict[tuple[str, str], list[Lines]] = {}
        for span in result.again:
            if span.again and span.last - span.first + 1 >= _LEAST_LINES:
                by_file.setdefault((span.file, span.again), []).append(span)
        for (file, again), spans in by_file.items():
            self._found.add(_finding(result, file, again, spans, texts))

    def findings(self, session: str) -> Iterator[Finding]:
        """What was found."""
        return iter(self._found.rows)


def _which(spans: list[Lines]) -> str:
    """Which lines these are, where they are not all from the first to the last of them."""
    if len(spans) == 1:
        return ""
    named = ", ".join(
        f"{span.first}-{span.last}" if span.last > span.first else str(span.first) for span in spans[:_NAMED]
    )
    return f": {named}" + (f" and {len(spans) - _NAMED:,} more places" if len(spans) > _NAMED else "")


def _finding(
    result: Result, file: str, again: str, spans: list[Lines], texts: dict[tuple[str, int], str]
) -> Finding:
    count = sum(span.last - span.first + 1 for span in spans)
    lines = [texts.get((file, number), "") for span in spans for number in range(span.first, span.last + 1)]
    text = "\n".join(lines)
    # Of our own ledger only tokens of the whole reply are known.
    total = sum(span.last - span.first + 1 for span in result.again)
    tokens = estimate(text) if text.strip() else round(result.tokens * count / max(1, total))
    kind: FindingKind = "repeated" if again == "in view" else "reread"
    what = f"{count:,} unchanged lines shown again while in view{_which(spans)}"
    if kind == "reread":
        what = f"{count:,} lines read again after a compaction had thrown them away{_which(spans)}"
    first, last = min(span.first for span in spans), max(span.last for span in spans)
    return Finding("", kind, result.number, result.turn, file, first, last, tokens, 0, what)
