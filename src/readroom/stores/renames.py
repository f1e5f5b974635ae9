"""Giving a file its name at once: in place of another, or only where there is none.

`replace` exchanges the two names where the system can (Linux `renameat2`), looks
at what came out, and puts it back when it is not the file that was to be
replaced: a program that saved the file in the instant before loses nothing.
Where names cannot be exchanged the file is looked at just before the rename, and
that instant stays open.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from functools import cache

from readroom.model import Version
from readroom.stores.base import Moved

_NOREPLACE = 1
_EXCHANGE = 2

_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM)
"""What file systems say that know only the plain rename. EPERM is a seccomp profile's word, and also that
of a file nobody may rename: then the plain rename says it again."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def create(folder: int, temporary: str, name: str) -> None:
    """Give a new file its name if nothing has it.

    Raises:
        Moved: Something has.
        OSError: The system's refusal; the file still has its temporary name.
    """
    try:
        if _renamed(folder, temporary, name, _NOREPLACE):
            return
        _linked(folder, temporary, name)
    except FileExistsError:
        raise Moved from None


def replace(folder: int, temporary: str, name: str, expected: Version) -> None:
    """Give a new file the name of another, whose state is `expected`.

    Raises:
        Moved: Another file, or another state of it, is there.
        OSError: The system's refusal; both files have their names.
    """
    if not _same(_stat(folder, name), expected):
        raise Moved
    if not exchange(folder, temporary, name, expected):
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def exchange(folder: int, temporary: str, name: str, expected: Version) -> bool:
    """The same by exchanging the names and looking at what came out; False where names cannot be exchanged.

    Raises:
        Moved: It was not what was expected, and has its name again.
    """
    ours = os.stat(temporary, dir_fd=folder, follow_symlinks=False)
    try:
        if not _renamed(folder, temporary, name, _EXCHANGE):
            return False
    except FileNotFoundError:
        raise Moved from None
    if not _same(_stat(folder, temporary), expected):
        _put_back(folder, temporary, name, ours)
        raise Moved
    os.unlink(temporary, dir_fd=folder)
    return True


def _put_back(folder: int, temporary: str, name: str, ours: os.stat_result) -> None:
    """Exchange again, unless our file was replaced by now; whoever saved last keeps the name."""
    found = _stat(folder, name)
    if found is None or _identity(found) != _identity(ours):
        return
    _renamed(folder, temporary, name, _EXCHANGE)
    found = _stat(folder, temporary)
    if found is not None and _identity(found) != _identity(ours):
        _renamed(folder, temporary, name, _EXCHANGE)


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _same(found: os.stat_result | None, expected: Version) -> bool:
    """Whether it is that file in that state. A rename itself sets the change time, so that is left out."""
    return (
        found is not None
        and _identity(found) == (expected.device, expected.inode)
        and (found.st_size, found.st_mtime_ns) == (expected.size, expected.mtime_ns)
    )


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _renamed(folder: int, old: str, new: str, flag: int) -> bool:
    """Rename with a flag; False where the system or this file system cannot."""
    function = _renameat2()
    if function is None:
        return False
    if function(folder, os.fsencode(old), folder, os.fsencode(new), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), new)


def _linked(folder: int, temporary: str, name: str) -> None:
    try:
        os.link(temporary, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system without links: nothing better than to look first.
        if _stat(folder, name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from None
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=folder)


@cache
def _renameat2() -> ctypes._NamedFuncPointer | None:
    if sys.platform != "linux":
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if function is None:
        return None
    function.restype = ctypes.c_int
    function.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return function  # type: ignore[no-any-return]  # getattr knows no types
