"""What a result shows of which files, for the session and the ledger: names, hashes and spans, no content."""

from __future__ import annotations

from collections.abc import Sequence

from readroom.batch import EditFilesResult
from readroom.changes import EditResult, WriteResult
from readroom.commands import RunResult
from readroom.limits_keeping import SHOWN_SPANS
from readroom.model import GrepResult, ReadResult, Result
from readroom.raw import BytesResult
from readroom.session.session import Shown


def shown_by(result: Result) -> Sequence[Shown]:
    """The spans that a reply for `result` shows, at most SHOWN_SPANS; names of listings are none."""
    if isinstance(result, ReadResult):
        return _of_read(result)
    if isinstance(result, GrepResult):
        return _of_grep(result)
    if isinstance(result, (EditResult, WriteResult)):
        # Of a change the caller sees its own text; the hash is what a later edit has to name.
        return (Shown(result.path, result.content_hash),)
    if isinstance(result, EditFilesResult):
        return [Shown(one.path, one.content_hash) for one in result.files]
    if isinstance(result, BytesResult):
        return (Shown(result.path, None),)
    if isinstance(result, RunResult):
        return [
            Shown(output.path, None, output.lines[0].number, output.lines[-1].number)
            for output in result.outputs
            if output.lines
        ]
    return ()


def _of_read(result: ReadResult) -> Sequence[Shown]:
    if result.not_modified:
        return ()
    if result.document is not None or result.image is not None:
        return (Shown(result.path, result.content_hash),)
    if not result.lines:
        return ()
    return (Shown(result.path, result.content_hash, result.start, result.end),)


def _of_grep(result: GrepResult) -> Sequence[Shown]:
    """Runs of shown lines; previews are parts of lines, and the hash of a searched file is not known."""
    found: list[Shown] = []
    for file in result.files:
        first = last = 0
        for line in file.lines:
            if last and line.number == last + 1:
                last = line.number
                continue
            if last:
                found.append(Shown(file.path, None, first, last))
            first = last = line.number
        if last:
            found.append(Shown(file.path, None, first, last))
        if len(found) >= SHOWN_SPANS:
            return found[:SHOWN_SPANS]
    return found
