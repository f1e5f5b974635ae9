"""Several changes of names made as one: all of them or none, also when the process is killed in between.

    stage    every new content, under a temporary name and flushed: from here on nothing needs space
    note     every step, in a journal outside the workspace
    change   one name after the other; what had a name before keeps a temporary one
    end      the journal is renamed: from here on the call counts
    clear    what had the names before

The remains of a killed process is undone by the next that looks (`undo`) if its journal has not ended, and
cleared if it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import final

from readroom.core import errors
from readroom.core.paths import WorkPath, basename, join, parent
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    Moved,
    PutFile,
    RemoveEntry,
    RenameEntry,
    WriteTarget,
)
from readroom.core.stores.local import rename, resolve
from readroom.core.stores.local.journal import (
    FOLDER,
    PUT,
    REMOVE,
    RENAME,
    BatchJournal,
    State,
    Step,
    encoded,
    state_of,
)
from readroom.core.stores.local.place import LocalPlace, flush, keep, write_all
from readroom.core.stores.local.undo import cleared, undone
from readroom.core.stores.local.unfinished import Draft, Notes, temporary_name
from readroom.core.stores.roots.placed import PlacedTarget, own_target
from readroom.core.values import Stat, Version
from readroom.core.values.files import Warn

_PRIVATE_MODE = 0o600
"""Mode of a file that replaces another, until it gets that one's mode."""


class _Folders:
    """The open folders of one batch, by their real paths."""

    def __init__(self) -> None:
        self._fds: dict[WorkPath, int] = {}
        self._own: list[int] = []

    def add(self, path: WorkPath, fd: int) -> None:
        """A folder that somebody else closes."""
        self._fds.setdefault(path, fd)

    def at(self, path: WorkPath) -> int:
        """The descriptor of a folder, which was there or was made."""
        return self._fds[path]

    def enter(self, path: WorkPath) -> None:
        """Open a folder that was made just now."""
        above = self._fds[parent(path)]
        # Never through a link: it was not there when the rules were checked.
        fd = os.open(basename(path), resolve.FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)
        self._own.append(fd)
        self._fds[path] = fd

    def all(self) -> Iterable[int]:
        return self._fds.values()

    def close(self) -> None:
        for fd in self._own:
            os.close(fd)
        self._own.clear()


