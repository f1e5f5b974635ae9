"""Less of the same: what a call becomes when its budget runs low."""

from __future__ import annotations

from dataclasses import replace

from readroom.batch import EditFilesRequest
from readroom.changes import EditRequest, WriteRequest
from readroom.commands import RunRequest
from readroom.model import GrepRequest, ListRequest, Omission, ReadRequest, ReadResult, Request, Result
from readroom.moves import DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest
from readroom.session.budgets import Level

REASON = "budget"
"""Why something is left out, as `reason` in the facts says."""


_NAMES = (DeleteRequest, MakeFolderRequest, MoveRequest, TrashRequest)


def changes(request: Request) -> bool:
    """Whether performing it leaves traces, so that it must not be done twice."""
    if isinstance(request, (EditRequest, EditFilesRequest)):
        return not request.dry_run
    return isinstance(request, (WriteRequest, RunRequest, *_NAMES))


def is_edit(request: Request) -> bool:
    """Whether it is what remains possible when only changes are."""
    return isinstance(request, (EditRequest, EditFilesRequest, WriteRequest, *_NAMES))


def degraded(request: Request, level: Level) -> Request:
    """The request that shows as much as a level allows."""
    if level is Level.CONTENT:
        return request
    match request:
        case ReadRequest():
            return outlined(request) if level is Level.OUTLINE else replace(request, view="text", symbol=None)
        case GrepRequest() if request.output == "content":
            return replace(request, output="count", cursor=None)
        case ListRequest():
            return replace(request, depth=1)
        case RunRequest():
            return replace(request, output="silent")
    return request


def outlined(request: ReadRequest) -> ReadRequest:
    """The request for the outline of the same file."""
    if request.pages is not None or request.view == "outline":
        return request
    return ReadRequest(
        request.path,
        known_hash=request.known_hash,
        encoding=request.encoding,
        view="outline",
        manner=request.manner,
    )


def shows_content(request: Request, level: Level) -> bool:
    """Whether a read at that level still shows lines."""
    if not isinstance(request, ReadRequest) or level is Level.CONTENT:
        return True
    return level is Level.OUTLINE and request.view == "outline"


def counted(result: Result, request: Request) -> Result:
    """A read without its lines: what the file is, how long, and what would show it."""
    if not isinstance(result, ReadResult) or result.not_modified:
        return result
    total = result.total_lines or 0
    wanted = request if isinstance(request, ReadRequest) else None
    omitted = (Omission("lines", 1, total, REASON, request=wanted),) if total else ()
    return replace(
        result,
        start=0,
        lines=(),
        header=None,
        cuts={},
        omitted=omitted,
        next=None,
        image=None,
        document=None,
    )
