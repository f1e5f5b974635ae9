"""Flags, results and the translation of system errors, for both ways of resolving a path.

A way turns a path into a descriptor of what is there, its real name, and its
stat.  It raises plain `OSError` for the system's refusals, which the store
translates, and `OutsideRoot` or `BadPath` for its own.

Here those refusals also get the words of `errors`. Nothing above the stores sees another OSError.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import NamedTuple, Protocol

from readroom.core import errors
from readroom.core.paths import WorkPath
from readroom.core.values import EntryKind, Stat


def translated(error: OSError, path: WorkPath) -> errors.ReadroomError:
    """The error for a failure of the system when `path` was to be read."""
    if isinstance(error, errors.ReadroomError):
        return error  # several errors of readroom are OSErrors too, for Python callers
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return errors.NotFound(path)
        case errno.EACCES | errno.EPERM:
            return errors.NoPermission(path)
        case errno.ENAMETOOLONG:
            return errors.BadPath(path, "has a part that is longer than this file system allows")
        case errno.ELOOP:
            return errors.BadPath(path, "leads through a loop of links")
        case errno.EILSEQ:
            return errors.BadPath(path, "is not a name that this file system can have")
        case None:
            return errors.StoreFailed(path, type(error).__name__)
        case code:
            return errors.StoreFailed(path, os.strerror(code))


def unwritten(error: OSError, path: WorkPath) -> errors.ReadroomError:
    """The error for a failure of the system when `path` was to be changed."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return errors.NoSpace(path, os.strerror(error.errno))
        case errno.EROFS:
            return errors.ReadOnlyPlace(path)
        case errno.EXDEV:
            return errors.StoreFailed(path, "it is on another file system than its destination")
        case errno.EACCES | errno.EPERM if not isinstance(error, errors.ReadroomError):
            return errors.NoPermission(path, "change")
    return translated(error, path)


# O_NONBLOCK: opening a pipe or a device never blocks. O_NOCTTY: a terminal never takes control.
READ_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
FOLDER_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY


class Found(NamedTuple):
    """Something opened: its descriptor, which the holder closes, and where and what it is."""

    fd: int
    real: WorkPath
    stat: os.stat_result


class Root:
    """The descriptor of a root. It is released with its last holder, so that a call that is still
    running when the store is closed never finds another folder under the same number."""

    __slots__ = ("fd",)

    def __init__(self, fd: int) -> None:
        """Takes over the descriptor."""
        self.fd = fd

    def __del__(self) -> None:
        os.close(self.fd)


class Way(Protocol):
    """One way of opening names below a root."""

    def file(self, path: WorkPath) -> Found:
        """A regular file, opened for reading."""

    def folder(self, path: WorkPath) -> Found:
        """A folder, opened for reading its names."""

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        """Where and what anything is, without opening it."""


def require_regular(status: os.stat_result, path: WorkPath) -> None:
    """Raise NotAFile for anything but a regular file."""
    if not stat.S_ISREG(status.st_mode):
        raise errors.NotAFile(path, what(status.st_mode))


def checked(fd: int, real: WorkPath, path: WorkPath) -> Found:
    """What was opened, if it is a regular file; else it is closed and NotAFile raised."""
    try:
        stat_now = os.fstat(fd)
        require_regular(stat_now, path)
    except BaseException:
        os.close(fd)
        raise
    return Found(fd, real, stat_now)


def what(mode: int) -> str:
    """The word for what a mode describes."""
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISFIFO(mode):
        return "pipe"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "device"


def kind(mode: int) -> EntryKind:
    """The kind of entry that a mode describes."""
    if stat.S_ISREG(mode):
        return EntryKind.FILE
    if stat.S_ISDIR(mode):
        return EntryKind.FOLDER
    return EntryKind.LINK if stat.S_ISLNK(mode) else EntryKind.OTHER


def to_stat(status: os.stat_result) -> Stat:
    """The system's stat as the model has it."""
    return Stat(
        kind(status.st_mode),
        status.st_size,
        status.st_mtime_ns,
        stat.S_IMODE(status.st_mode),
        status.st_nlink,
        status.st_dev,
        status.st_ino,
        status.st_ctime_ns,
        _birth(status) if _BIRTHS else None,
    )


_BIRTHS = hasattr(os.stat_result, "st_birthtime")
"""macOS and the BSDs tell when a file was made; Linux does so in a call that Python does not have."""


def _birth(status: os.stat_result) -> int:
    seconds: float = getattr(status, "st_birthtime")  # noqa: B009  # mypy knows it on macOS only
    return int(seconds * 1_000_000_000)
