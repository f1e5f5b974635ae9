"""The files of a revision of git as a read-only store, so that a guard can be put in front of them.

A revision is a folder in front of the names of the workspace: `@v1/src/app.py` is `src/app.py` at `v1`.
Links work inside the revision and not out of it.  A submodule is named and has no content here.

Knows: a tree of names and the bytes of its files.
Does not know: policies; its maker says which bytes also have a denied name.
May be touched: with the cases that all stores share, and a security review.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import final

from readroom.core import errors
from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors.git import DeniedContent
from readroom.core.limits import LINK_HOPS
from readroom.core.paths import ROOT, WorkPath, join
from readroom.core.quoting import quote
from readroom.core.repository.place import named, within
from readroom.core.repository.process import GIT_BLOB_BYTES, TooLargeBlob
from readroom.core.repository.repositories import Repository, Revision
from readroom.core.repository.trees import FOLDER, LINK, SUBMODULE, Node, RevisionTree
from readroom.core.stores.base import Change, Leftover, WriteTarget
from readroom.core.stores.memory.nodes import File, MemorySource
from readroom.core.stores.promises import Promises
from readroom.core.values import Entry, EntryKind, Names, Stat, Version
from readroom.core.values.files import Warn

_DEVICE = -7
"""The device of all versions here: no file system has it."""

_TOP = Node(FOLDER, "")

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
"""The beginning of a file that stands for one that git LFS keeps elsewhere."""

LFS_POINTER_BYTES = 1024
"""Pointers are smaller."""


def is_pointer(data: bytes) -> bool:
    """Whether a file stands for one that git LFS keeps elsewhere."""
    return len(data) < LFS_POINTER_BYTES and data.startswith(LFS_POINTER)


@final
class RevisionStore:
    """One revision, for one call.

    Attributes:
        mount: The folder that the revision is in front of the names.
        pointers: Names of opened files that are pointers of git LFS.
    """

    promises = Promises(opening="store", exchange="none", locks="none", together="none", folded=False)
    folder = None
    roots: tuple[str, ...] = ()

    def __init__(
        self,
        repository: Repository,
        revision: Revision,
        mount: WorkPath,
        deadline: Deadline,
        unseen: Callable[[], Set[str]],
    ) -> None:
        """`unseen` are the ids of files that also have a denied name."""
        self.repository = repository
        self.revision = revision
        self.mount = mount
        self.deadline = deadline
        self.pointers: list[WorkPath] = []
        self._unseen = unseen
        self.tree: RevisionTree = repository.tree(revision.tree, deadline)

    @property
    def name(self) -> str:
        """The revision."""
        return self.mount

    def require_root(self) -> None:
        """Always succeeds, since nothing else can take the place of a commit."""

    def open(self, path: WorkPath) -> MemorySource:
        """Open a file. Raises DeniedContent for one whose bytes have a denied name, TooLarge."""
        inner, node = self._found(path)
        return self.opened(self._named(inner), node)

    def opened(self, path: WorkPath, node: Node) -> MemorySource:
        """Open the file that has a path."""
        if node.mode == FOLDER:
            raise errors.NotAFile(path, "folder")
        if node.mode == LINK:
            raise errors.NotAFile(path, "link")
        if node.mode == SUBMODULE:
            raise errors.NotAFile(path, "submodule of git")
        if node.id in self._unseen():
            raise DeniedContent(path, 2, "one of the others is denied")
        self.deadline.check()
        try:
            data = self.repository.blob(node.id, self.deadline)
        except TooLargeBlob as error:
            advice = "Ask the user to check it out."
            raise errors.TooLarge(quote(path), error.size, GIT_BLOB_BYTES, "bytes", advice) from None
        if is_pointer(data):
            self.pointers.append(path)
        return MemorySource(path, File((data, self._version(node, len(data)))))

    def open_folder(self, path: WorkPath) -> RevisionFolder:
        """Open a folder."""
        inner, node = self._found(path)
        if node.mode != FOLDER:
            raise errors.NotAFolder(path, "submodule of git" if node.mode == SUBMODULE else "file")
        return RevisionFolder(self, self._named(inner), inner)

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is there, links followed."""
        inner, node = self._found(path)
        return self._named(inner), self.stat_of(node)

    def version(self, path: WorkPath) -> Version | None:
        try:
            _, node = self._found(path)
        except (errors.NotFound, errors.OutsideRoot):
            return None
        return self._version(node, self._size(node) if node.kind is EntryKind.FILE else 0)

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        return self.version(path) == version

    def place(self, path: WorkPath) -> WriteTarget:
        """Raises ReadOnlyPlace: nothing can be changed."""
        raise errors.ReadOnlyPlace(path)

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Raises ReadOnlyPlace, as `place` does before it."""
        raise errors.ReadOnlyPlace(changes[0].place.real)

    def recover(self) -> Sequence[Leftover]:
        """Nothing is ever left half done."""
        return ()

    def close(self) -> None:
        """Does nothing: the repository is kept by the workspace."""

    def stat_of(self, node: Node) -> Stat:
        """The stat of a name; times are those of the commit."""
        when = self.revision.commit.committed * 1_000_000_000
        if node.mode == FOLDER:
            return Stat(EntryKind.FOLDER, 0, when, 0o755, device=_DEVICE)
        if node.kind is EntryKind.OTHER:
            return Stat(EntryKind.OTHER, 0, when, 0o755, device=_DEVICE)
        mode = 0o755 if node.mode & 0o100 else 0o644
        number = int(node.id[:15], 16)
        return Stat(node.kind, self._size(node), when, mode, device=_DEVICE, inode=number)

    def ask_sizes(self, inner: str) -> None:
        """Ask for the sizes of all files of a folder at once."""
        names = self.tree.folders.get(inner, {})
        ids = [node.id for node in names.values() if node.kind in (EntryKind.FILE, EntryKind.LINK)]
        self.repository.sizes(self.tree, ids, self.deadline)

    def target(self, node: Node) -> str | None:
        """The target of a link, as stored; None if it is no link or no path."""
        if node.mode != LINK:
            return None
        try:
            data = self.repository.blob(node.id, self.deadline)
        except TooLargeBlob:
            return None
        return None if b"\0" in data else data.decode("utf-8", "surrogateescape")

    def _size(self, node: Node) -> int:
        if node.id not in self.tree.sizes:
            self.repository.sizes(self.tree, [node.id], self.deadline)
        return max(0, self.tree.sizes[node.id])

    def _version(self, node: Node, size: int) -> Version:
        number = int(node.id or "0", 16)
        when = self.revision.commit.committed * 1_000_000_000
        return Version(_DEVICE, number >> 100, size, when, number & ((1 << 60) - 1))

    def _inner(self, path: WorkPath) -> str | None:
        """The path in the tree; None outside of it."""
        if path != self.mount and not path.startswith(f"{self.mount}/"):
            return None
        own = ROOT if path == self.mount else WorkPath(path[len(self.mount) + 1 :])
        top = self.repository.place.top
        if top != ROOT and own != top and not own.startswith(f"{top}/"):
            return None
        return within(self.repository.place, own)

    def _named(self, inner: str) -> WorkPath:
        own = named(self.repository.place, inner)
        return self.mount if own == ROOT else join(self.mount, own)

    def _found(self, path: WorkPath) -> tuple[str, Node]:
        """Follow a path: the path in the tree without links, and what is there."""
        inner = self._inner(path)
        if inner is None:
            raise errors.NotFound(path)
        done: list[str] = []
        node, hops = _TOP, 0
        pending = inner.split("/")[::-1] if inner else []
        while pending:
            part = pending.pop()
            if part == "..":
                if not done:
                    raise errors.OutsideRoot(path, "a link on the way leads out of the revision")
                done.pop()
                node = _TOP
                continue
            found = self.tree.folders.get("/".join(done), {}).get(part)
            if found is None or (pending and found.mode not in (FOLDER, LINK)):
                raise errors.NotFound(path)
            if found.mode == LINK:
                hops += 1
                pending += self._followed(path, found, hops)
                continue
            done.append(part)
            node = found
        real = "/".join(done)
        return real, (_TOP if not real else self.tree.node(real) or node)

    def _followed(self, path: WorkPath, link: Node, hops: int) -> list[str]:
        """The parts of a link's target, the last one first."""
        if hops > LINK_HOPS:
            raise errors.BadPath(path, f"leads through more than {LINK_HOPS} links, or a loop of links")
        target = self.target(link)
        if not target:
            raise errors.NotFound(path)
        if target.startswith("/"):
            raise errors.OutsideRoot(path, "a link on the way leads to an absolute path elsewhere")
        return [part for part in target.split("/") if part not in ("", ".")][::-1]


