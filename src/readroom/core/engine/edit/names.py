"""The names of one call that changes several files: found, locked, and changed together or not at all.

    find     every name, through rules and confinement; two spellings of one file are refused
    lock     their folders, in one order for all callers
    content  what a name has, read when it is first asked for, and what it is going to have
    commit   all of them or none, as the store does it, also when the process is killed (`Store.commit`)

A call uses them in one of two orders.  Either each change is about the state before the call (`several`),
and a name is part of one change only; or each is about what those before it made (`batch`), which `content`
follows.

Knows: what each name has and will have.
Does not know: why: edits, changes of names and patches say that.
May be touched: with the race tests.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import TypeVar

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Job, Services
from readroom.core.limits.files import CHANGED_TRIES
from readroom.core.paths import ROOT, WorkPath, parent
from readroom.core.policy.changes import WriteTargets
from readroom.core.policy.rules.names import foldable
from readroom.core.quoting import quote
from readroom.core.secrets import unmasked
from readroom.core.stores.base import Change, Moved, PutFile, RemoveEntry, RenameEntry, Source, WriteTarget
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, Stat
from readroom.core.values.changes import ChangesRequest, EditFilesRequest
from readroom.core.values.files import OTHER_SPELLING, Warn

EDIT_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that is changed together with others as text."""

EDIT_FILES_BYTES = 32 * 1024 * 1024
"""All files of one call that are held as text, before and after."""

_NEW_MODE = 0o666
"""The mode of a new file, less what the system takes from it."""

_Made = TypeVar("_Made")


class HeldName(Struct, eq=False):
    """A name of the call.

    Attributes:
        change: The number of the change that it is part of; of the first, where changes follow each other.
        asked: The path as the call has it.
        path: The path as the workspace has it.
        place: The name, held open.
        warnings: About the name, and from changing it.
        source: The file that it has, once it is opened.
        found: What it has; None for nothing.
        before: The bytes that it has, None for none.
        after: The bytes that it is going to have, None for none.
        mode: Of a new file.
        moved: The name whose file it gets.
        kept: Whether it is only copied.
    """

    change: int
    asked: str
    path: str
    place: WriteTarget
    warnings: Sequence[Warn] = ()
    source: Source | None = None
    found: Stat | None = None
    before: bytes | None = None
    after: bytes | None = None
    mode: int = _NEW_MODE
    moved: HeldName | None = None
    is_read: bool = False
    kept: bool = False


def attempted(
    services: Services, job: Job[ChangesRequest] | Job[EditFilesRequest], attempt: Callable[[Names], _Made]
) -> _Made:
    """Make an attempt at a call, again while other programs change its files; its result.

    Raises:
        SameFile: Two new names of the call are one on the file system.
        Changed: Another program kept changing one of them.
    """
    for _ in range(CHANGED_TRIES):
        with ExitStack() as held:
            names = Names(services, job.deadline, held)
            try:
                return attempt(names)
            except (Moved, Shrunk, errors.ObjectChanged):
                names.require_different()
    raise errors.Changed(job.request.path)


