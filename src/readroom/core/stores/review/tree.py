"""The changes that wait, as values: what each changed name has now, and what was there when it was changed.

A name without a node is as the folder has it.  Everything that was moved is a node of its own, so that a name
means the folder's own name or nothing of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct, field

from readroom.core.paths import ROOT, WorkPath, basename, parent

VERSION = 1


class FileNode(Struct, frozen=True, tag="file"):
    """A file whose bytes wait: their name in the set, size and SHA-256 in hex, and its mode and time."""

    data: str
    size: int
    digest: str
    mode: int
    mtime_ns: int
    serial: int


class KeptNode(Struct, frozen=True, tag="kept"):
    """A file of the folder that has another name: the one that it has there, as bytes."""

    source: bytes

    @property
    def path(self) -> WorkPath:
        """The name that it has in the folder."""
        return WorkPath(os.fsdecode(self.source))


class LinkNode(Struct, frozen=True, tag="link"):
    """A symbolic link, with its target as bytes."""

    target: bytes
    mtime_ns: int


class MadeNode(Struct, frozen=True, tag="folder"):
    """A folder that was made, in which nothing of the folder of that name is left."""

    mtime_ns: int
    mode: int = 0o755


class GoneNode(Struct, frozen=True, tag="gone"):
    """Nothing, in the place of something."""


Node: TypeAlias = FileNode | KeptNode | LinkNode | MadeNode | GoneNode


class Origin(Struct, frozen=True):
    """The state of a name when it was first changed.

    Attributes:
        kind: What it was; "absent" for nothing.
        digest: Of a file the SHA-256 in hex, of a link its target in hex, of a folder that of its names.
        version: Device, inode, size and times of a file; None for anything else.
    """

    kind: Literal["absent", "file", "link", "folder", "other"]
    digest: str = ""
    version: tuple[int, int, int, int, int] | None = None


ABSENT = Origin("absent")


class Holder(Struct, frozen=True):
    """Whose changes wait: the token and the conversation, or the client of one without a name."""

    token: str = ""
    session: str = ""
    agent: str = ""
    face: str = ""


class Tree(Struct, frozen=True, dict=True):
    """All that waits in one set.

    Attributes:
        holder: Whose it is.
        root: The folder, as bytes.
        inode: Of the folder, to tell another one that has its name.
        nodes: What names have now, by name.
        origins: What names of the folder had.
        serial: The number of the last change.
        began: The time of the first one, in seconds since the epoch.
        changed: The time of the last one.
        agent: What the last one who changed something called itself.
    """

    holder: Holder = Holder()
    root: bytes = b""
    inode: int = 0
    nodes: Mapping[WorkPath, Node] = field(default_factory=dict)
    origins: Mapping[WorkPath, Origin] = field(default_factory=dict)
    serial: int = 0
    began: float = 0.0
    changed: float = 0.0
    agent: str = ""

    @cached_property
    def below(self) -> Mapping[WorkPath, Mapping[str, Node | None]]:
        """By folder the names in it that have a node, or only above one: None."""
        found: dict[WorkPath, dict[str, Node | None]] = {}
        for path, node in self.nodes.items():
            found.setdefault(parent(path), {})[basename(path)] = node
            above = parent(path)
            while above != ROOT:
                names = found.setdefault(parent(above), {})
                if basename(above) in names:
                    break
                names[basename(above)] = None
                above = parent(above)
        return found

    def concerns(self, path: WorkPath) -> bool:
        """Whether a name, or one below it, is not as the folder has it."""
        return path in self.nodes or path in self.below

    def inside(self, path: WorkPath) -> Iterator[WorkPath]:
        """The names with nodes below a name."""
        pending = [path]
        while pending:
            folder = pending.pop()
            for name, node in self.below.get(folder, {}).items():
                inner = WorkPath(f"{folder}/{name}") if folder != ROOT else WorkPath(name)
                if node is not None:
                    yield inner
                pending.append(inner)

    @property
    def size(self) -> int:
        """Bytes of all contents that wait."""
        return sum(node.size for node in self.nodes.values() if isinstance(node, FileNode))


EMPTY = Tree()


class _Written(Struct, frozen=True):
    """The form on disk; names are bytes, since not all of them are text."""

    version: int
    holder: Holder
    root: bytes
    inode: int
    nodes: list[tuple[bytes, Node]]
    origins: list[tuple[bytes, Origin]]
    serial: int
    began: float
    changed: float
    agent: str


def encoded(tree: Tree) -> bytes:
    """The form on disk."""
    return msgspec.msgpack.encode(
        _Written(
            VERSION,
            tree.holder,
            tree.root,
            tree.inode,
            [(os.fsencode(path), node) for path, node in tree.nodes.items()],
            [(os.fsencode(path), origin) for path, origin in tree.origins.items()],
            tree.serial,
            tree.began,
            tree.changed,
            tree.agent,
        )
    )


class OtherVersion(Exception):
    """It was written by another version of readroom."""


def decoded(data: bytes) -> Tree:
    """The tree of what is on disk. Raises OtherVersion, and ValueError for what is damaged."""
    try:
        found = msgspec.msgpack.decode(data, type=_Written)
    except msgspec.ValidationError:
        raw = msgspec.msgpack.decode(data)
        if isinstance(raw, dict) and isinstance(raw.get("version"), int) and raw["version"] != VERSION:
            raise OtherVersion from None
        raise
    if found.version != VERSION:
        raise OtherVersion
    return Tree(
        found.holder,
        found.root,
        found.inode,
        {_name(path): node for path, node in found.nodes},
        {_name(path): origin for path, origin in found.origins},
        found.serial,
        found.began,
        found.changed,
        found.agent,
    )


def _name(path: bytes) -> WorkPath:
    """A name of the folder. Raises ValueError for what can be none."""
    name = os.fsdecode(path)
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in name:
        raise ValueError("a name that no file can have")
    return WorkPath(name)
