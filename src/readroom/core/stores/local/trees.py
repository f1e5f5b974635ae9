"""A folder that comes back with everything in it: written under a temporary name, by descriptors."""

from __future__ import annotations

import os
from collections.abc import Sequence

from readroom.core.stores.base import Inside, TreeEntry, as_inside
from readroom.core.stores.local.place import flush, write_all
from readroom.core.stores.local.rename import names_inside
from readroom.core.stores.local.resolve import FOLDER_FLAGS, to_stat
from readroom.core.values import EntryKind

KEPT_BITS = 0o1777
"""The bits of a mode that come back; a file never gets another owner's rights from the past."""

_FLUSHED_NAMES = 100
"""Up to this many names each file is flushed; for more, the system is asked once."""

_OWN = 0o700


def written(folder: int, name: str, entries: Sequence[TreeEntry]) -> int:
    """Write a folder into an open one; its descriptor. It gets its own mode once it has its name.

    Each folder in `entries` comes before what is in it, and that before anything else.  Raises OSError.
    """
    top = _folder(folder, name)
    flushed = len(entries) <= _FLUSHED_NAMES
    open_folders: list[tuple[TreeEntry, int]] = []
    try:
        for entry in entries[1:]:
            above = entry.inside.rpartition("/")[0]
            while open_folders and open_folders[-1][0].inside != above:
                _leave(*open_folders.pop())
            at = open_folders[-1][1] if open_folders else top
            fd = _write(at, entry, flushed=flushed)
            if fd is not None:
                open_folders.append((entry, fd))
        while open_folders:
            _leave(*open_folders.pop())
        _set_time(top, entries[0])
        if not flushed:
            os.sync()
        flush(top)
    except BaseException:
        for _, fd in open_folders:
            os.close(fd)
        os.close(top)
        raise
    return top


def found_inside(folder: int, name: str) -> Inside:
    """The names below a folder in an open one, by their path in it. Raises OSError."""
    found = {}
    for path in names_inside(folder, name):
        stat = os.stat(os.path.join(name, path), dir_fd=folder, follow_symlinks=False)
        found[path] = as_inside(to_stat(stat))
    return found


def _leave(entry: TreeEntry, fd: int) -> None:
    """Give a folder its mode and time, which writing into it would have changed."""
    try:
        os.fchmod(fd, entry.mode & KEPT_BITS)
        _set_time(fd, entry)
    finally:
        os.close(fd)


def _set_time(fd: int, entry: TreeEntry) -> None:
    if entry.mtime_ns is not None:
        os.utime(fd, ns=(entry.mtime_ns, entry.mtime_ns))


def _folder(above: int, name: str) -> int:
    os.mkdir(name, _OWN, dir_fd=above)
    return os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)


def _write(folder: int, entry: TreeEntry, *, flushed: bool) -> int | None:
    """Write one name; the descriptor of a folder."""
    name = entry.inside.rpartition("/")[2]
    if entry.kind is EntryKind.FOLDER:
        return _folder(folder, name)
    if entry.kind is EntryKind.LINK:
        os.symlink(entry.target, name, dir_fd=folder)
        if entry.mtime_ns is not None:
            os.utime(name, ns=(entry.mtime_ns, entry.mtime_ns), dir_fd=folder, follow_symlinks=False)
        return None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        write_all(fd, entry.data)
        os.fchmod(fd, entry.mode & KEPT_BITS)
        _set_time(fd, entry)
        if flushed:
            flush(fd)
    finally:
        os.close(fd)
    return None