class Names:
    """The names of one attempt at a call, and what fails in it, by the number of the change."""

    def __init__(self, services: Services, deadline: Deadline, held: ExitStack) -> None:
        """`held` closes the names at the end."""
        self.places: WriteTargets = services.targets
        self.deadline = deadline
        self.held = held
        self.failures: dict[int, errors.ReadroomError] = {}
        self._names: list[HeldName] = []
        self._bytes = 0

    @contextlib.contextmanager
    def collecting(self, change: int) -> Iterator[None]:
        """Record an error as that of one change, so that the others are still checked."""
        try:
            yield
        except (errors.TimedOut, errors.Cancelled):
            raise
        except errors.ReadroomError as error:
            self.failures[change] = error
            self._names = [name for name in self._names if name.change != change]

    # --- finding ------------------------------------------------------------------------------

    def find(
        self,
        asked: str,
        change: int,
        *,
        entry: bool = False,
        kept: bool = False,
        again: bool = False,
        respelled: HeldName | None = None,
    ) -> HeldName:
        """A name of the call: that of a file, or with `entry` of anything.

        Args:
            asked: The path.
            change: The number of the change.
            entry: The name of anything, and not that of a file.
            kept: It is only copied.
            again: Other changes may be about it, too, under the same spelling.
            respelled: A name of the call of which it may be another spelling.

        Raises:
            SameFile: Another change is about it.
            Denied, Protected, SymbolicLink, NotAFile, OutsideRoot, BadPath, ...: From finding it.
        """
        parsed = self.places.guard.parse(asked)
        path = self.places.guard.spelled(parsed)
        if again:
            known = next((name for name in self._names if name.path == path), None)
            if known is not None:
                return known
        found = self.places.entry(path, kept=kept) if entry else self.places.find(path)
        place = self.held.enter_context(found)
        for name in self._names:
            if name.place.real == place.real and name is not respelled and (again or name.change != change):
                raise errors.SameFile(asked, name.asked)
        warnings = () if path == parsed else (OTHER_SPELLING,)
        name = HeldName(change, asked, path, place, warnings, found=place.look(), kept=kept)
        self._names.append(name)
        return name

    def require_different(self) -> None:
        """Raise SameFile if two new names are one on a file system that folds names, as it refused them."""
        seen: dict[str, tuple[WorkPath, HeldName]] = {}
        for name in self._names:
            path = name.place.real
            while path != ROOT and name.found is None:
                other, first = seen.setdefault(foldable(path).lower(), (path, name))
                if other != path:
                    raise errors.SameFile(name.asked, first.asked)
                path = parent(path)

    def __iter__(self) -> Iterator[HeldName]:
        return iter(self._names)

    # --- holding ------------------------------------------------------------------------------

    def require_together(self) -> None:
        """Raise AcrossRoots for names that are changed and cannot be changed in one step."""
        self.places.require_together([name.place for name in self._names if not name.kept])

    def lock(self) -> None:
        """Lock the folders, in a fixed order so that two calls cannot wait for each other."""
        first = {name.place.lock: name.place for name in reversed(self._names)}
        for key in sorted(first):
            first[key].hold(self.deadline)

    def open(self, name: HeldName) -> Source:
        """The file that a name has and that may be replaced.

        Raises:
            NotFound, NotAFile, HardLinked, ReadOnlyFile, ReadOnlyPlace: As `WriteTargets.source`.
        """
        name.source = self.held.enter_context(self.places.source(name.place, name.path))
        return name.source

    def content(self, name: HeldName) -> bytes | None:
        """The bytes that a name is going to have by now; None for nothing.

        Raises:
            HardLinked, ReadOnlyFile, ReadOnlyPlace, ...: It has a file that may not be changed.
            TooLarge: That is too large to be held as text.
        """
        if not name.is_read:
            self._read(name)
        return name.after

    def _read(self, name: HeldName) -> None:
        self.deadline.check()
        name.found = name.place.look()
        if name.found is not None:
            if name.found.kind is not EntryKind.FILE:
                raise Moved
            source = self.open(name)
            if source.size > EDIT_FILE_BYTES:
                advice = "Edit it with the tools of another contract."
                raise errors.TooLarge(quote(name.path), source.size, EDIT_FILE_BYTES, "bytes", advice)
            name.before = name.after = source.read_at(0, source.size)
            if len(name.before) < source.size:
                raise Shrunk
            self._add(len(name.before))
        name.is_read = True

    def move(self, name: HeldName, to: HeldName) -> None:
        """Let one name that is read have nothing, and its file go to another."""
        to.moved, name.after = name, None
        if _respells(to):
            to.is_read = True  # what it has is the file that is moved

    def put(self, name: HeldName, data: bytes) -> None:
        """Let a name that is read have these bytes. Raises MaskedPlace."""
        self._add(len(data))
        seen = name.moved or name
        if self.places.guard.masks and seen.source is not None:
            from readroom.core.secrets.changes import real  # few operators mask

            real(name.path, seen.source, data)
        name.after = data

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > EDIT_FILES_BYTES:
            advice = "Send them in several calls."
            raise errors.TooLarge("All files", self._bytes, EDIT_FILES_BYTES, "bytes", advice)

    # --- changing -----------------------------------------------------------------------------

    def commit_contents(self, announced: Callable[[], None]) -> None:
        """Let all names have what they are going to have; `announced` as for `commit`."""
        changed = [name for name in self._names if name.is_read and name.before != name.after]
        for name in changed:
            if name.moved is not None and _respells(name) and name.moved.after is not None:
                raise errors.SameFile(name.asked, name.moved.asked)
        moved = {id(name.moved) for name in changed if _as_it_is(name) or _respells(name)}
        pairs = [(name, _change(name)) for name in changed if id(name) not in moved]
        warnings = self.commit([change for _, change in pairs], announced)
        for (name, _), warned in zip(pairs, warnings, strict=True):
            name.warnings = (*name.warnings, *warned)

    def commit(
        self, changes: Sequence[Change], announced: Callable[[], None] = lambda: None
    ) -> Sequence[Sequence[Warn]]:
        """Make all changes or none; `announced` is called when all are written and none is named.

        Raises:
            Moved: Another program has changed something.
            NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
            TimedOut, Cancelled: Nothing was changed.
        """
        if not changes:
            return ()

        def ready() -> None:
            self.deadline.check()
            for name in self._names:
                if name.source is not None and name.source.current() != name.source.version:
                    raise Moved
            announced()

        return self.places.commit(changes, ready)


def _as_it_is(name: HeldName) -> bool:
    """Whether a file gets another name and nothing else."""
    other = name.moved
    return other is not None and name.found is None and other.after is None and name.after == other.before


def _respells(name: HeldName) -> bool:
    """Whether it is another spelling of the name that its file has."""
    return name.moved is not None and name.moved.place.real == name.place.real


def _moved_bytes(name: HeldName) -> Iterable[bytes]:
    """The bytes of a file that was moved and changed, with the secrets of the one that it was."""
    assert name.moved is not None
    assert name.after is not None
    source = name.moved.source
    if source is None or unmasked(source) is source:
        return [name.after]
    from readroom.core.secrets.changes import real  # few operators mask

    return [real(name.path, source, name.after)]


def _change(name: HeldName) -> Change:
    if _as_it_is(name):
        assert name.moved is not None
        assert name.moved.found is not None
        return RenameEntry(name.moved.place, name.place, name.moved.found)
    if name.after is not None and name.moved is not None and _respells(name):
        return PutFile(name.place, [name.after], name.moved.source, respelled=True)
    if name.after is not None and name.moved is not None and name.source is None:
        return PutFile(name.place, _moved_bytes(name), None, name.mode)
    if name.after is not None:
        return PutFile(name.place, [name.after], name.source, name.mode)
    assert name.found is not None
    assert name.source is not None
    return RemoveEntry(name.place, name.found, name.source.version)
