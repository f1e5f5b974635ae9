"""Confinement by the Linux kernel, with `openat2`.

What is found is first held by an O_PATH descriptor, which has no effect on a
pipe or a device; only a regular file is then opened for reading, through its own
entry in /proc, so that it is the very object that was looked at.

A path without links, the usual one, has the name that was asked for.  With links
the kernel tells the name.  Where the kernel stops at a link it may not follow,
or cannot be sure because of renames, the walk gives the verdict.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys

from readroom.core.errors import NotAFolder
from readroom.core.paths import WorkPath
from readroom.core.stores.local.resolve import FOLDER_FLAGS, READ_FLAGS, Found, Root, require_regular, what
from readroom.core.stores.local.walk import WalkWay

# -----------------------------------------------------------------------------
# The Linux call `openat2`: paths that the kernel itself keeps below a folder.
#
# With RESOLVE_BENEATH no "..", absolute link or racing rename can lead out of the
# folder of the descriptor.  RESOLVE_NO_MAGICLINKS refuses the links of /proc, which
# lead anywhere.
#
# It is missing before Linux 5.6, under gVisor, and where a seccomp profile hides
# it; `available` finds out.
# -----------------------------------------------------------------------------

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

_SYSCALL = 437
"""The same number on every architecture that uses the common table."""

_ARCHITECTURES = {
    "x86_64",
    "aarch64",
    "i686",
    "armv7l",
    "armv6l",
    "ppc64le",
    "s390x",
    "riscv64",
    "loongarch64",
}

_EAGAIN_TRIES = 64
"""A rename anywhere on the system while ".." of a link is resolved gives EAGAIN; each try takes
microseconds, and a machine that renames through 64 of them in a row is answered by the walk."""


class _How(ctypes.Structure):
    """struct open_how of linux/openat2.h."""

    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_How)


def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    function.argtypes = (
        ctypes.c_long,
        ctypes.c_int,
        ctypes.c_char_p,
        ctypes.POINTER(_How),
        ctypes.c_size_t,
    )
    return function


class Opener:
    """Opens names below a folder with fixed flags. Safe to share between threads."""

    __slots__ = ("_call", "_how")

    def __init__(self, flags: int, resolve: int) -> None:
        self._call = _syscall()
        # The kernel only reads it, so one structure serves all threads.
        self._how = ctypes.pointer(_How(flags | os.O_CLOEXEC, 0, resolve))

    def open(self, folder: int, path: bytes) -> int:
        """A descriptor of what is at `path` below `folder`.

        Raises:
            OSError: EXDEV when the way leads out; ELOOP at a link that must not be followed; EAGAIN when
                renames elsewhere kept the kernel from being sure.
        """
        for _ in range(_EAGAIN_TRIES):
            fd: int = self._call(_SYSCALL, folder, path, self._how, _SIZE)
            if fd >= 0:
                return fd
            code = ctypes.get_errno()
            if code not in (errno.EAGAIN, errno.EINTR):
                break
        raise OSError(code, os.strerror(code))


def available(folder: int) -> bool:
    """Whether this system has the call and lets this process use it, and shows open files in /proc."""
    if sys.platform != "linux" or os.uname().machine not in _ARCHITECTURES:
        return False
    try:
        os.close(Opener(os.O_PATH, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS).open(folder, b"."))
        os.readlink(f"/proc/self/fd/{folder}")
    except OSError:
        return False
    return True


_BENEATH = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS

# ELOOP: more links than the kernel follows, or a magic one. EXDEV: out of the root, or an absolute
# link that may name the root. EAGAIN: renames kept the kernel from being sure.
_ASK_THE_WALK = (errno.ELOOP, errno.EXDEV, errno.EAGAIN)

_DELETED = " (deleted)"


class KernelWay:
    """Opens names below a root with `openat2`."""

    __slots__ = ("_links", "_plain", "_root", "_walk")

    def __init__(self, root: Root, walk: WalkWay) -> None:
        """`walk` answers where the kernel does not."""
        self._root = root
        self._walk = walk
        self._plain = Opener(os.O_PATH, _BENEATH | RESOLVE_NO_SYMLINKS)
        self._links = Opener(os.O_PATH, _BENEATH)

    def file(self, path: WorkPath) -> Found:
        handle = self._held(path)
        if handle is None:
            return self._walk.file(path)
        try:
            require_regular(handle.stat, path)
            return Found(os.open(f"/proc/self/fd/{handle.fd}", READ_FLAGS), handle.real, handle.stat)
        finally:
            os.close(handle.fd)

    def folder(self, path: WorkPath) -> Found:
        handle = self._held(path)
        if handle is None:
            return self._walk.folder(path)
        try:
            if not stat.S_ISDIR(handle.stat.st_mode):
                raise NotAFolder(path, what(handle.stat.st_mode))
            return Found(os.open(f"/proc/self/fd/{handle.fd}", FOLDER_FLAGS), handle.real, handle.stat)
        finally:
            os.close(handle.fd)

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        handle = self._held(path)
        if handle is None:
            return self._walk.stat(path)
        os.close(handle.fd)
        return handle.real, handle.stat

    def _held(self, path: WorkPath) -> Found | None:
        """What is at `path`, by an O_PATH descriptor; None when the walk has to say."""
        name = os.fsencode(path)
        try:
            fd = self._plain.open(self._root.fd, name)
        except OSError as error:
            if error.errno != errno.ELOOP:
                if error.errno in _ASK_THE_WALK:
                    return None
                raise
            return self._held_by_links(name)
        return Found(fd, path, os.fstat(fd))

    def _held_by_links(self, name: bytes) -> Found | None:
        try:
            fd = self._links.open(self._root.fd, name)
        except OSError as error:
            if error.errno in _ASK_THE_WALK:
                return None
            raise
        try:
            status = os.fstat(fd)
            real = self._real(fd)
        except BaseException:
            os.close(fd)
            raise
        if real is None:
            os.close(fd)
            return None
        return Found(fd, real, status)

    def _real(self, fd: int) -> WorkPath | None:
        """The name below the root of what a descriptor holds; None when it has none any more."""
        root = os.readlink(f"/proc/self/fd/{self._root.fd}")
        name = os.readlink(f"/proc/self/fd/{fd}")
        if name == root:
            return WorkPath(".")
        top = root if root.endswith("/") else root + "/"
        # A name with this ending is either deleted or really called so: the walk can tell.
        if not name.startswith(top) or name.endswith(_DELETED):
            return None
        return WorkPath(name[len(top) :])
