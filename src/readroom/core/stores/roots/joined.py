"""The store of several roots: each call goes to the root that its path belongs to.

A root that is gone, or has another folder in its place, is an error for its own paths only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Protocol, final, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.errors import AcrossRoots, StoreFailed
from readroom.core.paths import ROOT, WorkPath
from readroom.core.stores.base import Change, Folder, Leftover, RenameEntry, Source, Store, WriteTarget
from readroom.core.stores.promises import Promises, weakest
from readroom.core.stores.roots.names import FIRST, Place
from readroom.core.stores.roots.placed import (
    PlacedSource,
    PlacedTarget,
    TopFolder,
    calling,
    own_source,
    own_target,
    placed,
)
from readroom.core.values import Stat, Version
from readroom.core.values.files import Warn

_GO_ON = "the other folders of this workspace can be used."


@runtime_checkable
class Joinable(Protocol):
    """A store whose changes can be made together with those of others of its kind."""

    def commit_with(
        self, every: Mapping[WorkPath, Any], changes: Sequence[Change], ready: Callable[[], None]
    ) -> Sequence[Sequence[Warn]]:
        """Make changes of several stores, by their names in the tree; the paths of changes are those."""


class RootStore(Struct, frozen=True):
    """One root: its store, where it is in the tree, and whether nothing in it may be changed."""

    place: Place
    store: Store
    read_only: bool = False

    def require(self) -> None:
        """Raise StoreFailed if it is gone."""
        try:
            self.store.require_root()
        except StoreFailed as error:
            advice = f"{error.advice.rstrip('.')}; {_GO_ON}"
            raise StoreFailed(self.place.at, error.problem, advice) from None


@final
class JoinedStore:
    """Several roots as one store. Safe to share between threads."""

    def __init__(self, first: Store, others: Mapping[str, RootStore]) -> None:
        """Take over the stores: the first, and the others by their names, which are checked already."""
        self.top = RootStore(FIRST, first)
        self.others: Mapping[WorkPath, RootStore] = MappingProxyType(
            {root.place.at: root for root in others.values()}
        )

    @property
    def every(self) -> Sequence[RootStore]:
        """All roots, the first one first."""
        return (self.top, *self.others.values())

    @property
    def other_stores(self) -> Sequence[Store]:
        """The stores of the roots after the first."""
        return [root.store for root in self.others.values()]

    @property
    def name(self) -> str:
        """The name of the first root."""
        return self.top.store.name

    @property
    def folder(self) -> str | None:
        """The folder of the first root."""
        return self.top.store.folder

    @property
    def roots(self) -> Sequence[str]:
        """The absolute paths of the first root."""
        return self.top.store.roots

    @property
    def promises(self) -> Promises:
        """The promises that hold in all roots; each root has its own."""
        return weakest(root.store.promises for root in self.every)

    def of(self, path: str) -> RootStore:
        """The root that a path belongs to."""
        return self.others.get(WorkPath(path.partition("/")[0]), self.top)

    def require_root(self) -> None:
        """Always succeeds: a root that is gone fails the calls about it."""

    def open(self, path: WorkPath) -> Source:
        """Open a regular file for reading."""
        with self._at(path) as (root, inner):
            source = root.store.open(inner)
            return source if root is self.top else PlacedSource(source, root.place)

    def open_folder(self, path: WorkPath) -> Folder:
        """Open a folder; that of the tree has all roots."""
        with self._at(path) as (root, inner):
            folder = root.store.open_folder(inner)
            if path == ROOT:
                return self.with_others(folder)
            return folder if root is self.top else placed(folder, root.place)

    def with_others(self, folder: Folder) -> Folder:
        """The top of the first root with the other roots in it."""
        return TopFolder(folder, [*self.others], lambda path: self.stat(path)[1])

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is at a path."""
        with self._at(path) as (root, inner):
            real, stat = root.store.stat(inner)
            return root.place.outer(real), stat

    def place(self, path: WorkPath) -> WriteTarget:
        """The target for a write at a path."""
        with self._at(path) as (root, inner):
            return PlacedTarget(root.store.place(inner), root.place)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none, also in several roots. Raises AcrossRoots where that cannot be done."""
        places = [place for change in changes for place in _targets(change)]
        every = self.changed_together(places)
        if len(every) > 1:
            local = {root.place.at: root.store for root in every if isinstance(root.store, Joinable)}
            return next(iter(local.values())).commit_with(local, changes, ready)
        root = every[0]
        with calling(root.place, ready) as called:
            return root.store.commit([as_own(change) for change in changes], called)

    def changed_together(self, places: Sequence[WriteTarget]) -> Sequence[RootStore]:
        """The roots of targets that can be changed in one step. Raises AcrossRoots."""
        roots = {root.place.at: root for root in (self.of(place.real) for place in places)}
        if len(roots) > 1 and not all(isinstance(root.store, Joinable) for root in roots.values()):
            other = next(place for place in places if self.of(place.real) is not self.of(places[0].real))
            raise AcrossRoots(places[0].real, other.real)
        return [*roots.values()]

    def recover(self) -> Sequence[Leftover]:
        """Undo what calls that were killed left half done, in every root."""
        return [
            replace(left, path=root.place.outer(left.path))
            for root in self.every
            for left in root.store.recover()
        ]

    def version(self, path: WorkPath) -> Version | None:
        """The identity of what is at a path; None if nothing is."""
        with self._at(path) as (root, inner):
            return root.store.version(inner)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        """Whether what is at a path surely has that version, None for nothing."""
        root = self.of(path)
        return root.store.is_still(root.place.inner(path), version)

    def close(self) -> None:
        """Release all roots."""
        for root in self.every:
            root.store.close()

    @contextmanager
    def _at(self, path: WorkPath) -> Iterator[tuple[RootStore, WorkPath]]:
        root = self.of(path)
        root.require()
        with root.place.naming():
            yield root, root.place.inner(path)


def _targets(change: Change) -> Sequence[WriteTarget]:
    return (change.place, change.to) if isinstance(change, RenameEntry) else (change.place,)


def as_own(change: Change) -> Change:
    """The change as its root makes it."""
    change = replace(change, place=own_target(change.place))
    if isinstance(change, RenameEntry):
        return replace(change, to=own_target(change.to))
    if hasattr(change, "over"):
        return replace(change, over=own_source(change.over))
    return change
