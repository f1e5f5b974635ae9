"""A name that is missing, with names that are there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from readroom.batch import EditFilesRequest
from readroom.changes import EditRequest, WriteRequest
from readroom.commands import RunRequest
from readroom.deadline import Deadline
from readroom.errors import NotFound
from readroom.model import EntryKind, GrepRequest, ListRequest, ReadRequest, Request
from readroom.moves import DeleteRequest, MakeFolderRequest, MoveRequest, StatRequest, TrashRequest
from readroom.paths import OUTPUTS, WorkPath, parent
from readroom.policy.guard import Guard
from readroom.raw import BytesRequest

if TYPE_CHECKING:
    from readroom.engine.run_room import OwnRoom


def with_near_names(
    error: NotFound, guard: Guard, room: OwnRoom | None, request: Request, deadline: Deadline
) -> NotFound:
    """The same failure with names that would have worked, if it is about the path that was asked for.

    Args:
        error: The failure.
        guard: What may be seen.
        room: Where outputs of the caller's commands are kept; None when there are none.
        request: What was asked for.
        deadline: Ends the search for names.
    """
    if error.path != request.path:
        return error
    kept = WorkPath(f"/{request.path}")
    if room is not None and request.path.startswith(f"{OUTPUTS[1:]}/") and room.holds(kept):
        return NotFound(request.path, [kept])
    match request:
        case ReadRequest() | EditRequest() | WriteRequest() | BytesRequest() | EditFilesRequest():
            near = guard.near(request.path, frozenset((EntryKind.FILE,)), deadline)
            return NotFound(request.path, near)
        case ListRequest() | RunRequest():
            near = guard.near(request.path, frozenset((EntryKind.FOLDER,)), deadline)
        case GrepRequest():
            near = guard.near(request.path, frozenset((EntryKind.FILE, EntryKind.FOLDER)), deadline)
        case StatRequest() | DeleteRequest() | MakeFolderRequest() | MoveRequest() | TrashRequest():
            # Nor what changes something: the next step shows where the first name is.
            near = guard.near(request.path, frozenset((EntryKind.FILE, EntryKind.FOLDER)), deadline)
            above = ListRequest(parent(near[0])) if near else None
            return NotFound(request.path, near, next_request=above)
        case _:
            assert_never(request)
    if not near or isinstance(request, RunRequest):
        # Not the command once more: whoever sent it decides.
        return NotFound(request.path, near, next_request=ListRequest(near[0]) if near else None)
    return NotFound(request.path, near, next_request=replace(request, path=near[0], cursor=None))
