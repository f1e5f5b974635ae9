"""Make the changes of a command that ran on an overlay: through policy, all together, and into the history.

    read      what the upper folders of the overlay have, without following anything
    compare   with the workspace: a name that somebody has changed meanwhile ends it
    ask       policy about every name; what it refuses is left out and named
    commit    the rest or nothing

Knows: what an overlay leaves, and which change of the workspace that is.
Does not know: how it was mounted.
May be touched: with a security review.
"""

from __future__ import annotations

import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TypeAlias, final

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.files import FolderSurvey
from readroom.core.engine.past.steps import UNDO_NAMES
from readroom.core.engine.services import Services
from readroom.core.history.keeping import HELD_BYTES
from readroom.core.history.pruning import content_bytes
from readroom.core.limits import BLOCK_BYTES, CHANGE_TIMEOUT_S
from readroom.core.paths import ROOT, WorkPath, basename, join, lies_in, parent
from readroom.core.quoting import first_of
from readroom.core.sandbox.overlay import Layer, notes_origins
from readroom.core.secrets import unmasked
from readroom.core.stores.base import (
    Change,
    Inside,
    Kept,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    Source,
    TreeEntry,
    WriteTarget,
    as_inside,
    hold_all,
)
from readroom.core.values import EntryKind, Stat
from readroom.core.values.files import Warn

LAYERED_NAMES = 10_000
"""Names that a command may have changed, for its changes to be made."""

_MODES = 0o777

_CLOCK_NS = 2_000_000_000
"""A clock that has lost so much against the other was set back."""

_NAMED = 3
"""Names that a warning says; more are counted."""

_SINCE = "was changed by somebody else meanwhile"


class Begun(Struct, frozen=True):
    """When the command began: for the times of files, and by a clock that nobody sets; in nanoseconds."""

    file_ns: int
    steady_ns: int


class Applied(Struct, frozen=True):
    """The end of the changes.

    Attributes:
        change: Its number in the history; None if nothing was changed, or that was not kept.
        lasting: Why what was changed cannot be undone.
        warnings: What was left out, and why.
    """

    change: int | None = None
    lasting: str = ""
    warnings: Sequence[Warn] = ()


class _Unfit(Exception):
    """Nothing of it can be made, and why."""


class _LeftOut(Exception):
    """A name is left out, and why."""


_Making: TypeAlias = Callable[[WriteTarget], Change]
"""Gives the change by which something new gets a name."""

_REFUSALS = (PermissionError, errors.NotAFile, errors.BadPath, errors.TooLarge, _LeftOut)
"""Why one name is left out; anything else ends the whole."""


@contextmanager
def _leaving_out(path: WorkPath, left_out: list[tuple[WorkPath, str]]) -> Iterator[None]:
    """Note a name that is refused."""
    try:
        yield
    except _REFUSALS as why:
        if isinstance(why, errors.ReadroomError):
            left_out.append((path, why.code.replace("_", " ")))
        else:
            left_out.append((path, str(why) if isinstance(why, _LeftOut) else "it cannot be read"))


def applied(services: Services, layers: Sequence[Layer], begun: Begun) -> Applied:
    """Make the changes; a warning says what was not made."""
    recorder = services.recorder
    assert recorder is not None
    deadline = Deadline(CHANGE_TIMEOUT_S)
    warnings: list[Warn] = []
    with ExitStack() as held:
        plan = _Plan(services, {layer.path: layer.upper for layer in layers}, begun, deadline, held)
        try:
            plan.look()
            if plan.changes:
                hold_all(plan.places, deadline)
                made = services.targets.commit(plan.changes, plan.ready)
                warnings += [warn for each in made for warn in each]
        except (_Unfit, Moved) as error:
            return unmade(str(error) or f"a file {_SINCE}")
        except OSError as error:
            why = error.message if isinstance(error, errors.ReadroomError) else error.strerror
            return unmade(why or "it could not be read")
        except errors.ReadroomError as error:
            return unmade(error.message)
    if plan.left_out:
        warnings.append(_left_out(plan.left_out))
    change = recorder.last
    if change is None:
        return Applied(None, "its past was not kept" if plan.changes else "", warnings)
    if plan.count > UNDO_NAMES:
        why = f"it changed {plan.count:,} names; change {change} with a path undoes up to {UNDO_NAMES}"
        return Applied(None, why, warnings)
    return Applied(change, "", warnings)


