"""A store over a store: the files of a folder as they would be if the changes that wait were made.

A name without a node falls through to the folder, always to the same name there.  Links are
followed in what is seen: a link of the folder may lead to a file that waits, and the other way round.

Knows: how a folder and a set of waiting changes look together, and how a change is added to the set.
Does not know: whose the set is, policies, and how changes are accepted (`core.review`).
May be touched: with the cases that all stores share, and a security review.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.errors import (
    BadPath,
    NoPermission,
    NotAFile,
    NotAFolder,
    NotFound,
    OutsideRoot,
    ReadroomError,
)
from readroom.core.limits import LINK_HOPS
from readroom.core.paths import ROOT, WorkPath, join, parts
from readroom.core.stores.base import Change, Folder, Leftover, Source, Store
from readroom.core.stores.local import LocalSource
from readroom.core.stores.local.resolve import Found
from readroom.core.stores.promises import Promises
from readroom.core.stores.review.at import NOTHING, At
from readroom.core.stores.review.tree import (
    FileNode,
    GoneNode,
    KeptNode,
    LinkNode,
    MadeNode,
    Tree,
)
from readroom.core.stores.review.waiting import WaitingSet
from readroom.core.values import Entry, EntryKind, Names, Stat, Version
from readroom.core.values.files import Warn

if TYPE_CHECKING:
    from readroom.core.stores.review.place import ReviewPlace


@final
class ReviewStore:
    """A store over a store. Safe to share between threads; closing it leaves the folder open."""

    folder = None

    def __init__(self, base: Store, waiting: WaitingSet, allows: Callable[[WorkPath], bool]) -> None:
        """`allows` says whether a name of the folder may be seen today."""
        self.base = base
        self.waiting = waiting
        self._allows = allows
        self.agent = ""
        """The name that the agent gives itself."""

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def roots(self) -> Sequence[str]:
        return self.base.roots

    @property
    def promises(self) -> Promises:
        """Those of the folder: what waits is kept apart, and accepted as any change."""
        return self.base.promises

    def require_root(self) -> None:
        """Raise StoreFailed if the name of the root means something else now."""
        self.base.require_root()

    def open(self, path: WorkPath) -> Source:
        """Open a regular file for reading, without ever blocking on a pipe or device."""
        tree = self.waiting.tree()
        if not tree.nodes:
            return self.base.open(path)
        return self.opened(self.find(tree, path), path)

    def opened(self, at: At, path: WorkPath) -> Source:
        """Open the file that was found; `path` is how it was asked for."""
        if isinstance(at.node, FileNode):
            fd = self.waiting.data(at.node)
            inner = LocalSource(Found(fd, at.path, os.fstat(fd)))
            return ReviewSource(inner, at.path, at.stat, at.version, lambda: self._now(at.path))
        if at.base is None or at.kind is not EntryKind.FILE:
            if at.kind is EntryKind.OTHER and at.base is not None:
                self.base.open(at.base).close()  # says what it is
            raise NotAFile(path, at.kind.value)
        try:
            source = self.base.open(at.base)
        except ReadroomError as error:
            raise _about(error, path) from None
        if source.real != at.base:
            source.close()
            raise NotFound(path)
        if at.base == at.path:
            return source
        return ReviewSource(source, at.path, source.stat, source.version, source.current)

    def _now(self, path: WorkPath) -> Version:
        return self.version(path) or NOTHING

    def open_folder(self, path: WorkPath) -> Folder:
        """Open a folder."""
        tree = self.waiting.tree()
        if not tree.nodes:
            return self.base.open_folder(path)
        at = self.find(tree, path)
        if at.kind is not EntryKind.FOLDER:
            if at.kind is EntryKind.OTHER and at.base is not None:
                self.base.open_folder(at.base).close()
            raise NotAFolder(path, at.kind.value)
        below = None
        if at.base is not None:
            try:
                below = self.base.open_folder(at.base)
            except ReadroomError as error:
                raise _about(error, path) from None
            if below.real != at.base:
                below.close()
                raise NotFound(path)
            if not tree.concerns(at.path):
                return below
        return ReviewFolder(self, tree, at, below)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is at a path, links followed inside the root."""
        tree = self.waiting.tree()
        if not tree.nodes:
            return self.base.stat(path)
        at = self.find(tree, path)
        return at.path, _stat(tree, at)

    def version(self, path: WorkPath) -> Version | None:
        """The identity of what is at a path, links followed; None if nothing is."""
        tree = self.waiting.tree()
        if not tree.nodes:
            return self.base.version(path)
        try:
            at = self.find(tree, path)
        except NotFound:
            return None
        if at.node is None and at.base is not None:
            return self.base.version(at.base)
        if isinstance(at.node, KeptNode):
            return self.base.version(at.node.path)
        return at.version

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        """Whether what is at a path surely has that version, None for nothing."""
        tree = self.waiting.tree()
        if not tree.concerns(path):
            return self.base.is_still(path, version)
        return self.version(path) == version

    def place(self, path: WorkPath) -> ReviewPlace:
        """The target for a write at a path, whether or not something is there; changes nothing yet."""
        from readroom.core.stores.review.place import ReviewPlace  # readers do not need it

        if path == ROOT:
            raise NotAFile(path, "folder")
        return ReviewPlace(self, path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Let all changes wait or none, also if the process is killed meanwhile; there are no warnings."""
        from readroom.core.stores.review.place import commit

        commit(self, changes, ready)
        return [()] * len(changes)

    def recover(self) -> Sequence[Leftover]:
        """The leftovers of other calls on the folder; a set has none."""
        return self.base.recover()

    def close(self) -> None:
        """Does nothing: the folder belongs to the workspace."""

    # --- where a path leads -------------------------------------------------------------------

    def find(self, tree: Tree, path: WorkPath) -> At:
        """Follow a path as `stores.local.walk` does. Raises NotFound, OutsideRoot, BadPath."""
        pending = parts(path)[::-1]
        above = [self.root()]
        leaf: At | None = None
        hops = 0
        while pending:
            if leaf is None and (whole := self._at_once(tree, above[-1], pending)) is not None:
                return whole
            part = pending.pop()
            if part == "..":
                if len(above) == 1:
                    raise OutsideRoot(path, "a link on the way leads above the root")
                above.pop()
                continue
            if part == ".":
                continue
            child = self.child(tree, above[-1], part)
            if child is not None and child.kind is EntryKind.LINK:
                hops += 1
                if hops > LINK_HOPS:
                    raise BadPath(path, f"leads through more than {LINK_HOPS} links, or a loop of links")
                todo, absolute = self._todo(child, path)
                if absolute:
                    del above[1:]
                pending += todo
                continue
            if child is None or (pending and child.kind is not EntryKind.FOLDER):
                raise NotFound(path)
            if child.kind is EntryKind.FOLDER:
                above.append(child)
            else:
                leaf = child
        return above[-1] if leaf is None else leaf

    def root(self) -> At:
        """The root, which is always the folder's."""
        return At(ROOT, EntryKind.FOLDER, None, ROOT, self.base.stat(ROOT)[1])

    def _at_once(self, tree: Tree, top: At, pending: Sequence[str]) -> At | None:
        """The end of a path if nothing waits there and no link is on the way; else None."""
        if top.base is None or ".." in pending or "." in pending:
            return None
        path = top.path
        for part in reversed(pending):
            path = join(path, part)
            if path in tree.nodes:
                return None
        if tree.concerns(path):
            return None
        try:
            real, stat = self.base.stat(path)
        except ReadroomError:
            return None
        return At(path, stat.kind, None, path, stat) if real == path else None

    def child(self, tree: Tree, folder: At, name: str) -> At | None:
        """The entry of a folder at a name, a link itself; None for nothing."""
        path = join(folder.path, name)
        match tree.nodes.get(path):
            case None:
                stat = None if folder.base is None else self.behind(path)
                if path in tree.below:
                    real = stat is not None and stat.kind is EntryKind.FOLDER
                    return At(path, EntryKind.FOLDER, None, path if real else None, stat if real else None)
                return None if stat is None else At(path, stat.kind, None, path, stat)
            case GoneNode():
                return None
            case KeptNode() as node:
                if not self._allows(node.path):
                    raise NoPermission(path)
                stat = self.behind(node.path)
                if stat is None or stat.kind is not EntryKind.FILE:
                    return None
                return At(path, EntryKind.FILE, node, node.path, stat)
            case node:
                kinds = {FileNode: EntryKind.FILE, LinkNode: EntryKind.LINK, MadeNode: EntryKind.FOLDER}
                return At(path, kinds[type(node)], node)

    def behind(self, path: WorkPath) -> Stat | None:
        """The stat of a name in the folder itself, links not followed; None for nothing."""
        if path == ROOT:
            return self.base.stat(ROOT)[1]
        above, _, name = path.rpartition("/")
        try:
            with self.base.open_folder(WorkPath(above) if above else ROOT) as folder:
                return folder.stat(name) if folder.real == (above or ROOT) else None
        except (NotFound, NotAFolder):
            return None

    def target(self, at: At) -> str:
        """The target of a link that was found."""
        if isinstance(at.node, LinkNode):
            return os.fsdecode(at.node.target)
        above, _, name = at.path.rpartition("/")
        with self.base.open_folder(WorkPath(above) if above else ROOT) as folder:
            target = folder.target(name)
        if target is None:
            raise NotFound(at.path)
        return target

    def _todo(self, link: At, path: WorkPath) -> tuple[list[str], bool]:
        """The parts of a link's target, the last one first, and whether they begin at the root."""
        target = self.target(link)
        todo = [part for part in target.split("/") if part not in ("", ".")]
        if target.endswith(("/", "/.")):
            todo.append(".")
        if not target.startswith("/"):
            return todo[::-1], False
        for root in self.roots:
            names = [part for part in root.split("/") if part]
            if todo[: len(names)] == names:
                return todo[len(names) :][::-1], True
        raise OutsideRoot(path, "a link on the way leads to an absolute path elsewhere")


def _stat(tree: Tree, at: At) -> Stat:
    """The stat of what was found; without the time of change of a folder whose names may have changed."""
    if at.kind is not EntryKind.FOLDER or at.node is not None:
        return at.stat
    if at.below is None:
        return Stat(EntryKind.FOLDER, 0, int(tree.changed * 1e9), 0o755)
    if at.path == ROOT or tree.concerns(at.path):
        return replace(at.below, changed_ns=None)
    return at.below


def _about(error: ReadroomError, path: WorkPath) -> ReadroomError:
    """The error of the folder as one about the name that was asked for."""
    return type(error)(path) if isinstance(error, NotFound | NoPermission) else error


@final
class ReviewSource(Closeable):
    """An open file under the name that it has in what is seen."""

    __slots__ = ("_current", "_inner", "real", "size", "stat", "version")

    def __init__(
        self, inner: Source, real: WorkPath, stat: Stat, version: Version, current: Callable[[], Version]
    ) -> None:
        """Takes over the source."""
        self._inner = inner
        self._current = current
        self.real = real
        self.stat = stat
        self.version = version
        self.size = inner.size

    def current(self) -> Version:
        """The identity of the current state."""
        return self._current()

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset`."""
        return self._inner.read_at(offset, size)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        return self._inner.read_into(offset, buffer)

    def fileno(self) -> int | None:
        """The descriptor of its bytes."""
        return self._inner.fileno()

    def close(self) -> None:
        self._inner.close()


@final
class ReviewFolder(Closeable):
    """An open folder in which changes wait."""

    __slots__ = ("_at", "_below", "_store", "_tree", "real")

    def __init__(self, store: ReviewStore, tree: Tree, at: At, below: Folder | None) -> None:
        """Takes over the folder whose names are shown with the changes."""
        self._store = store
        self._tree = tree
        self._at = at
        self._below = below
        self.real = at.path

    def entries(self) -> Iterator[Entry]:
        """The names in it, in no order."""
        for some in self.names(1000):
            for name in some.names:
                yield Entry(name, some.kinds.get(name, EntryKind.FILE))

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        own = self._tree.below.get(self.real, {})
        for some in self._below.names(maximum) if self._below is not None else ():
            names = [name for name in some.names if name not in own]
            if names:
                yield Names(names, _of(names, some.kinds))
        found = (self._store.child(self._tree, self._at, name) for name in own)
        waiting = ((at.path.rpartition("/")[2], at.kind) for at in found if at is not None)
        while chunk := dict(islice(waiting, maximum)):
            kinds = {name: kind for name, kind in chunk.items() if kind is not EntryKind.FILE}
            yield Names(list(chunk), kinds)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        return _stat(self._tree, self._child(name))

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        at = self._child(name)
        return self._store.target(at) if at.kind is EntryKind.LINK else None

    def open(self, name: str) -> Source:
        """Open a file in it, never following a link."""
        at = self._child(name)
        return self._store.opened(at, at.path)

    def fileno(self) -> None:
        """Always None: no program can walk it."""
        return

    def close(self) -> None:
        if self._below is not None:
            self._below.close()

    def _child(self, name: str) -> At:
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is not a name that a folder's entry can have")
        at = self._store.child(self._store.waiting.tree(), self._at, name)
        if at is None:
            raise NotFound(join(self.real, name))
        return at


def _of(names: Sequence[str], kinds: Mapping[str, EntryKind]) -> dict[str, EntryKind]:
    return {name: kinds[name] for name in names if name in kinds}
