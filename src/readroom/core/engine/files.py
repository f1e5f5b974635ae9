"""Stat, delete, move and trash files and folders, and make folders.

    enter     find the folders of the names, hold them open and lock them
    look      at what is there, and apply the rules for what it is
    survey    everything in a folder: what is denied must not go with it
    change    one name in one step; a folder name by name, each checked again

A link is treated as the link itself and never followed.  What is changed is what was looked at: a file
that another program puts there in the meantime stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import stale
from readroom.core.engine.services import Job, Services
from readroom.core.limits import MAX_PATH_DEPTH
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import WorkPath, basename, join, parent, parts
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.rules.names import foldable
from readroom.core.stores.base import Folder, Moved, RenameEntry, WriteTarget
from readroom.core.text import hashes
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, ListRequest, Stat, Version, changes
from readroom.core.values.files import Warn

# -----------------------------------------------------------------------------
# What is in a folder that is to be deleted or moved as a whole, and whether it may go with it.
# -----------------------------------------------------------------------------


TREE_ENTRIES = 100_000
"""Names in a folder that is deleted or moved as a whole. Each is checked, in some 10 us: a second."""


class FolderSurvey:
    """A walk through a folder that counts and checks its entries."""

    def __init__(self, places: WriteTargets, asked_path: str, deadline: Deadline) -> None:
        """`asked_path` is the folder as it was asked for, for error messages."""
        self._places = places
        self._asked = asked_path
        self._deadline = deadline
        self._entries = 0
        self._denied = 0

    def count(self, folder: WorkPath, to: WorkPath | None = None, *, recursive: bool = True) -> int:
        """Count and check the names in a folder that is to be deleted or moved.

        Args:
            folder: Its real name.
            to: What it is going to be called; None when it is deleted.
            recursive: Whether the contents of its subfolders count as well.

        Raises:
            HoldsDenied: A rule denies some of them.
            Protected: One is not to be changed.
            ReadOnlyFile: One that is to be deleted is write-protected.
            TooLarge: They are too many, or too deep.
            Moved: Another program is changing the folder.
            NoPermission, StoreFailed, TimedOut, Cancelled: It cannot be looked through.
        """
        pending = [(folder, to)]
        while pending:
            at, new = pending.pop()
            try:
                opened = self._places.guard.open_folder(at)
            except (errors.NotFound, errors.NotAFolder):
                raise Moved from None
            with opened:
                if opened.real != at:
                    raise Moved
                for name in self._folders(opened, at, new):
                    if recursive:
                        pending.append((join(at, name), None if new is None else join(new, name)))
        if self._denied:
            raise errors.HoldsDenied(self._asked, self._denied)
        return self._entries

    def _folders(self, opened: Folder, at: WorkPath, new: WorkPath | None) -> list[str]:
        """The folders in a folder, counting and checking everything in it."""
        folders = []
        for entry in opened.entries():
            self._deadline.check()
            self._count(at if new is None else new)
            is_folder = entry.kind is EntryKind.FOLDER
            try:
                self._places.require_inside(join(at, entry.name), folder=is_folder)
                if new is not None:
                    self._places.require_inside(join(new, entry.name), folder=is_folder)
            except errors.Denied:
                self._denied += 1
                continue
            if is_folder:
                folders.append(entry.name)
            elif new is None and entry.kind is EntryKind.FILE:
                self._require_writable(opened, at, entry.name)
        return folders

    def _count(self, folder: WorkPath) -> None:
        self._entries += 1
        advice = "Continue with the folders in it, one by one."
        if self._entries > TREE_ENTRIES:
            raise errors.TooLarge(self._asked, self._entries, TREE_ENTRIES, "names", advice)
        if len(parts(folder)) >= MAX_PATH_DEPTH:
            raise errors.TooLarge(
                self._asked, MAX_PATH_DEPTH + 1, MAX_PATH_DEPTH, "folders in one path", advice
            )

    def _require_writable(self, opened: Folder, at: WorkPath, name: str) -> None:
        try:
            mode = opened.stat(name).mode
        except errors.NotFound:
            raise Moved from None
        if not mode & 0o222:
            raise errors.ReadOnlyFile(join(at, name), mode)


TRASH = WorkPath(".trash")
"""The trash: it has a folder for each moment, in which things keep the path that they had."""

T = TypeVar("T")


def stat(services: Services, job: Job[changes.StatRequest]) -> changes.StatResult:
    """The stat of a name, or that there is nothing.

    Raises:
        Denied: A rule denies it, whether or not it is there.
        OutsideRoot, NoPermission, BadPath, StoreFailed: As the store says.
    """
    path, places = job.request.path, services.targets
    try:
        if path.startswith("/"):  # a kept output, which is in no folder
            return _described(path, services.guard.stat(path)[1], None)
        _, state = places.look(path)
    except errors.NotFound:
        state = None
    if state is None:
        return changes.StatResult(path, exists=False)
    if state.kind is not EntryKind.LINK:
        return _described(path, state, None)
    try:
        target, found = places.guard.stat(path)
    except errors.ReadroomError:
        # It makes no difference whether the link is broken, denied, or leads outside.
        return _described(path, state, None)
    return _described(path, found, target)


def _described(path: str, state: Stat, target: str | None) -> changes.StatResult:
    return changes.StatResult(
        path=path,
        exists=True,
        kind=state.kind,
        size_bytes=state.size if state.kind is EntryKind.FILE else 0,
        mtime_ns=state.mtime_ns,
        changed_ns=state.changed_ns,
        created_ns=state.created_ns,
        mode=state.mode,
        read_only=not state.mode & 0o222,
        target=target,
    )


def delete(services: Services, job: Job[changes.DeleteRequest]) -> changes.DeleteResult:
    """Remove a file, a link, or a folder.

    Raises:
        BadValue: An expected hash is not a hash, or is given for a folder or a link.
        Denied, Protected, ReadOnlyFile, HardLinked, NotAFile, NotFound, ...: From finding it.
        HoldsDenied, FolderNotEmpty, TooLarge: The folder may not go with what is in it.
        Stale: The file has another hash.
        PartlyDeleted: Something failed in the middle of a folder.
        ReadOnlyPlace, NoPermission, StoreFailed: From removing. Nothing was changed.
        Changed: Another program kept changing it.
    """
    request, places = job.request, services.targets
    expected = request.expected_hash
    digits = None if expected is None else hashes.parse_hash("expected_hash", expected)

    def once() -> changes.DeleteResult:
        with places.entry(request.path) as place:
            state = _entered(places, place, request.path, job.deadline)
            if state.kind is EntryKind.FOLDER:
                entries, kept = _delete_folder(places, place, state, request, job.deadline)
            else:
                entries = 1
                version = None if digits is None else _expected(services, job, place, state, digits)
                kept = places.remove(place, state, version)
            return changes.DeleteResult(request.path, state.kind, entries, (*place.warnings, *kept))

    return _steadily(once, request.path)


def _entered(places: WriteTargets, place: WriteTarget, path: str, deadline: Deadline) -> Stat:
    """Lock a place, and return what is there, if it may be changed."""
    try:
        places.enter(place, deadline, make_folders=False)
    except errors.NotFound:
        places.require(place, path, folder=True)
        raise errors.NotFound(path) from None
    return _there(places, place, path)


def _there(places: WriteTargets, place: WriteTarget, path: str) -> Stat:
    state = places.there(place, path)
    if state is None:
        raise errors.NotFound(path)
    if state.kind is EntryKind.OTHER:
        raise errors.NotAFile(path, "device")
    if state.kind is EntryKind.FILE:
        places.require_writable(place, path, state)
    return state


def _expected(
    services: Services, job: Job[changes.DeleteRequest], place: WriteTarget, state: Stat, digits: str
) -> Version:
    """The version of a file with the expected hash. Raises Stale for another."""
    path = job.request.path
    if state.kind is not EntryKind.FILE:
        raise _no_hash(path)
    with services.guard.shown(place.open()) as source:
        try:
            now = hashes.digits_of(source, job.deadline)
        except (Shrunk, errors.ObjectChanged):
            raise Moved from None
        if source.current() != source.version:
            raise Moved
        if not now.startswith(digits):
            raise stale(services, job, source, digits, now)
        return source.version


def _no_hash(path: str) -> errors.BadValue:
    return errors.BadValue(
        "expected_hash",
        path,
        "has no hash: it is not a file",
        "Leave expected_hash out.",
        next_request=ListRequest(parent(WorkPath(path))),
    )


def _delete_folder(
    places: WriteTargets,
    place: WriteTarget,
    state: Stat,
    request: changes.DeleteRequest,
    deadline: Deadline,
) -> tuple[int, Sequence[Warn]]:
    path, top = request.path, place.real
    if request.expected_hash is not None:
        raise _no_hash(path)
    entries = FolderSurvey(places, path, deadline).count(top, recursive=request.recursive)
    if entries and not request.recursive:
        raise errors.FolderNotEmpty(path, entries)

    def step(name: WorkPath, folder: bool) -> None:
        if name != top:
            if not request.recursive:
                raise Moved
            deadline.check()
            if len(parts(name)) > MAX_PATH_DEPTH:
                raise errors.TooLarge(
                    path, len(parts(name)), MAX_PATH_DEPTH, "folders in one path", "Ask the user."
                )
            places.require_inside(name, folder=folder)

    try:
        kept = places.remove_folder(place, state, step)
    except (Moved, errors.ReadroomError) as error:
        if not place.removed:
            raise
        why = error.message if isinstance(error, errors.ReadroomError) else "another program is changing it"
        raise errors.PartlyDeleted(path, place.removed, why) from None
    return place.removed, kept


def make_folder(services: Services, job: Job[changes.MakeFolderRequest]) -> changes.FolderResult:
    """Make a folder and its parents.

    Raises:
        Taken: Something else has the name.
        Denied, Protected, NotAFolder, ...: From finding the place.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From making it. Nothing was changed.
        Changed: Another program kept changing the place.
    """
    path, places = job.request.path, services.targets
    if path in places.guard.tops:
        return changes.FolderResult(path, created=False)

    def once() -> changes.FolderResult:
        with places.entry(path) as place:
            state = places.there(place, path)
            if state is not None:
                if state.kind is EntryKind.FOLDER or _leads_to_folder(places, path, state):
                    return changes.FolderResult(path, created=False)
                raise errors.Taken(path, state.kind)
            places.enter(place, job.deadline, make_folders=True)
            kept = places.make(place)
            return changes.FolderResult(path, folders=place.folders, warnings=(*place.warnings, *kept))

    return _steadily(once, path)


def _leads_to_folder(places: WriteTargets, path: str, state: Stat) -> bool:
    if state.kind is not EntryKind.LINK:
        return False
    try:
        return places.guard.stat(path)[1].kind is EntryKind.FOLDER
    except errors.ReadroomError:
        return False


def move(services: Services, job: Job[changes.MoveRequest]) -> changes.MoveResult:
    """Rename a file, a link or a folder; missing folders are made.

    Raises:
        BadValue: The destination is the same name, or lies in the folder itself.
        Taken: Something has the name already, and is not to be replaced or cannot be.
        Denied, Protected, ReadOnlyFile, HardLinked, NotAFile, NotFound, ...: From finding the two places.
        HoldsDenied, TooLarge: The folder may not go with what is in it.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From moving. Nothing was changed.
        Changed: Another program kept changing it.
    """
    request, places = job.request, services.targets
    path, destination = request.path, request.destination

    def once() -> changes.MoveResult:
        with places.entry(path) as place, places.entry(destination) as to:
            if respells(place, to):
                return _respelled(services, job, place, to)
            _require_elsewhere(place, to, request)
            state, over = _both(places, place, to, request, job.deadline)
            kept = places.move(place, state, to, over)
            warnings = (*place.warnings, *to.warnings, *kept)
            return changes.MoveResult(path, destination, state.kind, over is not None, to.folders, warnings)

    return _steadily(once, path)


def respells(place: WriteTarget, to: WriteTarget) -> bool:
    """Whether a name is only another spelling of one that the file system lists otherwise."""
    return to.real == place.real and to.spelling != basename(place.real)


def _respelled(
    services: Services, job: Job[changes.MoveRequest], place: WriteTarget, to: WriteTarget
) -> changes.MoveResult:
    """Give a name another spelling that the file system takes for the same."""
    request, places = job.request, services.targets
    place.hold(job.deadline)
    state = _there(places, place, request.path)
    if state.kind is EntryKind.FOLDER:
        FolderSurvey(places, request.path, job.deadline).count(place.real, to.real)
    (warnings,) = places.commit([RenameEntry(place, to, state)], job.deadline.check)
    return changes.MoveResult(request.path, request.destination, state.kind, False, (), tuple(warnings))


def _require_elsewhere(place: WriteTarget, to: WriteTarget, request: changes.MoveRequest) -> None:
    """Refuse to move a name to itself or below itself."""
    if f"{to.real}/".startswith(f"{place.real}/"):
        same = to.real == place.real
        raise errors.BadValue(
            "destination",
            request.destination,
            "is the same name" if same else "lies inside the folder to be moved",
            "Choose another destination.",
            next_request=ListRequest(parent(WorkPath(request.path))),
        )


def _both(
    places: WriteTargets,
    place: WriteTarget,
    to: WriteTarget,
    request: changes.MoveRequest,
    deadline: Deadline,
) -> tuple[Stat, Version | None]:
    """Lock both ends; the stat of what is moved, and the version of the file that it replaces."""
    path, destination = request.path, request.destination
    if place.look() is None:
        places.require(place, path, folder=True)
        raise errors.NotFound(path)
    try:
        places.enter_both(place, to, deadline)
    except errors.NotFound:
        raise errors.NotFound(path) from None
    state = _there(places, place, path)
    there = places.there(to, destination)
    over = None
    if there is not None:
        files = state.kind is there.kind is EntryKind.FILE
        if not (request.overwrite and files):
            raise errors.Taken(destination, there.kind, replaceable=files)
        with places.source(to, destination) as source:
            over = source.version
    if state.kind is EntryKind.FOLDER:
        places.require(to, destination, folder=True)
        FolderSurvey(places, path, deadline).count(place.real, to.real)
    return state, over


TRASH_TRIES = 100
"""Names tried for a trashed file; a name is in use only if the same one was trashed in its millisecond."""


def trash(
    services: Services, job: Job[changes.TrashRequest], clock: Callable[[], int] = time.time_ns
) -> changes.TrashResult:
    """Move a file, a link or a folder into the workspace's trash, under an unused name.

    Raises:
        BadValue: It is the trash, or in it.
        SymbolicLink: The trash is a link.
        All else as `move` does.
    """
    path, places = WorkPath(job.request.path), services.targets
    _, root = places.guard.own(path)
    trash = root.outer(TRASH)
    if path == trash or path.startswith(f"{trash}/"):
        advice = "Move it out of there, or delete it."
        raise errors.BadValue(
            "path", path, "is in the trash already", advice, next_request=ListRequest(parent(path))
        )
    moment = clock() // 1_000_000
    for later in range(TRASH_TRIES):
        name = f"{trash}/{moment + later}/{root.inner(path)}"
        with places.entry(path), places.entry(name) as to:
            if foldable(to.real).lower() != foldable(name).lower():
                raise errors.SymbolicLink(trash, None)
        try:
            done = move(services, Job(changes.MoveRequest(path, name), job.cap, job.deadline))
        except errors.Taken:
            continue
        return changes.TrashResult(path, name, done.kind, done.warnings)
    raise errors.Changed(trash, next_request=ListRequest(parent(path)))


def _steadily(once: Callable[[], T], path: str) -> T:
    """Retry when another program changed something at the last moment."""
    for _ in range(CHANGED_TRIES):
        try:
            return once()
        except Moved:
            continue
    raise errors.Changed(path, next_request=ListRequest(parent(WorkPath(path))))
