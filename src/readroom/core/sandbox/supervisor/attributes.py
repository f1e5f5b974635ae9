"""Change modes, owners and times of files, and watch them, for a command that may not make these calls.

Part of the supervisor's program: imports nothing from readroom.  Landlock has no access right for these
calls, so a filter stops them and the kernel notifies this process (seccomp user notification).  The file is
opened with O_PATH, relative to the caller's folders; the decision is made on the real path of the opened
file, and the change goes through that descriptor, not through the name.  So whatever the caller does
meanwhile, to its memory or to names, cannot redirect the change to another file.

Limits and scheduling of other tasks are decided by the number of the task, which is an argument and not in
memory: if the task is one of the command's own, the kernel continues the call.

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

    from readroom.core.sandbox.supervisor import processes
else:
    import processes

_RECEIVE, _SEND, _VALID = 0xC0502100, 0xC0182101, 0x40082102
"""SECCOMP_IOCTL_NOTIF_*."""

_NOTICE = struct.Struct("=QIIiIQ6Q")
"""struct seccomp_notif: id, thread, flags, then struct seccomp_data."""

_ANSWER = struct.Struct("=QqiI")

_GO_ON = 1
"""SECCOMP_USER_NOTIF_FLAG_CONTINUE: the kernel carries out the call itself."""

_PIDFD_OPEN, _PIDFD_GETFD, _PIDFD_THREAD = 434, 438, os.O_EXCL

_AT_FDCWD = -100
_NOT_FOLLOWED, _EMPTY_PATH = 0x100, 0x1000
_WATCH_LINK = 0x02000000
"""IN_DONT_FOLLOW."""
_PATH_BYTES, _PAGE = 4096, 4096
_RAISING = 0o6000
"""Mode bits that the filter refuses before it notifies this process; see `kernel.seccomp`."""
_SELF = (b"/proc/self/", b"/proc/thread-self/")


class AttributeRequests:
    """Answers the kernel's notifications about one command."""

    def __init__(
        self,
        listener: int,
        calls: Mapping[int, Sequence[str | int]],
        places: Sequence[str],
        watched: Sequence[tuple[str, bool]],
    ) -> None:
        """Take over a listener.

        Args:
            listener: The notification descriptor of the filter.
            calls: By number, what a call changes and where its arguments are; see `kernel.seccomp.Change`.
            places: Absolute paths; these and everything below may be changed.
            watched: Absolute paths that may be watched, and whether everything below may be, too.
        """
        self.listener = listener
        self._calls = calls
        self._places = [(os.fsencode(place), True) for place in places]
        self._watched = [(os.fsencode(place), deep) for place, deep in watched]

    def answer(self) -> None:
        """Answer one notification, if one is pending."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self.listener, _RECEIVE, notice)
        except OSError:
            return  # the calling process has ended
        key, thread, _, number, _, _, *arguments = _NOTICE.unpack(notice)
        value = error = flags = 0
        try:
            call = self._calls[number]
            if call[0] == "task":
                flags = _for_own_task(_signed(arguments[int(call[2])]))
            else:
                value = self._carry_out(key, thread, call, arguments)
        except OSError as problem:
            error = problem.errno or errno.EPERM
        except Exception:
            error = errno.EPERM
        try:
            fcntl.ioctl(self.listener, _SEND, _ANSWER.pack(key, value, -error, flags))
        except OSError:
            return

    def _carry_out(self, key: int, thread: int, call: Sequence[str | int], arguments: Sequence[int]) -> int:
        what, where, flags_at = str(call[0]), str(call[1]), int(call[2])
        caller = os.open(f"/proc/{thread}", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            # The call is still pending, so this is the caller's folder, not that of a reused number.
            fcntl.ioctl(self.listener, _VALID, struct.pack("=Q", key))
            flags = arguments[flags_at] if flags_at >= 0 else 0
            if what == "watch":
                return self._watch(caller, thread, arguments, flags)
            if where == "link":
                flags |= _NOT_FOLLOWED
            values = arguments[2 if where == "at" else 1 :]
            fd = _opened(caller, thread, where, arguments, flags)
            try:
                _require(fd, self._places, errno.EPERM)
                _change(caller, fd, what, values)
            finally:
                os.close(fd)
            return 0
        finally:
            os.close(caller)

    def _watch(self, caller: int, thread: int, arguments: Sequence[int], events: int) -> int:
        """Add a watch to the caller's inotify instance; returns its number."""
        followed = _NOT_FOLLOWED if events & _WATCH_LINK else 0
        fd = _opened(caller, thread, "path", arguments[1:], followed)
        try:
            _require(fd, self._watched, errno.EACCES)
            instance = _taken(thread, _signed(arguments[0]))
            try:
                name = os.fsencode(f"/proc/self/fd/{fd}")
                wanted = ctypes.c_uint32(events & ~_WATCH_LINK)  # the name here is a link to what was opened
                return _checked(_libc().inotify_add_watch(instance, name, wanted))
            finally:
                os.close(instance)
        finally:
            os.close(fd)


def _for_own_task(task: int) -> int:
    """The answer for a call about a task. Raises PermissionError unless it is one of the command's."""
    if not processes.holds(task):
        raise PermissionError(errno.EPERM, "another's")
    return _GO_ON


def _require(fd: int, places: Sequence[tuple[bytes, bool]], refusal: int) -> None:
    """Require that a file is one of the places, or below one of those that include what is below."""
    name = os.fsencode(os.readlink(f"/proc/self/fd/{fd}"))
    if not any(name == place or (deep and name.startswith(place + b"/")) for place, deep in places):
        raise OSError(refusal, "outside")


def _taken(thread: int, number: int) -> int:
    """The caller's own descriptor, in this process."""
    task = _checked(_libc().syscall(_PIDFD_OPEN, thread, _PIDFD_THREAD))
    try:
        return _checked(_libc().syscall(_PIDFD_GETFD, task, number, 0))
    finally:
        os.close(task)


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
        times = _times(caller, what, values[0]) if values[0] else None
        _checked(_libc().utimensat(_AT_FDCWD, os.fsencode(name), times, 0))


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


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


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
