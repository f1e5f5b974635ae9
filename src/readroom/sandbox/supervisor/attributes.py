"""Change modes, owners and times of files for a command that may not make these system calls.

Part of the supervisor's program: imports nothing from readroom.  Landlock has no access right for these
calls, so a filter stops them and the kernel notifies this process (seccomp user notification).  The file is
opened with O_PATH, relative to the caller's folders; the decision is made on the real path of the opened
file, and the change goes through that descriptor, not through the name.  So whatever the caller does
meanwhile, to its memory or to names, cannot redirect the change to another file.

This process has no more privileges than the caller: as user 0 it has dropped the same capabilities.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
"""SECCOMP_IOCTL_NOTIF_*."""

_NOTICE = struct.Struct("=QIIiIQ6Q")
"""struct seccomp_notif: id, thread, flags, then struct seccomp_data."""

_ANSWER = struct.Struct("=Qqii")

_AT_FDCWD = -100
_NOT_FOLLOWED, _EMPTY_PATH = 0x100, 0x1000
_PATH_BYTES, _PAGE = 4096, 4096
_RAISING = 0o6000
"""Mode bits that the filter refuses before it notifies this process; see `kernel.seccomp`."""
_SELF = (b"/proc/self/", b"/proc/thread-self/")


class AttributeRequests:
    """Answers the kernel's notifications about one command."""

    def __init__(
        self, listener: int, calls: Mapping[int, Sequence[str | int]], places: Sequence[str]
    ) -> None:
        """Take over a listener.

        Args:
            listener: The notification descriptor of the filter.
            calls: By number, what a call changes and where its arguments are; see `kernel.seccomp.Change`.
            places: Absolute paths; these and everything below may be changed.
        """
        self.listener = listener
        self._calls = calls
        self._places = [os.fsencode(place) for place in places]

    def answer(self) -> None:
        """Answer one notification, if one is pending."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notice)
        except OSError:
            return  # the calling process has ended
        key, thread, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        try:
            self._carry_out(key, thread, self._calls[number], arguments)
            error = 0
        except OSError as problem:
            error = problem.errno or errno.EPERM
        except Exception:
            error = errno.EPERM
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(key, 0, -error, 0))
        except OSError:
            return

    def _carry_out(self, key: int, thread: int, call: Sequence[str | int], arguments: Sequence[int]) -> None:
        what, where, flags_at = str(call[0]), str(call[1]), int(call[2])
        caller = os.open(f"/proc/{thread}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # The call is still pending, so this is the caller's folder, not that of a reused number.
            fcntl.ioctl(self.listener, _VALID, struct.pack("=Q", key))
            flags = arguments[flags_at] if flags_at >= 0 else 0
            if where == "link":
                flags |= _NOT_FOLLOWED
            values = arguments[2 if where == "at" else 1 :]
            fd = _opened(caller, thread, where, arguments, flags)
            try:
                self._require(fd)
                _change(caller, fd, what, values)
            finally:
                os.close(fd)
        finally:
            os.close(caller)

    def _require(self, fd: int) -> None:
        name = os.fsencode(os.readlink(f"/proc/self/fd/{fd}"))
        if not any(name == place or name.startswith(place + b"/") for place in self._places):
            raise PermissionError(errno.EPERM, "outside")


def _opened(caller: int, thread: int, where: str, arguments: Sequence[int], flags: int) -> int:
    """An O_PATH descriptor of the file that a call refers to."""
    if where == "fd":
        return os.open(f"fd/{_signed(arguments[0])}", os.O_PATH | os.O_CLOEXEC, dir_fd=caller)
    base = _signed(arguments[0]) if where == "at" else _AT_FDCWD
    start = "cwd" if base == _AT_FDCWD else f"fd/{base}"
    address = arguments[1 if where == "at" else 0]
    name = _text(caller, address) if address else b""
    if not name:
        if address and not flags & _EMPTY_PATH:
            raise FileNotFoundError(errno.ENOENT, "no name")
        return os.open(start, os.O_PATH | os.O_CLOEXEC, dir_fd=caller)
    for prefix in _SELF:
        if name.startswith(prefix):
            name = b"/proc/%d/" % thread + name[len(prefix) :]
    if name.startswith(b"/"):
        start, name = "root", name.lstrip(b"/") or b"."
    folder = os.open(start, os.O_PATH | os.O_CLOEXEC, dir_fd=caller)
    try:
        follow = os.O_NOFOLLOW if flags & _NOT_FOLLOWED else 0
        return os.open(name, os.O_PATH | os.O_CLOEXEC | follow, dir_fd=folder)
    finally:
        os.close(folder)


def _change(caller: int, fd: int, what: str, values: Sequence[int]) -> None:
    name = f"/proc/self/fd/{fd}"
    if what == "mode":
        if values[0] & _RAISING:
            raise PermissionError(errno.EPERM, "set-user-id")
        os.chmod(name, values[0] & 0o7777)
    elif what == "owner":
        os.chown(name, _signed(values[0]), _signed(values[1]))
    else:
        _set_times(name, _times(caller, what, values[0]) if values[0] else None)


def _times(caller: int, unit: str, address: int) -> bytes:
    """Two times as struct timespec."""
    if unit == "nanoseconds":
        return _memory(caller, address, 32)
    if unit == "seconds":
        accessed, modified = struct.unpack("=2q", _memory(caller, address, 16))
        return struct.pack("=4q", accessed, 0, modified, 0)
    seconds, parts, more_seconds, more_parts = struct.unpack("=4q", _memory(caller, address, 32))
    if not (0 <= parts < 1_000_000 and 0 <= more_parts < 1_000_000):
        raise OSError(errno.EINVAL, "no time")
    return struct.pack("=4q", seconds, parts * 1000, more_seconds, more_parts * 1000)


def _set_times(name: str, times: bytes | None) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.utimensat(_AT_FDCWD, os.fsencode(name), times, 0) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _text(caller: int, address: int) -> bytes:
    """A C string of the caller; read a page at a time, because the next page may not be mapped."""
    text = b""
    while len(text) <= _PATH_BYTES:
        size = _PAGE - (address + len(text)) % _PAGE
        piece, end, _ = _memory(caller, address + len(text), size).partition(b"\0")
        text += piece
        if end:
            return text
    raise OSError(errno.ENAMETOOLONG, "too long")


def _memory(caller: int, address: int, size: int) -> bytes:
    fd = os.open("mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=caller)
    try:
        data = os.pread(fd, size, address)
    except (OSError, OverflowError):
        raise OSError(errno.EFAULT, "no such memory") from None
    finally:
        os.close(fd)
    if len(data) < size:
        raise OSError(errno.EFAULT, "no such memory")
    return data


def _signed(value: int) -> int:
    """An argument as the signed 32-bit number that the kernel uses."""
    return (value & 0xFFFFFFFF) - ((value & 0x80000000) << 1)
