"""The promises of a local folder: asked of the system, without writing anything in the folder.

Locks are tried on the folder itself.  The exchange of two names cannot be tried without making them: the call
is tried on names that are not there, and the file system is looked up among those known to have it.
"""

from __future__ import annotations

import fcntl
import os
from itertools import islice

from readroom.core.stores.local import rename
from readroom.core.stores.local.pulse import file_system
from readroom.core.stores.local.resolve import FOLDER_FLAGS
from readroom.core.stores.promises import Keeper, Promises

_EXCHANGING = frozenset(
    {b"bcachefs", b"btrfs", b"ext4", b"f2fs", b"gfs2", b"overlay", b"ramfs", b"tmpfs", b"ubifs", b"xfs"}
)
"""File systems of Linux that exchange names; of others it is not known, or depends on a server."""

_NAMES = 100
"""Looked at for one with a letter."""


def found(folder: int, *, kernel: bool, journal: bool) -> Promises:
    """The promises of a local root.

    Args:
        folder: The open root.
        kernel: Whether the kernel resolves paths beneath it.
        journal: Whether there is a place for the journal of changes of several files.
    """
    return Promises(
        opening="kernel" if kernel else "readroom",
        exchange="kernel" if rename.can_exchange(folder) and file_system(folder) in _EXCHANGING else "none",
        locks=_locks(folder),
        together="readroom" if journal else "none",
        folded=_folds(folder),
    )


def _locks(folder: int) -> Keeper:
    # Opened once more: a lock belongs to the opened folder, and that of the store may be held by a writer.
    try:
        fd = os.open(".", FOLDER_FLAGS, dir_fd=folder)
    except OSError:
        return "none"
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "kernel"  # somebody holds it
    except OSError:
        return "none"
    finally:
        os.close(fd)
    return "kernel"


def _folds(folder: int) -> bool | None:
    """Whether the folder takes a name in another case for the same; None if no name could tell."""
    try:
        fd = os.open(".", FOLDER_FLAGS, dir_fd=folder)
    except OSError:
        return None
    try:
        with os.scandir(fd) as entries:
            for entry in islice(entries, _NAMES):
                other = entry.name.swapcase()
                if other != entry.name:
                    return _is_same(fd, entry.name, other)
    except OSError:
        return None
    finally:
        os.close(fd)
    return None


def _is_same(folder: int, name: str, other: str) -> bool | None:
    try:
        one = os.stat(name, dir_fd=folder, follow_symlinks=False)
        two = os.stat(other, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)