@final
class RevisionFolder(Closeable):
    """An opened folder of a revision."""

    def __init__(self, store: RevisionStore, real: WorkPath, inner: str) -> None:
        self.real = real
        self._store = store
        self._inner = inner
        self._names = store.tree.folders.get(inner, {})

    def entries(self) -> Iterator[Entry]:
        """The names in it."""
        for name, node in self._names.items():
            yield Entry(name, node.kind)

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`."""
        names = list(self._names)
        for at in range(0, len(names), maximum):
            some = names[at : at + maximum]
            kinds = {
                name: self._names[name].kind for name in some if self._names[name].kind is not EntryKind.FILE
            }
            yield Names(some, kinds)

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link. Raises NotFound."""
        self._store.ask_sizes(self._inner)
        return self._store.stat_of(self._node(name))

    def target(self, name: str) -> str | None:
        """The stored target of a link; None if it is no link."""
        return self._store.target(self._node(name))

    def open(self, name: str) -> MemorySource:
        """Open a file in it, never following a link."""
        return self._store.opened(join(self.real, name), self._node(name))

    def fileno(self) -> None:
        """Always None."""
        return

    def close(self) -> None:
        """Does nothing."""

    def _node(self, name: str) -> Node:
        node = self._names.get(name)
        if node is None:
            raise errors.NotFound(join(self.real, name))
        return node
