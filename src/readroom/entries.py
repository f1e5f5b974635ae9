"""What stores say of names: kinds, stats and versions.

Beside `model`, which builds on them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Version:
    """Identity of one state of a file; equal versions mean equal bytes.

    For local files the POSIX stat fields, for stores without an inode a number
    that grows with every change.
    """

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


class EntryKind(StrEnum):
    """What a name in a folder stands for."""

    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Stat:
    """What is known of a file or folder without reading it. Times in nanoseconds since the epoch.

    `device` and `inode` together tell files apart, where the store has them.  `changed_ns` is the
    last change of anything about it, its name included, `created_ns` when it was made; None when
    the store does not know.
    """

    kind: EntryKind
    size: int
    mtime_ns: int
    mode: int = 0o644
    links: int = 1
    device: int = 0
    inode: int = 0
    changed_ns: int | None = None
    created_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a folder, before it was looked at."""

    name: str
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class Names:
    """Names of one folder. `kinds` says what those are that are no regular files."""

    names: Sequence[str]
    kinds: Mapping[str, EntryKind]
