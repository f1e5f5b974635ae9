"""Take changes back: an undo is a change like any other, which expects what the history says was left.

    select   the changes, newest first, without those that were taken back
    picture  what the names would have (`world`); what was changed since is a conflict
    refuse   conflicts, with both sides, unless parts are asked for
    commit   all of it or none, through the same targets as every change, kept itself

If a folder was moved, each change is taken back by a commit of its own, the newest first: what is in the
folder cannot be named before it is back.  The same is done in a bucket, which makes one change at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.contracts.history.rights import tools_for
from readroom.core.engine.past import asked_name, book_of, may_see, of_this_process, seen_change
from readroom.core.engine.past.steps import Steps
from readroom.core.engine.past.world import World
from readroom.core.engine.services import Job, Services
from readroom.core.errors.history import ChangedSince, HistoryFailed, NothingToUndo
from readroom.core.history.book import Book
from readroom.core.history.queries import Selection, listed, rows_of
from readroom.core.history.records import NameRow
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Moved
from readroom.core.values.files import Warn
from readroom.core.values.history import Conflict, KeptChange, Undone, UndoRequest, UndoResult

UNDONE_CHANGES = 1_000
"""Changes that one call takes back."""


class _Chosen(Struct, frozen=True):
    """A change, and those of its names that are to be taken back."""

    change: KeptChange
    rows: Sequence[NameRow]


class _Done(Struct):
    """The work done so far."""

    undone: list[Undone] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    warnings: list[Warn] = field(default_factory=list)
    made: list[int] = field(default_factory=list)


def perform(services: Services, job: Job[UndoRequest]) -> UndoResult:
    """Take changes back.

    Raises:
        BadValue: The request does not say which changes.
        NoSuchChange, NothingToUndo: There is none, or none that may be seen.
        ChangedSince: Something was changed since; nothing was changed now.
        NotKept: Bytes that are needed are not in the history.
        Denied, Protected, ReadOnlyFile, HardLinked, NoSpace, ...: As every change.
        HistoryOff, HistoryFailed: There is no history, or it cannot be read.
        Changed: Another program kept changing one of the names.
    """
    if services.history is not None and services.history.joins:
        from readroom.core.engine.past import across

        return across.undo(services, job, perform)
    book = book_of(services)
    chosen = _chosen(services, job, book)
    moves = any(row.name.to and row.name.after.kind == "folder" for one in chosen for row in one.rows)
    one_by_one = [[one] for one in chosen]
    try:
        return _undone(services, job, book, one_by_one if moves else [chosen])
    except errors.BucketCannot:
        if moves or len(chosen) == 1:
            raise
        return _undone(services, job, book, one_by_one)


def _undone(
    services: Services, job: Job[UndoRequest], book: Book, groups: Sequence[Sequence[_Chosen]]
) -> UndoResult:
    """Take groups of changes back, each with one commit. Raises as `perform`, if none was taken back."""
    done = _Done()
    for group in groups:
        try:
            _taken_back(services, job, book, group, done)
        except errors.ReadroomError as error:
            if not done.changes:
                raise
            done.warnings.append(Warn("partly_undone", f"then it ended: {error.message}"))
            if isinstance(error, ChangedSince):
                done.conflicts += error.conflicts
            break
    last = done.made[-1] if done.made else None
    return UndoResult(
        done.undone,
        done.changes,
        last,
        done.conflicts,
        job.request.dry_run,
        tuple(done.warnings),
        tuple(reversed(done.made[:-1])),
    )


def _chosen(services: Services, job: Job[UndoRequest], book: Book) -> list[_Chosen]:
    """The changes to be taken back, the newest first."""
    request = job.request
    sets = [request.change, request.session, request.since_ns]
    given = sum(one is not None for one in sets)
    if given > 1 or (not given and not request.path):
        advice = "Send one of change, session, since, or a path."
        raise errors.BadValue("change", request.change, "does not say which changes", advice)
    path = None if not request.path else asked_name(services, request.path)
    if request.change is not None:
        changes = [seen_change(services, book, request.change)]
        if request.token is not None and changes[0].by.token != request.token:
            raise NothingToUndo
    else:
        session = job.caller.session if request.own and not given else request.session
        token = request.token if job.caller.sees_others or not given else job.caller.token
        before = None if request.up_to is None else request.up_to + 1
        which = Selection(path, session, None, token, request.since_ns, before, undoable=True)
        changes = listed(book, which, UNDONE_CHANGES if given else 1, 0)
    chosen = []
    for change in changes:
        rows = [row for row in rows_of(book, change.id, path) if row.name.undone_by is None]
        rows = [row for row in rows if may_see(services.guard, row.name)]
        if rows:
            chosen.append(_Chosen(change, rows))
    if not chosen:
        raise of_this_process(book, NothingToUndo())
    return chosen


def _taken_back(
    services: Services, job: Job[UndoRequest], book: Book, group: Sequence[_Chosen], done: _Done
) -> None:
    """Take changes back with one commit."""
    request, recorder = job.request, services.recorder
    if recorder is not None:
        recorder.undoes = group[0].change.id
    for _ in range(CHANGED_TRIES):
        with ExitStack() as held:
            steps = Steps(services, job, book, held)
            if not request.dry_run:
                steps.lock([name for one in group for row in one.rows for name in row.name.names])
                group = _still(book, group)
            world = World(services.guard.store, book, parts=request.parts)
            try:
                for one in group:
                    for row in reversed(one.rows):
                        job.deadline.check()
                        world.take_back(row)
                if world.conflicts and not request.dry_run and (not request.parts or not world.wanted):
                    fits = not request.parts and any(conflict.fits for conflict in world.conflicts)
                    following = replace(request, parts=True) if fits else None
                    raise ChangedSince(world.conflicts, next_request=following)
                undone = steps.planned(world)
                _require_rights(request, undone)
                warnings = [] if request.dry_run else list(steps.commit())
                if not request.dry_run:  # while no other undo of these names can look
                    last = None if recorder is None else recorder.last
                    if last is not None and last not in done.made:
                        done.made.append(last)
                    warnings += _marked(book, group, world, last)
            except Moved:
                continue
        done.undone += undone
        done.conflicts += world.conflicts
        done.warnings += warnings
        done.changes += [one.change.id for one in group]
        return
    raise errors.Changed(WorkPath(group[0].rows[0].name.path))


def _still(book: Book, group: Sequence[_Chosen]) -> Sequence[_Chosen]:
    """The part of it that nobody took back before its names were locked. Raises NothingToUndo."""
    left = []
    for one in group:
        open_rows = {row.number for row in rows_of(book, one.change.id) if row.name.undone_by is None}
        rows = [row for row in one.rows if row.number in open_rows]
        if rows:
            left.append(_Chosen(one.change, rows))
    if not left:
        raise NothingToUndo
    return left


def _require_rights(request: UndoRequest, undone: Sequence[Undone]) -> None:
    """Refuse a kind of change that the caller may not make. Raises NotGranted."""
    if request.rights is None:
        return
    for done in undone:
        if done.action != "nothing" and done.right not in request.rights:
            known = request.granted
            if known is None:
                known = frozenset(tool for right in request.rights for tool in tools_for(right))
            raise errors.NotGranted(" or ".join(tools_for(done.right)), sorted(known))


def _marked(book: Book, group: Sequence[_Chosen], world: World, by: int | None) -> Sequence[Warn]:
    """Note what was taken back, or warn: it is done, whatever the history can write."""
    try:
        _mark(book, group, world, by)
    except HistoryFailed as error:
        return [Warn("not_marked", f"the list still has it as not undone: {error.reason}")]
    return []


def _mark(book: Book, group: Sequence[_Chosen], world: World, by: int | None) -> None:
    """Note what was taken back as a whole; what an undo had taken back counts again."""
    unfit = (conflict.path for conflict in world.conflicts if conflict.left or not conflict.fits)
    stays = {*unfit, *world.stays}
    for one in group:
        rows = [row for row in one.rows if not stays.intersection(row.name.names)]
        number = one.change.id
        book.mark_undone([(number, row.number) for row in rows], number if by is None else by)
        if one.change.undoes is not None:
            names = {name for row in rows for name in row.name.names}
            book.mark_again(number, names)
