"""Atomic renames: replacing a file, refusing to replace one, and removing a file.

`replace` exchanges the two names where the system can (Linux `renameat2`), looks
at what came out, and puts it back when it is not the file that was to be
replaced: a program that saved the file in the instant before loses nothing.
If names cannot be exchanged, the file is looked at just before the rename, and
that instant stays open.  `move`, `take` and `remove` look at what they have moved
in the same way.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import TypeAlias

from readroom.core.paths import WorkPath, join
from readroom.core.stores.base import Moved, Step
from readroom.core.stores.local.resolve import FOLDER_FLAGS
from readroom.core.stores.local.spelling import as_listed
from readroom.core.stores.local.unfinished import temporary_name
from readroom.core.values import Version

Name: TypeAlias = tuple[int, str]
"""A folder's descriptor and a name in it."""

Identity: TypeAlias = tuple[int, int]
"""Device and inode."""

State: TypeAlias = tuple[int, int, int, int]
"""Device, inode, size and time of change."""

_NOREPLACE = 1
_EXCHANGE = 2

_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EPERM)
"""Errors of file systems with the plain rename only. EPERM comes from a seccomp profile, but also for a file
that must not be renamed: then the plain rename fails with it again."""

_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)


def create(folder: int, temporary: str, name: str) -> None:
    """Give a new file its name if nothing has it. Raises Moved, OSError."""
    try:
        _renamed_if_free((folder, temporary), (folder, name))
    except FileExistsError:
        raise Moved from None


def move(old: Name, new: Name, expected: Identity) -> None:
    """Give a file, link or folder another name if nothing has that. Raises Moved, OSError."""
    try:
        _renamed_if_free(old, new)
    except (FileExistsError, FileNotFoundError):
        raise Moved from None
    status = _stat(*new)
    if status is None or _identity(status) != expected:
        with contextlib.suppress(OSError):  # something else has taken the old name
            _renamed_if_free(new, old)
        raise Moved


def respelled(old: Name, new: Name, aside: str, expected: Identity) -> bool:
    """Spell a name otherwise, where the file system takes both spellings for one; False where it does not.

    `aside` is the name in between, where the system does nothing for two spellings of one name.

    Raises:
        Moved: Something else has the name.
        OSError: The system's refusal.
    """
    folder = old[0]
    listed = as_listed(folder, old[1])
    if identity_of(folder) != identity_of(new[0]) or as_listed(folder, new[1]) != listed:
        return False
    status = _stat(folder, listed)
    if status is None or _identity(status) != expected:
        raise Moved
    if listed != new[1]:
        os.rename(listed, new[1], src_dir_fd=folder, dst_dir_fd=folder)
        if as_listed(folder, new[1]) == listed:
            _renamed_if_free((folder, listed), (folder, aside))
            give_back(folder, aside, new[1])
    return True


def take(old: Name, new: Name, expected: Identity, over: Version) -> None:
    """Give a file the name of another file, whose state is `over` and which is gone then.

    Raises:
        Moved: Something else was at one of the names; both are as they were.
        OSError: The system's refusal; nothing is changed.
    """
    ours = _stat(*old)
    if ours is None or _identity(ours) != expected or not _same(_stat(*new), over):
        raise Moved
    try:
        if not _renamed(old, new, _EXCHANGE):
            os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])
            return
    except FileNotFoundError:
        raise Moved from None
    status = _stat(*new)
    if status is None or _identity(status) != expected or not _same(_stat(*old), over):
        with contextlib.suppress(OSError):
            _renamed(old, new, _EXCHANGE)
        raise Moved
    os.unlink(old[1], dir_fd=old[0])


def remove(folder: int, name: str, expected: Version, aside: str) -> None:
    """Remove a file whose state is `expected`.

    It gets the name `aside` first, so that the removed entry is the one that was checked.

    Raises:
        Moved: Another file, or another state of it, is there, and stays.
        OSError: The system's refusal; nothing is changed.
    """
    if not _same(_stat(folder, name), expected):
        raise Moved
    try:
        if not _renamed((folder, name), (folder, aside), _NOREPLACE):
            os.unlink(name, dir_fd=folder)
            return
    except FileNotFoundError:
        raise Moved from None
    if not _same(_stat(folder, aside), expected):
        with contextlib.suppress(OSError):
            _renamed_if_free((folder, aside), (folder, name))
        raise Moved
    os.unlink(aside, dir_fd=folder)


