"""The differences between a folder and a set of changes, name by name, and whether they still fit.

There is no difference where the folder has by now the state that the set wants.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias, final

from msgspec import Struct

from readroom.core.errors import ReadroomError
from readroom.core.paths import WorkPath, ancestors, join
from readroom.core.stores.base import Moved, Store
from readroom.core.stores.review import ReviewStore
from readroom.core.stores.review.origins import origin_of, still_there
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
from readroom.core.values import EntryKind, Stat

Action: TypeAlias = Literal["created", "changed", "deleted", "moved"]


class Difference(Struct, frozen=True):
    """One name that accepting would change.

    Attributes:
        path: The name; of what is moved, the one that it gets.
        action: What would become of it.
        kind: What it would be, or was if it is deleted.
        source: The name that it has now, if it is moved or a copy.
        node: What waits for it.
        names: How many names below a moved or deleted folder go with it.
        problem: Why it cannot be accepted; empty if it can.
    """

    path: WorkPath
    action: Action
    kind: EntryKind
    source: WorkPath | None = None
    node: Node | None = None
    names: int = 0
    problem: str = ""


_SINCE = "it was changed since"
_KIND = "something of another kind takes its place, which needs two steps"


def differences(store: ReviewStore, tree: Tree) -> Sequence[Difference]:
    """All of them, by path."""
    return sorted(_Comparing(store, tree).all(), key=lambda one: os.fsencode(one.path))


@final
class _Comparing:
    def __init__(self, store: ReviewStore, tree: Tree) -> None:
        self._store = store
        self._base: Store = store.base
        self._tree = tree
        self._said: set[WorkPath] = set()
        """Names that a moved folder includes."""
        self._moved_from: set[WorkPath] = set()
        """The old names of such folders."""

    def all(self) -> Iterator[Difference]:
        for path in sorted(self._tree.nodes, key=len):
            if path not in self._said and isinstance(self._tree.nodes[path], MadeNode):
                yield from self._moved_folder(path)
        for path, node in self._tree.nodes.items():
            if path not in self._said:
                yield from self._of(path, node)

    def _of(self, path: WorkPath, node: Node) -> Iterator[Difference]:
        now = self._store.behind(path)
        match node:
            case GoneNode():
                if now is not None and path not in self._taken():
                    yield self._deleted(path, now)
            case FileNode():
                if not self._has(path, now, node.digest):
                    yield self._made(path, now, EntryKind.FILE, node)
            case KeptNode():
                yield from self._kept(path, now, node)
            case LinkNode(target):
                if now is None or origin_or_none(self._base, path, now) != Origin("link", target.hex()):
                    yield self._made(path, now, EntryKind.LINK, node)
            case MadeNode():
                if now is None or now.kind is not EntryKind.FOLDER:
                    yield self._made(path, now, EntryKind.FOLDER, node)
                elif self._was_there(path):  # a folder that is there only now is left alone
                    yield from self._left_out(path)

    def _kept(self, path: WorkPath, now: Stat | None, node: KeptNode) -> Iterator[Difference]:
        source = node.path
        if source == path and now is not None:
            return
        origin = self._tree.origins.get(source)
        if origin is not None and origin.digest and self._has(path, now, origin.digest):
            return
        moved = self._is_gone(source)
        problem = self._problem(path, now, EntryKind.FILE) or self._since(source)
        action: Action = "moved" if moved else "changed" if now is not None else "created"
        yield Difference(path, action, EntryKind.FILE, source, node, problem=problem)

    def _made(self, path: WorkPath, now: Stat | None, kind: EntryKind, node: Node) -> Difference:
        action: Action = "created" if now is None else "changed"
        return Difference(path, action, kind, None, node, problem=self._problem(path, now, kind))

    def _deleted(self, path: WorkPath, now: Stat) -> Difference:
        names = self._count(path) if now.kind is EntryKind.FOLDER else 0
        return Difference(path, "deleted", now.kind, names=names, problem=self._since(path))

    def _left_out(self, path: WorkPath) -> Iterator[Difference]:
        """The names that a folder has and the one in its place does not."""
        own, taken = self._tree.below.get(path, {}), self._taken()
        with self._base.open_folder(path) as folder:
            entries = list(folder.entries())
        for entry in entries:
            name = join(path, entry.name)
            stat = None if name in taken or entry.name in own else self._store.behind(name)
            if stat is not None:
                yield self._deleted(name, stat)

    def _taken(self) -> set[WorkPath]:
        """The names that something is moved away from, whose removal is said there."""
        return self._moved_from | {
            node.path
            for path, node in self._tree.nodes.items()
            if isinstance(node, KeptNode) and path not in self._said and self._is_gone(node.path)
        }

    def _is_gone(self, path: WorkPath) -> bool:
        """Whether the set leaves nothing at a name of the folder."""
        for name in (*ancestors(path), path):
            node = self._tree.nodes.get(name)
            if isinstance(node, GoneNode):
                return True
            if isinstance(node, MadeNode) and path not in self._tree.nodes:
                return True
        return False

    # --- folders that are moved as a whole ----------------------------------------------------

    def _moved_folder(self, path: WorkPath) -> Iterator[Difference]:
        source = self._source_of(path)
        if source is None or self._store.behind(path) is not None:
            return
        inside = set(self._tree.inside(path))
        if not self._same(source, path, inside):
            return
        self._said |= inside | {path}
        self._moved_from.add(source)
        problem = self._problem(path, None, EntryKind.FOLDER) or self._since(source)
        yield Difference(
            path, "moved", EntryKind.FOLDER, source, self._tree.nodes[path], len(inside), problem
        )

    def _source_of(self, path: WorkPath) -> WorkPath | None:
        for inner in self._tree.inside(path):
            node = self._tree.nodes[inner]
            if isinstance(node, KeptNode):
                rest = inner[len(path) :]
                if not node.path.endswith(rest):
                    return None
                source = WorkPath(node.path[: -len(rest)])
                return source if source and isinstance(self._tree.nodes.get(source), GoneNode) else None
        return None

    def _same(self, source: WorkPath, path: WorkPath, inside: set[WorkPath]) -> bool:
        """Whether the nodes below a name are what the folder has below another, no more and no less."""
        count, pending = 0, [source]
        try:
            while pending:
                at = pending.pop()
                with self._base.open_folder(at) as folder:
                    if folder.real != at:
                        return False
                    for entry in folder.entries():
                        old = join(at, entry.name)
                        new = WorkPath(path + old[len(source) :])
                        count += 1
                        if new not in inside or not self._is_same(old, entry.kind, self._tree.nodes[new]):
                            return False
                        if entry.kind is EntryKind.FOLDER:
                            pending.append(old)
        except ReadroomError:
            return False
        return count == len(inside)

    def _is_same(self, old: WorkPath, kind: EntryKind, node: Node) -> bool:
        match node:
            case KeptNode():
                return kind is EntryKind.FILE and node.path == old
            case MadeNode():
                return kind is EntryKind.FOLDER
            case LinkNode(target):
                stat = self._store.behind(old)
                return origin_or_none(self._base, old, stat) == Origin("link", target.hex())
        return False

    # --- whether it still fits ----------------------------------------------------------------

    def _has(self, path: WorkPath, now: Stat | None, digest: str) -> bool:
        """Whether the folder has the file that the set wants already."""
        if now is None or now.kind is not EntryKind.FILE:
            return False
        found = origin_or_none(self._base, path, now)
        return found is not None and found.digest == digest

    def _problem(self, path: WorkPath, now: Stat | None, kind: EntryKind) -> str:
        if now is not None and (now.kind is not kind or kind is EntryKind.LINK):
            return self._since(path) or _KIND
        return self._since(path)

    def _was_there(self, path: WorkPath) -> bool:
        """Whether the folder had something at a name, or above it, when a change began to wait."""
        for name in (path, *reversed(ancestors(path))):
            origin = self._tree.origins.get(name)
            if origin is not None:
                return origin.kind != "absent"
        return False

    def _since(self, path: WorkPath) -> str:
        """Why a name is not as it was when the change of it began to wait."""
        origin = self._tree.origins.get(path)
        if origin is not None:
            return "" if still_there(self._base, path, origin, self._store.behind(path)) else _SINCE
        for above in reversed(ancestors(path)):
            known = self._tree.origins.get(above)
            if known is not None and known.kind != "absent":
                return "" if still_there(self._base, above, known, self._store.behind(above)) else _SINCE
        return ""

    def _count(self, path: WorkPath) -> int:
        count, pending = 0, [path]
        while pending:
            at = pending.pop()
            try:
                with self._base.open_folder(at) as folder:
                    for entry in folder.entries():
                        count += 1
                        if entry.kind is EntryKind.FOLDER:
                            pending.append(join(at, entry.name))
            except ReadroomError:
                continue
        return count


def origin_or_none(store: Store, path: WorkPath, stat: Stat | None) -> Origin | None:
    """The state of a name; None if it cannot be found out."""
    try:
        return origin_of(store, path, stat)
    except Moved:
        return None
