"""A tree of files in memory: for tests, for programs that hold a workspace in their hands.

Folders exist because files are in them, or because they were made.  Links
follow the rules of a local store: inside the root they work, out of it they do
not.  A file that is put again keeps its identity and gets a new version, as a
local file that is written to.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Self, TypeAlias, final

from readroom.errors import BadPath, NoSpace, NotAFile, NotAFolder, NotFound, OutsideRoot
from readroom.limits import LINK_HOPS
from readroom.model import Entry, EntryKind, Names, Stat, Version
from readroom.paths import ROOT, WorkPath, join, normalize, parts
from readroom.stores.base import Moved
from readroom.stores.memory_places import MemoryPlace


@dataclass(slots=True)
class _File:
    """A file; its bytes and their version change together, as one value."""

    state: tuple[bytes, Version]


@dataclass(slots=True)
class _Folder:
    mtime_ns: int
    names: dict[str, _Node] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class _Link:
    target: str
    mtime_ns: int


_Node: TypeAlias = "_File | _Folder | _Link"


@final
class MemorySource:
    """An open file in memory."""

    __slots__ = ("_file", "_version", "real")

    def __init__(self, real: WorkPath, file: _File) -> None:
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

    def __init__(self, real: WorkPath, folder: _Folder) -> None:
        self._folder = folder
        self.real = real

    def entries(self) -> Iterator[Entry]:
        """The names in it when the first is asked for."""
        for name, node in list(self._folder.names.items()):
            yield Entry(name, _stat(node).kind)

    def names(self, most: int) -> Iterator[Names]:
        """The same, up to `most` at a time."""
        entries = self.entries()
        while found := list(islice(entries, most)):
            kinds = {entry.name: entry.kind for entry in found if entry.kind is not EntryKind.FILE}
            yield Names([entry.name for entry in found], kinds)

    def stat(self, name: str) -> Stat:
        """Of one name in it, links not followed."""
        return _stat(self._node(name))

    def target(self, name: str) -> str | None:
        """Where a link in it points, as stored; None when it is no link."""
        node = self._node(name)
        return node.target if isinstance(node, _Link) else None

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

    def _node(self, name: str) -> _Node:
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is no name of a folder's entry")
        node = self._folder.names.get(name)
        if node is None:
            raise NotFound(join(self.real, name))
        return node


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
        self._root = _Folder(clock())
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
            if isinstance(folder.names.get(name), _Folder):
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
            if (old.state[1] if isinstance(old, _File) else old) != expected:
                raise Moved
            self._put(folder, name, data, self._clock())

    def place(self, path: WorkPath) -> MemoryPlace:
        """A name for a new file, whether or not something is there; nothing is changed yet."""
        if path == ROOT:
            raise NotAFile(path, "folder")
        return MemoryPlace(self, path)

    def contents(self) -> Sequence[tuple[WorkPath, bytes]]:
        """All files with their bytes, in the order in which they were made."""
        with self._lock:
            pending, found = [(ROOT, self._root)], []
            while pending:
                above, folder = pending.pop()
                for name, node in folder.names.items():
                    if isinstance(node, _Folder):
                        pending.append((join(above, name), node))
                    elif isinstance(node, _File):
                        found.append((node.state[1].inode, join(above, name), node.state[0]))
        return [(path, data) for _, path, data in sorted(found, key=lambda one: one[0])]

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it; one that exists stays as it is."""
        with self._lock:
            self._make(parts(normalize(path)))

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link; folders above it are made."""
        with self._lock:
            folder, name = self._place(path)
            folder.names[name] = _Link(target, self._clock())

    def delete(self, path: str) -> None:
        """Remove a file, a link, or a folder with all that is in it.

        Raises:
            NotFound: There is no such name.
        """
        with self._lock:
            folder, name = self._place(path)
            if folder.names.pop(name, None) is None:
                raise NotFound(path)

    def open(self, path: WorkPath) -> MemorySource:
        """Open a file."""
        real, node = self._found(path)
        if not isinstance(node, _File):
            raise NotAFile(path, "folder")
        return MemorySource(real, node)

    def open_folder(self, path: WorkPath) -> MemoryFolder:
        """Open a folder."""
        real, node = self._found(path)
        if not isinstance(node, _Folder):
            raise NotAFolder(path, "file")
        return MemoryFolder(real, node)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of whatever is there, links followed."""
        real, node = self._found(path)
        return real, _stat(node)

    def version(self, path: WorkPath) -> Version | None:
        """Identity of what is there now, links followed; None when nothing is."""
        try:
            _, node = self._found(path)
        except NotFound:
            return None
        return node.state[1] if isinstance(node, _File) else Version(0, 0, 0, 0, 0)

    def close(self) -> None:
        """Nothing to release."""

    def _put(self, folder: _Folder, name: str, content: bytes, now: int) -> None:
        old = folder.names.get(name)
        if self._most_bytes is not None:
            freed = old.state[1].size if isinstance(old, _File) else 0
            if _size(self._root) - freed + len(content) > self._most_bytes:
                raise NoSpace(name, f"the store may hold {self._most_bytes:,} bytes")
        self._count += 1
        if isinstance(old, _File):
            inode = old.state[1].inode
            old.state = (content, Version(0, inode, len(content), now, self._count))
        else:
            version = Version(0, self._count, len(content), now, self._count)
            folder.names[name] = _File((content, version))

    def _place(self, path: str) -> tuple[_Folder, str]:
        found = parts(normalize(path))
        if not found:
            raise NotAFile(ROOT, "folder")
        return self._make(found[:-1]), found[-1]

    def _make(self, names: list[str]) -> _Folder:
        folder = self._root
        for at, name in enumerate(names):
            node = folder.names.get(name)
            if node is None:
                node = folder.names[name] = _Folder(self._clock())
            if not isinstance(node, _Folder):
                raise NotAFolder("/".join(names[: at + 1]), "file")
            folder = node
        return folder

    def _found(self, path: WorkPath) -> tuple[WorkPath, _Node]:
        """Follow a path as `stores.walk` does."""
        pending = parts(path)[::-1]
        above: list[tuple[str, _Folder]] = []
        node: _Node = self._root
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
            found = folder.names.get(part)
            if isinstance(found, _Link):
                hops += 1
                pending.extend(_todo(found.target, path, hops))
                continue
            if found is None or (pending and not isinstance(found, _Folder)):
                raise NotFound(path)
            if isinstance(found, _Folder):
                above.append((part, found))
            else:
                name, node = part, found
        names = [step for step, _ in above]
        if name:
            names.append(name)
        elif above:
            node = above[-1][1]
        return WorkPath("/".join(names) or "."), node


def _size(folder: _Folder) -> int:
    """The bytes of all files below a folder."""
    pending, total = [folder], 0
    while pending:
        for node in pending.pop().names.values():
            if isinstance(node, _Folder):
                pending.append(node)
            elif isinstance(node, _File):
                total += node.state[1].size
    return total


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


def _stat(node: _Node) -> Stat:
    match node:
        case _File():
            version = node.state[1]
            return Stat(EntryKind.FILE, version.size, version.mtime_ns, inode=version.inode)
        case _Folder():
            return Stat(EntryKind.FOLDER, len(node.names), node.mtime_ns, 0o755)
        case _Link():
            return Stat(EntryKind.LINK, len(node.target), node.mtime_ns, 0o777)
