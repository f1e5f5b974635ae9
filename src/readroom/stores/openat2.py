"""The Linux call `openat2`: paths that the kernel itself keeps below a folder.

With RESOLVE_BENEATH no "..", absolute link or racing rename can lead out of the
folder that the descriptor stands for.  RESOLVE_NO_MAGICLINKS closes the doors
of /proc, which lead anywhere.

It is missing before Linux 5.6, under gVisor, and where a seccomp profile hides
it; `available` finds out.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

_SYSCALL = 437
"""One number on every architecture that counts from the common table."""

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