@final
class Batch:
    """One call's changes."""

    def __init__(self, notes: Notes, journal: BatchJournal | None, *, nameless: bool) -> None:
        """`journal` is None where nothing can be noted: then a killed process leaves what it has done."""
        self._notes = notes
        self._journal = journal
        self._nameless = nameless
        self._folders = _Folders()
        self._drafts: dict[int, Draft] = {}
        self._steps: list[Step] = []
        self._done: list[Step] = []
        self._warnings: list[list[Warn]] = []

    def run(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make them. Raises Moved, ReadroomError; see `Store.commit`."""
        path = changes[0].place.real
        with ExitStack() as stack:
            stack.callback(self._folders.close)
            try:
                for change in changes:
                    path = change.place.real
                    self._warnings.append([])
                    self._plan(change, stack)
                ready()
                self._begin()
                for change in changes:
                    for place in _places(change):
                        _local(place).require_same_folder()
                for step in self._steps:
                    path = step.path
                    self._make(step)
                for fd in self._folders.all():
                    self._flush(fd)
            except BaseException as error:
                self._undo()
                if isinstance(error, OSError) and not isinstance(error, errors.ReadroomError):
                    raise resolve.unwritten(error, path) from None
                raise
            self._end()
        return self._warnings

    # --- planning -----------------------------------------------------------------------------

    def _plan(self, change: Change, stack: ExitStack) -> None:
        for end in _places(change):
            self._folders.add(_folder_of(end), _local(end).fd)
        match change:
            case PutFile():
                self._stage(change, stack)
            case RemoveEntry(place, found, expected):
                state = _of(found) if expected is None else _state(expected)
                step = Step(REMOVE, _at(place), _name(place), old=state, exact=expected is not None)
                step.aside = encoded(temporary_name())
                self._add(step)
            case RenameEntry(place, to, found):
                self._plan_folders(to)
                step = Step(RENAME, _at(place), _name(place), old=_of(found))
                step.to_folder, step.to_name = _at(to), _name(to)
                self._add(step)
            case MakeEntry(place):
                self._plan_folders(place)
                self._plan_folder(place.real)

    def _plan_folders(self, place: WriteTarget) -> None:
        """Steps for the folders above a name that are missing."""
        above = _folder_of(place)
        for name in _local(place).missing:
            above = join(above, name)
            self._plan_folder(above)

    def _plan_folder(self, path: WorkPath) -> None:
        if not any(step.kind == FOLDER and step.path == path for step in self._steps):
            self._add(Step(FOLDER, encoded(parent(path)), encoded(basename(path))))

    def _add(self, step: Step) -> None:
        self._steps.append(step)

    def _stage(self, change: PutFile, stack: ExitStack) -> None:
        """Write the new content next to its name, or where the first missing folder will be."""
        place = change.place
        self._plan_folders(place)
        mode = change.mode if change.over is None else _PRIVATE_MODE
        draft = stack.enter_context(Draft(_local(place).fd, self._notes, None, mode, nameless=self._nameless))
        for piece in change.pieces:
            write_all(draft.fd, piece)
        old = None
        if change.over is not None:
            fd = change.over.fileno()
            assert fd is not None  # it came from `LocalPlace.open`
            self._warnings[-1] += keep(fd, draft.fd)
            old = _state(change.over.version)
        flush(draft.fd)
        step = Step(PUT, _at(place), _name(place), temporary=encoded(draft.named()), old=old)
        step.new, step.staged = state_of(os.fstat(draft.fd)), encoded(_folder_of(place))
        step.aside = encoded(temporary_name())
        self._drafts[len(self._steps)] = draft
        self._add(step)

    # --- changing -----------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._journal is not None and not self._journal.begin(self._steps):
            self._journal = None
            detail = "no journal could be written, so a crash in this call could have left a part of it"
            self._warn("not_journaled", detail)

    def _make(self, step: Step) -> None:
        fd = self._folders.at(step.folder_path)
        self._done.append(step)
        match step.kind:
            case "put" if step.old is not None:
                rename.swap(fd, step.temporary_name, step.aside_name, step.file_name, step.old)
            case "put":
                staged = self._folders.at(step.staged_path)
                rename.move((staged, step.temporary_name), (fd, step.file_name), step.identity)
            case "remove":
                rename.set_aside(fd, step.file_name, step.aside_name, step.old, exact=step.exact)
            case "rename":
                to = self._folders.at(step.to_folder_path)
                rename.move((fd, step.file_name), (to, step.to_file_name), step.identity)
            case _:
                self._make_folder(step, fd)

    def _make_folder(self, step: Step, fd: int) -> None:
        try:
            os.mkdir(step.file_name, dir_fd=fd)
        except FileExistsError:
            self._done.pop()
            raise Moved from None
        self._folders.enter(step.path)

    def _undo(self) -> None:
        """Take the steps back. Raises StoreFailed if another program has changed something meanwhile."""
        left = list(undone(self._done, self._folders.at, self._release))
        for fd in self._folders.all():
            self._flush(fd)
        if self._journal is not None:
            self._journal.close()
        if left:
            raise errors.StoreFailed(left[0].path, f"{left[0].problem}; others of the call were not changed")

    def _release(self, step: Step) -> None:
        """Leave the temporary name of a step alone: what it has is not ours to remove."""
        self._drafts[self._steps.index(step)].release()

    def _end(self) -> None:
        """From here on the changes count; what had the names before goes."""
        if self._journal is not None:
            self._journal.end()
        for step in self._steps:
            try:
                cleared(step, self._folders.at(step.folder_path))
            except (OSError, Moved):
                rest = join(step.folder_path, step.aside_name)
                self._warn("not_removed", f"{step.path}: a rest could not be removed: {rest}")
        if self._journal is not None:
            self._journal.close()

    def _flush(self, fd: int) -> None:
        try:
            flush(fd)
        except OSError as error:
            self._warn("not_flushed", f"a folder could not be flushed to disk: {error.strerror}")

    def _warn(self, code: str, detail: str) -> None:
        """A warning about the call, which the first change carries, once."""
        warn = Warn(code, detail)
        if self._warnings and warn not in self._warnings[0]:
            self._warnings[0].append(warn)


def _places(change: Change) -> Sequence[WriteTarget]:
    return (change.place, change.to) if isinstance(change, RenameEntry) else (change.place,)


def _local(place: WriteTarget) -> LocalPlace:
    inner = own_target(place)
    assert isinstance(inner, LocalPlace)  # of this store, or of a root beside it
    return inner


def _folder_of(place: WriteTarget) -> WorkPath:
    """The deepest folder on the way that is there, named as the target is."""
    folder = _local(place).folder
    return place.place.outer(folder) if isinstance(place, PlacedTarget) else folder


def _at(place: WriteTarget) -> bytes:
    """The folder that the name is or will be in."""
    return encoded(parent(place.real))


def _name(place: WriteTarget) -> bytes:
    return encoded(_local(place).name)


def _of(found: Stat) -> State:
    return (found.device, found.inode, found.size, found.mtime_ns)


def _state(version: Version) -> State:
    return (version.device, version.inode, version.size, version.mtime_ns)
