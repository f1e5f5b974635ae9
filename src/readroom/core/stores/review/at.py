"""An entry as it is seen, and the methods of its store that a change needs."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from readroom.core.paths import WorkPath
from readroom.core.stores.base import Folder, Source, Store
from readroom.core.stores.review.tree import FileNode, LinkNode, MadeNode, Node, Tree
from readroom.core.stores.review.waiting import WaitingSet
from readroom.core.values import EntryKind, Stat, Version

NOTHING = Version(0, 0, 0, 0, 0)
"""The version of what is no file."""


class At(Struct, frozen=True):
    """An entry as it is seen.

    Attributes:
        path: Its real name, links followed.
        kind: What is there.
        node: What waits for it; None for what is as in the folder.
        base: The name of its file or folder in the folder itself; None if it has none there.
        below: The stat of that.
    """

    path: WorkPath
    kind: EntryKind
    node: Node | None = None
    base: WorkPath | None = None
    below: Stat | None = None

    @property
    def stat(self) -> Stat:
        """Its stat. Nobody can tell by the time of a folder in which changes wait what is in it."""
        match self.node:
            case FileNode(_, size, _, mode, mtime_ns, serial):
                return Stat(EntryKind.FILE, size, mtime_ns, mode, inode=serial, changed_ns=mtime_ns)
            case LinkNode(target, mtime_ns):
                return Stat(EntryKind.LINK, len(target), mtime_ns, 0o777)
            case MadeNode(mtime_ns, mode):
                return Stat(EntryKind.FOLDER, 0, mtime_ns, mode)
        assert self.below is not None
        return self.below

    @property
    def version(self) -> Version:
        """The version of what has a node with bytes."""
        if not isinstance(self.node, FileNode):
            return NOTHING
        serial = self.node.serial
        return Version(0, serial, self.node.size, self.node.mtime_ns, serial)


class Seeing(Protocol):
    """A store over a store, as its places need it. See `ReviewStore`."""

    base: Store
    waiting: WaitingSet
    agent: str

    def find(self, tree: Tree, path: WorkPath) -> At:
        """Follow a path."""

    def child(self, tree: Tree, folder: At, name: str) -> At | None:
        """The entry of a folder at a name."""

    def behind(self, path: WorkPath) -> Stat | None:
        """The stat of a name in the folder itself."""

    def target(self, at: At) -> str:
        """The target of a link."""

    def opened(self, at: At, path: WorkPath) -> Source:
        """Open the file that was found."""

    def open_folder(self, path: WorkPath) -> Folder:
        """Open a folder."""

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        """The real name and the stat of what is at a path."""
