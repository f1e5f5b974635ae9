"""Files, folders and targets of changes of one root, with the names that they have in the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import ParamSpec, final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import AcrossRoots
from readroom.core.paths import WorkPath
from readroom.core.secrets import unmasked
from readroom.core.stores.base import (
    Begun,
    Folder,
    OrderedFolder,
    Source,
    Step,
    WriteTarget,
    ask_ahead,
    is_far,
    keeps_identity,
)
from readroom.core.stores.roots.names import Place
from readroom.core.values import Entry, EntryKind, Names, Stat, Version
from readroom.core.values.files import Warn

P = ParamSpec("P")


@final
class PlacedSource(Closeable):
    """An opened file. `inner` is the file as its root has it."""

    __slots__ = (
        "_place", "far", "inner", "keeps_identity", "read_at", "read_into", "real", "size", "stat", "version",
    )  # fmt: skip

    def __init__(self, inner: Source, place: Place) -> None:
        """Takes over the file."""
        self.inner = inner
        self._place = place
        self.real = place.outer(inner.real)
        self.size, self.stat, self.version = inner.size, inner.stat, inner.version
        self.far, self.keeps_identity = is_far(inner), keeps_identity(inner)
        self.read_at, self.read_into = self._read_at, self._read_into

    @property
    def unmasked(self) -> PlacedSource:
        """The file that a view shows; itself if it is none."""
        plain = unmasked(self.inner)
        return self if plain is self.inner else PlacedSource(plain, self._place)

    def current(self) -> Version:
        """The identity of the current state."""
        with self._place.naming():
            return self.inner.current()

    def _read_at(self, offset: int, size: int) -> bytes:
        with self._place.naming():
            return self.inner.read_at(offset, size)

    def _read_into(self, offset: int, buffer: memoryview) -> int:
        with self._place.naming():
            return self.inner.read_into(offset, buffer)

    def fileno(self) -> int | None:
        """The descriptor, if there is one."""
        return self.inner.fileno()

    def close(self) -> None:
        self.inner.close()


class PlacedFolder(Closeable):
    """An opened folder. `inner` is the folder as its root has it."""

    __slots__ = ("inner", "place", "real")

    def __init__(self, inner: Folder, place: Place) -> None:
        """Takes over the folder."""
        self.inner = inner
        self.place = place
        self.real = place.outer(inner.real)

    def entries(self) -> Iterator[Entry]:
        """The names in it."""
        with self.place.naming():
            yield from self.inner.entries()

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        with self.place.naming():
            yield from self.inner.names(maximum)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        with self.place.naming():
            return self.inner.stat(name)

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        with self.place.naming():
            return self.inner.target(name)

    def open(self, name: str) -> Source:
        """Open a regular file in it, never following a link."""
        with self.place.naming():
            return PlacedSource(self.inner.open(name), self.place)

    @property
    def far(self) -> bool:
        """Whether its files are far away."""
        return is_far(self.inner)

    def ahead(self, name: str, deadline: Deadline) -> Begun | None:
        """Ask for a file in it; see `ask_ahead`."""
        return ask_ahead(self.inner, name, deadline)

    def fileno(self) -> int | None:
        """The descriptor, if there is one."""
        return self.inner.fileno()

    def close(self) -> None:
        self.inner.close()


@final
class PlacedOrderedFolder(PlacedFolder):
    """The same of a folder whose names come in their order."""

    __slots__ = ()

    @property
    def unnamed(self) -> int:
        """The number of keys seen so far that no path leads to."""
        return self._ordered.unnamed

    def in_order(self, least: str = "") -> Iterator[Names]:
        """The names from `least` on in batches."""
        with self.place.naming():
            yield from self._ordered.in_order(least)

    @property
    def _ordered(self) -> OrderedFolder:
        assert isinstance(self.inner, OrderedFolder)
        return self.inner


def placed(inner: Folder, place: Place) -> PlacedFolder:
    """An opened folder where its root is. Takes over the folder."""
    return (PlacedOrderedFolder if isinstance(inner, OrderedFolder) else PlacedFolder)(inner, place)


@final
class TopFolder(Closeable):
    """The top of the tree: the folder of the first root, and the other roots as folders in it.

    What the first root itself has under their names is not there.
    """

    real = WorkPath(".")

    def __init__(self, inner: Folder, roots: Sequence[str], look: Callable[[WorkPath], Stat]) -> None:
        """Take over the folder of the first root; `look` is the stat of another root."""
        self.inner = inner
        self._roots = roots
        self._look = look

    def entries(self) -> Iterator[Entry]:
        """The names in it."""
        for entry in self.inner.entries():
            if entry.name not in self._roots:
                yield entry
        for name in self._roots:
            yield Entry(name, EntryKind.FOLDER)

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        for some in self.inner.names(maximum):
            kinds = {name: kind for name, kind in some.kinds.items() if name not in self._roots}
            yield Names([name for name in some.names if name not in self._roots], kinds)
        yield Names(list(self._roots), dict.fromkeys(self._roots, EntryKind.FOLDER))

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        return self._look(WorkPath(name)) if name in self._roots else self.inner.stat(name)

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        return None if name in self._roots else self.inner.target(name)

    def open(self, name: str) -> Source:
        """Open a regular file in it, never following a link."""
        return self.inner.open(name)

    @property
    def far(self) -> bool:
        """Whether the files of the first root are far away."""
        return is_far(self.inner)

    def ahead(self, name: str, deadline: Deadline) -> Begun | None:
        """Ask for a file of the first root; see `ask_ahead`."""
        return ask_ahead(self.inner, name, deadline)

    def fileno(self) -> None:
        """Always None: there is no folder with exactly these names."""

    def close(self) -> None:
        self.inner.close()


@final
class PlacedTarget(Closeable):
    """The target of a change. `inner` is the target as its root has it."""

    def __init__(self, inner: WriteTarget, place: Place) -> None:
        """Takes over the target."""
        self.inner = inner
        self.place = place
        self.real = place.outer(inner.real)

    @property
    def spelling(self) -> str:
        """The last part of the name as it was asked for."""
        return self.inner.spelling

    @property
    def folders(self) -> Sequence[WorkPath]:
        """The folders that `enter` made."""
        return [self.place.outer(path) for path in self.inner.folders]

    @property
    def warnings(self) -> Sequence[Warn]:
        """Warnings of `make`, `remove` and the like."""
        return self.inner.warnings

    @property
    def removed(self) -> int:
        """How many names `remove_folder` has removed."""
        return self.inner.removed

    @property
    def writable(self) -> bool:
        """Whether the mode of the file, and the permissions of this process, let it be written."""
        with self.place.naming():
            return self.inner.writable

    @property
    def lock(self) -> tuple[int, ...]:
        """What `enter` locks."""
        with self.place.naming():
            return self.inner.lock

    def look(self) -> Stat | None:
        """The stat of the entry of that name; None if there is none."""
        with self.place.naming():
            return self.inner.look()

    def open(self) -> Source:
        """Open the file at the name."""
        with self.place.naming():
            return PlacedSource(self.inner.open(), self.place)

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers until it is closed; make missing folders."""
        with self.place.naming():
            self.inner.enter(deadline, make_folders=make_folders)

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Put a new file at the name in one step."""
        with calling(self.place, ready) as called:
            return self.inner.put(pieces, own_source(over), called)

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter two targets. Raises AcrossRoots for one of another root."""
        self._require_same(other)
        with self.place.naming():
            self.inner.enter_with(own_target(other), deadline)

    def hold(self, deadline: Deadline) -> None:
        """Lock the deepest folder on the way that exists."""
        with self.place.naming():
            self.inner.hold(deadline)

    def make(self) -> None:
        """Make a folder at the name, after `enter`."""
        with self.place.naming():
            self.inner.make()

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link, after `enter`."""
        with self.place.naming():
            self.inner.remove(expected)

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with everything in it, after `enter`."""
        outer = self.place.outer
        with calling(self.place, step) as called:
            self.inner.remove_folder(lambda name, folder: called(outer(name), folder))

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Rename what is here to the other target, after `enter_with`."""
        self._require_same(to)
        with self.place.naming():
            self.inner.move(found, own_target(to), over)

    def close(self) -> None:
        """Release the lock; a second call does nothing."""
        self.inner.close()

    def _require_same(self, other: WriteTarget) -> None:
        if isinstance(other, PlacedTarget) and other.place != self.place:
            raise AcrossRoots(self.real, other.real)


@contextmanager
def calling(place: Place, back: Callable[P, None]) -> Iterator[Callable[P, None]]:
    """Around a call that calls back: its errors get the names of the tree, which those of `back` have."""
    failed: list[BaseException] = []

    def called(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            back(*arguments, **named)
        except BaseException as error:
            failed.append(error)
            raise

    try:
        yield called
    except Exception as error:
        if error in failed:
            raise
        with place.naming():
            raise


def own_source(source: Source | None) -> Source | None:
    """A file as its root has it."""
    return source.inner if isinstance(source, PlacedSource) else source


def own_target(target: WriteTarget) -> WriteTarget:
    """A target as its root has it."""
    return target.inner if isinstance(target, PlacedTarget) else target
