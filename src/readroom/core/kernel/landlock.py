"""Start child processes that Landlock restricts to a list of files (Linux 5.13 and later).

A thread restricts itself and starts the child, which inherits the restriction; then the thread ends.
Landlock applies to one thread, so nothing else in this process is affected, and no code runs between fork
and exec.  The kernel refuses access to anything that is not listed, whatever name, link or rename leads
to it.

Landlock has no exceptions: a file below a listed folder can be reached even where policy denies it.  So
what a child returns must still be checked.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import sys
from collections.abc import Sequence
from enum import IntFlag
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

if TYPE_CHECKING:
    import subprocess

_CREATE, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""System calls: one number each on every architecture."""

_ASK_VERSION = 1
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

Place: TypeAlias = "str | int"
"""A file or folder: its path, or a descriptor of it."""


class Right(IntFlag):
    """What may be done with files (LANDLOCK_ACCESS_FS_*)."""

    EXECUTE = 1 << 0
    WRITE_FILE = 1 << 1
    READ_FILE = 1 << 2
    READ_DIR = 1 << 3
    REMOVE_DIR = 1 << 4
    REMOVE_FILE = 1 << 5
    MAKE_CHAR = 1 << 6
    MAKE_DIR = 1 << 7
    MAKE_REG = 1 << 8
    MAKE_SOCK = 1 << 9
    MAKE_FIFO = 1 << 10
    MAKE_BLOCK = 1 << 11
    MAKE_SYM = 1 << 12
    REFER = 1 << 13
    TRUNCATE = 1 << 14
    IOCTL_DEV = 1 << 15


READ = Right.READ_FILE | Right.READ_DIR
EXECUTE = Right.EXECUTE | Right.READ_FILE
CHANGE = (
    READ
    | Right.EXECUTE
    | Right.WRITE_FILE
    | Right.TRUNCATE
    | Right.REMOVE_DIR
    | Right.REMOVE_FILE
    | Right.MAKE_DIR
    | Right.MAKE_REG
    | Right.MAKE_SOCK
    | Right.MAKE_FIFO
    | Right.MAKE_SYM
    | Right.REFER
)
"""Everything but making devices and sending them orders."""

_FOR_FILES = Right.EXECUTE | Right.READ_FILE | Right.WRITE_FILE | Right.TRUNCATE | Right.IOCTL_DEV
"""The rights that a rule for a single file may hold."""

_HANDLED: tuple[tuple[int, Right], ...] = (
    (1, Right(Right.REFER - 1)),
    (2, Right.REFER),
    (3, Right.TRUNCATE),
    (5, Right.IOCTL_DEV),
)
"""Rights by the version that first knew them; naming one that the kernel does not know is an error."""

_NET_SINCE, _NET = 4, 0b11
"""Binding and connecting with TCP."""

_SCOPED_SINCE, _SCOPED = 6, 0b11
"""Abstract sockets and signals of other processes."""

FOR_COMMANDS = _SCOPED_SINCE
"""The oldest version that can hold a command: before, it could end processes outside."""


class _Attributes(ctypes.Structure):
    """struct landlock_ruleset_attr of linux/landlock.h; older kernels take its beginning."""

    _fields_ = (
        ("handled_access_fs", ctypes.c_uint64),
        ("handled_access_net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _Beneath(ctypes.Structure):
    """struct landlock_path_beneath_attr."""

    _pack_ = 1
    _fields_ = (("allowed_access", ctypes.c_uint64), ("parent_fd", ctypes.c_int32))


class LandlockRules(Struct, frozen=True):
    """What a child may do: read and run what is listed, and no more. No writing, no network.

    A folder stands for everything below it.
    """

    read: Sequence[Place]
    execute: Sequence[Place]


class Unconfined(OSError):
    """This system cannot confine a child; it was not started."""


@functools.cache
def available() -> int:
    """The version of Landlock that this process may use; 0 for none."""
    if sys.platform != "linux":
        return 0
    try:
        return max(0, _call(_CREATE, None, 0, _ASK_VERSION))
    except OSError:
        return 0  # an older kernel, one built or started without it, or a container that hides it


def spawn(arguments: Sequence[str], reach: LandlockRules, **options: object) -> subprocess.Popen[bytes]:
    """Start a child that has no more than `reach`. Raises Unconfined, OSError.

    Args:
        arguments: The program, by its path, and its arguments.
        reach: What it may touch.
        options: Of `subprocess.Popen`; nothing that opens a file by name, such as DEVNULL: the
            thread that calls it cannot.
    """
    import subprocess  # what confines itself starts nothing: it is spared the wait
    import threading

    if not available():
        raise Unconfined(errno.ENOSYS, "Landlock is not available")
    outcome: list[subprocess.Popen[bytes] | BaseException] = []

    def start() -> None:
        try:
            restrict(reach)
            outcome.append(subprocess.Popen(arguments, **options))  # type: ignore[call-overload]  # passed on
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=start, name="readroom-confined", daemon=True)
    thread.start()
    thread.join()
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def restrict(reach: LandlockRules) -> None:
    """Confine this thread and what it starts, for good. Raises Unconfined."""
    rules = ruleset()
    try:
        for place in reach.read:
            allow(rules, place, READ)
        for place in reach.execute:
            allow(rules, place, EXECUTE)
        _no_new_privileges()
        _call(_RESTRICT_SELF, rules, 0)
    except OSError as error:
        raise Unconfined(error.errno, f"Landlock refused: {error.strerror}") from None
    finally:
        os.close(rules)


def ruleset(*, network: bool = False) -> int:
    """A descriptor of rules that allow nothing yet; with `network`, they do not cover TCP.

    Raises:
        Unconfined: Landlock is missing or refuses.
    """
    version = available()
    handled = Right(0)
    for since, rights in _HANDLED:
        handled |= rights if version >= since else Right(0)
    attributes = _Attributes(
        handled,
        _NET if version >= _NET_SINCE and not network else 0,
        _SCOPED if version >= _SCOPED_SINCE else 0,
    )
    size = 8 if version < _NET_SINCE else 16 if version < _SCOPED_SINCE else 24
    try:
        return _call(_CREATE, ctypes.byref(attributes), size, 0)
    except OSError as error:
        raise Unconfined(error.errno, f"Landlock refused: {error.strerror}") from None


def allow(rules: int, place: Place, rights: Right) -> None:
    """Add a rule; a folder stands for everything below it, and a file takes the rights that files have.

    Raises:
        OSError: There is no such place, or the kernel refuses.
    """
    fd = os.open(place, os.O_PATH | os.O_CLOEXEC) if isinstance(place, str) else place
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            rights &= _FOR_FILES
        _call(_ADD_RULE, rules, _PATH_BENEATH, ctypes.byref(_Beneath(rights, fd)), 0)
    finally:
        if isinstance(place, str):
            os.close(fd)


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.syscall.restype = ctypes.c_long
    return library


def _call(number: int, *arguments: object) -> int:
    widened = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    done: int = _library().syscall(ctypes.c_long(number), *widened)
    if done < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return done


def _no_new_privileges() -> None:
    yes, no = ctypes.c_ulong(1), ctypes.c_ulong(0)
    if _library().prctl(_PR_SET_NO_NEW_PRIVS, yes, no, no, no):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
