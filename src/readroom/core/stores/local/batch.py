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

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import final

from readroom.core import errors
from readroom.core.paths import WorkPath, basename, join, parent
from readroom.core.stores.base import (
    Change,
    Inside,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
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
    TREE,
    BatchJournal,
    Kind,
    State,
    Step,
    encoded,
    state_of,
)
from readroom.core.stores.local.place import LocalPlace, flush, keep, write_all
from readroom.core.stores.local.trees import KEPT_BITS, found_inside, written
from readroom.core.stores.local.undo import cleared, undone
from readroom.core.stores.local.unfinished import Draft, Notes, temporary_name
from readroom.core.stores.roots.placed import PlacedTarget, own_target
from readroom.core.values import EntryKind, Stat, Version
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

    def reached(self, path: WorkPath) -> int:
        """The descriptor of a folder, opened if it came back with one above it. Raises OSError."""
        if path not in self._fds:
            self.reached(parent(path))
            self.enter(path)
        return self._fds[path]

    def all(self) -> Iterable[int]:
        return self._fds.values()

    def close(self) -> None:
        for fd in self._own:
            os.close(fd)
        self._own.clear()


@final
class Batch:
    """One call's changes."""

    def __init__(
        self, notes: Notes, journal: BatchJournal | None, before: BatchJournal | None, *, nameless: bool
    ) -> None:
        """`journal` is None where nothing can be noted: then a killed process leaves what it has done.

        `before` is another one, for what gets temporary names that no note is made of.
        """
        self._notes = notes
        self._journal = journal
        self._before = before
        self._nameless = nameless
        self._folders = _Folders()
        self._drafts: dict[int, Draft] = {}
        self._steps: list[Step] = []
        self._done: list[Step] = []
        self._warnings: list[list[Warn]] = []
        self._temporary: dict[WorkPath, str] = {}
        self._inside: dict[int, Inside] = {}
        self._trees: dict[int, tuple[int, int]] = {}
        self._in_trees: set[WorkPath] = set()
        """Folders that come back with one above them or are that one."""

    def run(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make them. Raises Moved, ReadroomError; see `Store.commit`."""
        path = changes[0].place.real
        with ExitStack() as stack:
            stack.callback(self._folders.close)
            if self._before is not None:
                stack.callback(self._before.close)
            try:
                self._note_temporary(changes)
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
            case RemoveEntry(place, found, expected, inside):
                if inside is not None:
                    self._inside[len(self._steps)] = inside
                state = _of(found) if expected is None else _state(expected)
                step = Step(REMOVE, _at(place), _name(place), old=state, exact=expected is not None)
                step.aside = encoded(temporary_name())
                self._add(step)
            case RenameEntry(place, to, found):
                self._plan_folders(to)
                step = Step(RENAME, _at(place), _name(place), old=_of(found))
                step.to_folder, step.to_name = _at(to), encoded(to.spelling)
                step.aside = encoded(temporary_name())
                self._add(step)
            case MakeEntry(place):
                self._plan_folders(place)
                self._plan_folder(place.real)
            case MakeLink(place, target, mtime_ns):
                self._plan_folders(place)
                self._add(self._linked(place, target, mtime_ns, stack))
            case PutTree(place):
                self._plan_folders(place)
                self._add(self._written(change, place, stack))

    def _note_temporary(self, changes: Sequence[Change]) -> None:
        """Note the temporary names of links and folders, for those who come after a crash."""
        steps = []
        for change in changes:
            if isinstance(change, MakeLink | PutTree):
                name = encoded(temporary_name())
                self._temporary[change.place.real] = os.fsdecode(name)
                folder = encoded(_folder_of(change.place))
                steps.append(Step(TREE, folder, b"", temporary=name, staged=folder))
        if steps and self._before is not None:
            self._before.begin(steps)

    def _linked(self, place: WriteTarget, target: str, mtime_ns: int | None, stack: ExitStack) -> Step:
        """Make a link under a temporary name."""
        name, folder = self._temporary[place.real], _local(place).fd
        stack.callback(_quietly, rename.clear_tree, folder, name)
        os.symlink(target, name, dir_fd=folder)
        if mtime_ns is not None:
            os.utime(name, ns=(mtime_ns, mtime_ns), dir_fd=folder, follow_symlinks=False)
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        return self._staged(PUT, place, name, state_of(status))

    def _written(self, change: PutTree, place: WriteTarget, stack: ExitStack) -> Step:
        """Write a folder with everything in it under a temporary name."""
        name, folder = self._temporary[place.real], _local(place).fd
        stack.callback(_quietly, rename.clear_tree, folder, name)
        fd = written(folder, name, change.entries)
        stack.callback(os.close, fd)
        step = self._staged(TREE, place, name, state_of(os.fstat(fd)))
        self._trees[len(self._steps)] = fd, change.entries[0].mode
        step.inside = [encoded(entry.inside) for entry in change.entries[1:]]
        for entry in change.entries:
            if entry.kind is EntryKind.FOLDER:
                self._in_trees.add(join(place.real, entry.inside) if entry.inside else place.real)
        return step

    def _staged(self, kind: Kind, place: WriteTarget, name: str, new: State) -> Step:
        step = Step(kind, _at(place), _name(place), temporary=encoded(name), new=new)
        step.staged, step.aside = encoded(_folder_of(place)), encoded(temporary_name())
        return step

    def _plan_folders(self, place: WriteTarget) -> None:
        """Steps for the folders above a name that are missing."""
        above = _folder_of(place)
        for name in _local(place).missing:
            above = join(above, name)
            self._plan_folder(above)

    def _plan_folder(self, path: WorkPath) -> None:
        planned = any(step.kind == FOLDER and step.path == path for step in self._steps)
        if not planned and path not in self._in_trees:
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
        if change.exactly is not None:
            os.fchmod(draft.fd, change.exactly.mode & KEPT_BITS)
            os.utime(draft.fd, ns=(change.exactly.mtime_ns, change.exactly.mtime_ns))
        flush(draft.fd)
        step = Step(PUT, _at(place), _name(place), temporary=encoded(draft.named()), old=old)
        step.new, step.staged = state_of(os.fstat(draft.fd)), encoded(_folder_of(place))
        step.aside = encoded(temporary_name())
        draft.written()
        self._drafts[len(self._steps)] = draft
        self._add(step)
        if change.respelled:
            again = Step(RENAME, _at(place), _name(place), old=step.new)
            again.to_folder, again.to_name = _at(place), encoded(place.spelling)
            again.aside = encoded(temporary_name())
            self._add(again)

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
            case "tree":
                staged = self._folders.at(step.staged_path)
                rename.move((staged, step.temporary_name), (fd, step.file_name), step.identity)
                tree, mode = self._trees[self._steps.index(step)]
                os.fchmod(tree, mode & KEPT_BITS)
            case "remove":
                rename.set_aside(fd, step.file_name, step.aside_name, step.old, exact=step.exact)
                inside = self._inside.get(self._steps.index(step))
                if inside is not None and found_inside(fd, step.aside_name) != inside:
                    raise Moved
            case "rename":
                to = self._folders.reached(step.to_folder_path)
                new = (to, step.to_file_name)
                if not rename.respelled((fd, step.file_name), new, step.aside_name, step.identity):
                    rename.move((fd, step.file_name), new, step.identity)
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
        draft = self._drafts.get(self._steps.index(step))
        if draft is not None:
            draft.release()

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


def _quietly(act: Callable[[int, str], None], folder: int, name: str) -> None:
    """Remove a temporary name, which nearly always is gone."""
    with contextlib.suppress(OSError, Moved):
        act(folder, name)


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
