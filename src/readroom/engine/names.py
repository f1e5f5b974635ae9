"""Look at, delete, move and throw away what has a name, and make folders.

    enter     the folders of the names are found, held and kept from other writers
    look      what is there, and the rules about it as what it is
    survey    of a folder all that is in it: what is denied does not go with it
    change    in one step for one name; a folder goes name by name, each asked about again

A link is what is at its name, and nothing follows it.  What is looked at is what is
changed: somebody who puts something else there meanwhile keeps it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar

from readroom.deadline import Deadline
from readroom.engine.contents import survey_deletion, survey_move
from readroom.engine.stale import stale
from readroom.errors import (
    BadValue,
    Changed,
    FolderNotEmpty,
    NotAFile,
    NotFound,
    PartlyDeleted,
    ReadroomError,
    SymbolicLink,
    Taken,
    TooLarge,
)
from readroom.limits import MAX_PATH_DEPTH, SMALL_FILE_BYTES
from readroom.limits_names import TRASH_TRIES
from readroom.model import Cap, EntryKind, ListRequest, Stat, Version
from readroom.moves import (
    DeleteRequest,
    DeleteResult,
    FolderResult,
    MakeFolderRequest,
    MoveRequest,
    MoveResult,
    NameRequest,
    NameResult,
    StatRequest,
    StatResult,
    TrashRequest,
    TrashResult,
)
from readroom.paths import ROOT, WorkPath, parent, parts
from readroom.policy.guard import Guard
from readroom.policy.places import Places
from readroom.session.texts import TextCache
from readroom.stores.base import Moved, Place
from readroom.text import hashes

TRASH = WorkPath(".trash")
"""Where things are thrown away: below it a folder for each moment, and in that the name that they had."""

_TRIES = 2
"""What somebody else changes at the last moment is looked at once more."""

T = TypeVar("T")


def perform(
    guard: Guard, places: Places, texts: TextCache, cap: Cap, request: NameRequest, deadline: Deadline
) -> NameResult:
    """What a request asks for; `guard` is that of the path when it is no place. Raises as the others do."""
    match request:
        case StatRequest():
            return stat(guard, places, request)
        case DeleteRequest():
            return delete(places, texts, cap, request, deadline)
        case MakeFolderRequest():
            return make_folder(places, request, deadline)
        case MoveRequest():
            return move(places, request, deadline)
        case TrashRequest():
            return trash(places, request, deadline)


def stat(guard: Guard, places: Places, request: StatRequest) -> StatResult:
    """What is known of a name.

    Raises:
        Denied: A rule denies it, whether or not it is there.
        OutsideRoot, NoPermission, BadPath, StoreFailed: As the store says.
    """
    path = request.path
    try:
        if path.startswith("/"):  # a kept output, which has no place
            return _described(path, guard.stat(path)[1], None)
        _, found = places.look(path)
    except NotFound:
        found = None
    if found is None:
        return StatResult(path, exists=False)
    if found.kind is not EntryKind.LINK:
        return _described(path, found, None)
    try:
        target, behind = places.guard.stat(path)
    except ReadroomError:
        # Whether it leads to nothing, to what is denied or out of here is all the same.
        return _described(path, found, None)
    return _described(path, behind, target)


def _described(path: str, found: Stat, target: str | None) -> StatResult:
    return StatResult(
        path=path,
        exists=True,
        kind=found.kind,
        size_bytes=found.size if found.kind is EntryKind.FILE else 0,
        mtime_ns=found.mtime_ns,
        changed_ns=found.changed_ns,
        created_ns=found.created_ns,
        mode=found.mode,
        read_only=not found.mode & 0o222,
        target=target,
    )


def delete(
    places: Places, texts: TextCache, cap: Cap, request: DeleteRequest, deadline: Deadline
) -> DeleteResult:
    """Remove a file, a link, or a folder.

    Raises:
        BadValue: An expected hash is none, or is given for a folder or a link.
        Denied, Protected, ReadOnlyFile, HardLinked, NotAFile, NotFound, ...: From finding it.
        HoldsDenied, FolderNotEmpty, TooLarge: The folder may not go with what is in it.
        Stale: The file has another hash.
        PartlyDeleted: Something failed in the middle of a folder.
        ReadOnlyPlace, NoPermission, StoreFailed: From removing. Nothing was changed.
        Changed: Another program kept changing it.
    """
    expected = request.expected_hash
    digits = None if expected is None else hashes.parse_hash("expected_hash", expected)

    def once() -> DeleteResult:
        with places.entry(request.path) as place:
            found = _entered(places, place, request.path, deadline)
            if found.kind is EntryKind.FOLDER:
                entries = _delete_folder(places, place, request, deadline)
            else:
                entries = 1
                place.remove(_expected(places, texts, cap, place, found, request.path, digits, deadline))
            return DeleteResult(request.path, found.kind, entries, place.warnings)

    return _steadily(once, request.path)


def _entered(places: Places, place: Place, path: str, deadline: Deadline) -> Stat:
    """What is at a place that nobody else changes now, and that may be changed."""
    try:
        place.enter(deadline, make_folders=False)
    except NotFound:
        places.require(place, path, folder=True)
        raise NotFound(path) from None
    return _there(places, place, path)


def _there(places: Places, place: Place, path: str) -> Stat:
    found = places.there(place, path)
    if found is None:
        raise NotFound(path)
    if found.kind is EntryKind.OTHER:
        raise NotAFile(path, "device")
    if found.kind is EntryKind.FILE:
        places.require_writable(place, path, found)
    return found


def _expected(
    places: Places,
    texts: TextCache,
    cap: Cap,
    place: Place,
    found: Stat,
    path: str,
    digits: str | None,
    deadline: Deadline,
) -> Version | None:
    """The state of a file that has the expected hash; None when none is expected."""
    if digits is None:
        return None
    if found.kind is not EntryKind.FILE:
        raise _no_hash(path)
    with place.open() as source:
        digest, done = sha256(), 0
        while done < source.size:
            deadline.check()
            block = source.read_at(done, min(SMALL_FILE_BYTES, source.size - done))
            if not block:
                raise Moved
            digest.update(block)
            done += len(block)
        if source.current() != source.version:
            raise Moved
        if not digest.hexdigest().startswith(digits):
            raise stale(texts, source, path, digits, digest.hexdigest(), cap, None)
        return source.version


def _no_hash(path: str) -> BadValue:
    return BadValue(
        "expected_hash",
        path,
        "has no hash: it is no file",
        "Leave expected_hash out.",
        next_request=ListRequest(parent(WorkPath(path))),
    )


def _delete_folder(places: Places, place: Place, request: DeleteRequest, deadline: Deadline) -> int:
    path, top = request.path, place.real
    if request.expected_hash is not None:
        raise _no_hash(path)
    entries = survey_deletion(places, top, path, deadline, recursive=request.recursive)
    if entries and not request.recursive:
        raise FolderNotEmpty(path, entries)

    def step(name: WorkPath, folder: bool) -> None:
        if name != top:
            if not request.recursive:
                raise Moved
            deadline.check()
            if len(parts(name)) > MAX_PATH_DEPTH:
                raise TooLarge(path, len(parts(name)), MAX_PATH_DEPTH, "folders in one path", "Ask the user.")
            places.require_inside(name, folder=folder)

    try:
        place.remove_folder(step)
    except (Moved, ReadroomError) as error:
        if not place.removed:
            raise
        why = error.message if isinstance(error, ReadroomError) else "another program is changing it"
        raise PartlyDeleted(path, place.removed, why) from None
    return place.removed


def make_folder(places: Places, request: MakeFolderRequest, deadline: Deadline) -> FolderResult:
    """Make a folder and those above it.

    Raises:
        Taken: Something else has the name.
        Denied, Protected, NotAFolder, ...: From finding the place.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From making it. Nothing was changed.
        Changed: Another program kept changing the place.
    """
    path = request.path
    if path == ROOT:
        return FolderResult(path, created=False)

    def once() -> FolderResult:
        with places.entry(path) as place:
            found = places.there(place, path)
            if found is not None:
                if found.kind is EntryKind.FOLDER or _leads_to_folder(places, path, found):
                    return FolderResult(path, created=False)
                raise Taken(path, found.kind)
            place.enter(deadline, make_folders=True)
            place.make()
            return FolderResult(path, folders=place.folders, warnings=place.warnings)

    return _steadily(once, path)


def _leads_to_folder(places: Places, path: str, found: Stat) -> bool:
    if found.kind is not EntryKind.LINK:
        return False
    try:
        return places.guard.stat(path)[1].kind is EntryKind.FOLDER
    except ReadroomError:
        return False


def move(places: Places, request: MoveRequest, deadline: Deadline) -> MoveResult:
    """Give a file, a link or a folder another name; folders that are missing are made.

    Raises:
        BadValue: The destination is the same name, or lies in the folder itself.
        Taken: Something has the name already, and is not to be replaced or cannot be.
        Denied, Protected, ReadOnlyFile, HardLinked, NotAFile, NotFound, ...: From finding the two places.
        HoldsDenied, TooLarge: The folder may not go with what is in it.
        NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From moving. Nothing was changed.
        Changed: Another program kept changing it.
    """
    path, destination = request.path, request.destination

    def once() -> MoveResult:
        with places.entry(path) as place, places.entry(destination) as to:
            _require_elsewhere(place, to, request)
            found, over = _both(places, place, to, request, deadline)
            place.move(found, to, over)
            warnings = (*place.warnings, *to.warnings)
            return MoveResult(path, destination, found.kind, over is not None, to.folders, warnings)

    return _steadily(once, path)


def _require_elsewhere(place: Place, to: Place, request: MoveRequest) -> None:
    """A name cannot be moved to itself or below itself."""
    if f"{to.real}/".startswith(f"{place.real}/"):
        same = to.real == place.real
        raise BadValue(
            "destination",
            request.destination,
            "is the same name" if same else "lies in what is to be moved",
            "Choose another destination.",
            next_request=ListRequest(parent(WorkPath(request.path))),
        )


def _both(
    places: Places, place: Place, to: Place, request: MoveRequest, deadline: Deadline
) -> tuple[Stat, Version | None]:
    """What is to be moved, and the file that it replaces; both ends are entered and may be changed."""
    path, destination = request.path, request.destination
    if place.look() is None:
        places.require(place, path, folder=True)
        raise NotFound(path)
    try:
        place.enter_with(to, deadline)
    except NotFound:
        raise NotFound(path) from None
    found = _there(places, place, path)
    there = places.there(to, destination)
    over = None
    if there is not None:
        files = found.kind is there.kind is EntryKind.FILE
        if not (request.overwrite and files):
            raise Taken(destination, there.kind, replaceable=files)
        with places.source(to, destination) as source:
            over = source.version
    if found.kind is EntryKind.FOLDER:
        places.require(to, destination, folder=True)
        survey_move(places, place.real, to.real, path, deadline)
    return found, over


def trash(
    places: Places, request: TrashRequest, deadline: Deadline, clock: Callable[[], int] = time.time_ns
) -> TrashResult:
    """Move a file, a link or a folder into the workspace's trash, under a name that nothing has.

    Raises:
        BadValue: It is the trash, or in it.
        SymbolicLink: The trash is a link.
        All else as `move` does.
    """
    path = WorkPath(request.path)
    if parts(path)[:1] == [TRASH]:
        advice = "Move it out of there, or delete it."
        raise BadValue(
            "path", path, "is in the trash already", advice, next_request=ListRequest(parent(path))
        )
    moment = clock() // 1_000_000
    for later in range(TRASH_TRIES):
        name = f"{TRASH}/{moment + later}/{path}"
        with places.entry(path), places.entry(name) as to:
            if to.real != name:
                raise SymbolicLink(TRASH, None)
        try:
            done = move(places, MoveRequest(path, name), deadline)
        except Taken:
            continue
        return TrashResult(path, name, done.kind, done.warnings)
    raise Changed(TRASH, next_request=ListRequest(parent(path)))


def _steadily(once: Callable[[], T], path: str) -> T:
    """Once more when somebody else changed something at the last moment."""
    for _ in range(_TRIES):
        try:
            return once()
        except Moved:
            continue
    raise Changed(path, next_request=ListRequest(parent(WorkPath(path))))
