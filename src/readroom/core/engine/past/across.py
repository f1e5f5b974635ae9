"""The past of a workspace with several roots: each root is asked, and the answers are put together.

Numbers of changes are those of the one database of a user, so that they order the changes of all roots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from readroom.core.engine.services import Job, Services
from readroom.core.errors.history import ChangedSince, NoSuchChange, NothingToUndo
from readroom.core.history.joined import JoinedHistory, JoinedRecorder, in_tree
from readroom.core.paths import ROOT, WorkPath
from readroom.core.policy.roots import JoinedTargets
from readroom.core.stores.roots.names import Place
from readroom.core.values.history import (
    DiffRequest,
    DiffResult,
    ForgetRequest,
    ForgetResult,
    HistoryRequest,
    HistoryResult,
    UndoRequest,
    UndoResult,
)

Act = Callable[[Services, Job[Any]], Any]


def listing(services: Services, job: Job[HistoryRequest], act: Act) -> HistoryResult:
    """The newest changes of all roots, or of the one that a path is in."""
    job = _meant(services, job)
    request = job.request
    if request.change is not None:
        changed: HistoryResult = _of_change(services, job, act)
        return changed
    results = [_done(place, own, job, act) for place, own in _asked(services, request.path)]
    found = sorted((one for result in results for one in result.changes), key=lambda one: -one.id)
    shown = found[: request.maximum]
    more = len(found) > len(shown) or any(result.cursor is not None for result in results)
    return HistoryResult(shown, shown[-1].id if more and shown else None)


def diff(services: Services, job: Job[DiffRequest], act: Act) -> DiffResult:
    """The diffs of a change, in the root where it was made."""
    result: DiffResult = _of_change(services, _meant(services, job), act)
    return result


def undo(services: Services, job: Job[UndoRequest], act: Act) -> UndoResult:
    """Take changes back: those of one root by number or path, or those of all roots."""
    job = _meant(services, job)
    request = job.request
    if request.change is not None:
        result: UndoResult = _of_change(services, job, act)
        return result
    roots = list(_asked(services, request.path))
    if len(roots) > 1 and not request.dry_run and not request.parts:
        for place, own in roots:  # so that a conflict in one root stops all of them
            planned = _tried(place, own, replace(job, request=replace(request, dry_run=True)), act)
            if planned is not None and planned.conflicts:
                raise ChangedSince(planned.conflicts)
    tried = [_tried(place, own, job, act) for place, own in roots]
    results = [one for one in tried if one is not None]
    if not results:
        raise NothingToUndo
    first, *others = results
    for one in others:
        made = [*first.earlier, *one.earlier, *(each for each in (first.id, one.id) if each is not None)]
        made.sort(reverse=True)
        first = UndoResult(
            [*first.undone, *one.undone],
            [*first.changes, *one.changes],
            made[0] if made else None,
            [*first.conflicts, *one.conflicts],
            first.dry_run,
            (*first.warnings, *one.warnings),
            made[1:],
        )
    return first


def forget(services: Services, job: Job[ForgetRequest], act: Act) -> ForgetResult:
    """Remove the past of a name, or that of all roots."""
    job = _meant(services, job)
    results = [_done(place, own, job, act) for place, own in _asked(services, job.request.path)]
    return ForgetResult(
        sum(one.changes for one in results),
        sum(one.names for one in results),
        sum(one.size_bytes for one in results),
        [warning for one in results for warning in one.warnings],
    )


def _meant(services: Services, job: Job[Any]) -> Job[Any]:
    """The request with its path in normal form."""
    path = job.request.path
    if not path:
        return job
    return replace(job, request=replace(job.request, path=services.guard.spelled(services.guard.parse(path))))


def _asked(services: Services, meant: str) -> Iterator[tuple[Place, Services]]:
    """The roots that a request is about."""
    history = services.history
    assert isinstance(history, JoinedHistory)
    for at in history.roots if not meant or meant == ROOT else [services.guard.top_of(WorkPath(meant))]:
        yield _own(services, history, history.roots[at][0])


def _own(services: Services, history: JoinedHistory, place: Place) -> tuple[Place, Services]:
    """A root and the services for what is in it alone."""
    guard, targets = services.guard.own(place.at)[0], services.targets
    assert isinstance(targets, JoinedTargets)
    own, recorder = targets.of(place.at), services.recorder
    if isinstance(recorder, JoinedRecorder):
        recorder = recorder.of(place.at)
        own = own.recorded(recorder)
    past = history.roots[place.at][1]
    return place, replace(services, guard=guard, targets=own, history=past, recorder=recorder)


def _done(place: Place, own: Services, job: Job[Any], act: Act) -> Any:
    request = job.request
    if request.path:
        inner = place.inner(request.path)
        request = replace(request, path="" if inner == ROOT else inner)
        if isinstance(request, ForgetRequest):
            request = replace(request, all=not request.path)
    with place.naming():
        try:
            return in_tree(act(own, replace(job, request=request)), place)
        except ChangedSince as error:
            raise ChangedSince(in_tree(list(error.conflicts), place)) from None


def _tried(place: Place, own: Services, job: Job[UndoRequest], act: Act) -> UndoResult | None:
    """The undo in one root; None if there is nothing to undo."""
    try:
        result: UndoResult = _done(place, own, job, act)
    except NothingToUndo:
        return None
    return result


def _of_change(services: Services, job: Job[Any], act: Act) -> Any:
    """The answer of the root that has a change. Raises NoSuchChange."""
    for place, own in _asked(services, ""):
        try:
            return _done(place, own, job, act)
        except NoSuchChange:
            continue
    raise NoSuchChange(job.request.change)
