"""A file that moves between roots which have no step for that: a copy there, then its removal here.

Both are made with the hash that the call names, and each is kept in the history of its root.  For a moment
both are there; a copy whose original cannot be removed any more is removed again, unless the original may be
gone: a removal without an answer may still be made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.services import Job, Services
from readroom.core.quoting import quote
from readroom.core.values import EntryKind
from readroom.core.values.changes import (
    ChangesRequest,
    ChangesResult,
    CopyRequest,
    CopyResult,
    DeleteRequest,
    FileChange,
    MoveRequest,
    MoveResult,
)

Act: TypeAlias = Callable[[Services, Job[ChangesRequest]], ChangesResult]


def move(services: Services, job: Job[ChangesRequest], across: errors.AcrossRoots, act: Act) -> ChangesResult:
    """Make a call that is one move of a file; `act` makes a call.

    Raises:
        AcrossRoots: It is another call: the one that was given.
        StoreFailed: The file was copied, and may be under both names.
        All else as copying and deleting do: nothing was changed.
    """
    dry_run, (request, *others) = job.request.dry_run, job.request.changes
    if others or not isinstance(request, MoveRequest):
        raise across
    _, state = services.targets.look(request.path)
    if state is None or state.kind is not EntryKind.FILE:
        raise across

    def made(change: FileChange, *, planned: bool = dry_run) -> ChangesResult:
        return act(services, replace(job, request=ChangesRequest((change,), planned)))

    known, removal = request.expected_hash, DeleteRequest(request.path, expected_hash=request.expected_hash)
    made(removal, planned=True)
    copied = made(CopyRequest(request.path, request.destination, expected_hash=known)).results
    removed: Sequence[object] = [None]
    try:
        removed = made(removal).results
    except errors.ReadroomError as error:
        if not _is_gone(services, request.path):
            _take_back(made, request, error)
            raise
    return ChangesResult([_moved(request, copied, removed)], dry_run)


def _is_gone(services: Services, path: str) -> bool:
    """Whether nothing is at a name, as far as can be seen."""
    try:
        return services.targets.look(path)[1] is None
    except errors.NotFound:
        return True
    except errors.ReadroomError:
        return False


def _take_back(
    made: Callable[[FileChange], ChangesResult], request: MoveRequest, why: errors.ReadroomError
) -> None:
    """Remove the copy. Raises StoreFailed if it has to stay."""
    if not isinstance(why, errors.StoreFailed) or isinstance(why, errors.BucketCannot):
        with contextlib.suppress(errors.ReadroomError):
            made(DeleteRequest(request.destination, expected_hash=request.expected_hash))
            return
    problem = f"it was not removed ({why.code}), and a copy of it is at {quote(request.destination)}"
    raise errors.StoreFailed(
        request.path, problem, "Look for both names, and delete one of the two."
    ) from None


def _moved(request: MoveRequest, copied: Sequence[object], removed: Sequence[object]) -> MoveResult:
    (there,), (here,) = copied, removed
    assert isinstance(there, CopyResult)
    warnings = (*there.warnings, *getattr(here, "warnings", ()))
    return MoveResult(request.path, request.destination, EntryKind.FILE, False, there.folders, warnings)
