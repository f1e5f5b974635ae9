"""Which files may be changed: the rules of reading, and more.

A file that may not be seen may not be made or changed either.  Files that the policy itself comes from
are never changed.  Unless the operator allows it, files that other programs execute (`executed`) are not
changed, links are not followed, and a file with several names is not replaced under one of them.  A file
without write permission is left alone, even by root.

As for reading, the rules are applied to the requested name before anything is looked up, and again to
the real name; the change applies to the entry that was checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Protocol, Self, TypeAlias, TypeVar

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.paths import ROOT, WorkPath, join, require_normal
from readroom.core.policy.executed import ExecutedNames
from readroom.core.policy.guard import Guard
from readroom.core.policy.links import LinkedNames, LinkSearch
from readroom.core.policy.names import root_names
from readroom.core.policy.rules import SOURCE, Rule
from readroom.core.policy.rules.names import foldable, other_names
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    PutFile,
    RemoveEntry,
    RenameEntry,
    Source,
    Step,
    WriteTarget,
)
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

OWN_FILES = (".kilocodeignore", ".readroomignore", "readroom.toml")
"""Files in the root that rules come from."""

_POLICY = "it is part of this workspace's policy"

_MAGIC = r"[\\*?\[\]]| $"
"""What has a special meaning in a pattern."""

_ODD = "['\"\\0-\\x1f\\x7f\ud800-\udfff]"
"""What a TOML string cannot hold literally; each is one byte of a name, which "?" matches."""

Fixed: TypeAlias = Callable[[WorkPath, Sequence[str], Container[str]], set[str]]
"""Finds the fixed names among those of a folder; it also gets those that are folders."""

T = TypeVar("T")


class Keeping(Protocol):
    """The record of changes that are made together."""

    changes: Sequence[Change]
    """The changes as they are to be made, so that what they write is seen."""

    warnings: Sequence[Warn]
    """Warnings of what could not be kept."""

    def begin(self) -> None:
        """Write down what is there, just before it is changed. Raises HistoryRequired, Moved."""

    def settled(self) -> None:
        """The changes were made."""

    def failed(self) -> None:
        """They were not made, or not as a whole."""


class Recorder(Protocol):
    """Keeps the past of what one call changes."""

    def entering(self, place: WriteTarget) -> None:
        """Write down that the folders above a name are going to be made. Raises HistoryRequired."""

    def keeping(self, changes: Sequence[Change]) -> Keeping:
        """The record of changes that are made together."""


class ChangePolicy(Struct, frozen=True):
    """The operator's rules for changes.

    Attributes:
        read_only: No changes are allowed.
        follow_links: Follow a link at the name to any file that may be read.
        split_hardlinks: Replace a file with several names under one of them; the others keep the old file.
        exceptions: Names that may be changed even though other programs execute them.
        what: What is meant by all of it, in sentences.
    """

    read_only: bool = False
    follow_links: bool = False
    split_hardlinks: bool = False
    exceptions: tuple[Rule, ...] = ()
    what: str = "the workspace"


class WriteTargets:
    """Finds write targets under policy, and makes every change of them. Safe to share between threads.

    No other module calls the methods of a target or a store that change something: what is changed here is
    kept in the history (`recorded`).
    """

    def __init__(
        self, guard: Guard, policy: ChangePolicy | None = None, protected: Iterable[WorkPath] = ()
    ) -> None:
        """`protected` are files of the operator's policy that lie in the workspace.

        The attribute of that name holds all that policy comes from, as names are compared.
        """
        self.guard = guard
        self.policy = policy or ChangePolicy()
        self.protected = frozenset(_folded(name) for name in (*OWN_FILES, *protected))
        self._search = LinkSearch(guard.store, self._give_protected_names)
        self._links = LinkedNames({})
        """Those of the latest change, for what is changed along with it."""
        self._executed = ExecutedNames(self.policy.exceptions, root_names(guard.store))
        self._recorder: Recorder | None = None

    def recorded(self, recorder: Recorder) -> Self:
        """The same targets for one call, whose changes are kept."""
        from copy import copy  # changes need it

        own = copy(self)
        own._recorder = recorder
        return own

    # --- changing -----------------------------------------------------------------------------

    def enter(self, place: WriteTarget, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock a target and make missing folders, as `WriteTarget.enter`."""
        if make_folders and self._recorder is not None:
            self._recorder.entering(place)
        place.enter(deadline, make_folders=make_folders)

    def enter_both(self, place: WriteTarget, to: WriteTarget, deadline: Deadline) -> None:
        """Lock two targets, as `WriteTarget.enter_with`."""
        if self._recorder is not None:
            self._recorder.entering(to)
        place.enter_with(to, deadline)

    def put(
        self, place: WriteTarget, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]
    ) -> Sequence[Warn]:
        """Put a file at a target, as `WriteTarget.put`; its warnings and those of the history."""

        def make(changes: Sequence[Change], begun: Callable[[], None]) -> Sequence[Warn]:
            (change,) = changes
            assert isinstance(change, PutFile)
            return place.put(change.pieces, change.over, begun)

        made, warnings = self._kept([PutFile(place, pieces, over)], make, ready)
        return (*made, *warnings)

    def remove(self, place: WriteTarget, found: Stat, expected: Version | None) -> Sequence[Warn]:
        """Remove a file or a link, as `WriteTarget.remove`."""
        return self._simply(RemoveEntry(place, found, expected), lambda: place.remove(expected))

    def remove_folder(self, place: WriteTarget, found: Stat, step: Step) -> Sequence[Warn]:
        """Remove a folder with everything in it, as `WriteTarget.remove_folder`."""
        return self._simply(RemoveEntry(place, found), lambda: place.remove_folder(step))

    def make(self, place: WriteTarget) -> Sequence[Warn]:
        """Make a folder, as `WriteTarget.make`."""
        return self._simply(MakeEntry(place), place.make)

    def move(self, place: WriteTarget, found: Stat, to: WriteTarget, over: Version | None) -> Sequence[Warn]:
        """Rename what is at a target, as `WriteTarget.move`."""
        return self._simply(RenameEntry(place, to, found), lambda: place.move(found, to, over))

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none, as `Store.commit`; the first has the warnings of the history."""
        made, warnings = self._kept(changes, self.guard.store.commit, ready)
        return [(*made[0], *warnings), *made[1:]] if made else made

    def _simply(self, change: Change, act: Callable[[], None]) -> Sequence[Warn]:
        def make(changes: Sequence[Change], begun: Callable[[], None]) -> None:
            begun()
            act()

        _, warnings = self._kept([change], make)
        return warnings

    def _kept(
        self,
        changes: Sequence[Change],
        make: Callable[[Sequence[Change], Callable[[], None]], T],
        ready: Callable[[], None] = lambda: None,
    ) -> tuple[T, Sequence[Warn]]:
        """Make changes, written down when they are ready and before anything is changed."""
        changes = self.guard.as_made(changes)
        if self._recorder is None:
            return make(changes, ready), ()
        keeping = self._recorder.keeping(changes)

        def begun() -> None:
            ready()
            keeping.begin()

        try:
            made = make(keeping.changes, begun)
        except BaseException:
            keeping.failed()
            raise
        keeping.settled()
        return made, keeping.warnings

    # --- finding ------------------------------------------------------------------------------

    def find(self, path: str) -> WriteTarget:
        """The target of a write that policy allows; nothing is changed or locked yet.

        Raises:
            Denied: A rule denies its name or the name it really has.
            Protected: It may be read and not changed.
            SymbolicLink: It is a link.
            NotAFile: Something else than a file is there.
            OutsideRoot, NotAFolder, NoPermission, BadPath, StoreFailed: As the store says.
        """
        requested = self.require_changeable(path)
        place = self._at(requested, requested)
        try:
            stat = place.look()
            if stat is None or stat.kind is EntryKind.FILE:
                return place
            if stat.kind is not EntryKind.LINK:
                self._require(requested, requested, folder=stat.kind is EntryKind.FOLDER)
                raise errors.NotAFile(requested, _what(place, stat))
        except BaseException:
            place.close()
            raise
        place.close()
        return self._through_link(requested)

    def entry(self, path: str, *, kept: bool = False) -> WriteTarget:
        """The target for a name, for any kind of entry: a link itself, a folder, a file, or nothing.

        Ask `there` what is at it once it is entered.  Raises as `find` does, but nothing because of
        what is there.  What is `kept` is only copied.
        """
        requested = self.require_changeable(path)
        if requested == ROOT:
            raise errors.Protected(requested, "it is the root of the workspace")
        return self._at(requested, requested)

    def kept_entry(self, path: str) -> WriteTarget:
        """The same for what is copied from here, which may be read-only."""
        requested = require_normal(path)
        return self._at(requested, requested)

    def there(self, place: WriteTarget, requested: str) -> Stat | None:
        """The stat of what is at a target from `entry`, if the rules allow a change. Raises Denied."""
        stat = place.look()
        if stat is None or stat.kind is EntryKind.FOLDER:
            self.require(place, requested, folder=True)
        return stat

    def require(self, place: WriteTarget, requested: str, *, folder: bool) -> None:
        """Raise Denied or Protected unless a file or folder of that name may be changed."""
        for path in {WorkPath(requested), place.real}:
            self._require(path, WorkPath(requested), folder=folder)

    def require_inside(self, path: WorkPath, *, folder: bool) -> None:
        """Raise Denied or Protected unless a name in a folder from `entry` may be changed along with it."""
        self._visible(path, path, folder=folder)
        self._require_unprotected(path, path, folder=folder)
        self._require_no_link(self._links, path, path)

    def about_others(self) -> str:
        """The other roots that the top of the tree has, and which of them are read-only; empty for none."""
        return ""

    def require_together(self, places: Sequence[WriteTarget]) -> None:
        """Raise AcrossRoots for targets that cannot be changed together."""

    def can_rename(self, place: WriteTarget, to: WriteTarget, state: Stat) -> bool:
        """Whether what is at a target can get the name of another one, as far as is known before."""
        return True

    def fixed(self) -> Fixed:
        """A function that finds the names in an unprotected folder that may be seen but not changed."""
        linked = self._search.links()

        def among(folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
            own = {name for name in names if self._is_policy(join(folder, name))}
            if linked.links:
                own |= {
                    name
                    for name in names
                    if self._is_linked(linked, join(folder, name), folder=name in folders)
                }
            return own | self._executed.among(folder, names, folders)

        return among

    def protection(self, path: WorkPath, *, folder: bool) -> errors.Protected | None:
        """Why a visible name must not be changed; None if it may be."""
        try:
            self._require_unprotected(path, path, folder=folder)
            self._require_no_link(self._search.links(), path, path)
        except errors.Protected as why:
            return why
        return None

    def require_writable(self, place: WriteTarget, requested: str, stat: Stat) -> None:
        """Raise unless a file may be deleted or renamed. Raises ReadOnlyFile, ReadOnlyPlace, HardLinked."""
        if not place.writable:
            raise errors.ReadOnlyFile(requested, stat.mode)
        if stat.links > 1:
            with place.open() as source:
                self.guard.check_links(source, WorkPath(requested))

    def look(self, path: str) -> tuple[WorkPath, Stat | None]:
        """The real name and stat of the entry at a path, of a link itself; None if there is none.

        For looking only: the rules are those of reading.

        Raises:
            Denied: A rule denies its name or the name it really has, whether or not it is there.
            OutsideRoot, NoPermission, BadPath, StoreFailed: As the store says.
        """
        requested = require_normal(path)
        if requested == ROOT:
            return self.guard.stat(requested)
        self._visible(requested, requested, folder=False)
        try:
            place = self.guard.store.place(requested)
        except errors.NotAFolder:
            self._visible(requested, requested, folder=True)
            return requested, None
        with place:
            self._visible(place.real, requested, folder=False)
            stat = place.look()
            if stat is None or stat.kind is EntryKind.FOLDER:
                for name in {requested, place.real}:
                    self._visible(name, requested, folder=True)
            return place.real, stat

    def require_changeable(self, path: str) -> WorkPath:
        """The path in normal form. Raises Protected where nothing may be changed."""
        requested = require_normal(path)
        if self.policy.read_only:
            raise errors.Protected(requested, f"{self.policy.what} is read-only")
        return requested

    def source(self, place: WriteTarget, requested: str) -> Source:
        """Open the file at a target, which may be replaced.

        Raises:
            NotFound, NotAFile: There is none.
            HardLinked: It has several names.
            ReadOnlyFile: It is write-protected.
            ReadOnlyPlace: Its file system is.
        """
        try:
            source = place.open()
        except errors.NotFound:
            raise errors.NotFound(requested) from None
        try:
            self._check_links(source, WorkPath(requested))
            if not place.writable:
                raise errors.ReadOnlyFile(requested, source.stat.mode)
        except BaseException:
            source.close()
            raise
        return self.guard.shown(source)

    def _at(self, path: WorkPath, requested: WorkPath) -> WriteTarget:
        self._require(path, requested, folder=False)
        place = self.guard.store.place(path)
        try:
            if place.real != path:
                self._require(place.real, requested, folder=False)
            self._links = self._search.links()
            self._require_no_link(self._links, place.real, requested)
        except BaseException:
            place.close()
            raise
        return place

    def _through_link(self, requested: WorkPath) -> WriteTarget:
        """The target of a link, if policy follows links."""
        target = self._target(requested)
        if target is None or not self.policy.follow_links:
            raise errors.SymbolicLink(requested, target)
        place = self._at(target, requested)
        stat = place.look()
        if stat is None or stat.kind is not EntryKind.FILE:
            place.close()
            raise errors.SymbolicLink(requested, None)
        return place

    def _target(self, requested: WorkPath) -> WorkPath | None:
        """The file that a link leads to, if it is visible; a link must not reveal other names."""
        try:
            real, stat = self.guard.stat(requested)
        except errors.ReadroomError:
            return None
        return real if stat.kind is EntryKind.FILE else None

    def _visible(self, path: WorkPath, requested: WorkPath, *, folder: bool) -> None:
        rule = self.guard.decide(path, folder=folder).rule
        if rule is not None:
            raise errors.Denied(requested, rule.pattern, rule.source, rule.reason)

    def _require(self, path: WorkPath, requested: WorkPath, *, folder: bool) -> None:
        self._visible(path, requested, folder=folder)
        self._require_unprotected(path, requested, folder=folder)

    def _require_unprotected(self, path: WorkPath, requested: WorkPath, *, folder: bool) -> None:
        if self._is_policy(path):
            raise errors.Protected(requested, _POLICY)
        rule = self._executed.rule(path, folder=folder, exists=self._exists)
        if rule is not None:
            raise errors.Protected(requested, rule.reason, pattern=rule.pattern, exception=_exception(path))

    def _require_no_link(self, linked: LinkedNames, real: WorkPath, requested: WorkPath) -> None:
        """Raise Protected for a real name that links give a protected one, whatever is at it."""
        rule = self._by_link(linked, real, folder=False) or self._by_link(linked, real, folder=True)
        if rule is not None:
            raise errors.Protected(requested, rule.reason, pattern=rule.pattern, exception=_exception(real))

    def _give_protected_names(self, folder: WorkPath, names: Sequence[str]) -> set[str]:
        """The links in a folder by which something may have a protected or a denied name."""
        found = self._executed.parts_among(folder, names) | self.guard.denied(folder, names, names)
        return found | {name for name in names if self._is_policy(join(folder, name))}

    def _is_linked(self, linked: LinkedNames, path: WorkPath, *, folder: bool) -> bool:
        try:
            return self._by_link(linked, path, folder=folder) is not None
        except errors.Protected:
            return True

    def _by_link(self, linked: LinkedNames, path: WorkPath, *, folder: bool) -> Rule | None:
        """The rule that protects a file under a name that it has by links."""
        for other in linked.others(path):
            rule = self._executed.rule(other, folder=folder, exists=self._exists)
            denied = self.guard.decide(other, folder=folder).rule
            if rule is None and denied is not None and denied.source == SOURCE:
                rule = denied
            if rule is None and self._is_policy(other):
                raise errors.Protected(path, _POLICY)
            if rule is not None:
                return None if self._executed.excepted(path, folder=folder) else rule
        return None

    def _is_policy(self, path: str) -> bool:
        folded = _folded(path)
        return not self.protected.isdisjoint((folded, *other_names(folded)))

    def _exists(self, path: WorkPath) -> bool:
        try:
            self.guard.store.stat(path)
        except errors.ReadroomError:
            return False
        return True

    def _check_links(self, source: Source, requested: WorkPath) -> None:
        links = source.stat.links
        if links <= 1:
            return
        self.guard.check_links(source, requested)
        if not self.policy.split_hardlinks:
            raise errors.HardLinked(
                requested,
                links,
                "a change would separate this one from the others",
                "Change another file, or ask the user to allow it (split_hardlinks in the configuration).",
            )


def _exception(path: WorkPath) -> str:
    """The pattern an operator writes to allow changes of a name, as a TOML string."""
    pattern = re.sub(_ODD, "?", "/" + re.sub(_MAGIC, r"\\\g<0>", path))
    return f"'{pattern}'" if "\\" in pattern else f'"{pattern}"'


def _folded(path: str) -> str:
    """A form in which names are equal if any file system takes them for the same."""
    return foldable(path).lower()


def _what(place: WriteTarget, stat: Stat) -> str:
    """The word for a target that is not a file."""
    if stat.kind is EntryKind.FOLDER:
        return "folder"
    try:
        place.open().close()
    except errors.NotAFile as problem:
        return str(problem.facts["what"])
    return "device"
