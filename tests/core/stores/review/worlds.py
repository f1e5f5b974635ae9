"""Trees of a store in which changes wait: made in the folder, or in the set."""

from __future__ import annotations

import os
from pathlib import Path

from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath
from readroom.core.stores.base import MakeEntry, PutFile, RemoveEntry, RenameEntry
from readroom.core.stores.local import LocalStore
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.place import ReviewPlace, commit
from readroom.core.stores.review.tree import Holder
from readroom.core.stores.review.waiting import Held, WaitingSet
from tests.core.stores.worlds import LocalWorld


class BelowWorld:
    """A tree in the folder, seen through a set in which something waits, so that all of it is merged."""

    def __init__(self, base: Path) -> None:
        self.below = LocalWorld(base, "walk")
        self.root = self.below.root
        self.waiting = WaitingSet(str(base / "state" / "set"), Holder(), str(self.root), 0)
        self.store = ReviewStore(self.below.store, self.waiting, lambda path: True)
        (self.root / ".gone").write_bytes(b"x")
        remove(self.store, ".gone")

    def file(self, path: str, data: bytes = b"") -> None:
        self.below.file(path, data)

    def folder(self, path: str) -> None:
        self.below.folder(path)

    def link(self, path: str, target: str) -> None:
        self.below.link(path, target)

    def delete(self, path: str) -> None:
        self.below.delete(path)


class WaitingWorld:
    """A tree of which everything waits but the links."""

    def __init__(self, base: Path) -> None:
        self.below = LocalWorld(base, "walk")
        self.root = self.below.root
        self.waiting = WaitingSet(str(base / "state" / "set"), Holder(), str(self.root), 0)
        self.store = ReviewStore(self.below.store, self.waiting, lambda path: True)
        self._links = 0

    def file(self, path: str, data: bytes = b"") -> None:
        with ReviewPlace(self.store, WorkPath(path)) as place, self._behind() as held:
            found = place.look()
            over = None if found is None else place.open()
            commit(self.store, [PutFile(place, [data], over)], nothing, held)

    def folder(self, path: str) -> None:
        with ReviewPlace(self.store, WorkPath(path)) as place, self._behind() as held:
            commit(self.store, [MakeEntry(place)], nothing, held)

    def link(self, path: str, target: str) -> None:
        """A link that was moved to its name."""
        self._links += 1
        name = f"moving{self._links}"
        (self.root / name).symlink_to(target)
        with (
            ReviewPlace(self.store, WorkPath(name)) as place,
            ReviewPlace(self.store, WorkPath(path)) as to,
            self._behind() as held,
        ):
            found = place.look()
            assert found is not None
            commit(self.store, [RenameEntry(place, to, found)], nothing, held)
        (self.root / name).unlink()

    def delete(self, path: str) -> None:
        with ReviewPlace(self.store, WorkPath(path)) as place, self._behind() as held:
            found = place.look()
            assert found is not None
            commit(self.store, [RemoveEntry(place, found)], nothing, held)

    def _behind(self) -> Held:
        """The set without its lock: behind the back of whoever holds it."""
        if not os.path.isdir(self.waiting.folder):
            self.waiting.hold(Deadline()).close()
        return Held(self.waiting, os.open(os.devnull, os.O_RDONLY))


def nothing() -> None:
    pass


def remove(store: ReviewStore, path: str) -> None:
    with store.place(WorkPath(path)) as place:
        place.enter(Deadline(), make_folders=False)
        place.remove(None)


def local(root: Path) -> LocalStore:
    return LocalStore(root)
