"""A local folder as a store, confined by the kernel or by a walk of our own.

The root is held open as long as the store: everything opened is below that folder, even if it is moved.
If another folder takes its name, `require_root` reports it.

Knows: the root, how to stay below it, and changes that happen completely or not at all.
Does not know: policies and contents.
May be touched: with a security review and the race tests only.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Literal, TypeAlias, final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import BadPath, NotAFile, NotAFolder, NotFound, ReadroomError, StoreFailed
from readroom.core.paths import WorkPath, join, lies_in
from readroom.core.stores.base import Change, Leftover
from readroom.core.stores.local import openat2
from readroom.core.stores.local.generated import content_of
from readroom.core.stores.local.openat2 import KernelWay
from readroom.core.stores.local.pulse import WatchedWay, pulse_of, silent, within
from readroom.core.stores.local.resolve import READ_FLAGS, Found, Root, Way, checked, to_stat, translated
from readroom.core.stores.local.walk import WalkWay
from readroom.core.stores.promises import NOTHING, Promises
from readroom.core.values import Entry, EntryKind, Names, Stat, Version
from readroom.core.values.files import Warn

if TYPE_CHECKING:
    from readroom.core.stores.local.journal import Abandoned
    from readroom.core.stores.local.place import LocalPlace

_PIECE_BYTES = 4 * 1024 * 1024
"""Read at once: the system allocates a buffer of the requested size, however little there is to read."""

Confinement: TypeAlias = Literal["auto", "kernel", "walk"]


@final
class LocalSource(Closeable):
    """An open regular file. Reads are by position, so threads may share it."""

    __slots__ = ("_content", "_fd", "real", "size", "stat", "version")

    def __init__(self, opened: Found) -> None:
        """Takes over the descriptor. Raises NoPermission, StoreFailed."""
        self._fd = opened.fd
        self.real = opened.real
        # What was known when it was opened; a read uses each several times.
        self.size = opened.stat.st_size
        self.stat = to_stat(opened.stat)
        self.version = _version(opened.stat)
        self._content: bytes | None = None
        if not opened.stat.st_blocks:
            self._hold_content(opened.stat)

    def _hold_content(self, status: os.stat_result) -> None:
        """Read the whole content if the size is not meaningful."""
        try:
            self._content = content_of(self._fd, status, self.real)
        except OSError as error:
            self.close()
            raise translated(error, self.real) from None
        if self._content is not None:
            self.size = len(self._content)
            self.stat = replace(self.stat, size=self.size)

    def current(self) -> Version:
        """The identity of the current state."""
        try:
            return _version(os.fstat(self._fd))
        except OSError as error:
            raise translated(error, self.real) from None

    def read_at(self, offset: int, size: int) -> bytes:
        if self._content is not None:
            return self._content[offset : offset + size]
        try:
            data = os.pread(self._fd, min(size, _PIECE_BYTES), offset)
            if len(data) == size or not data:
                return data
            pieces = [data]
            done = len(data)
            while done < size and (data := os.pread(self._fd, min(size - done, _PIECE_BYTES), offset + done)):
                pieces.append(data)
                done += len(data)
        except OSError as error:
            raise translated(error, self.real) from None
        return b"".join(pieces)

    def read_into(self, offset: int, buffer: memoryview) -> int:
        """Fill `buffer` from `offset`; the number of bytes, smaller only at the end."""
        if self._content is not None:
            piece = self._content[offset : offset + len(buffer)]
            buffer[: len(piece)] = piece
            return len(piece)
        done, size = 0, len(buffer)
        try:
            while done < size:
                count = os.preadv(self._fd, [buffer[done:]], offset + done)
                if count == 0:
                    break
                done += count
        except OSError as error:
            raise translated(error, self.real) from None
        return done

    def fileno(self) -> int:
        """The descriptor; it is repositioned before a child process gets it."""
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


@final
class LocalFolder(Closeable):
    """An open folder."""

    __slots__ = ("_fd", "real")

    def __init__(self, opened: Found) -> None:
        """Takes over the descriptor."""
        self._fd = opened.fd
        self.real = opened.real

    def entries(self) -> Iterator[Entry]:
        """The names in it, unordered; their kinds come with the names, without a stat each."""
        try:
            with os.scandir(self._fd) as names:
                for name in names:
                    yield Entry(name.name, _entry_kind(name))
        except OSError as error:
            raise translated(error, self.real) from None

    def names(self, maximum: int) -> Iterator[Names]:
        """The same in batches of up to `maximum`, at twice the speed."""
        try:
            with os.scandir(self._fd) as scanned:
                failed: OSError | None = None
                while failed is None:
                    entries: list[os.DirEntry[str]] = []
                    try:
                        entries.extend(islice(scanned, maximum))
                    except OSError as error:
                        failed = error  # what was read before it counts
                    if not entries:
                        break
                    yield Names([entry.name for entry in entries], _kinds(entries))
                if failed is not None:
                    raise failed
        except OSError as error:
            raise translated(error, self.real) from None

    def stat(self, name: str) -> Stat:
        """The stat of a name in it, without following a link."""
        path = self._path(name)
        try:
            return to_stat(os.stat(name, dir_fd=self._fd, follow_symlinks=False))
        except OSError as error:
            raise translated(error, path) from None

    def target(self, name: str) -> str | None:
        """The target of a link in it, as stored; None if it is not a link."""
        path = self._path(name)
        try:
            return os.readlink(name, dir_fd=self._fd)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise translated(error, path) from None

    def open(self, name: str) -> LocalSource:
        """Open a regular file in it, never following a link."""
        path = self._path(name)
        try:
            # It may have become a pipe: opening does not block, and the opened file is checked.
            fd = os.open(name, READ_FLAGS | os.O_NOFOLLOW, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise NotAFile(path, "link") from None
            raise translated(error, path) from None
        return LocalSource(checked(fd, path, path))

    def fileno(self) -> int:
        """The descriptor."""
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _path(self, name: str) -> WorkPath:
        # A single name only: one with a slash would be looked up outside the folder.
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise BadPath(name, "is not a name that a folder's entry can have")
        return join(self.real, name)


@final
class LocalStore:
    """A folder of this machine. Safe to share between threads; close it when done."""

    def __init__(
        self, root: str | PathLike[str], confinement: Confinement = "auto", notes: str | None = None
    ) -> None:
        """Open a root. Raises NotFound, NotAFolder, NoPermission, StoreFailed.

        Args:
            root: The folder. A link to one is followed once, now.
            confinement: "kernel" or "walk"; "auto" takes the kernel's where it works.
            notes: A folder in which temporary names are noted while files are written, so that
                the next writer removes what a crash left; None leaves that where it is.
        """
        self._path = path = os.path.abspath(os.fspath(root))
        self.name, fd = _reached(path)
        self.folder = self.name
        self.roots = (path,) if path == self.name else (path, self.name)
        opened = Root(fd)
        walk = WalkWay(opened, self.roots)
        if confinement == "auto":
            confinement = "kernel" if openat2.available(opened.fd) else "walk"
        elif confinement == "kernel" and not openat2.available(opened.fd):
            raise StoreFailed(path, "this system has no openat2")
        self.confinement = confinement
        self._notes = notes
        self._journals = None if notes is None else os.path.join(notes, "batches")
        self._promises: Promises | None = None
        self._recovered = -1
        """The time of the last change of the folder of journals when none of them was left."""
        self._root: Root | None = opened
        status = os.fstat(opened.fd)
        self.identity = (status.st_dev, status.st_ino)
        # Some file systems do not count the links of folders.
        self._is_counted = status.st_nlink > 0
        self._pulse = pulse_of(opened.fd, status.st_dev)
        way: Way = KernelWay(opened, walk) if confinement == "kernel" else walk
        self._way: Way = way if self._pulse is None else WatchedWay(way, self._pulse)

    @property
    def promises(self) -> Promises:
        """The promises that hold here, found out when they are first asked for."""
        if self._promises is None:
            from readroom.core.stores.local.promises import found  # few calls tell it

            if (root := self._root) is None:
                return NOTHING
            kernel, journal = self.confinement == "kernel", self._journals is not None
            self._promises = found(root.fd, kernel=kernel, journal=journal)
        return self._promises

    def require_root(self) -> None:
        """Raise StoreFailed if the root was removed, or its name means another folder now.

        One that was moved, and whose name means nothing, is served where it is.
        """
        if self._pulse is not None:
            self._pulse.require(".")
        try:
            is_there = self._has_its_name()
        except OSError as error:
            raise translated(error, WorkPath(".")) from None
        if not is_there:
            raise StoreFailed(".", _REPLACED, "Ask the user to start readroom again.")

    def _has_its_name(self) -> bool:
        """Whether its name still means the root, or nothing while the root is elsewhere."""
        try:
            status = os.stat(self._path)
        except OSError:
            root = self._root
            return root is None or not self._is_counted or os.fstat(root.fd).st_nlink > 0
        return (status.st_dev, status.st_ino) == self.identity

    def open(self, path: WorkPath) -> LocalSource:
        """Open a regular file for reading, without ever blocking on a pipe or device."""
        try:
            return LocalSource(self._way.file(path))
        except OSError as error:
            raise translated(error, path) from None

    def open_folder(self, path: WorkPath) -> LocalFolder:
        """Open a folder."""
        try:
            return LocalFolder(self._way.folder(path))
        except OSError as error:
            raise translated(error, path) from None

    def stat(self, path: WorkPath) -> tuple[WorkPath, Stat]:
        try:
            real, status = self._way.stat(path)
        except OSError as error:
            raise translated(error, path) from None
        return real, to_stat(status)

    def place(self, path: WorkPath) -> LocalPlace:
        from readroom.core.stores.local.place import LocalPlace  # readers do not need it
        from readroom.core.stores.local.unfinished import Notes

        if path == ".":
            raise NotAFile(path, "folder")
        try:
            # Systems without kernel confinement have no unnamed files, or unreliable ones.
            nameless = self.confinement == "kernel"
            return LocalPlace(self._way, path, LocalSource, Notes(self._notes), nameless=nameless)
        except OSError as error:
            raise translated(error, path) from None

    def commit(self, changes: Sequence[Change], ready: Callable[[], None]) -> Sequence[Sequence[Warn]]:
        """Make all changes or none, also if the process is killed meanwhile."""
        from readroom.core.stores.local.across import commit  # few calls change several names

        return commit({}, self, (self._notes, self._journals), changes, ready)

    def commit_with(
        self, every: Mapping[WorkPath, LocalStore], changes: Sequence[Change], ready: Callable[[], None]
    ) -> Sequence[Sequence[Warn]]:
        """Make changes of several roots, by their names in the tree; the paths of changes are those."""
        from readroom.core.stores.local.across import commit

        return commit(every, self, (self._notes, self._journals), changes, ready)

    @property
    def way(self) -> Way:
        """How names below the root are opened."""
        return self._way

    def recover(self, *, elsewhere: bool = True) -> Sequence[Leftover]:
        """Undo what calls that were killed left half done. Costs a stat when there were none.

        `elsewhere` also looks after roots that this one is in or that are in it.
        """
        if self._journals is None:
            return ()
        try:
            changed = os.stat(self._journals).st_mtime_ns
        except OSError:
            return ()
        if changed == self._recovered:
            return ()
        from readroom.core.stores.local.journal import each_abandoned
        from readroom.core.stores.local.undo import recovered

        left: list[Leftover] = []
        others: set[str] = set()

        def finish(abandoned: Abandoned) -> bool | None:
            record = abandoned.record
            if record.every:
                from readroom.core.stores.local.across import recovered_across

                return recovered_across(abandoned, self, LocalStore, left)
            root = os.fsdecode(record.root)
            if root != self.name or record.inode != self.identity[1]:
                if elsewhere and (lies_in(root, self.name) or lies_in(self.name, root)):
                    others.add(root)
                return None
            found = recovered(self._way, abandoned, {record.device: self.identity[0]}, Deadline())
            left.extend(found or ())
            return found is not None

        self._recovered = changed if each_abandoned(self._journals, finish) else -1
        for root in others:
            left += _recovered_in(root, self._notes)
        return left

    def version(self, path: WorkPath) -> Version | None:
        try:
            root = self._root
            if root is not None and self._pulse is None and "/" not in path and path != ".":
                # One part cannot lead outside, and every call checks whether it exists.
                status = os.stat(path, dir_fd=root.fd, follow_symlinks=False)
                if not stat.S_ISLNK(status.st_mode):
                    return _version(status)
            return _version(self._way.stat(path)[1])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise translated(error, path) from None

    def is_still(self, path: WorkPath, version: Version | None) -> bool:
        root = self._root
        if root is None or (self._pulse is not None and not self._pulse.beats):
            return False
        try:
            # Whatever the name leads to, only its numbers are compared with those of a file in the root.
            status = os.stat(path, dir_fd=root.fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return version is None
        except (OSError, ValueError):
            return False
        return (
            version is not None
            and status.st_ino == version.inode
            and status.st_ctime_ns == version.ctime_ns
            and status.st_mtime_ns == version.mtime_ns
            and status.st_size == version.size
            and status.st_dev == version.device
            and not stat.S_ISLNK(status.st_mode)
        )

    def close(self) -> None:
        """Release the root once running calls are done with it."""
        self._way = _Closed()
        self._root = None


def _recovered_in(root: str, notes: str | None) -> Iterator[Leftover]:
    try:
        store = LocalStore(root, notes=notes)
    except ReadroomError:
        return  # it is gone, and so is what was left in it
    try:
        for leftover in store.recover(elsewhere=False):
            yield Leftover(WorkPath(os.path.join(root, leftover.path)), leftover.problem)
    finally:
        store.close()


class _Closed:
    """The way of a closed store: refuses everything."""

    def file(self, path: WorkPath) -> Found:
        raise StoreFailed(path, "the workspace was closed")

    folder = file

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        raise StoreFailed(path, "the workspace was closed")


_ROOT = "Give the path of a folder."
"""Advice without the names of tools, because there is no workspace yet."""


_REPLACED = "the folder of this workspace was removed, or another has taken its place, since it was opened"


def _reached(path: str) -> tuple[str, int]:
    """The real path of a root, and the root, opened."""
    try:
        return within(lambda: (os.path.realpath(path), _open_root(path)))
    except TimeoutError:
        raise silent(path) from None


def _no_root(path: str) -> NotFound:
    return NotFound(path, advice=_ROOT)


def _open_root(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except NotADirectoryError:
        what = "file" if os.path.lexists(path) else ""
        raise (NotAFolder(path, what, readable=False, advice=_ROOT) if what else _no_root(path)) from None
    except FileNotFoundError:
        raise _no_root(path) from None
    except OSError as error:
        raise translated(error, WorkPath(path)) from None


def _version(status: os.stat_result) -> Version:
    return Version(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _kinds(entries: Sequence[os.DirEntry[str]]) -> dict[str, EntryKind]:
    """The kinds of those that are not regular files."""
    try:
        others = [entry for entry in entries if not entry.is_file(follow_symlinks=False)]
    except OSError:
        others = [entry for entry in entries if _entry_kind(entry) is not EntryKind.FILE]
    return {entry.name: _entry_kind(entry) for entry in others}


def _entry_kind(entry: os.DirEntry[str]) -> EntryKind:
    try:
        if entry.is_symlink():
            return EntryKind.LINK
        if entry.is_file(follow_symlinks=False):
            return EntryKind.FILE
        return EntryKind.FOLDER if entry.is_dir(follow_symlinks=False) else EntryKind.OTHER
    except OSError:
        # Some file systems give no kinds with names, and a broken one no stat either: it costs no other name.
        return EntryKind.OTHER
