"""Changes of several files in one call: edits, new files, and what is deleted, moved, copied or made.

    find     every name, by the rules; a name that is part of two changes is refused
    lock     the folders, in one order for all callers
    plan     every change as if it were the only one, collecting failures
    commit   all of them or none, as the store does it, also when the process is killed

Every change is about the state before the call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.edit import planned_edit
from readroom.core.engine.edit.checks import require_few
from readroom.core.engine.edit.names import NamePlans, Planned
from readroom.core.engine.edit.usable import expected_digits, require_usable
from readroom.core.engine.edit.write import planned_write
from readroom.core.engine.services import Job, Services
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import ROOT, WorkPath, basename, parent
from readroom.core.policy.rules.names import foldable
from readroom.core.stores.base import Moved, PutFile, WriteTarget
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, Stat
from readroom.core.values.changes import (
    ABSENT,
    ChangesRequest,
    ChangesResult,
    CopyRequest,
    DeleteRequest,
    EditRequest,
    FileChange,
    FileResult,
    MakeFolderRequest,
    MoveRequest,
    WriteRequest,
    WriteResult,
)
from readroom.core.values.files import OTHER_SPELLING, Warn

CHANGES = 100
"""Changes in one call. Their files are held open until the last is made."""


def perform(services: Services, job: Job[ChangesRequest]) -> ChangesResult:
    """Make changes of several files. Nothing is changed when this raises.

    Raises:
        BadValue, TooLarge: The call itself cannot be followed.
        SameFile: A name is part of two changes.
        EditsFailed: Some cannot be made; with the failure of each. One that fails alone is raised itself.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
        TimedOut, Cancelled: On the way.
        Changed: Another program kept changing one of them.
    """
    request = job.request
    _require_usable(request)
    for _ in range(CHANGED_TRIES):
        with ExitStack() as held:
            batch = _Several(services, job, held)
            try:
                result = batch.result()
            except (Moved, Shrunk):
                batch.require_different_names()
                continue
        return replace(result, results=list(map(_told, batch.plans, result.results)))
    raise errors.Changed(request.path)


def _told(plan: Planned, result: FileResult) -> FileResult:
    return replace(result, warnings=(*result.warnings, *plan.told(result)))


def _require_usable(request: ChangesRequest) -> None:
    if not request.changes:
        raise errors.BadValue("changes", [], "is empty", "Send at least one change.")
    if len(request.changes) > CHANGES:
        raise errors.TooLarge(
            "changes", len(request.changes), CHANGES, "changes", "Send them in several calls."
        )
    require_few([edit for one in request.changes if isinstance(one, EditRequest) for edit in one.edits])
    size = sum(len(one.content) for one in request.changes if isinstance(one, WriteRequest))
    if size > CHANGE_TEXT_BYTES:
        raise errors.TooLarge("All contents", size, CHANGE_TEXT_BYTES, "bytes", "Send them in several calls.")


class _Changed(Struct):
    """One change of the call, with its names."""

    request: FileChange
    place: WriteTarget
    to: WriteTarget | None = None
    respelled: bool = False
    planned: Planned | None = None

    @property
    def places(self) -> Sequence[WriteTarget]:
        return (self.place,) if self.to is None else (self.place, self.to)

    @property
    def changed(self) -> Sequence[WriteTarget]:
        """The names that it changes; a copy leaves its source as it is."""
        return self.places[1:] if isinstance(self.request, CopyRequest) else self.places


class _Several(Struct):
    """One attempt at a call."""

    services: Services
    job: Job[ChangesRequest]
    held: ExitStack
    files: dict[int, _Changed] = field(default_factory=dict)
    failures: dict[int, errors.ReadroomError] = field(default_factory=dict)
    plans: Sequence[Planned] = ()

    def result(self) -> ChangesResult:
        request = self.job.request
        for number, change in enumerate(request.changes):
            with self._collecting(number):
                self.files[number] = self._found(change)
        self._require_apart()
        self.services.targets.require_together(
            [place for file in self.files.values() for place in file.changed]
        )
        if not request.dry_run:
            self._lock()
        names = NamePlans(self.services, self.job, self.held)
        room = self.job.cap.size - sum(self.job.cap.measure.frame(one.path) for one in request.changes)
        for number, file in list(self.files.items()):
            with self._collecting(number):
                share = max(0, room) // (len(request.changes) - number)
                file.planned = self._planned(file, names, share)
                room -= _diff_bytes(file.planned.result)
        self._require_all()
        files = [self.files[number] for number in sorted(self.files)]
        plans = self.plans = [file.planned for file in files if file.planned is not None]
        results = [plan.result for plan in plans] if request.dry_run else self._committed(plans)
        noted = [
            replace(result, warnings=(OTHER_SPELLING, *result.warnings)) if file.respelled else result
            for file, result in zip(files, results, strict=True)
        ]
        return ChangesResult(noted, request.dry_run)

    @contextlib.contextmanager
    def _collecting(self, number: int) -> Iterator[None]:
        """Record an error as that of one change, so that the others are still checked."""
        try:
            yield
        except (errors.TimedOut, errors.Cancelled):
            raise
        except errors.ReadroomError as error:
            self.failures[number] = error
            self.files.pop(number, None)

    def _require_all(self) -> None:
        failed = [(self.job.request.changes[at].path, self.failures[at]) for at in sorted(self.failures)]
        if len(failed) == 1:
            raise failed[0][1]
        if failed:
            raise errors.EditsFailed(failed)

    # --- names --------------------------------------------------------------------------------

    def _found(self, change: FileChange) -> _Changed:
        targets, guard = self.services.targets, self.services.targets.guard
        if isinstance(change, WriteRequest) and change.path.removesuffix('"').endswith("/"):
            raise errors.BadPath(change.path, "ends with a slash, as names of folders do", "Leave it out.")
        asked = guard.parse(change.path)
        path = guard.spelled(asked)
        change = replace(change, path=path)
        if isinstance(change, MoveRequest | CopyRequest):
            change = replace(change, destination=guard.spelled(guard.parse(change.destination)))
        by_file = isinstance(change, EditRequest | WriteRequest)
        kept = isinstance(change, CopyRequest)
        place = self.held.enter_context(targets.find(path) if by_file else targets.entry(path, kept=kept))
        to = None
        if isinstance(change, MoveRequest | CopyRequest):
            to = self.held.enter_context(targets.entry(change.destination))
        if isinstance(change, EditRequest) and place.look() is None:
            raise errors.NotFound(path)
        return _Changed(change, place, to, respelled=path != asked)

    def _require_apart(self) -> None:
        """Refuse a name that is part of two changes, also under another name of the same file."""
        names: dict[str, tuple[int, str]] = {}
        entries: dict[tuple[int, int], tuple[int, str]] = {}
        folders = [file for file in self.files.values() if isinstance(file.request, MakeFolderRequest)]
        made = {file.place.real for file in folders}
        for number, file in self.files.items():
            for place, asked in zip(file.places, _asked(file.request), strict=True):
                named = (number, asked)
                other = names.setdefault(place.real, named)
                if other == named:
                    other = _entry(place.look(), named, entries)
                if other[0] != number:
                    raise errors.SameFile(asked, other[1])
        for name, (number, asked) in names.items():
            above = parent(WorkPath(name))
            while above != ROOT:
                if above in names and above not in made and names[above][0] != number:
                    raise errors.Inside(asked, names[above][1])
                above = parent(above)

    def require_different_names(self) -> None:
        """Raise SameFile if two new names of the call are one on the file system that refused them."""
        seen: dict[tuple[str, str], tuple[int, str]] = {}
        for number, file in self.files.items():
            if isinstance(file.request, DeleteRequest | EditRequest):
                continue
            place, asked = (file.to or file.place), _asked(file.request)[-1]
            key = (parent(place.real), foldable(basename(place.real)).lower())
            other = seen.setdefault(key, (number, asked))
            if other[0] != number:
                raise errors.SameFile(asked, other[1])

    def _lock(self) -> None:
        """Lock the folders, in a fixed order so that two calls cannot wait for each other."""
        places = [place for file in self.files.values() for place in file.places]
        first = {place.lock: place for place in reversed(places)}
        for key in sorted(first):
            first[key].hold(self.job.deadline)

    # --- planning and making ------------------------------------------------------------------

    def _planned(self, file: _Changed, names: NamePlans, room: int) -> Planned:
        self.job.deadline.check()
        place, to = file.place, file.to
        match file.request:
            case EditRequest() as request:
                return self._edit(request, place, room)
            case WriteRequest() as request:
                return self._write(request, place, names)
            case DeleteRequest() as request:
                return names.delete(request, place)
            case MoveRequest() as request:
                assert to is not None
                return names.move(request, place, to)
            case CopyRequest() as request:
                assert to is not None
                return names.copy(request, place, to)
            case request:
                return names.make_folder(request, place)

    def _edit(self, request: EditRequest, place: WriteTarget, room: int) -> Planned:
        expected = expected_digits(request)
        require_usable(request)
        source = self.held.enter_context(self.services.targets.source(place, request.path))
        cap = self.job.cap
        job = Job(request, replace(cap, size=room + cap.measure.frame(request.path)), self.job.deadline)
        plan = planned_edit(self.services, job, place, source, expected)
        return Planned(
            [plan.put],
            plan.ready,
            lambda warnings: plan.made(warnings[0]),
            plan.result,
            lambda result: plan.told(),
        )

    def _write(self, request: WriteRequest, place: WriteTarget, names: NamePlans) -> Planned:
        job = Job(request, self.job.cap, self.job.deadline)
        source = None
        if request.expected_hash != ABSENT and place.look() is not None:
            source = self.held.enter_context(self.services.targets.source(place, request.path))
        elif request.expected_hash not in (ABSENT, None):
            raise errors.Vanished(request.path, str(request.expected_hash))
        plan = planned_write(self.services, job, place, source)
        folders = names.new_folders(place)
        result = replace(plan.result, folders=folders)
        changes: list[PutFile] = [] if plan.put is None else [plan.put]

        def made(warnings: Sequence[Sequence[Warn]]) -> FileResult:
            every = tuple(warn for each in warnings for warn in each)
            return replace(result, warnings=(*result.warnings, *every))

        def told(result: FileResult) -> Sequence[Warn]:
            assert isinstance(result, WriteResult)
            return plan.told(result)

        return Planned(changes, plan.ready, made, result, told)

    def _committed(self, plans: Sequence[Planned]) -> Sequence[FileResult]:
        changes = [change for plan in plans for change in plan.steps]

        def ready() -> None:
            self.job.deadline.check()
            for plan in plans:
                plan.ready()

        store = self.services.targets.guard.store
        warnings = list(store.commit(changes, ready)) if changes else []
        results = []
        for plan in plans:
            own, warnings = warnings[: len(plan.steps)], warnings[len(plan.steps) :]
            results.append(plan.made(own))
        return results


def _asked(request: FileChange) -> Sequence[str]:
    if isinstance(request, MoveRequest | CopyRequest):
        return (request.path, request.destination)
    return (request.path,)


def _entry(
    state: Stat | None, named: tuple[int, str], entries: dict[tuple[int, int], tuple[int, str]]
) -> tuple[int, str]:
    """The first change of the call with an entry, which has several names where cases do not count."""
    if state is None or state.links > 1 or not state.inode or state.kind is EntryKind.FOLDER:
        return named
    return entries.setdefault((state.device, state.inode), named)


def _diff_bytes(result: FileResult) -> int:
    diff = getattr(result, "diff", None)
    return 0 if diff is None else len(diff.text.encode("utf-8", "replace"))
