"""Changes of several files in one call: edits, new files, and what is deleted, moved, copied or made.

    find     every name, by the rules; a name that is part of two changes is refused
    lock     the folders, in one order for all callers
    plan     every change as if it were the only one, collecting failures
    commit   all of them or none, as the store does it, also when the process is killed

Every change is about the state before the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.edit import planned_edit
from readroom.core.engine.edit.checks import require_few
from readroom.core.engine.edit.entries import EntryPlans, Planned
from readroom.core.engine.edit.names import HeldName, Names, attempted
from readroom.core.engine.edit.usable import expected_digits, require_usable
from readroom.core.engine.edit.write import planned_write
from readroom.core.engine.services import Job, Services
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.paths import ROOT, parent
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
from readroom.core.values.files import Warn

CHANGES = 100
"""Changes in one call. Their files are held open until the last is made."""


def perform(services: Services, job: Job[ChangesRequest]) -> ChangesResult:
    """Make changes of several files. Nothing is changed when this raises.

    Raises:
        BadValue, TooLarge: The call itself cannot be followed.
        SameFile: A name is part of two changes.
        AcrossRoots: It is in several roots that cannot be changed in one step, and not the move of one file.
        EditsFailed: Some cannot be made; with the failure of each. One that fails alone is raised itself.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
        TimedOut, Cancelled: On the way.
        Changed: Another program kept changing one of them.
    """
    request = job.request
    _require_usable(request)

    def attempt(names: Names) -> tuple[_Several, ChangesResult]:
        batch = _Several(services, job, names)
        return batch, batch.result()

    try:
        batch, result = attempted(services, job, attempt)
    except errors.AcrossRoots as across:
        from readroom.core.engine.edit import carried  # few calls do that

        return carried.move(services, job, across, perform)
    return replace(result, results=list(map(_told, batch.plans, result.results)))


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
    name: HeldName
    to: HeldName | None = None
    planned: Planned | None = None


class _Several(Struct):
    """One attempt at a call."""

    services: Services
    job: Job[ChangesRequest]
    names: Names
    files: dict[int, _Changed] = field(default_factory=dict)
    plans: Sequence[Planned] = ()

    def result(self) -> ChangesResult:
        request = self.job.request
        for number, change in enumerate(request.changes):
            with self.names.collecting(number):
                self.files[number] = self._found(change, number)
        self._require_apart()
        self.names.require_together()
        if not request.dry_run:
            self.names.lock()
        entries = EntryPlans(self.services, self.job, self.names)
        room = self.job.cap.size - sum(self.job.cap.measure.frame(one.path) for one in request.changes)
        for number, file in self.files.items():
            with self.names.collecting(number):
                share = max(0, room) // (len(request.changes) - number)
                file.planned = self._planned(file, entries, share)
                room -= _diff_bytes(file.planned.result)
        self._require_all()
        plans = self.plans = [file.planned for file in self.files.values() if file.planned is not None]
        results = [plan.result for plan in plans] if request.dry_run else self._committed(plans)
        noted = [
            replace(result, warnings=(*file.name.warnings, *result.warnings))
            for file, result in zip(self.files.values(), results, strict=True)
        ]
        return ChangesResult(noted, request.dry_run)

    def _require_all(self) -> None:
        failures = self.names.failures
        failed = [(self.job.request.changes[at].path, failures[at]) for at in sorted(failures)]
        if len(failed) == 1:
            error = failed[0][1]
            if len(self.job.request.changes) > 1:
                error.advice = f"No file was changed. {error.advice}".rstrip()
            raise error
        if failed:
            raise errors.EditsFailed(failed)

    # --- names --------------------------------------------------------------------------------

    def _found(self, change: FileChange, number: int) -> _Changed:
        if isinstance(change, WriteRequest) and change.path.removesuffix('"').endswith("/"):
            raise errors.BadPath(change.path, "ends with a slash, as names of folders do", "Leave it out.")
        by_file = isinstance(change, EditRequest | WriteRequest)
        kept = isinstance(change, CopyRequest)
        name = self.names.find(change.path, number, entry=not by_file, kept=kept)
        if isinstance(change, EditRequest) and name.found is None:
            raise errors.NotFound(name.path)
        change = replace(change, path=name.path)
        if not isinstance(change, MoveRequest | CopyRequest):
            return _Changed(change, name)
        to = self.names.find(change.destination, number, entry=True)
        return _Changed(replace(change, destination=to.path), name, to)

    def _require_apart(self) -> None:
        """Refuse a name in a folder that the call changes, other than by making it."""
        made = {id(file.name) for file in self.files.values() if isinstance(file.request, MakeFolderRequest)}
        folders = {name.place.real: name for name in self.names if id(name) not in made}
        for name in self.names:
            above = parent(name.place.real)
            while above != ROOT:
                folder = folders.get(above)
                if folder is not None and folder.change != name.change:
                    raise errors.Inside(name.asked, folder.asked)
                above = parent(above)

    # --- planning and making ------------------------------------------------------------------

    def _planned(self, file: _Changed, entries: EntryPlans, room: int) -> Planned:
        self.job.deadline.check()
        name, to = file.name, file.to
        match file.request:
            case EditRequest() as request:
                return self._edit(request, name, room)
            case WriteRequest() as request:
                return self._write(request, name, entries)
            case DeleteRequest() as request:
                return entries.delete(request, name)
            case MoveRequest() as request:
                assert to is not None
                return entries.move(request, name, to)
            case CopyRequest() as request:
                assert to is not None
                return entries.copy(request, name, to)
            case request:
                return entries.make_folder(request, name)

    def _edit(self, request: EditRequest, name: HeldName, room: int) -> Planned:
        expected = expected_digits(request)
        require_usable(request)
        cap = self.job.cap
        job = Job(request, replace(cap, size=room + cap.measure.frame(request.path)), self.job.deadline)
        plan = planned_edit(self.services, job, name.place, self.names.open(name), expected)
        return Planned(
            [plan.put],
            lambda warnings: plan.made(warnings[0]),
            plan.result,
            plan.ready,
            lambda result: plan.told(),
        )

    def _write(self, request: WriteRequest, name: HeldName, entries: EntryPlans) -> Planned:
        job = Job(request, self.job.cap, self.job.deadline)
        source = None
        if request.expected_hash != ABSENT and name.place.look() is not None:
            source = self.names.open(name)
        elif request.expected_hash not in (ABSENT, None):
            raise errors.Vanished(request.path, str(request.expected_hash))
        plan = planned_write(self.services, job, name.place, source)
        result = replace(plan.result, folders=entries.new_folders(name.place))

        def made(warnings: Sequence[Sequence[Warn]]) -> FileResult:
            every = tuple(warn for each in warnings for warn in each)
            return replace(result, warnings=(*result.warnings, *every))

        def told(result: FileResult) -> Sequence[Warn]:
            assert isinstance(result, WriteResult)
            return plan.told(result)

        return Planned([] if plan.put is None else [plan.put], made, result, told=told)

    def _committed(self, plans: Sequence[Planned]) -> Sequence[FileResult]:
        def ready() -> None:
            for plan in plans:
                plan.ready()

        warnings = iter(self.names.commit([change for plan in plans for change in plan.steps], ready))
        return [plan.made(list(islice(warnings, len(plan.steps)))) for plan in plans]


def _diff_bytes(result: FileResult) -> int:
    diff = getattr(result, "diff", None)
    return 0 if diff is None else len(diff.text.encode("utf-8", "replace"))
