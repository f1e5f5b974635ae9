"""A change of a name that waits: added to the set in one step, if everything is still as it was looked at."""

from __future__ import annotations

import os
import stat as modes
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import NotAFile, NotFound, StoreFailed
from readroom.core.paths import ROOT, WorkPath, basename, join, parent
from readroom.core.stores.base import (
    Change,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    Source,
    Step,
    WriteTarget,
)
from readroom.core.stores.review.at import At, Seeing
from readroom.core.stores.review.origins import origin_of
from readroom.core.stores.review.tree import (
    FileNode,
    GoneNode,
    KeptNode,
    LinkNode,
    MadeNode,
    Node,
    Origin,
    Tree,
)
from readroom.core.stores.review.waiting import REVIEW_BYTES, Held
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

_NEW_MODE = 0o666
_UMASK = 0o022
"""Bits that a new file does not get as it is seen; the system decides when it is made."""


@final
class ReviewPlace(Closeable):
    """The target of a change that waits. Missing folders are made together with it."""

    warnings: Sequence[Warn] = ()
    lock = (0,)
    """All of a set is locked at once."""

    def __init__(self, store: Seeing, path: WorkPath) -> None:
        """Find the deepest existing folder on the way."""
        self._store = store
        self.held: Held | None = None
        self.spelling = self.name = basename(path)
        missing: list[str] = []
        folder = parent(path)
        while True:
            try:
                with store.open_folder(folder) as opened:
                    real = opened.real
                break
            except NotFound:
                missing.insert(0, basename(folder))
                folder = parent(folder)
        made: list[WorkPath] = []
        for name in missing:
            real = join(real, name)
            made.append(real)
        self._missing = tuple(made)
        self.folders: Sequence[WorkPath] = ()
        self.removed = 0
        self.real = join(real, self.name)

    @property
    def writable(self) -> bool:
        """Whether the file that is there could be changed in the folder, too."""
        at = self._at(self._store.waiting.tree())
        if at is None or at.base is None:
            return True
        with self._store.base.place(at.base) as place:
            return place.writable

    def look(self) -> Stat | None:
        """The stat of what is there, without following a link."""
        at = self._at(self._store.waiting.tree())
        if at is not None and at.kind is EntryKind.FOLDER and at.below is None and at.node is None:
            return self._store.stat(self.real)[1]
        return None if at is None else at.stat

    def open(self) -> Source:
        """Open the file at the name. Raises Moved if it is a link."""
        at = self._at(self._store.waiting.tree())
        if at is None:
            raise NotFound(self.real)
        if at.kind is EntryKind.LINK:
            raise Moved
        return self._store.opened(at, self.real)

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers of the set."""
        if self._missing and not make_folders:
            raise NotFound(self.real)
        self.hold(deadline)
        self.folders = self._missing

    def hold(self, deadline: Deadline) -> None:
        """Lock out other writers of the set."""
        self.held = self._store.waiting.hold(deadline)

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter both targets with the one lock of the set."""
        assert isinstance(other, ReviewPlace)
        self.enter(deadline, make_folders=False)
        other.folders = other._missing

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Let a file wait at the name; there are never warnings."""
        commit(self._store, [PutFile(self, pieces, over)], ready, self.held)
        return ()

    def make(self) -> None:
        """Let a folder wait at the name, and its parents."""
        commit(self._store, [MakeEntry(self)], _nothing, self.held)
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Let the removal of a file or link wait."""
        self._remove(expected, folder=False)

    def remove_folder(self, step: Step) -> None:
        """Let the removal of a folder wait, unless `step` raises."""
        at = self._at(self._store.waiting.tree())
        if at is None or at.kind is not EntryKind.FOLDER:
            raise Moved
        count = 0
        for path, is_folder in _every(self._store, self.real):
            step(path, is_folder)
            count += 1
        self._remove(None, folder=True)
        self.removed = count

    def _remove(self, expected: Version | None, *, folder: bool) -> None:
        found = self.look()
        if found is None or (found.kind is EntryKind.FOLDER) != folder:
            raise Moved
        commit(self._store, [RemoveEntry(self, found, expected)], _nothing, self.held)

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Let a rename wait."""
        assert isinstance(to, ReviewPlace)
        tree = self._store.waiting.tree()
        there = to._at(tree)
        now = None if there is None else _version(self._store, there)
        if now != over or (there is None) != (over is None):
            raise Moved
        assert self.held is not None
        draft = _Draft(self._store, tree)
        if over is not None:
            draft.drop(to.real)
        draft.rename(self, to, found)
        self.held.save(draft.tree)

    def at(self, tree: Tree) -> At | None:
        """The entry, by a tree."""
        return self._at(tree)

    def _at(self, tree: Tree) -> At | None:
        try:
            above = self._store.find(tree, parent(self.real))
        except NotFound:
            return None
        if above.kind is not EntryKind.FOLDER or above.path != parent(self.real):
            return None
        return self._store.child(tree, above, self.name)

    def close(self) -> None:
        held, self.held = self.held, None
        if held is not None:
            held.close()


def _nothing() -> None:
    pass


def _version(store: Seeing, at: At) -> Version:
    if at.kind is not EntryKind.FILE:
        return at.version
    with store.opened(at, at.path) as source:
        return source.version


def _every(store: Seeing, top: WorkPath) -> Iterator[tuple[WorkPath, bool]]:
    """A folder and everything in it, each folder before what is in it."""
    pending = [(top, True)]
    while pending:
        path, is_folder = pending.pop()
        yield path, is_folder
        if is_folder:
            with store.open_folder(path) as folder:
                if folder.real != path:
                    raise Moved
                pending += [
                    (join(path, entry.name), entry.kind is EntryKind.FOLDER) for entry in folder.entries()
                ]


def commit(
    store: Seeing, changes: Sequence[Change], ready: Callable[[], None], held: Held | None = None
) -> None:
    """Add changes to the set in one step. Raises Moved, ReviewFull, NoSpace, StoreFailed."""
    held = held or store.waiting.held
    assert held is not None  # one of the call's targets holds the set, whichever it is
    room = REVIEW_BYTES - store.waiting.tree().size
    contents: list[FileNode | None] = []
    for change in changes:
        node = None
        if isinstance(change, PutFile):
            node = held.written(change.pieces, room + _freed(change), _mode(change))
            room -= node.size
        contents.append(node)
    ready()
    draft = _Draft(store, store.waiting.first(store.agent))
    for change, node in zip(changes, contents, strict=True):
        draft.make_change(change, node)
    held.save(draft.tree)


def _freed(change: PutFile) -> int:
    return 0 if change.over is None else change.over.size


def _mode(change: PutFile) -> int:
    if change.over is None:
        return change.mode & ~_UMASK
    return change.over.stat.mode & ~(modes.S_ISUID | modes.S_ISGID)


@final
class _Draft:
    """A tree with changes that are made one after the other."""

    def __init__(self, store: Seeing, tree: Tree) -> None:
        self._store = store
        self.tree = tree

    def make_change(self, change: Change, node: FileNode | None) -> None:
        """Make one. Raises Moved."""
        place = change.place
        assert isinstance(place, ReviewPlace)
        at = place.at(self.tree)
        match change:
            case PutFile(_, _, over):
                assert node is not None
                self._require(at, None if over is None else over.version)
                self._put(place.real, node)
            case RemoveEntry(_, found, expected):
                self._require_found(at, found)
                if expected is not None:
                    self._require(at, expected)
                self.drop(place.real)
            case RenameEntry(_, to, found):
                assert isinstance(to, ReviewPlace)
                if to.at(self.tree) is not None:
                    raise Moved
                self.rename(place, to, found)
            case MakeEntry():
                if at is None:
                    self._put(place.real, MadeNode(time.time_ns()))
                elif at.kind is not EntryKind.FOLDER:
                    raise Moved
            case MakeLink(_, target, mtime_ns):
                if at is not None:
                    raise Moved
                self._put(place.real, LinkNode(os.fsencode(target), mtime_ns or time.time_ns()))
            case PutTree():
                raise StoreFailed(place.real, "what waits has no history")

    def _require(self, at: At | None, expected: Version | None) -> None:
        now = None if at is None else _version(self._store, at)
        if now != expected:
            raise Moved

    def _require_found(self, at: At | None, found: Stat) -> None:
        if at is None or at.kind is not found.kind:
            raise Moved
        if at.kind is not EntryKind.FOLDER and at.stat != found:
            raise Moved

    def rename(self, place: ReviewPlace, to: ReviewPlace, found: Stat) -> None:
        """Give what is at a name another, which is free. Raises Moved."""
        at = place.at(self.tree)
        self._require_found(at, found)
        assert at is not None
        nodes = dict(self._moved(at, to.real))
        self.drop(place.real)
        for path, node in nodes.items():
            self._put(path, node)

    def _moved(self, at: At, to: WorkPath) -> Iterator[tuple[WorkPath, Node]]:
        """The nodes for everything at a name under another one, folders first."""
        match at.node:
            case FileNode() | KeptNode() | LinkNode() as node:
                yield to, node
                return
        match at.kind:
            case EntryKind.FILE:
                yield to, KeptNode(os.fsencode(at.path))
            case EntryKind.LINK:
                yield to, LinkNode(os.fsencode(self._store.target(at)), at.stat.mtime_ns)
            case EntryKind.FOLDER:
                stat = self._store.stat(at.path)[1]
                yield to, MadeNode(stat.mtime_ns, stat.mode)
                yield from self._moved_inside(at, to)
            case _:
                raise NotAFile(at.path, "device")

    def _moved_inside(self, at: At, to: WorkPath) -> Iterator[tuple[WorkPath, Node]]:
        with self._store.open_folder(at.path) as folder:
            if folder.real != at.path:
                raise Moved
            names = [entry.name for entry in folder.entries()]
        for name in names:
            child = self._store.child(self.tree, at, name)
            if child is None:
                raise Moved
            yield from self._moved(child, join(to, name))

    # --- names and what they had --------------------------------------------------------------

    def _put(self, path: WorkPath, node: Node) -> None:
        """Let a name have a node, with the folders above it."""
        nodes, origins = dict(self.tree.nodes), dict(self.tree.origins)
        for above in _missing(self._store, self.tree, path):
            self._note(origins, nodes, above)
            nodes[above] = MadeNode(time.time_ns())
        self._note(origins, nodes, path)
        serial = self.tree.serial + 1
        if isinstance(node, FileNode):
            node = replace(node, serial=serial)
        nodes[path] = node
        if isinstance(node, KeptNode) and node.path == path:
            del nodes[path]  # it is again what the folder has
            origins.pop(path, None)
        self.tree = replace(self.tree, nodes=nodes, origins=origins, serial=serial)

    def drop(self, path: WorkPath) -> None:
        """Let nothing be at a name."""
        nodes, origins = dict(self.tree.nodes), dict(self.tree.origins)
        for inner in list(self.tree.inside(path)):
            nodes.pop(inner, None)
        nodes.pop(path, None)
        if self._shows(nodes, path) and self._store.behind(path) is not None:
            self._note(origins, nodes, path)
            nodes[path] = GoneNode()
        for name in [name for name, origin in origins.items() if origin.kind == "absent"]:
            if name not in nodes:
                del origins[name]
        self.tree = replace(self.tree, nodes=nodes, origins=origins, serial=self.tree.serial + 1)

    def _note(self, origins: dict[WorkPath, Origin], nodes: dict[WorkPath, Node], path: WorkPath) -> None:
        """Keep what the folder has at a name, the first time."""
        if path not in origins and self._shows(nodes, path):
            origins[path] = origin_of(self._store.base, path, self._store.behind(path))

    def _shows(self, nodes: dict[WorkPath, Node], path: WorkPath) -> bool:
        """Whether what the folder has at a name was ever to be seen there."""
        above = parent(path)
        while above != ROOT:
            if isinstance(nodes.get(above), MadeNode):
                return False
            above = parent(above)
        return True


def _missing(store: Seeing, tree: Tree, path: WorkPath) -> Sequence[WorkPath]:
    """The folders above a name that are not there, the topmost first."""
    missing: list[WorkPath] = []
    folder = parent(path)
    while folder != ROOT:
        try:
            at = store.find(tree, folder)
        except NotFound:
            missing.insert(0, folder)
            folder = parent(folder)
            continue
        if at.path != folder or at.kind is not EntryKind.FOLDER:
            raise Moved
        break
    return missing
