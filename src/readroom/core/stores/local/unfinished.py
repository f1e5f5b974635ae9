"""Temporary files of writers: one writer per folder at a time, and cleanup after a crash.

Where the system can, a new file has no name while it is written (`O_TMPFILE`): when its writer dies
then, nothing stays.  To take the place of another file it gets a temporary name for an instant;
where files cannot be without a name it has that from the start.

Every temporary name is first noted outside the workspace, with the identities of the
folder, the new file, and the replaced file with its state.  A name says nothing: what
is removed later is what was noted, by device and inode.  So other people's files stay
whatever they are called, copies of a workspace that was being written to stay complete,
and where nothing can be noted nothing is removed.  A note that a power cut takes away
leaves a file behind and harms nothing; so notes are not flushed.

The lock is `flock` on the folder itself: it needs no file, ends with its process
whatever happens to it, and holds between threads, processes and containers that
share the folder.  On network file systems it may hold on one machine only.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from functools import cache
from typing import TypeAlias, final

from msgspec import Struct

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.limits import LOCK_WAIT_S
from readroom.core.values import Version

_UNLOCKABLE = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EBADF, errno.EINVAL)
"""Errors of file systems without locks. Writing continues: what is replaced is still checked just before."""

_FIRST_WAIT_S = 0.001
_LONGEST_WAIT_S = 0.05


def lock(folder: int, deadline: Deadline) -> None:
    """Wait until no other writer is at work in the folder. Raises TimedOut, Cancelled."""
    within = deadline.within(LOCK_WAIT_S)
    wait = _FIRST_WAIT_S
    while not try_lock(folder):
        if within.expired and not deadline.expired:
            raise TimedOut(LOCK_WAIT_S, "Another program holds the folder; send the call again in a moment.")
        deadline.check()
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT_S)


def try_lock(descriptor: int) -> bool:
    """Lock a folder or file if no one else has; True also where there are no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        return error.errno in _UNLOCKABLE
    return True


def unlock(descriptor: int) -> None:
    """Let the next one in now, even when a forked process still has the descriptor."""
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)


Identity: TypeAlias = tuple[int, int]
"""Device and inode."""

_NOTE_BYTES = 1000
"""More than any note has: two lines of numbers."""

_NAMELESS = getattr(os, "O_TMPFILE", 0)

_UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS)
"""Errors of systems and file systems without unnamed files."""

_FOR_ALL = 0o002


WRITE_NOTE_KEPT_S = 30 * 86_400.0
"""How long the note about a crashed writer's temporary file is kept if nothing is written to the folder.
Afterwards the file stays, and is like any other."""


