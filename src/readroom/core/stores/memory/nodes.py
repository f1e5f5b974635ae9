"""The nodes of a store in memory: files, folders and links, and how they look when they are opened."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias, final

from msgspec import Struct, field

from readroom.core.closeable import Closeable
from readroom.core.errors import BadPath, NotAFile, NotFound
from readroom.core.paths import WorkPath, join
from readroom.core.stores.base import Inside, Step, as_inside
from readroom.core.values import Entry, EntryKind, Names, Stat, Version


class File(Struct):
    """A file; its bytes and version are replaced together, as one value."""

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
        # What was known when it was opened; a read uses each several times.
        version = self.version = file.state[1]
        self.size = version.size
        self.stat = Stat(EntryKind.FILE, version.size, version.mtime_ns, inode=version.inode)

    def current(self) -> Version:
        """The identity of the current state."""
        return self._file.state[1]

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes of the current content from `offset`."""
        return self._file.state[0][offset : offset + size]

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        data = self.read_at(offset, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Does nothing."""


@final
class MemoryFolder(Closeable):
    """An open folder in memory."""

    __slots__ = ("_folder", "real")

    def __init__(self, real: WorkPath, folder: FolderNode) -> None:
        self._folder = folder
        self.real = real

    def entries(self) -> Iterator[Entry]:
        """The names in it at the time of the first access."""
        for name, node in list(self._folder.names.items()):
            yield Entry(name, stat_of(node).kind)

    def names(self, maximum: int) -> Iterator[Names]:
        entries = self.entries()
        while chunk := list(islice(entries, maximum)):
            kinds = {entry.name: entry.kind for entry in chunk if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in chunk], kinds)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        return stat_of(self._node(name))

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        node = self._node(name)
        return node.target if isinstance(node, Link) else None

    def open(self, name: str) -> MemorySource:
        """Open a file in it, never following a link."""
        node, path = self._node(name), join(self.real, name)
        if not isinstance(node, File):
            raise NotAFile(path, "link" if isinstance(node, Link) else "folder")
        return MemorySource(path, node)

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Does nothing."""

    def _node(self, name: str) -> Node:
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is not a name that a folder's entry can have")
        node = self._folder.names.get(name)
        if node is None:
            raise NotFound(join(self.real, name))
        return node


def each(path: WorkPath, node: Node, step: Step) -> None:
    """Call `step` for a node and everything below it, folders first."""
    pending = [(path, node)]
    while pending:
        at, node = pending.pop()
        step(at, isinstance(node, FolderNode))
        if isinstance(node, FolderNode):
            pending += [(join(at, name), inner) for name, inner in node.names.items()]


def inside(node: Node | None) -> Inside:
    """The names below a folder, by their path in it."""
    found = {}
    pending = [("", node)]
    while pending:
        path, node = pending.pop()
        if isinstance(node, FolderNode):
            for name, inner in node.names.items():
                own = f"{path}/{name}" if path else name
                found[own] = as_inside(stat_of(inner))
                pending.append((own, inner))
    return found


def files_in(node: Node | None) -> Iterator[File]:
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
    return sum(file.state[1].size for file in files_in(node))


def stat_of(node: Node) -> Stat:
    """The stat of a node."""
    match node:
        case File():
            version = node.state[1]
            return Stat(EntryKind.FILE, version.size, version.mtime_ns, inode=version.inode)
        case FolderNode():
            return Stat(EntryKind.FOLDER, len(node.names), node.mtime_ns, 0o755)
        case Link():
            return Stat(EntryKind.LINK, len(node.target), node.mtime_ns, 0o777)


def version_of(node: Node) -> Version | None:
    """The version of a file; None for anything else."""
    return node.state[1] if isinstance(node, File) else None


Snapshot: TypeAlias = "list[tuple[FolderNode, dict[str, Node]] | tuple[File, tuple[bytes, Version]]]"
"""The nodes of a tree with what they held."""


def snapshot(root: FolderNode) -> Snapshot:
    """The tree as it is now; contents are shared, not copied."""
    pending: list[Node] = [root]
    taken: Snapshot = []
    while pending:
        node = pending.pop()
        if isinstance(node, FolderNode):
            taken.append((node, dict(node.names)))
            pending.extend(node.names.values())
        elif isinstance(node, File):
            taken.append((node, node.state))
    return taken


def restore(taken: Snapshot) -> None:
    """Make a tree again what it was."""
    for node, held in taken:
        if isinstance(node, FolderNode):
            assert isinstance(held, dict)
            node.names = held
        else:
            assert isinstance(held, tuple)
            node.state = held
