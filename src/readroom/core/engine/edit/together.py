"""The names of one call that changes several files: found, held, read, and changed together or not at all.

    find     every name, through rules and confinement; two spellings of one file are refused
    lock     their folders, in one order for all callers
    content  what a name has, read when it is first asked for, and what it is going to have
    commit   all of them or none, as the store does it, also when the process is killed (`Store.commit`)

Knows: what each name has and will have.
Does not know: why: edits (`batch`) and patches (`patching`) say that.
May be touched: with the race tests.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.engine.services import Services
from readroom.core.policy.changes import WriteTargets
from readroom.core.quoting import quote
from readroom.core.stores.base import Change, Moved, PutFile, RemoveEntry, RenameEntry, Source, WriteTarget
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, Stat
from readroom.core.values.files import OTHER_SPELLING, Warn

EDIT_FILE_BYTES = 16 * 1024 * 1024
"""Largest file that is changed together with others: it is held as text."""

EDIT_FILES_BYTES = 32 * 1024 * 1024
"""All files of one call together, before and after."""

_NEW_MODE = 0o666
"""The mode of a new file, less what the system takes from it."""


class HeldName(Struct, eq=False):
    """A name of the call.

    Attributes:
        asked: The path as the call has it.
        path: The path as the workspace has it.
        place: The name, held open.
        found: What it has; None for nothing.
        source: The file that it has, once it is opened.
        before: The bytes that it has, None for none.
        after: The bytes that it is going to have, None for none.
        mode: Of a new file.
        moved: The name whose file it gets as it is.
    """

    asked: str
    path: str
    place: WriteTarget
    found: Stat | None = None
    source: Source | None = None
    before: bytes | None = None
    after: bytes | None = None
    mode: int = _NEW_MODE
    moved: HeldName | None = None
    is_read: bool = False
    warnings: Sequence[Warn] = ()

    @property
    def changes(self) -> bool:
        """Whether it is going to have something else."""
        return self.is_read and self.before != self.after


class Together:
    """The names of one attempt at a call."""

    def __init__(self, services: Services, deadline: Deadline, held: ExitStack) -> None:
        """`held` closes the names at the end."""
        self._places: WriteTargets = services.targets
        self._deadline = deadline
        self._held = held
        self._names: dict[str, HeldName] = {}
        self._bytes = 0

    def name(self, asked: str, *, once: bool = False) -> HeldName:
        """A name of the call; with `once` nothing else in it may be the same file.

        Raises:
            SameFile: Another spelling of it is in the call, or with `once` the same one.
            Denied, Protected, SymbolicLink, NotAFile, OutsideRoot, BadPath, ...: From finding it.
        """
        parsed = self._places.guard.parse(asked)
        path = self._places.guard.spelled(parsed)
        known = self._names.get(path)
        if known is not None and not once:
            return known
        place = self._held.enter_context(self._places.find(path))
        same = next((name for name in self._names.values() if name.place.real == place.real), None)
        if same is not None:
            raise errors.SameFile(asked, same.asked)
        name = HeldName(asked, path, place)
        if path != parsed:
            name.warnings = (OTHER_SPELLING,)
        self._names[path] = name
        return name

    def drop(self, name: HeldName) -> None:
        """Forget a name that turned out to be unusable, so that it is not locked."""
        self._names.pop(name.path, None)

    def require_one_root(self) -> None:
        """Raise AcrossRoots for names in several roots."""
        self._places.require_together([name.place for name in self._names.values()])

    def lock(self) -> None:
        """Lock the folders, in a fixed order so that two calls cannot wait for each other."""
        first = {name.place.lock: name.place for name in reversed(self._names.values())}
        for key in sorted(first):
            first[key].hold(self._deadline)

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
        self._deadline.check()
        name.found = name.place.look()
        if name.found is not None:
            if name.found.kind is not EntryKind.FILE:
                raise Moved
            source = name.source = self._held.enter_context(self._places.source(name.place, name.path))
            if source.size > EDIT_FILE_BYTES:
                advice = "Edit it with the tools of another contract."
                raise errors.TooLarge(quote(name.path), source.size, EDIT_FILE_BYTES, "bytes", advice)
            name.before = name.after = source.read_at(0, source.size)
            if len(name.before) < source.size:
                raise Shrunk
            self._add(len(name.before))
        name.is_read = True

    def put(self, name: HeldName, data: bytes) -> None:
        """Let a name that is read have these bytes."""
        self._add(len(data))
        name.after = data

    def remove(self, name: HeldName) -> None:
        """Let a name that is read have nothing."""
        name.after = None

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes > EDIT_FILES_BYTES:
            advice = "Send them in several calls."
            raise errors.TooLarge("All files", self._bytes, EDIT_FILES_BYTES, "bytes", advice)

    def commit(self, announced: Callable[[], None] = lambda: None) -> None:
        """Make all changes or none; `announced` is called when all are written and none is named.

        Raises:
            Moved: Another program has changed something.
            NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: From writing.
            TimedOut, Cancelled: Nothing was changed.
        """
        changed = [name for name in self._names.values() if name.changes]
        if not changed:
            return
        moved = {id(name.moved) for name in changed if name.moved is not None and _as_it_is(name)}
        pairs = [(name, _change(name)) for name in changed if id(name) not in moved]

        def ready() -> None:
            self._deadline.check()
            for name in self._names.values():
                source = name.source
                if source is not None and source.current() != source.version:
                    raise Moved
            announced()

        warnings = self._places.guard.store.commit([change for _, change in pairs], ready)
        for (name, _), warned in zip(pairs, warnings, strict=True):
            name.warnings = (*name.warnings, *warned)


def _as_it_is(name: HeldName) -> bool:
    """Whether a file gets another name and nothing else."""
    other = name.moved
    return other is not None and name.found is None and other.after is None and name.after == other.before


def _change(name: HeldName) -> Change:
    if _as_it_is(name):
        assert name.moved is not None
        assert name.moved.found is not None
        return RenameEntry(name.moved.place, name.place, name.moved.found)
    if name.after is not None:
        return PutFile(name.place, [name.after], name.source, name.mode)
    assert name.found is not None
    assert name.source is not None
    return RemoveEntry(name.place, name.found, name.source.version)