@final
class Notes:
    """Where temporary names are noted: a folder of this user, outside the workspace.

    Safe to share between threads.
    """

    def __init__(self, folder: str | None) -> None:
        """`folder` is made when the first name is noted; None notes nothing."""
        self._folder = folder

    def begin(self, folder: int, old: Version | None) -> Note:
        """A temporary name in an open folder, noted where that is possible.

        `old` is the state of a file that may come to have the name, and is to be removed then.
        """
        token = os.urandom(8).hex()
        fd, path = -1, ""
        if self._folder is not None:
            path = os.path.join(self._folder, _prefix(folder) + token)
            with contextlib.suppress(OSError):
                fd = self._created(path)
        note = Note(_temporary(token), fd, path)
        if old is not None:
            note.add("old", old.device, old.inode, old.size, old.mtime_ns)
        return note

    def _created(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            fd = os.open(path, flags, 0o600)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
            fd = os.open(path, flags, 0o600)
        try_lock(fd)
        return fd

    def sweep(self, folder: int) -> None:
        """Remove what crashed writers of this user left in an open folder, which the caller has locked."""
        if self._folder is None:
            return
        try:
            with os.scandir(self._folder) as entries:
                listed = list(entries)
        except OSError:
            return  # a failed cleanup is no reason to fail the call
        prefix = _prefix(folder) if listed else ""
        for entry in listed:
            with contextlib.suppress(OSError):
                if entry.name.startswith(prefix):
                    _finish(folder, entry.path, entry.name.removeprefix(prefix))
                elif time.time() - entry.stat(follow_symlinks=False).st_mtime > WRITE_NOTE_KEPT_S:
                    _finish(None, entry.path, "")


def temporary_name() -> str:
    """A temporary name that is noted elsewhere."""
    return _temporary(os.urandom(8).hex())


def _temporary(token: str) -> str:
    return f".readroom-{token}.tmp"


@final
class Note(Closeable):
    """One temporary name, noted until it is closed. `name` is that name."""

    def __init__(self, name: str, fd: int, path: str) -> None:
        """Takes over the descriptor of the note; -1 for none."""
        self.name = name
        self._fd = fd
        self._path = path

    def add(self, word: str, *numbers: int) -> None:
        """Note a line. One that is cut short counts for nothing."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.write(self._fd, f"{word} {' '.join(map(str, numbers))}\n".encode())

    def close(self) -> None:
        """Forget the name, which is free again."""
        fd, self._fd = self._fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(fd)


@final
class Draft(Closeable):
    """A new file that is being written, by `fd`. It is gone when it is closed without a name."""

    def __init__(self, folder: int, notes: Notes, old: Version | None, mode: int, *, nameless: bool) -> None:
        """Make one. Raises OSError.

        Args:
            folder: The open folder of the file.
            notes: Where its temporary name is recorded.
            old: The state of the file that it replaces.
            mode: The mode of new files.
            nameless: Try to write an unnamed file.
        """
        self._folder = folder
        self._notes = notes
        self._old = old
        self._note: Note | None = None
        self._keeps_name = False
        fd = _without_name(folder, mode) if nameless else None
        if fd is None:
            self._note = note = notes.begin(folder, old)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(note.name, flags, mode, dir_fd=folder)
            except BaseException:
                note.close()
                raise
            note.add("new", *_identity(os.fstat(fd)))
        self.fd = fd

    @property
    def temporary(self) -> str | None:
        """Its temporary name, if it has one by now."""
        return None if self._note is None else self._note.name

    def named(self) -> str:
        """Its temporary name, given to it now if it has none."""
        if self._note is None:
            self._note = self._notes.begin(self._folder, self._old)
            self._note.add("new", *_identity(os.fstat(self.fd)))
            self.link(self._note.name)
        return self._note.name

    def written(self) -> None:
        """Close the file, which is complete: one that is open and removed may keep its folder from going."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    def release(self) -> None:
        """Leave the temporary name alone: what has it now is not this file."""
        self._keeps_name = True

    def link(self, name: str) -> None:
        """Give a file without a name this one. Raises FileExistsError when something has it."""
        os.link(f"/proc/self/fd/{self.fd}", name, dst_dir_fd=self._folder, follow_symlinks=True)

    def close(self) -> None:
        """Take the temporary name away, which is nearly always gone, the file having got its own."""
        self.written()
        if self._note is not None:
            if not self._keeps_name:
                with contextlib.suppress(OSError):
                    os.unlink(self._note.name, dir_fd=self._folder)
            self._note.close()


def _without_name(folder: int, mode: int) -> int | None:
    """A descriptor of a new file in a folder; None where that cannot be, or its mode would be another."""
    if not _NAMELESS or not _has_proc():
        return None
    try:
        fd = os.open(".", os.O_WRONLY | _NAMELESS | os.O_CLOEXEC, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return None
        raise
    if os.fstat(fd).st_mode & _FOR_ALL:
        # Before Linux 5.19 some file systems ignore the umask here: create a named file to find out.
        os.close(fd)
        return None
    return fd


@cache
def _has_proc() -> bool:
    return os.path.isdir("/proc/self/fd")


def _prefix(folder: int) -> str:
    """How the names of notes about a folder begin."""
    device, inode = _identity(os.fstat(folder))
    return f"{device:x}.{inode:x}."


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino


def _finish(folder: int | None, path: str, token: str) -> None:
    """Remove what a note is about if that is proven, and the note; nothing while its writer lives."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode) or not try_lock(fd):
            return
        if folder is not None:
            _remove(folder, _temporary(token), _Noted.read(os.read(fd, _NOTE_BYTES)))
        os.unlink(path)
    finally:
        os.close(fd)


class _Noted(Struct, frozen=True):
    """What a note says: the identity of the new file, and of the old one with size and time of change."""

    new: Identity | None
    old: tuple[int, int, int, int] | None

    @staticmethod
    def read(data: bytes) -> _Noted:
        lines = dict(_lines(data))
        new, old = lines.get("new", ()), lines.get("old", ())
        return _Noted(
            (new[0], new[1]) if len(new) == 2 else None,
            (old[0], old[1], old[2], old[3]) if len(old) == 4 else None,
        )

    def means(self, status: os.stat_result) -> bool:
        """Whether it is the new file, or the old one as it was."""
        if not stat.S_ISREG(status.st_mode):
            return False
        if self.new is None and status.st_size == 0:
            return True  # its writer died before it wrote anything: nothing is lost
        return _identity(status) == self.new or (
            (*_identity(status), status.st_size, status.st_mtime_ns) == self.old
        )


def _lines(data: bytes) -> Iterator[tuple[str, list[int]]]:
    for line in data.split(b"\n")[:-1]:
        word, *numbers = line.decode("ascii", "replace").split(" ")
        if all(number.isdecimal() for number in numbers):
            yield word, [int(number) for number in numbers]


def _remove(folder: int, name: str, noted: _Noted) -> None:
    with contextlib.suppress(FileNotFoundError):
        if noted.means(os.stat(name, dir_fd=folder, follow_symlinks=False)):
            os.unlink(name, dir_fd=folder)
