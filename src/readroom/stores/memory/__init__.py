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
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.closeable import Closeable
from readroom.errors import BadPath, NoSpace, NotAFile, NotAFolder, NotFound, OutsideRoot
from readroom.limits import LINK_HOPS
from readroom.paths import ROOT, WorkPath, join, normalize, parts
from readroom.stores.base import Moved, Step
from readroom.stores.memory.place import MemoryPlace
from readroom.values import Entry, EntryKind, Names, Stat, Version

# -----------------------------------------------------------------------------
# What a memory store is made of: files, folders, links, and how they look when they are opened.
# -----------------------------------------------------------------------------


class File(Struct):
    """A file; its bytes and their version change together, as one value."""

    state: tuple[bytes, Version]


class FolderNode(Struct):
    """A folder's names."""

    mtime_ns: int
    names: dict[str, Node] = field(default_factory=dict)


class Link(Struct, frozen=True):
    """A symbolic link."""

    target: str
    mtime_ns: int


Node: TypeAlias = "File | FolderNode | Link"


@final
class MemorySource(Closeable):
    """An open file in memory."""

    __slots__ = ("_file", "real", "size", "stat", "version")

    def __init__(self, real: WorkPath, file: File) -> None:
        self._file = file
        self.real = real
        # What was known of it at the moment of opening; a read asks for each several times.
        version = self.version = file.state[1]
        self.size = version.size
        self.stat = Stat(EntryKind.FILE, version.size, version.mtime_ns, inode=version.inode)

    def current(self) -> Version:
        """Identity of the state right now."""
        return self._file.state[1]

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes from `offset` of what is in the file now."""
        return self._file.state[0][offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def fileno(self) -> None:
        """There is no descriptor."""
        return

    def close(self) -> None:
        """Nothing to release."""


@final
class MemoryFolder(Closeable):
    """An open folder in memory."""

    __slots__ = ("_folder", "real")

    def __init__(self, real: WorkPath, folder: FolderNode) -> None:
        self._folder = folder
        self.real = real

    def entries(self) -> Iterator[Entry]:
        """The names in it when the first is asked for."""
        for name, node in list(self._folder.names.items()):
            yield Entry(name, stat_of(node).kind)

    def names(self, most: int) -> Iterator[Names]:
        """The same, up to `most` at a time."""
        entries = self.entries()
        while chunk := list(islice(entries, most)):
            kinds = {entry.name: entry.kind for entry in chunk if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in chunk], kinds)

    def stat(self, name: str) -> Stat:
        """Of one name in it, links not followed."""
        return stat_of(self._node(name))

    def target(self, name: str) -> str | None:
        """Where a link in it points, as stored; None when it is not a link."""
        node = self._node(name)
        return node.target if isinstance(node, Link) else None

    def open(self, name: str) -> MemorySource:
        """Open a file in it, never following a link."""
        node, path = self._node(name), join(self.real, name)
        if not isinstance(node, File):
            raise NotAFile(path, "link" if isinstance(node, Link) else "folder")
        return MemorySource(path, node)

    def fileno(self) -> None:
        """There is no descriptor."""
        return

    def close(self) -> None:
        """Nothing to release."""

    def _node(self, name: str) -> Node:
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is not a name that a folder's entry can have")
        node = self._folder.names.get(name)
        if node is None:
            raise NotFound(join(self.real, name))
        return node


def each(path: WorkPath, node: Node, step: Step) -> None:
    """Call `step` for a node and all below it, folders first."""
    pending = [(path, node)]
    while pending:
        at, node = pending.pop()
        step(at, isinstance(node, FolderNode))
        if isinstance(node, FolderNode):
            pending += [(join(at, name), inner) for name, inner in node.names.items()]


def _files_in(node: Node | None) -> Iterator[File]:
    """A file, or all files below a folder."""
    pending = [node]
    while pending:
        match pending.pop():
            case FolderNode(names=names):
                pending += names.values()
            case File() as file:
                yield file


def size_of(node: Node | None) -> int:
    """The bytes of a file, or of all files below a folder."""
    return sum(file.state[1].size for file in _files_in(node))


def stat_of(node: Node) -> Stat:
    """What is known of it."""
    match node:
        case File():
            version = node.state[1]
            return Stat(EntryKind.FILE, version.size, version.mtime_ns, inode=version.inode)
        case FolderNode():
            return Stat(EntryKind.FOLDER, len(node.names), node.mtime_ns, 0o755)
        case Link():
            return Stat(EntryKind.LINK, len(node.target), node.mtime_ns, 0o777)


@final
class MemoryStore:
    """A store in memory. Safe to share between threads."""

    name = "memory"
    folder = None
    roots: tuple[str, ...] = ()
    confinement = "none"

    def __init__(
        self,
        files: Mapping[str, bytes | str] | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        most_bytes: int | None = None,
    ) -> None:
        """Fill a store.

        Args:
            files: Contents by path; text is stored as UTF-8.
            clock: Nanoseconds since the epoch, for the times of what is put.
            most_bytes: In all files together; None for no limit.

        Raises:
            NoSpace: They are more than `most_bytes`.
        """
        self._most_bytes = most_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self.writing = threading.Lock()
        self._count = 0
        self._bytes = 0  # of all files: to add them up for each would take their square
        self._root = FolderNode(clock())
        for path, data in (files or {}).items():
            self.put(path, data)

    def put(self, path: str, data: bytes | str, *, mtime_ns: int | None = None) -> None:
        """Write a whole file; folders above it are made.

        Raises:
            NotAFile: The name is a folder's.
            NotAFolder: A file stands in the way.
        """
        content = data.encode("utf-8", "surrogateescape") if isinstance(data, str) else bytes(data)
        with self._lock:
            folder, name = self._place(path)
            if isinstance(folder.names.get(name), FolderNode):
                raise NotAFile(path, "folder")
            self._put(folder, name, content, self._clock() if mtime_ns is None else mtime_ns)

    def replace(self, path: WorkPath, data: bytes, expected: Version | None) -> None:
        """Put a file if what is there has that version, or, for None, if nothing is.

        Raises:
            Moved: Something else is there.
        """
        with self._lock:
            folder, name = self._place(path)
            old = folder.names.get(name)
            if (old.state[1] if isinstance(old, File) else old) != expected:
                raise Moved
            self._put(folder, name, data, self._clock())

    def add_folder(self, path: WorkPath) -> None:
        """Make a folder and those above it. Raises Moved when something has the name."""
        with self._lock:
            folder, name = self._place(path)
            if name in folder.names:
                raise Moved
            folder.names[name] = FolderNode(self._clock())

    def remove(self, path: WorkPath, expected: Version | None, step: Step | None) -> None:
        """Remove a file or link, or with `step`, as a place takes it, a folder with all that is in it.

        Raises:
            Moved: Something else is there; for a file also another state than `expected`.
        """
        with self._lock:
            folder, name, node = self._there(path)
            if node is None or isinstance(node, FolderNode) != (step is not None):
                raise Moved
            if expected is not None and _version(node) != expected:
                raise Moved
            if step is not None:
                each(path, node, step)
            self._bytes -= size_of(folder.names.pop(name))

    def move(self, path: WorkPath, found: Stat, to: WorkPath, over: Version | None) -> None:
        """Give what is at a name another one; folders above that are made.

        Raises:
            Moved: Something else than `found` is there, or at the other name than the file `over`.
        """
        with self._lock:
            folder, name, node = self._there(path)
            if node is None or stat_of(node) != found:
                raise Moved
            old = self._there(to)[2]
            if (None if old is None else _version(old)) != over or (old is None) != (over is None):
                raise Moved
            target, new = self._place(to)
            self._bytes -= 0 if old is node else size_of(old)
            del folder.names[name]
            target.names[new] = node
            # As in a dictionary, what gets another name comes last.
            for file in sorted(_files_in(node), key=lambda file: file.state[1].inode):
                self._count += 1
                content, version = file.state
                file.state = (content, replace(version, inode=self._count))

    def place(self, path: WorkPath) -> MemoryPlace:
        """A name for a new file, whether or not something is there; nothing is changed yet."""
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
                    if isinstance(node, FolderNode):
                        pending.append((join(above, name), node))
                    elif isinstance(node, File):
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
            self._bytes -= size_of(folder.names.get(name))
            folder.names[name] = Link(target, self._clock())

    def delete(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it.

        Raises:
            NotFound: There is no such name.
        """
        with self._lock:
            folder, name = self._place(path)
            if name not in folder.names:
                raise NotFound(path)
            self._bytes -= size_of(folder.names.pop(name))

    def require_root(self) -> None:
        """Nothing else can take its place."""

    def open(self, path: WorkPath) -> MemorySource:
        """Open a file."""
        real, node = self._found(path)
        if not isinstance(node, File):
            raise NotAFile(path, "folder")
        return MemorySource(real, node)

    def open_folder(self, path: WorkPath) -> MemoryFolder:
        """Open a folder."""
        real, node = self._found(path)
        if not isinstance(node, FolderNode):
            raise NotAFolder(path, "file")
        return MemoryFolder(real, node)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of whatever is there, links followed."""
        real, node = self._found(path)
        return real, stat_of(node)

    def version(self, path: WorkPath) -> Version | None:
        """Identity of what is there now, links followed; None when nothing is."""
        try:
            _, node = self._found(path)
        except NotFound:
            return None
        return node.state[1] if isinstance(node, File) else Version(0, 0, 0, 0, 0)

    def close(self) -> None:
        """Nothing to release."""

    def _put(self, folder: FolderNode, name: str, content: bytes, now: int) -> None:
        old = folder.names.get(name)
        freed = old.state[1].size if isinstance(old, File) else 0
        if self._most_bytes is not None and self._bytes - freed + len(content) > self._most_bytes:
            raise NoSpace(name, f"the store may hold {self._most_bytes:,} bytes")
        self._bytes += len(content) - freed
        self._count += 1
        if isinstance(old, File):
            inode = old.state[1].inode
            old.state = (content, Version(0, inode, len(content), now, self._count))
        else:
            version = Version(0, self._count, len(content), now, self._count)
            folder.names[name] = File((content, version))

    def _place(self, path: str) -> tuple[FolderNode, str]:
        names = parts(normalize(path))
        if not names:
            raise NotAFile(ROOT, "folder")
        return self._make(names[:-1]), names[-1]

    def _there(self, path: WorkPath) -> tuple[FolderNode, str, Node | None]:
        """The folder of a name, the name and what has it, no link followed and nothing made."""
        folder, names = self._root, parts(path)
        for part in names[:-1]:
            inner = folder.names.get(part)
            if not isinstance(inner, FolderNode):
                return FolderNode(0), names[-1], None
            folder = inner
        return folder, names[-1], folder.names.get(names[-1])

    def _make(self, names: list[str]) -> FolderNode:
        folder = self._root
        for at, name in enumerate(names):
            node = folder.names.get(name)
            if node is None:
                node = folder.names[name] = FolderNode(self._clock())
            if not isinstance(node, FolderNode):
                raise NotAFolder("/".join(names[: at + 1]), "file")
            folder = node
        return folder

    def _found(self, path: WorkPath) -> tuple[WorkPath, Node]:
        """Follow a path as `stores.walk` does."""
        pending = parts(path)[::-1]
        above: list[tuple[str, FolderNode]] = []
        node: Node = self._root
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
            if isinstance(child, Link):
                hops += 1
                pending.extend(_todo(child.target, path, hops))
                continue
            if child is None or (pending and not isinstance(child, FolderNode)):
                raise NotFound(path)
            if isinstance(child, FolderNode):
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


def _version(node: Node) -> Version | None:
    return node.state[1] if isinstance(node, File) else None
