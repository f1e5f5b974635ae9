"""The state of a name when a change of it began to wait, and whether it still has that state."""

from __future__ import annotations

import hashlib
import os

from readroom.core.deadline import Deadline
from readroom.core.errors import ReadroomError
from readroom.core.limits import CHANGE_TIMEOUT_S
from readroom.core.paths import WorkPath, join
from readroom.core.stores.base import Moved, Store
from readroom.core.stores.review.tree import ABSENT, Origin
from readroom.core.text.hashes import digits_of
from readroom.core.text.line_index import Shrunk
from readroom.core.values import EntryKind, Stat, Version

_HASHED_BYTES = 1024 * 1024 * 1024
"""Largest file whose bytes are compared, too: a second. A larger one is compared by its version."""


def origin_of(store: Store, path: WorkPath, stat: Stat | None) -> Origin:
    """The state of a name, as `stat` says. Raises Moved if it changes meanwhile."""
    if stat is None:
        return ABSENT
    try:
        match stat.kind:
            case EntryKind.FILE:
                return _of_file(store, path)
            case EntryKind.LINK:
                return Origin("link", _target(store, path))
            case EntryKind.FOLDER:
                return Origin("folder", _inside(store, path))
    except (ReadroomError, Shrunk):
        raise Moved from None
    return Origin("other")


def _of_file(store: Store, path: WorkPath) -> Origin:
    with store.open(path) as source:
        if source.real != path:
            raise Moved
        digest = "" if source.size > _HASHED_BYTES else digits_of(source, Deadline(CHANGE_TIMEOUT_S))
        if source.current() != source.version:
            raise Moved
        return Origin("file", digest, _numbers(source.version))


def _numbers(version: Version) -> tuple[int, int, int, int, int]:
    return version.device, version.inode, version.size, version.mtime_ns, version.ctime_ns


def _target(store: Store, path: WorkPath) -> str:
    above, _, name = path.rpartition("/")
    with store.open_folder(WorkPath(above or ".")) as folder:
        return os.fsencode(folder.target(name) or "").hex()


def _inside(store: Store, path: WorkPath) -> str:
    """A hash of the names below a folder, with what they are, their sizes and times."""
    digest = hashlib.sha256()
    pending = [path]
    while pending:
        at = pending.pop()
        with store.open_folder(at) as folder:
            if folder.real != at:
                raise Moved
            for entry in sorted(folder.entries(), key=lambda entry: entry.name):
                name = join(at, entry.name)
                stat = folder.stat(entry.name)
                digest.update(os.fsencode(name) + b"\0" + stat.kind.value.encode())
                if stat.kind is EntryKind.FOLDER:
                    pending.append(name)
                else:
                    digest.update(f"{stat.size} {stat.mtime_ns}".encode())
                digest.update(b"\0")
    return digest.hexdigest()


def still_there(store: Store, path: WorkPath, origin: Origin, stat: Stat | None) -> bool:
    """Whether a name still has what it had."""
    try:
        if origin.kind == "file" and stat is not None and stat.kind is EntryKind.FILE:
            with store.open(path) as source:
                if source.real == path and _numbers(source.version) == origin.version:
                    return True
        now = origin_of(store, path, stat)
    except (Moved, ReadroomError):
        return False
    if origin.kind == "file" and now.kind == "file":
        return bool(origin.digest) and now.digest == origin.digest
    return now == origin
