"""Edits that failed with what they and their retries cost, and searches that flooded."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from readroom.lens.bounds import Bounds
from readroom.lens.findings.places import KeptFindings, excerpt
from readroom.lens.normal_form import Finding, counted
from readroom.lens.sessions import Result
from readroom.limits.lens import FLOOD_TOKENS
from readroom.text.tokens import estimate


class FailedEdits:
    """Edits that failed, each run of failures on one file as one finding."""

    def __init__(self, bounds: Bounds) -> None:
        self._found = KeptFindings(bounds)
        self._open: dict[str, int] = {}

    @property
    def held(self) -> int:
        """Its findings."""
        return self._found.held

    @property
    def left_out(self) -> int:
        """Findings beyond those that are listed."""
        return self._found.left_out

    def model(self, turn: int, text: str) -> None:
        """What the model says fails nothing."""

    def attached(self, turn: int, text: str) -> None:
        """What a client attaches fails nothing."""

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
            before = self._found.rows[index]
            tries = int(before.what.split(" ", 1)[0]) + 1
            self._found.rows[index] = msgspec.structs.replace(
                before, tokens=before.tokens + cost, what=f"{tries} failed edits in a row"
            )
            return
        quoted = excerpt(seen.text.strip())
        finding = Finding(
            "", "failed-edits", result.number, result.turn, seen.file, 0, 0, cost, 0, "1 failed edit", quoted
        )
        if self._found.add(finding):
            self._open |= dict.fromkeys(files, len(self._found.rows) - 1)

    def findings(self, session: str) -> Iterator[Finding]:
        """What was found."""
        return iter(self._found.rows)


class Floods:
    """Searches whose result is longer than a search should be."""

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
        """What the model says floods nothing."""

    def attached(self, turn: int, text: str) -> None:
        """What a client attaches is not a search."""

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
            self._found.add(
                Finding("", "floods", result.number, result.turn, seen.file, 0, 0, extra, 0, what)
            )

    def findings(self, session: str) -> Iterator[Finding]:
        """What was found."""
        return iter(self._found.rows)