def replace(folder: int, temporary: str, name: str, expected: Version) -> None:
    """Give a new file the name of another, whose state is `expected`. Raises Moved, OSError."""
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
        if not _renamed((folder, temporary), (folder, name), _EXCHANGE):
            return False
    except FileNotFoundError:
        raise Moved from None
    if not _same(_stat(folder, temporary), expected):
        _put_back(folder, temporary, name, ours)
        raise Moved
    os.unlink(temporary, dir_fd=folder)
    return True


_WITHOUT_NAMES = (errno.ENOENT, errno.EROFS, errno.EACCES)
"""Errors of an exchange of names that are not there, by a system that knows the call."""


def can_exchange(folder: int) -> bool:
    """Whether the system knows the exchange of names; changes nothing. Its file system may still not."""
    try:
        return _renamed((folder, temporary_name()), (folder, temporary_name()), _EXCHANGE)
    except OSError as error:
        return error.errno in _WITHOUT_NAMES


def _put_back(folder: int, temporary: str, name: str, ours: os.stat_result) -> None:
    """Exchange again, unless our file was replaced by now; the last one saved keeps the name."""
    status = _stat(folder, name)
    if status is None or _identity(status) != _identity(ours):
        return
    _renamed((folder, temporary), (folder, name), _EXCHANGE)
    status = _stat(folder, temporary)
    if status is not None and _identity(status) != _identity(ours):
        _renamed((folder, temporary), (folder, name), _EXCHANGE)


def _stat(folder: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _same(status: os.stat_result | None, expected: Version) -> bool:
    """Whether it is that file in that state. A rename itself sets the change time, so that is left out."""
    return (
        status is not None
        and _identity(status) == (expected.device, expected.inode)
        and (status.st_size, status.st_mtime_ns) == (expected.size, expected.mtime_ns)
    )


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _renamed_if_free(old: Name, new: Name) -> None:
    if not _renamed(old, new, _NOREPLACE):
        _linked(old, new)


def _renamed(old: Name, new: Name, flag: int) -> bool:
    """Rename with a flag; False where the system or this file system cannot."""
    function = _renameat2()
    if function is None:
        return False
    if function(old[0], os.fsencode(old[1]), new[0], os.fsencode(new[1]), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), new[1])


def _linked(old: Name, new: Name, *, keeps: bool = False) -> None:
    """Rename by way of a second name; with `keeps` both stay, if this file system has links."""
    try:
        os.link(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0], follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A folder, or a file system without links: checking first is the best there is.
        if _stat(*new) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new[1]) from None
        os.rename(old[1], new[1], src_dir_fd=old[0], dst_dir_fd=new[0])
        return
    if not keeps:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(old[1], dir_fd=old[0])


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


# -----------------------------------------------------------------------------
# The steps of a batch, each of which can be taken back until all are made: nothing that had a name
# is lost, it has another.
# -----------------------------------------------------------------------------

NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST)
"""Errors for a folder that has something in it."""


def state_at(folder: int, name: str) -> State | None:
    """The state of what has a name; None if nothing has."""
    status = _stat(folder, name)
    return None if status is None else (*_identity(status), status.st_size, status.st_mtime_ns)


def identity_of(fd: int) -> Identity:
    """The identity of the open file or folder."""
    return _identity(os.fstat(fd))


def swap(folder: int, temporary: str, aside: str, name: str, expected: State) -> None:
    """Give a new file the name of another, which keeps one: the temporary name, or `aside`.

    The latter where names cannot be exchanged.  Raises Moved, OSError.
    """
    if state_at(folder, name) != expected:
        raise Moved
    ours = os.stat(temporary, dir_fd=folder, follow_symlinks=False)
    try:
        if not _renamed((folder, temporary), (folder, name), _EXCHANGE):
            _linked((folder, name), (folder, aside), keeps=True)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            return
    except FileNotFoundError:
        raise Moved from None
    if state_at(folder, temporary) != expected:
        _put_back(folder, temporary, name, ours)
        raise Moved


def put_back(folder: int, kept: str, name: str, ours: State | None) -> bool:
    """Give an old file its name again in place of `ours`, which is removed.

    False if another has the name, which then keeps it.
    """
    if state_at(folder, name) is None:
        _renamed_if_free((folder, kept), (folder, name))
        return True
    if not _renamed((folder, kept), (folder, name), _EXCHANGE):
        if state_at(folder, name) != ours:
            return False
        os.rename(kept, name, src_dir_fd=folder, dst_dir_fd=folder)
        return True
    if state_at(folder, kept) != ours:
        _renamed((folder, kept), (folder, name), _EXCHANGE)
        return False
    os.unlink(kept, dir_fd=folder)
    return True


