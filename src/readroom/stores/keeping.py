"""What a new file takes over from the one it replaces: mode, owner, access lists and attributes.

Best effort, and said when it fails: only root can give a file away.  Nobody gains
access by a failure: without the group, its members get what others have.  As the
kernel does on every write, the set-user-ID and set-group-ID bits and capabilities
are taken from a program that is changed.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator

from readroom.notes import Warn

_OF_THE_CONTENT = ("security.capability", "security.ima", "security.evm")
"""Attributes that vouch for the old content."""


def keep(old: int, new: int) -> Iterator[Warn]:
    """Give the file open as `new` what the one open as `old` has; says what could not be kept."""
    before, now = os.fstat(old), os.fstat(new)
    mode = stat.S_IMODE(before.st_mode)
    if mode & stat.S_ISUID or (mode & stat.S_ISGID and mode & stat.S_IXGRP):
        mode &= ~stat.S_ISUID if not mode & stat.S_IXGRP else ~(stat.S_ISUID | stat.S_ISGID)
        yield Warn("mode_not_kept", "the set-user-ID or set-group-ID bit was taken away, as by every change")
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        if not _owned(new, before.st_uid, before.st_gid) and before.st_uid != now.st_uid:
            yield Warn("owner_not_kept", f"the file now belongs to user {now.st_uid}, not {before.st_uid}")
        if before.st_gid != now.st_gid and not _owned(new, -1, before.st_gid):
            yield Warn("group_not_kept", f"the file now belongs to group {now.st_gid}, not {before.st_gid}")
            mode = mode & ~0o070 | (mode & 0o007) << 3
    lost = sorted(_attributes_lost(old, new))
    if lost:
        yield Warn("attributes_not_kept", f"extended attributes: {', '.join(lost)}")
    os.fchmod(new, mode)


def _owned(new: int, user: int, group: int) -> bool:
    try:
        os.fchown(new, user, group)
    except OSError:  # EPERM; EINVAL for users that a container does not know
        return False
    return True


def _attributes_lost(old: int, new: int) -> Iterator[str]:
    if not hasattr(os, "listxattr"):
        return
    names: list[str] = []
    with contextlib.suppress(OSError):  # a file system without any
        names = os.listxattr(old)
    for name in names:
        try:
            value = os.getxattr(old, name)
            if name not in _OF_THE_CONTENT and not _has(new, name, value):
                os.setxattr(new, name, value)
        except OSError:
            yield name


def _has(new: int, name: str, value: bytes) -> bool:
    try:
        return os.getxattr(new, name) == value
    except OSError:
        return False