def unmade(why: str) -> Applied:
    """Nothing was made, and why."""
    return Applied(warnings=[_nothing(why)])


def _nothing(why: str) -> Warn:
    return Warn("not_made", f"all that it changed: {why.rstrip('.')}")


def _left_out(names: Sequence[tuple[WorkPath, str]]) -> Warn:
    why = dict(names)
    some = "; ".join(f"{first_of([path], 1)}: {reason}" for path, reason in list(why.items())[:_NAMED])
    more = f"; and {len(why) - _NAMED:,} more" if len(why) > _NAMED else ""
    return Warn("not_made", f"{some}{more}")


@final
class _Plan:
    """The changes of one command. Used by one thread."""

    def __init__(
        self,
        services: Services,
        uppers: dict[WorkPath, str],
        begun: Begun,
        deadline: Deadline,
        held: ExitStack,
    ) -> None:
        self._targets = services.targets
        self._store = services.guard.store
        self._uppers = uppers
        self._begun = begun
        self._deadline = deadline
        self._held = held
        self._names = self._bytes = 0
        self._sources: list[Source] = []
        assert services.history is not None
        self._largest = content_bytes(services.history.policy)
        self.places: list[WriteTarget] = []
        self.changes: list[Change] = []
        self.left_out: list[tuple[WorkPath, str]] = []

    def look(self) -> None:
        """Plan all of it. Raises _Unfit, Moved, OSError, ReadroomError."""
        passed = time.monotonic_ns() - self._begun.steady_ns
        if time.time_ns() - self._begun.file_ns < passed - _CLOCK_NS:
            raise _Unfit("the clock was set back meanwhile, so changes by others may be overlooked")
        for path, upper in self._uppers.items():
            if path != ROOT and os.listdir(upper):
                self._require_folder(path)
            self._folder(path, upper, hides=False)

    def ready(self) -> None:
        """Raise Moved if a file is not the one that was compared."""
        self._deadline.check()
        for source in self._sources:
            if source.current() != source.version:
                raise Moved

    @property
    def count(self) -> int:
        """The names that are changed, with those in folders that come or go."""
        count = len(self.changes)
        for change in self.changes:
            if isinstance(change, PutTree):
                count += len(change.entries) - 1
            elif isinstance(change, RemoveEntry):
                count += len(change.inside or ())
        return count

    # --- what the overlay has -------------------------------------------------------------------

    def _folder(self, path: WorkPath, upper: str, *, hides: bool) -> None:
        """The changes in a folder that the workspace has; `hides` if nothing of that one is left."""
        own = set()
        for name, at, status in self._entries(upper):
            own.add(name)
            with _leaving_out(join(path, name), self.left_out):
                self._entry(join(path, name), at, status)
        if hides:
            with self._store.open_folder(path) as folder:
                names = [entry.name for entry in folder.entries() if entry.name not in own]
            for name in names:
                with _leaving_out(join(path, name), self.left_out):
                    self._gone(join(path, name))

    def _entries(self, upper: str) -> Iterator[tuple[str, str, os.stat_result]]:
        for name in sorted(os.listdir(upper)):
            self._deadline.check()
            self._names += 1
            if self._names > LAYERED_NAMES:
                raise _Unfit(f"it changed more than {LAYERED_NAMES:,} names")
            at = os.path.join(upper, name)
            yield name, at, os.lstat(at)

    def _entry(self, path: WorkPath, at: str, status: os.stat_result) -> None:
        mode = status.st_mode
        if stat.S_ISCHR(mode) and status.st_rdev == 0:
            self._gone(path)
        elif stat.S_ISDIR(mode):
            self._a_folder(path, at, status)
        elif stat.S_ISREG(mode):
            self._a_file(path, at, status)
        elif stat.S_ISLNK(mode):
            self._a_link(path, at)
        else:
            raise _LeftOut("it is a pipe, a socket or a device")

    def _gone(self, path: WorkPath) -> None:
        if self._now(path) is not None:
            _, removal = self._removal(path)
            self.changes.append(removal)

    def _a_folder(self, path: WorkPath, at: str, status: os.stat_result) -> None:
        now = self._now(path)
        if now is not None and now.kind is EntryKind.FOLDER:
            hides = _attribute(at, "opaque") == b"y"
            if not hides and (now.mode ^ status.st_mode) & _MODES:
                self.left_out.append((path, "permissions of folders are not changed"))
            self._folder(path, at, hides=hides)
            return
        self._require_never_there(path, at, now)
        entries = list(self._tree(path, at, status))
        self._make(path, now, lambda place: PutTree(place, entries))

    def _a_file(self, path: WorkPath, at: str, status: os.stat_result) -> None:
        now = self._now(path)
        self._require_never_there(path, at, now)
        self._require_size(status)
        self._add_bytes(status.st_size)
        with open(_opened(at), "rb"):
            pass  # one that cannot be read is left out
        if now is not None and now.kind is EntryKind.FILE and not (now.mode ^ status.st_mode) & _MODES:
            self._changed(path, at, status, now)
            return
        exactly = Kept(status.st_mode & _MODES, status.st_mtime_ns)
        pieces = _Pieces(at, status.st_size)
        self._make(path, now, lambda place: PutFile(place, pieces, None, exactly.mode, exactly))

    def _a_link(self, path: WorkPath, at: str) -> None:
        now, target = self._now(path), os.readlink(at)
        if now is not None and now.kind is EntryKind.LINK and self._target(path) == target:
            return
        self._require_inside(path, target)
        self._make(path, now, lambda place: MakeLink(place, target))

    def _tree(self, path: WorkPath, at: str, status: os.stat_result) -> Iterator[TreeEntry]:
        """A new folder with everything in it that policy allows, each folder before what is in it."""
        pending = [("", at, status)]
        while pending:
            inside, upper, found = pending.pop()
            yield TreeEntry(inside, EntryKind.FOLDER, found.st_mode & _MODES, found.st_mtime_ns)
            for name, inner, one in self._entries(upper):
                below = f"{inside}/{name}" if inside else name
                full = join(path, below)
                with _leaving_out(full, self.left_out):
                    is_folder = stat.S_ISDIR(one.st_mode)
                    self._targets.require_inside(full, folder=is_folder)
                    if is_folder:
                        pending.append((below, inner, one))
                    else:
                        yield self._in_tree(full, below, inner, one)

    def _in_tree(self, path: WorkPath, inside: str, at: str, status: os.stat_result) -> TreeEntry:
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(at)
            self._require_inside(path, target)
            return TreeEntry(inside, EntryKind.LINK, target=target)
        if not stat.S_ISREG(status.st_mode):
            raise _LeftOut("it is a pipe, a socket or a device")
        self._require_size(status)
        self._add_bytes(status.st_size)
        data = b"".join(_Pieces(at, status.st_size))
        return TreeEntry(inside, EntryKind.FILE, status.st_mode & _MODES, status.st_mtime_ns, data)

    # --- what the workspace has -----------------------------------------------------------------

    def _now(self, path: WorkPath) -> Stat | None:
        """The stat of a name. Raises Denied, and _Unfit if somebody changed it since the command began."""
        real, found = self._targets.look(path)
        if real != path:
            raise _Unfit(f"{first_of([path], 1)} {_SINCE}")
        if found is not None and found.kind is not EntryKind.FOLDER:
            self._require_old(path, found)
        return found

    def _require_old(self, path: WorkPath, found: Stat) -> None:
        if found.changed_ns is None or found.changed_ns >= self._begun.file_ns:
            raise _Unfit(f"{first_of([path], 1)} {_SINCE}")

    def _require_folder(self, path: WorkPath) -> None:
        real, found = self._targets.look(path)
        if real != path or found is None or found.kind is not EntryKind.FOLDER:
            raise _Unfit(f"{first_of([path], 1)} {_SINCE}")

    def _require_never_there(self, path: WorkPath, at: str, now: Stat | None) -> None:
        """Raise _Unfit for what the command has found and somebody else may have removed.

        A file that the command itself has renamed is one that it has found, too; then no name of its
        folder has changed in the workspace.  Where the kernel does not note what was found, every new name
        of a folder may be such a file.
        """
        if now is None and (_attribute(at, "origin") or not notes_origins()):
            _, above = self._store.stat(parent(path))
            self._require_old(path, above)

    def _require_size(self, status: os.stat_result) -> None:
        if status.st_size > self._largest:
            raise _LeftOut(f"it is larger than {self._largest:,} bytes")

    def _add_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > HELD_BYTES:
            raise _Unfit(f"it wrote more than {HELD_BYTES:,} bytes")

    def _require_inside(self, path: WorkPath, target: str) -> None:
        """Raise _LeftOut for a link that leads out of the workspace, or to something denied."""
        if target.startswith("/"):
            root = next(
                (root for root in self._store.roots if lies_in(posixpath.normpath(target), root)), None
            )
            if root is None:
                raise _LeftOut("the link leads out of the workspace")
            inner = posixpath.relpath(target, root)
        else:
            inner = posixpath.normpath(posixpath.join(parent(path), target))
        if inner == ".." or inner.startswith("../"):
            raise _LeftOut("the link leads out of the workspace")
        guard = self._targets.guard
        if inner != ROOT and not all(guard.allows(WorkPath(inner), folder=kind) for kind in (False, True)):
            raise _LeftOut("the link leads to a denied name")

    def _target(self, path: WorkPath) -> str | None:
        with self._store.open_folder(parent(path)) as folder:
            return folder.target(basename(path))

    # --- changes --------------------------------------------------------------------------------

    def _place(self, path: WorkPath) -> WriteTarget:
        if len(self.places) >= UNDO_NAMES:
            raise _Unfit(f"it changed more than {UNDO_NAMES} names outside of new folders")
        place = self._held.enter_context(self._targets.entry(path))
        if place.real != path:
            raise _Unfit(f"{first_of([path], 1)} {_SINCE}")
        self.places.append(place)
        return place

    def _make(self, path: WorkPath, now: Stat | None, change: _Making) -> None:
        """Something new at a name, in place of what is there."""
        if now is not None:
            place, removal = self._removal(path)
            made = change(place)
            self._targets.require(place, path, folder=isinstance(made, PutTree))
            self.changes += [removal, made]
            return
        place = self._place(path)
        if self._targets.there(place, path) is not None:
            raise Moved
        self.changes.append(change(place))

    def _changed(self, path: WorkPath, at: str, status: os.stat_result, now: Stat) -> None:
        """Other bytes in a file."""
        place = self._place(path)
        source = unmasked(self._held.enter_context(self._targets.source(place, path)))
        self._require_old(path, source.stat)
        pieces = _Pieces(at, status.st_size)
        if source.stat.size == status.st_size and _same(source, pieces):
            self.places.remove(place)
            return
        self._sources.append(source)
        self.changes.append(PutFile(place, pieces, source))

    def _removal(self, path: WorkPath) -> tuple[WriteTarget, RemoveEntry]:
        place = self._place(path)
        found = self._targets.there(place, path)
        if found is None:
            raise Moved
        if found.kind is EntryKind.FOLDER:
            FolderSurvey(self._targets, path, self._deadline).count(path)
            return place, RemoveEntry(place, found, None, self._below(path))
        if found.kind is EntryKind.LINK:
            return place, RemoveEntry(place, found)
        self._targets.require_writable(place, path, found)
        source = self._held.enter_context(place.open())
        self._require_old(path, source.stat)
        self._sources.append(source)
        return place, RemoveEntry(place, found, source.version)

    def _below(self, folder: WorkPath) -> Inside:
        """The names below a folder that goes, none of which is new to the command."""
        found: dict[str, tuple[EntryKind, int, int]] = {}
        pending = [folder]
        while pending:
            at = pending.pop()
            with self._store.open_folder(at) as opened:
                for entry in opened.entries():
                    path, state = join(at, entry.name), opened.stat(entry.name)
                    self._require_old(path, state)
                    found[path[len(folder) + 1 :]] = as_inside(state)
                    if state.kind is EntryKind.FOLDER:
                        pending.append(path)
        return found


# --- files of the overlay -----------------------------------------------------------------------


@final
class _Pieces:
    """The bytes of a file of the overlay, as many as it had when it was looked at."""

    def __init__(self, path: str, size: int) -> None:
        self._path = path
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        left = self._size
        with open(_opened(self._path), "rb") as file:
            while left:
                piece = file.read(min(left, BLOCK_BYTES))
                if not piece:
                    raise Moved
                left -= len(piece)
                yield piece


def _opened(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def _same(source: Source, pieces: _Pieces) -> bool:
    at = 0
    for piece in pieces:
        if source.read_at(at, len(piece)) != piece:
            return False
        at += len(piece)
    return True


def _attribute(path: str, name: str) -> bytes:
    """A note of the kernel about a name; a command cannot write such notes."""
    try:
        return os.getxattr(path, f"user.overlay.{name}", follow_symlinks=False)
    except OSError:
        return b""
