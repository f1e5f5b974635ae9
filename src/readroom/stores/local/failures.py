"""The system's refusals in the words of `errors`. Nothing above the stores sees another OSError."""

from __future__ import annotations

import errno
import os

from readroom.errors import (
    BadPath,
    NoPermission,
    NoSpace,
    NotFound,
    ReadOnlyPlace,
    ReadroomError,
    StoreFailed,
)
from readroom.paths import WorkPath


def translated(error: OSError, path: WorkPath) -> ReadroomError:
    """What a failure of the system means for a caller who asked for `path`."""
    if isinstance(error, ReadroomError):
        return error  # several of ours are OSErrors too, for Python callers
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.ESTALE:
            return NotFound(path)
        case errno.EACCES | errno.EPERM:
            return NoPermission(path)
        case errno.ENAMETOOLONG:
            return BadPath(path, "has a part that is longer than this file system allows")
        case errno.ELOOP:
            return BadPath(path, "leads through a loop of links")
        case errno.EILSEQ:
            return BadPath(path, "is not a name that this file system can have")
        case None:
            return StoreFailed(path, type(error).__name__)
        case code:
            return StoreFailed(path, os.strerror(code))


def unwritten(error: OSError, path: WorkPath) -> ReadroomError:
    """What a failure of the system means for a caller who wanted to change `path`."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return NoSpace(path, os.strerror(error.errno))
        case errno.EROFS:
            return ReadOnlyPlace(path)
        case errno.EXDEV:
            return StoreFailed(path, "it is on another file system than the place it shall go to")
        case errno.EACCES | errno.EPERM if not isinstance(error, ReadroomError):
            return NoPermission(path, "change")
    return translated(error, path)
