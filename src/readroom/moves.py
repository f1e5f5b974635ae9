"""The values of looking at, removing and moving what has a name: what is asked for, and what came of it.

A link is what is at its name: removing or moving it leaves alone what it leads to.
No I/O here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from readroom.entries import EntryKind
from readroom.notes import Warn


@dataclass(frozen=True, slots=True)
class StatRequest:
    """What is known of a name without reading it."""

    path: str


@dataclass(frozen=True, slots=True)
class DeleteRequest:
    """The removal of a file, a link or a folder.

    `recursive` lets a folder go with all that is in it.  With `expected_hash` a file has to be
    in the state of that hash.
    """

    path: str
    recursive: bool = False
    expected_hash: str | None = None


@dataclass(frozen=True, slots=True)
class MakeFolderRequest:
    """A folder, with those above it; one that exists stays as it is."""

    path: str


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """Another name for a file, a link or a folder; `overwrite` lets a file take the place of a file.

    `destination` is the whole new name, never the folder to move into.
    """

    path: str
    destination: str
    overwrite: bool = False


@dataclass(frozen=True, slots=True)
class TrashRequest:
    """A move below the workspace's folder of things thrown away."""

    path: str


NameRequest: TypeAlias = StatRequest | DeleteRequest | MakeFolderRequest | MoveRequest | TrashRequest


@dataclass(frozen=True, slots=True)
class StatResult:
    """What is known of a name; of one that nothing has, that it is not there.

    Of a link it is what the link leads to, when that may be seen, and `target` is its real name;
    of any other link the link itself, of kind LINK.  Times are nanoseconds since the epoch,
    None where the store does not know them.  `read_only` says that the mode lets nobody write.
    """

    path: str
    exists: bool
    kind: EntryKind | None = None
    size_bytes: int = 0
    mtime_ns: int | None = None
    changed_ns: int | None = None
    created_ns: int | None = None
    mode: int | None = None
    read_only: bool = False
    target: str | None = None
    warnings: Sequence[Warn] = ()


@dataclass(frozen=True, slots=True)
class DeleteResult:
    """What was removed: `entries` names, those in a folder included."""

    path: str
    kind: EntryKind = EntryKind.FILE
    entries: int = 1
    warnings: Sequence[Warn] = ()


@dataclass(frozen=True, slots=True)
class FolderResult:
    """A folder that is there. `folders` are those that were made; `created` is false when it was there."""

    path: str
    created: bool = True
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


@dataclass(frozen=True, slots=True)
class MoveResult:
    """What has a new name. `replaced` says that a file gave up its place; `folders` were made for it."""

    path: str
    destination: str
    kind: EntryKind = EntryKind.FILE
    replaced: bool = False
    folders: Sequence[str] = ()
    warnings: Sequence[Warn] = ()


@dataclass(frozen=True, slots=True)
class TrashResult:
    """What was thrown away, and the name under which it can be found and moved back."""

    path: str
    trashed_to: str
    kind: EntryKind = EntryKind.FILE
    warnings: Sequence[Warn] = ()


NameResult: TypeAlias = StatResult | DeleteResult | FolderResult | MoveResult | TrashResult
