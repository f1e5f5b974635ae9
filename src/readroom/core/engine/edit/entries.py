"""Delete, move and copy as parts of one call: what a name is, and whether the call says so.

A file has to have the hash that the call names, a folder as many names in it, at any depth.  Nothing takes
the name of something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.edit.checks import stale
from readroom.core.engine.edit.names import HeldName, Names
from readroom.core.engine.files import FolderSurvey, respells
from readroom.core.engine.services import Job, Services
from readroom.core.paths import ROOT, WorkPath, join, parent
from readroom.core.policy.changes import WriteTargets
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    Moved,
    PutFile,
    RemoveEntry,
    RenameEntry,
    Source,
    WriteTarget,
)
from readroom.core.text import hashes
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, ListRequest, Stat, changes
from readroom.core.values.files import Warn

COPY_ENTRIES = 1_000
"""Names in a folder that is copied: all of them are held open until the last is written."""

COPY_BYTES = 1024 * 1024 * 1024
"""All files of a folder that is copied."""


class Planned(Struct):
    """One change of a call that can be made.

    Attributes:
        steps: What the store is to do, in this order.
        made: The result, from the warnings of each of the steps.
        result: The result of a dry run.
        ready: Raises Moved if something is not what was looked at; files that are held need none.
        told: Warnings about what an edit or a write broke; asked for once its file is free again.
    """

    steps: Sequence[Change]
    made: Callable[[Sequence[Sequence[Warn]]], changes.FileResult]
    result: changes.FileResult
    ready: Callable[[], None] = lambda: None
    told: Callable[[changes.FileResult], Sequence[Warn]] = lambda result: ()


class EntryPlans(Struct):
    """Plans the changes of entries of one call."""

    services: Services
    job: Job[changes.ChangesRequest]
    names: Names
    folders: set[WorkPath] = field(default_factory=set)
    """Folders that the call makes."""

    @property
    def places(self) -> WriteTargets:
        return self.services.targets

    def delete(self, request: changes.DeleteRequest, name: HeldName) -> Planned:
        """The removal of a file, a link or a folder."""
        state = self.there(name)
        entries = 1
        if state.kind is EntryKind.FOLDER:
            entries = 1 + self._counted(request, name.place.real, None)
        source = self._source(request, name, state)
        change = RemoveEntry(name.place, state, None if source is None else source.version)
        return _planned([change], changes.DeleteResult(request.path, state.kind, entries))

    def move(self, request: changes.MoveRequest, name: HeldName, to: HeldName) -> Planned:
        """A new name for a file, a link or a folder."""
        state = self.there(name)
        if not respells(name.place, to.place):
            self._require_free(request, name.place, to.place)
        if state.kind is EntryKind.FOLDER:
            self.places.require(to.place, request.destination, folder=True)
            self._counted(request, name.place.real, to.place.real)
        renames = self.places.can_rename(name.place, to.place, state)
        if not renames and state.kind is not EntryKind.FILE:
            raise errors.AcrossRoots(request.path, request.destination)
        source = self._source(request, name, state)
        folders = self.new_folders(to.place)
        result = changes.MoveResult(request.path, request.destination, state.kind, folders=folders)
        version = None if source is None else source.version
        steps: list[Change] = [RenameEntry(name.place, to.place, state, version)]
        if not renames and source is not None:
            copied = _copied(source, to.place, state, self.job.deadline)
            steps = [copied, RemoveEntry(name.place, state, source.version)]
        return _planned(steps, result)

    def copy(self, request: changes.CopyRequest, name: HeldName, to: HeldName) -> Planned:
        """A copy of a file or a folder."""
        state = self.there(name, kept=True)
        self._require_free(request, name.place, to.place)
        if state.kind is EntryKind.LINK:
            raise errors.BadValue(
                "path",
                request.path,
                "is a symbolic link",
                "Copy the file that it leads to.",
                next_request=ListRequest(parent(WorkPath(request.path))),
            )
        folders, entries = self.new_folders(to.place), 1
        source = self._source(request, name, state)
        if source is not None:
            made: list[Change] = [_copied(source, to.place, state, self.job.deadline)]
        else:
            entries += self._counted(request, name.place.real, to.place.real)
            self.places.require(to.place, request.destination, folder=True)
            made = [MakeEntry(to.place), *self._inside(request, name.place.real, to.place.real)]
        result = changes.CopyResult(request.path, request.destination, state.kind, entries, folders)
        return _planned(made, result)

    def make_folder(self, request: changes.MakeFolderRequest, name: HeldName) -> Planned:
        """A folder, unless it is there."""
        place = name.place
        state = self.places.there(place, request.path)
        if state is not None:
            if state.kind is not EntryKind.FOLDER:
                raise errors.Taken(request.path, state.kind)
            return _planned([], changes.FolderResult(request.path, created=False))
        folders = (*self.new_folders(place), place.real)
        self.folders.add(place.real)
        return _planned([MakeEntry(place)], changes.FolderResult(request.path, folders=folders))

    def new_folders(self, place: WriteTarget) -> tuple[WorkPath, ...]:
        """The folders above a name that are missing and that no change before this one makes."""
        missing: list[WorkPath] = []
        folder = parent(place.real)
        while folder != ROOT and folder not in self.folders:
            try:
                self.places.guard.store.stat(folder)
                break
            except errors.NotFound:
                missing.insert(0, folder)
                folder = parent(folder)
        self.folders.update(missing)
        return tuple(missing)

    def there(self, name: HeldName, *, kept: bool = False) -> Stat:
        """The entry at a name, which may be changed, or, if it is `kept`, only read."""
        state = self.places.there(name.place, name.path)
        if state is None:
            raise errors.NotFound(name.path)
        if state.kind is EntryKind.OTHER:
            raise errors.NotAFile(name.path, "device")
        if state.kind is EntryKind.FILE and not kept:
            self.places.require_writable(name.place, name.path, state)
        return state

    def _require_free(
        self, request: changes.MoveRequest | changes.CopyRequest, place: WriteTarget, to: WriteTarget
    ) -> None:
        if f"{to.real}/".startswith(f"{place.real}/"):
            same = to.real == place.real
            raise errors.BadValue(
                "to",
                request.destination,
                "is the same name" if same else "lies inside the folder itself",
                "Choose another destination.",
                next_request=ListRequest(parent(WorkPath(request.path))),
            )
        there = self.places.there(to, request.destination)
        if there is not None:
            raise errors.Taken(request.destination, there.kind)

    def _counted(
        self,
        request: changes.DeleteRequest | changes.MoveRequest | changes.CopyRequest,
        folder: WorkPath,
        to: WorkPath | None,
    ) -> int:
        """The names in a folder, which have to be as many as the call says."""
        if request.expected_hash is not None:
            raise errors.BadValue(
                "expected_hash",
                request.path,
                "has no hash: it is a folder",
                "Send entries, the number of names in it.",
                next_request=ListRequest(request.path),
            )
        found = FolderSurvey(self.places, request.path, self.job.deadline).count(folder, to)
        if found != (request.entries or 0):
            raise errors.WrongEntries(request.path, request.entries, found)
        return found

    def _source(
        self,
        request: changes.DeleteRequest | changes.MoveRequest | changes.CopyRequest,
        name: HeldName,
        state: Stat,
    ) -> Source | None:
        """The file with the expected hash; None for what is no file."""
        path, expected = request.path, request.expected_hash
        if state.kind is not EntryKind.FILE:
            return None
        source = name.source = self.names.held.enter_context(name.place.open())
        if state.links > 1:
            self.places.guard.check_links(source, WorkPath(path))
        try:
            shown = self.places.guard.shown(source)
            now = hashes.digits_of(shown, self.job.deadline)
        except Shrunk:
            raise Moved from None
        if source.current() != source.version:
            raise Moved
        if expected is None:
            raise errors.HashNeeded(path, hashes.full(now))
        digits = hashes.parse_hash("expected_hash", expected)
        if not now.startswith(digits):
            own: Any = Job(request, self.job.cap, self.job.deadline)
            raise stale(self.services, own, shown, digits, now)
        return source

    # --- folders that are copied --------------------------------------------------------------

    def _inside(self, request: changes.CopyRequest, folder: WorkPath, to: WorkPath) -> Iterator[Change]:
        """Copies of everything in a folder."""
        pending, entries, size = [(folder, to)], 0, 0
        while pending:
            at, new = pending.pop()
            with self.places.guard.open_folder(at) as opened:
                listed = sorted(opened.entries(), key=lambda entry: entry.name)
                for entry in listed:
                    self.job.deadline.check()
                    old, name = join(at, entry.name), join(new, entry.name)
                    entries += 1
                    if entries > COPY_ENTRIES:
                        raise errors.TooLarge(
                            request.path, entries, COPY_ENTRIES, "names", "Copy the folders in it one by one."
                        )
                    target = self.names.held.enter_context(self.places.entry(name))
                    if entry.kind is EntryKind.FOLDER:
                        pending.append((old, name))
                        yield MakeEntry(target)
                        continue
                    if entry.kind is not EntryKind.FILE:
                        raise errors.NotAFile(old, entry.kind.value)
                    source = self.names.held.enter_context(opened.open(entry.name))
                    if source.stat.links > 1:
                        self.places.guard.check_links(source, old)
                    size += source.size
                    if size > COPY_BYTES:
                        raise errors.TooLarge(
                            request.path, size, COPY_BYTES, "bytes", "Copy the folders in it one by one."
                        )
                    yield _copied(source, target, source.stat, self.job.deadline)


def _copied(source: Source, to: WriteTarget, state: Stat, deadline: Deadline) -> PutFile:
    mode = 0o666 if state.mode is None else state.mode & 0o777
    return PutFile(to, hashes.blocks(source, deadline), None, mode)


def _planned(made: Sequence[Change], result: changes.FileResult) -> Planned:
    def finished(warnings: Sequence[Sequence[Warn]]) -> changes.FileResult:
        return replace(result, warnings=tuple(warn for each in warnings for warn in each))

    return Planned(made, finished, result)
