"""Tokens for nothing: edits that failed with what they and their retries cost, searches that flooded, and
lines that were shown again with the same text, in view or after a compaction threw them away.
"""

from __future__ import annotations

import msgspec

from readroom.lens.bounds import Bounds
from readroom.lens.findings.places import Listing, excerpt, finding_about
from readroom.lens.normal_form import Finding, FindingKind, Lines, counted
from readroom.lens.sessions import Result
from readroom.limits.lens import FLOOD_TOKENS
from readroom.text.tokens import estimate


class FailedEdits(Listing):
    """Edits that failed, each run of failures on one file as one finding."""

    def __init__(self, bounds: Bounds) -> None:
        super().__init__(bounds)
        self._open: dict[str, int] = {}

    def result(self, result: Result) -> None:
        """Look at an edit, made by a tool or by `apply_patch` in a command."""
        seen = result.seen
        written = str(result.called.arguments)
        edits = seen.kind in ("edit", "write") or (seen.kind == "command" and "*** Begin Patch" in written)
        if not edits:
            return
        cost = result.tokens + estimate(written)
        files = (seen.file, *seen.more_files)
        if not seen.error:
            for file in files:
                self._open.pop(file, None)
            return
        index = next((self._open[file] for file in files if file in self._open), None)
        if index is not None:
            before = self._rows[index]
            tries = int(before.what.split(" ", 1)[0]) + 1
            self._rows[index] = msgspec.structs.replace(
                before, tokens=before.tokens + cost, what=f"{tries} failed edits in a row"
            )
            return
        quoted = excerpt(seen.text.strip())
        if self._add(finding_about(result, "failed-edits", cost, "1 failed edit", quoted=quoted)):
            self._open |= dict.fromkeys(files, len(self._rows) - 1)


class Floods(Listing):
    """Searches whose result is longer than a search should be."""

    def result(self, result: Result) -> None:
        """Look at the size of a search's or a listing's result."""
        seen = result.seen
        searched = seen.kind in ("search", "list") or (
            seen.kind == "command" and len({run.file for run in seen.runs}) > 3
        )
        if searched and result.tokens > FLOOD_TOKENS:
            files = len({run.file for run in seen.runs})
            lines = sum(len(run.lines) for run in seen.runs) or seen.text.count("\n") + 1
            what = (
                f"{counted(lines, 'line')} of {counted(files, 'file')} in one result"
                if files
                else f"{counted(lines, 'line')} in one result"
            )
            extra = result.tokens - FLOOD_TOKENS
            self._add(finding_about(result, "floods", extra, what))


_NAMED = 5
"""Places that are named of lines that do not follow each other."""

_LEAST_LINES = 3
"""Fewer lines in a row are the context of something new and not a repetition: a file that is read after a
search has the matches again.
"""


class Repeats(Listing):
    """Unchanged lines shown again; `kind` says whether while in view, or since a compaction."""

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
            self._add(_repeated(result, file, again, spans, texts))


def _which(spans: list[Lines]) -> str:
    """Which lines these are, where they are not all from the first to the last of them."""
    if len(spans) == 1:
        return ""
    named = ", ".join(
        f"{span.first}-{span.last}" if span.last > span.first else str(span.first) for span in spans[:_NAMED]
    )
    return f": {named}" + (f" and {len(spans) - _NAMED:,} more places" if len(spans) > _NAMED else "")


def _repeated(
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
    return finding_about(result, kind, tokens, what, file=file, lines=(first, last))
