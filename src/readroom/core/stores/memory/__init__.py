"""A store in memory: for tests, and for programs that have their files in memory.

A folder exists because a file is in it, or because it was made.  Links follow the rules of a local store:
they work inside the root and not out of it.  A file that is put again keeps its identity and gets a new
version, like a local file that is written to.

Knows: a tree of names, bytes and links.
Does not know: disks and policies.
May be touched: freely, with the cases that all stores share.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, NoSpace, NotAFile, NotAFolder, NotFound, OutsideRoot, TimedOut
from readroom.core.limits import LINK_HOPS, LOCK_WAIT_S
from readroom.core.paths import ROOT, WorkPath, basename, join, normalize, parent, parts
from readroom.core.stores.base import (
    Change,
    Leftover,
    MakeEntry,
    MakeLink,
    Moved,
    PutFile,
    PutTree,
    RemoveEntry,
    RenameEntry,
    Source,
    Step,
    TreeEntry,
    WriteTarget,
)
from readroom.core.stores.memory import nodes
from readroom.core.stores.promises import Promises
from readroom.core.values import EntryKind, Stat, Version
from readroom.core.values.files import Warn

_WAIT_S = 0.05
"""Seconds after which a waiting writer checks whether its caller went away."""


@final
class MemoryStore:
    """A store in memory. Safe to share between threads."""

    name = "memory"
    folder = None
    roots: tuple[str, ...] = ()
    promises = Promises(opening="store", exchange="store", locks="store", together="store")

    def __init__(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        most_bytes: int | None = None,
    ) -> None:
        """Fill a store. Raises NoSpace.

        Args:
            files: Contents by path; text is stored as UTF-8.
            clock: Nanoseconds since the epoch, for the times of files.
            most_bytes: The limit for all files together; None for no limit.
        """
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.RLock()  # a commit makes several changes in one hold
        self.writing = threading.Lock()
        self._count = 0
        self._bytes = 0  # of all files: adding them up on each write would take quadratic time
        self._root = nodes.FolderNode(clock())
        for path, data in (files or {}).items():
            self.put(path, data)

    def put(self, path: str, data: bytes | str, *, mtime_ns: int | None = None) -> None:
        """Write a whole file; folders above it are made. Raises NotAFile, NotAFolder."""
        content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
        with self._lock:
            folder, name = self._place(path)
            if isinstance(folder.names.get(name), nodes.FolderNode):
                raise NotAFile(path, "folder")
            self._put(folder, name, content, self._clock() if mtime_ns is None else mtime_ns)

    def replace(
        self, path: WorkPath, data: bytes, expected: Version | None, mtime_ns: int | None = None
    ) -> None:
        """Put a file if what is there has that version, or, for None, if nothing is. Raises Moved."""
        with self._lock:
            folder, name = self._place(path)
            old = folder.names.get(name)
            if (old.state[1] if isinstance(old, nodes.File) else old) != expected:
                raise Moved
            self._put(folder, name, data, self._clock() if mtime_ns is None else mtime_ns)

    def add_folder(self, path: WorkPath) -> None:
        """Make a folder and those above it. Raises Moved when something has the name."""
        with self._lock:
            folder, name = self._place(path)
            if name in folder.names:
                raise Moved
            folder.names[name] = nodes.FolderNode(self._clock())

    def remove(self, path: WorkPath, expected: Version | None, step: Step | None) -> None:
        """Remove a file or link, or with `step`, as a place takes it, a folder with all that is in it.

        Raises:
            Moved: Something else is there; for a file also another state than `expected`.
        """
        with self._lock:
            folder, name, node = self._there(path)
            if node is None or isinstance(node, nodes.FolderNode) != (step is not None):
                raise Moved
            if expected is not None and nodes.version_of(node) != expected:
                raise Moved
            if step is not None:
                nodes.each(path, node, step)
            self._bytes -= nodes.size_of(folder.names.pop(name))

    def move(self, path: WorkPath, found: Stat, to: WorkPath, over: Version | None) -> None:
        """Give what is at a name another one; folders above that are made. Raises Moved."""
        with self._lock:
            folder, name, node = self._there(path)
            if node is None or nodes.stat_of(node) != found:
                raise Moved
            old = self._there(to)[2]
            if (None if old is None else nodes.version_of(old)) != over or (old is None) != (over is None):
                raise Moved
            target, new = self._place(to)
            self._bytes -= 0 if old is node else nodes.size_of(old)
            del folder.names[name]
            target.names[new] = node
            # As in a dictionary, a renamed entry comes last.
            for file in sorted(nodes.files_in(node), key=lambda file: file.state[1].inode):
                self._count += 1
                content, version = file.state
                file.state = (content, replace(version, inode=self._count))

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none; there are never warnings."""
        contents = [b"".join(change.pieces) if isinstance(change, PutFile) else b"" for change in changes]
        ready()
        with self._lock:
            before = nodes.snapshot(self._root), self._bytes
            try:
                for change, data in zip(changes, contents, strict=True):
                    self._make_change(change, data)
            except BaseException:
                tree, self._bytes = before
                nodes.restore(tree)
                raise
        return [()] * len(changes)

    def _make_change(self, change: Change, data: bytes) -> None:
        place = change.place
        match change:
            case PutFile(_, _, over, _, exactly):
                version = None if over is None else over.version
                self.replace(place.real, data, version, None if exactly is None else exactly.mtime_ns)
            case RemoveEntry(_, found, expected, inside):
                is_folder = found.kind is EntryKind.FOLDER
                if inside is not None and nodes.inside(self._there(place.real)[2]) != inside:
                    raise Moved
                self.remove(place.real, expected, (lambda path, folder: None) if is_folder else None)
            case RenameEntry(_, to, found):
                self.move(place.real, found, to.real, None)
            case MakeEntry():
                if not isinstance(self._there(place.real)[2], nodes.FolderNode):
                    self.add_folder(place.real)
            case MakeLink(_, target, mtime_ns):
                self._add_link(place.real, target, mtime_ns)
            case PutTree(_, entries):
                for entry in entries:
                    self._put_back(join(place.real, entry.inside) if entry.inside else place.real, entry)

    def _put_back(self, path: WorkPath, entry: TreeEntry) -> None:
        if entry.kind is EntryKind.FOLDER:
            self.add_folder(path)
        elif entry.kind is EntryKind.LINK:
            self._add_link(path, entry.target, entry.mtime_ns)
        else:
            folder, name = self._place(path)
            self._put(folder, name, entry.data, self._clock() if entry.mtime_ns is None else entry.mtime_ns)

    def _add_link(self, path: WorkPath, target: str, mtime_ns: int | None) -> None:
        folder, name = self._place(path)
        if name in folder.names:
            raise Moved
        folder.names[name] = nodes.Link(target, self._clock() if mtime_ns is None else mtime_ns)

    def recover(self) -> Sequence[Leftover]:
        """Nothing outlives the process."""
        return ()

    def place(self, path: WorkPath) -> MemoryPlace:
        if path == ROOT:
            raise NotAFile(path, "folder")
        return MemoryPlace(self, path)

    def contents(self) -> Sequence[tuple[WorkPath, bytes]]:
        """All files with their bytes, in the order in which they were made."""
        with self._lock:
            pending, files = [(ROOT, self._root)], []
            while pending:
                above, folder = pending.pop()
                for name, node in folder.names.items():
                    if isinstance(node, nodes.FolderNode):
                        pending.append((join(above, name), node))
                    elif isinstance(node, nodes.File):
                        files.append((node.state[1].inode, join(above, name), node.state[0]))
        return [(path, data) for _, path, data in sorted(files, key=lambda file: file[0])]

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; one that exists stays as it is."""
        with self._lock:
            self._make(parts(normalize(path)))

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link; folders above it are made."""
        with self._lock:
            folder, name = self._place(path)
            self._bytes -= nodes.size_of(folder.names.get(name))
            folder.names[name] = nodes.Link(target, self._clock())

    def delete(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it. Raises NotFound."""
        with self._lock:
            folder, name = self._place(path)
            if name not in folder.names:
                raise NotFound(path)
            self._bytes -= nodes.size_of(folder.names.pop(name))

    def require_root(self) -> None:
        """Always succeeds, since nothing else can take its place."""

    def open(self, path: WorkPath) -> nodes.MemorySource:
        """Open a file."""
        real, node = self._found(path)
        if not isinstance(node, nodes.File):
            raise NotAFile(path, "folder")
        return nodes.MemorySource(real, node)

    def open_folder(self, path: WorkPath) -> nodes.MemoryFolder:
        """Open a folder."""
        real, node = self._found(path)
        if not isinstance(node, nodes.FolderNode):
            raise NotAFolder(path, "file")
        return nodes.MemoryFolder(real, node)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of whatever is there, links followed."""
        real, node = self._found(path)
        return real, nodes.stat_of(node)

    def version(self, path: WorkPath) -> Version | None:
        try:
            _, node = self._found(path)
        except NotFound:
            return None
        return node.state[1] if isinstance(node, nodes.File) else Version(0, 0, 0, 0, 0)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        return self.version(path) == version

    def close(self) -> None:
        """Nothing to release."""

    def _put(self, folder: nodes.FolderNode, name: str, content: bytes, now: int) -> None:
        old = folder.names.get(name)
        freed = old.state[1].size if isinstance(old, nodes.File) else 0
        if self._most_bytes is not None and self._bytes - freed + len(content) > self._most_bytes:
            raise NoSpace(name, f"the store may hold {self._most_bytes:,} bytes")
        self._bytes += len(content) - freed
        self._count += 1
        if isinstance(old, nodes.File):
            inode = old.state[1].inode
            old.state = (content, Version(0, inode, len(content), now, self._count))
        else:
            version = Version(0, self._count, len(content), now, self._count)
            folder.names[name] = nodes.File((content, version))

    def _place(self, path: str) -> tuple[nodes.FolderNode, str]:
        names = parts(normalize(path))
        if not names:
            raise NotAFile(ROOT, "folder")
        return self._make(names[:-1]), names[-1]

    def _there(self, path: WorkPath) -> tuple[nodes.FolderNode, str, nodes.Node | None]:
        """The folder of a name, the name and what has it, no link followed and nothing made."""
        folder, names = self._root, parts(path)
        for part in names[:-1]:
            inner = folder.names.get(part)
            if not isinstance(inner, nodes.FolderNode):
                return nodes.FolderNode(0), names[-1], None
            folder = inner
        return folder, names[-1], folder.names.get(names[-1])

    def _make(self, names: list[str]) -> nodes.FolderNode:
        folder = self._root
        for at, name in enumerate(names):
            node = folder.names.get(name)
            if node is None:
                node = folder.names[name] = nodes.FolderNode(self._clock())
            if not isinstance(node, nodes.FolderNode):
                raise NotAFolder("/".join(names[: at + 1]), "file")
            folder = node
        return folder

    def _found(self, path: WorkPath) -> tuple[WorkPath, nodes.Node]:
        """Follow a path as `stores.local.walk` does."""
        pending = parts(path)[::-1]
        above: list[tuple[str, nodes.FolderNode]] = []
        node: nodes.Node = self._root
        name = ""
        hops = 0
        while pending:
            part = pending.pop()
            if part == "..":
                if not above:
                    raise OutsideRoot(path, "a link on the way leads above the root")
                above.pop()
                continue
            if part == ".":
                continue
            folder = above[-1][1] if above else self._root
            child = folder.names.get(part)
            if isinstance(child, nodes.Link):
                hops += 1
                pending.extend(_todo(child.target, path, hops))
                continue
            if child is None or (pending and not isinstance(child, nodes.FolderNode)):
                raise NotFound(path)
            if isinstance(child, nodes.FolderNode):
                above.append((part, child))
            else:
                name, node = part, child
        names = [step for step, _ in above]
        if name:
            names.append(name)
        elif above:
            node = above[-1][1]
        return WorkPath("/".join(names) or "."), node


def _todo(target: str, path: WorkPath, hops: int) -> list[str]:
    """The parts of a link's target, the last one first."""
    if hops > LINK_HOPS:
        raise BadPath(path, f"leads through more than {LINK_HOPS} links, or a loop of links")
    if target.startswith("/"):
        raise OutsideRoot(path, "a link on the way leads to an absolute path elsewhere")
    todo = [part for part in target.split("/") if part not in ("", ".")]
    if target.endswith(("/", "/.")):
        todo.append(".")
    return todo[::-1]


# -----------------------------------------------------------------------------
# The target of a write.
# -----------------------------------------------------------------------------


@final
class MemoryPlace(Closeable):
    """The target of a write in memory. Missing folders are made together with the file."""

    writable = True
    warnings: Sequence[Warn] = ()
    removed = 0

    def __init__(self, store: MemoryStore, path: WorkPath) -> None:
        """Find the deepest existing folder on the way."""
        self._store = store
        self._locked = False
        self.name = basename(path)
        missing: list[str] = []
        folder = parent(path)
        while True:
            try:
                real = store.open_folder(folder).real
                break
            except NotFound:
                missing.insert(0, basename(folder))
                folder = parent(folder)
        made: list[WorkPath] = []
        for name in missing:
            real = join(real, name)
            made.append(real)
        self._missing = tuple(made)
        self._folder = real
        self.folders: Sequence[WorkPath] = ()
        self.real = join(real, self.name)
        self.spelling = self.name

    @property
    def lock(self) -> tuple[int, ...]:
        """The identity of the whole store."""
        return (id(self._store),)

    def look(self) -> Stat | None:
        try:
            return self._store.open_folder(self._folder).stat(self.name)
        except NotFound:
            return None

    def open(self) -> Source:
        """Open the file at the name. Raises Moved if it is a link."""
        source = self._store.open(self.real)
        if source.real != self.real:
            raise Moved
        return source

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Lock out other writers."""
        if self._missing and not make_folders:
            raise NotFound(self.real)
        self.hold(deadline)
        self.folders = self._missing

    def hold(self, deadline: Deadline) -> None:
        """Lock out other writers."""
        within = deadline.within(LOCK_WAIT_S)
        while not self._store.writing.acquire(timeout=_WAIT_S):
            if within.expired and not deadline.expired:
                raise TimedOut(LOCK_WAIT_S, "Another writer is at work; send the call again in a moment.")
            deadline.check()
        self._locked = True

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Put a new file at the name; there are never warnings."""
        data = b"".join(pieces)
        ready()
        self._store.replace(self.real, data, None if over is None else over.version)
        return ()

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter both targets with the one lock of the store."""
        assert isinstance(other, MemoryPlace)
        self.enter(deadline, make_folders=False)
        other.folders = other._missing

    def make(self) -> None:
        """Make a folder at the name, and its parents."""
        self._store.add_folder(self.real)
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link."""
        self._store.remove(self.real, expected, None)

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with everything in it, unless `step` raises."""
        count = 0

        def counted(path: WorkPath, folder: bool) -> None:
            nonlocal count
            step(path, folder)
            count += 1

        self._store.remove(self.real, None, counted)
        self.removed = count

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Rename to the other target."""
        assert isinstance(to, MemoryPlace)
        self._store.move(self.real, found, to.real, over)

    def close(self) -> None:
        locked, self._locked = self._locked, False
        if locked:
            self._store.writing.release()
