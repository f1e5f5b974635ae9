"""The names of one revision: a tree as the child lists it, checked and by folder.

A tree of git may hold any bytes as a name.  One that no path can have is left out and counted, so that no
name here means another place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from readroom.core.limits import MAX_PATH_BYTES, MAX_PATH_DEPTH
from readroom.core.values import EntryKind

TREE_NAMES = 300_000
"""Names of one revision; Linux has 100,000. Each takes some 200 bytes here."""

FOLDER, LINK, SUBMODULE = 0o040000, 0o120000, 0o160000
"""Modes of what is no file."""

EXECUTABLE = 0o100755
"""The mode of a program."""


class Node(Struct, frozen=True):
    """A name of a tree: its mode and the id of its object."""

    mode: int
    id: str

    @property
    def kind(self) -> EntryKind:
        """The kind of name; a submodule is neither a file nor a folder."""
        if self.mode == FOLDER:
            return EntryKind.FOLDER
        if self.mode == LINK:
            return EntryKind.LINK
        return EntryKind.OTHER if self.mode == SUBMODULE else EntryKind.FILE


class RevisionTree(Struct):
    """The names of a revision.

    Attributes:
        folders: By path in the tree, "" for the top: the names in it.
        left_out: How many names no path can have.
        sizes: The sizes of blobs that were asked for, by id.
    """

    folders: Mapping[str, Mapping[str, Node]]
    left_out: int = 0
    sizes: dict[str, int] = field(default_factory=dict)

    def node(self, path: str) -> Node | None:
        """The name that has a path; None for nothing and for the top."""
        above, _, name = path.rpartition("/")
        return self.folders.get(above, {}).get(name)

    def files(self) -> Iterator[tuple[str, Node]]:
        """All names that are no folders, with their paths."""
        for folder, names in self.folders.items():
            prefix = f"{folder}/" if folder else ""
            for name, node in names.items():
                if node.mode != FOLDER:
                    yield prefix + name, node


def parsed(rows: bytes) -> RevisionTree:
    """A tree of `mode id path` rows, each with a NUL after it; folders come before what is in them."""
    folders: dict[str, dict[str, Node]] = {"": {}}
    left_out = 0
    for row in rows.split(b"\0")[:-1]:
        mode, _, rest = row.partition(b" ")
        name, _, raw = rest.partition(b" ")
        path = os.fsdecode(raw)
        above, _, last = path.rpartition("/")
        folder = folders.get(above)
        if folder is None or not _is_name(last) or len(raw) >= MAX_PATH_BYTES or last in folder:
            left_out += 1
            continue
        if path.count("/") >= MAX_PATH_DEPTH:
            left_out += 1
            continue
        node = Node(int(mode, 8), name.decode("ascii"))
        folder[last] = node
        if node.mode == FOLDER:
            folders[path] = {}
    return RevisionTree(folders, left_out)


def _is_name(name: str) -> bool:
    return name not in ("", ".", "..")


def batches(ids: Sequence[str], most: int) -> Iterator[Sequence[str]]:
    """The ids in pieces of at most that many."""
    for at in range(0, len(ids), most):
        yield ids[at : at + most]
