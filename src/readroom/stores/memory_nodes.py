"""What a memory store is made of: files, folders, links, and how they look when they are opened."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Self, TypeAlias, final

from readroom.errors import BadPath, NotFound
from readroom.model import Entry, EntryKind, Names, Stat, Version
from readroom.paths import WorkPath, join
from readroom.stores.base import Step


@dataclass(slots=True)
class File:
    """A file; its bytes and their version change together, as one value."""

    state: tuple[bytes, Version]


@dataclass(slots=True)
class FolderNode:
    """A folder's names."""

    mtime_ns: int
    names: dict[str, Node] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class Link:
    """A symbolic link."""

    target: str
    mtime_ns: int


Node: TypeAlias = "File | FolderNode | Link"


@final
class MemorySource:
    """An open file in memory."""

    __slots__ = ("_file", "_version", "real")

    def __init__(self, real: WorkPath, file: File) -> None:
        self._file = file
        self._version = file.state[1]
        self.real = real

    @property
    def size(self) -> int:
        """Length in bytes at the moment of opening."""
        return self._version.size

    @property
    def stat(self) -> Stat:
        """What was known of it at the moment of opening."""
        return Stat(EntryKind.FILE, self.size, self._version.mtime_ns, inode=self._version.inode)

    @property
    def version(self) -> Version:
        """Identity of the state that was opened."""
        return self._version

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@final
class MemoryFolder:
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
        while found := list(islice(entries, most)):
            kinds = {entry.name: entry.kind for entry in found if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in found], kinds)

    def stat(self, name: str) -> Stat:
        """Of one name in it, links not followed."""
        return stat_of(self._node(name))

    def target(self, name: str) -> str | None:
        """Where a link in it points, as stored; None when it is no link."""
        node = self._node(name)
        return node.target if isinstance(node, Link) else None

    def fileno(self) -> None:
        """There is no descriptor."""
        return

    def close(self) -> None:
        """Nothing to release."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def _node(self, name: str) -> Node:
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is no name of a folder's entry")
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


def size_of(folder: FolderNode) -> int:
    """The bytes of all files below a folder."""
    pending, total = [folder], 0
    while pending:
        for node in pending.pop().names.values():
            if isinstance(node, FolderNode):
                pending.append(node)
            elif isinstance(node, File):
                total += node.state[1].size
    return total


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