def set_aside(folder: int, name: str, aside: str, expected: State | None, *, exact: bool) -> None:
    """Give what has a name another; with `exact` its state counts, not only which it is. Raises Moved."""

    def is_expected(at: str) -> bool:
        now = state_at(folder, at)
        return (
            now is not None
            and expected is not None
            and (now if exact else now[:2]) == (expected if exact else expected[:2])
        )

    if not is_expected(name):
        raise Moved
    try:
        _renamed_if_free((folder, name), (folder, aside))
    except (FileExistsError, FileNotFoundError):
        raise Moved from None
    if not is_expected(aside):
        with contextlib.suppress(OSError):
            _renamed_if_free((folder, aside), (folder, name))
        raise Moved


def give_back(folder: int, aside: str, name: str) -> None:
    """Give what was set aside its name again. Raises FileExistsError."""
    _renamed_if_free((folder, aside), (folder, name))


def take_away(folder: int, name: str, aside: str, ours: State | None) -> None:
    """Remove a file that was put at a name, if it is still that. Raises Moved, OSError."""
    with contextlib.suppress(Moved):
        set_aside(folder, name, aside, ours, exact=True)
        os.unlink(aside, dir_fd=folder)


def clear(folder: int, name: str, which: State | None) -> None:
    """Remove a name if that file has it."""
    now = state_at(folder, name)
    if now is not None and which is not None and now[:2] == which[:2]:
        os.unlink(name, dir_fd=folder)


def clear_tree(folder: int, name: str) -> None:
    """Remove what was set aside, a folder with everything in it. Raises Moved, OSError."""
    if _stat(folder, name) is None:
        return
    if _is_folder(folder, name):
        Removal(lambda path, is_folder: None).folder(folder, name, WorkPath(name))
    else:
        os.unlink(name, dir_fd=folder)


# -----------------------------------------------------------------------------
# Removing names relative to the descriptors of their folders, so that no link is followed even
# while the tree is moved.
#
# Every folder is opened relative to the one above it, without following a link, and its entries
# are removed relative to it: if a link takes its place meanwhile, the link is removed, or nothing.
# -----------------------------------------------------------------------------

_A_FOLDER = (errno.EISDIR, errno.EPERM)
"""Errors of Linux and macOS for unlinking a folder."""

_ANOTHER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""Errors for a folder that was replaced or removed meanwhile."""


def remove_tree(folder: int, name: str) -> None:
    """Remove a file or a link. Raises Moved when it is a folder or gone."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        raise Moved from None
    except OSError as error:
        if error.errno in _A_FOLDER and _is_folder(folder, name):
            raise Moved from None
        raise


class Removal:
    """The removal of one folder with all that is in it.

    Attributes:
        removed: The number of names removed so far, even if the rest fails.
    """

    def __init__(self, step: Step) -> None:
        """`step` is called before each removal, for a folder before what is in it."""
        self._step = step
        self.removed = 0

    def folder(self, above: int, name: str, path: WorkPath) -> None:
        """Remove it. Raises Moved, OSError.

        Args:
            above: The folder that it is in.
            name: Its name there.
            path: Its name for `step`.
        """
        self._step(path, True)
        try:
            folder = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)
        except OSError as error:
            if error.errno in _ANOTHER:
                raise Moved from None
            raise
        try:
            for inner, is_folder in _names(folder):
                if is_folder:
                    self.folder(folder, inner, join(path, inner))
                else:
                    self._step(join(path, inner), False)
                    remove_tree(folder, inner)
                    self.removed += 1
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, *_ANOTHER):
                raise Moved from None
            raise
        self.removed += 1


def names_inside(folder: int, name: str) -> Iterator[str]:
    """The names below a folder in an open one, by their path in it. Raises OSError."""
    pending = [""]
    while pending:
        inside = pending.pop()
        at = os.path.join(name, inside) if inside else name
        fd = os.open(at, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder)
        try:
            for own, is_folder in _names(fd):
                path = f"{inside}/{own}" if inside else own
                yield path
                if is_folder:
                    pending.append(path)
        finally:
            os.close(fd)


def _names(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_folder(folder: int, name: str) -> bool:
    try:
        os.close(os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder))
    except OSError:
        return False
    return True
