"""The target of a write in a local folder, confined like a read.

The folder is resolved like any other and held open; everything else happens relative to its descriptor.
The new file is written without a name or under a temporary one (`unfinished`), flushed, and renamed in
one step, so that the name always stands for the complete old file or the complete new one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import final

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import NotAFolder, NotFound
from readroom.core.errors.changes import ReadOnlyFile, ReadOnlyPlace
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.paths import WorkPath, basename, join, parent, parts
from readroom.core.stores.base import Moved, Source, Step, WriteTarget
from readroom.core.stores.local import rename, resolve, unfinished
from readroom.core.stores.local.unfinished import Draft, Notes
from readroom.core.values import Stat, Version
from readroom.core.values.files import Warn

# -----------------------------------------------------------------------------
# What a new file inherits from the one it replaces: mode, owner, access lists and attributes.
#
# Best effort, and reported when it fails: only root can give a file away.  A failure never
# grants access: if the group cannot be set, its members get the rights of others.  As the
# kernel does on every write, a changed program loses its set-user-ID and set-group-ID bits
# and its capabilities.
# -----------------------------------------------------------------------------

_OF_THE_CONTENT = ("security.capability", "security.ima", "security.evm")
"""Attributes that certify the old content."""

_ACCESS_LIST = "system.posix_acl_access"
"""With an access list, the group bits of the mode are its mask, and the list has the group's rights."""


def keep(old: int, new: int) -> Iterator[Warn]:
    """Copy mode, owner, access lists and attributes of `old` to `new`; warns of what could not be kept."""
    before, now = os.fstat(old), os.fstat(new)
    mode = stat.S_IMODE(before.st_mode)
    if mode & stat.S_ISUID or (mode & stat.S_ISGID and mode & stat.S_IXGRP):
        mode &= ~stat.S_ISUID if not mode & stat.S_IXGRP else ~(stat.S_ISUID | stat.S_ISGID)
        yield Warn("mode_not_kept", "the set-user-ID or set-group-ID bit was removed, as with every change")
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        if not _owned(new, before.st_uid, before.st_gid) and before.st_uid != now.st_uid:
            yield Warn("owner_not_kept", f"the file now belongs to user {now.st_uid}, not {before.st_uid}")
        if before.st_gid != now.st_gid and not _owned(new, -1, before.st_gid):
            yield Warn("group_not_kept", f"the file now belongs to group {now.st_gid}, not {before.st_gid}")
            mode = mode & ~0o070 | (mode & 0o007) << 3
    lost = sorted(_attributes_lost(old, new))
    if lost:
        yield Warn("attributes_not_kept", f"extended attributes: {', '.join(lost)}")
    if _ACCESS_LIST in lost:
        mode &= ~stat.S_IRWXG
    os.fchmod(new, mode)


def _owned(new: int, user: int, group: int) -> bool:
    try:
        os.fchown(new, user, group)
    except OSError:  # EPERM; EINVAL for users that a container does not know
        return False
    return True


def _attributes_lost(old: int, new: int) -> Iterator[str]:
    if not hasattr(os, "listxattr"):
        return
    names: list[str] = []
    with contextlib.suppress(OSError):  # a file system without attributes
        names = os.listxattr(old)
    for name in names:
        try:
            value = os.getxattr(old, name)
            if name not in _OF_THE_CONTENT and not _has(new, name, value):
                os.setxattr(new, name, value)
        except OSError:
            yield name
    yield from _list_of_the_folder_kept(names, new)


def _list_of_the_folder_kept(names: Sequence[str], new: int) -> Iterator[str]:
    """Remove the access list that a folder gives to new files, if the old file had none."""
    if _ACCESS_LIST in names:
        return
    try:
        os.removexattr(new, _ACCESS_LIST)
    except OSError as error:
        if error.errno not in (errno.ENODATA, errno.EOPNOTSUPP):
            yield _ACCESS_LIST


def _has(new: int, name: str, value: bytes) -> bool:
    try:
        return os.getxattr(new, name) == value
    except OSError:
        return False


_GET_FLAGS, _FIXED = 0x80086601, 0x30
"""FS_IOC_GETFLAGS of 64-bit Linux, and the flags of files that cannot change, or only grow."""

_NEW_MODE = 0o666
"""Mode of a new file, and 0o777 of a new folder: the umask and the folder's defaults decide."""

_PRIVATE_MODE = 0o600
"""Mode of a file that replaces another, until it gets that one's mode."""


@final
class LocalPlace(Closeable):
    """The target of a write in a local folder."""

    def __init__(
        self,
        way: resolve.Way,
        path: WorkPath,
        open_source: Callable[[resolve.Found], Source],
        notes: Notes,
        *,
        nameless: bool,
    ) -> None:
        """Find the deepest existing folder on the way. Changes nothing yet.

        Args:
            way: Resolves folders.
            path: The name.
            open_source: Makes a source from an open file.
            notes: Where temporary names are recorded.
            nameless: New files may be unnamed while they are written.

        Raises:
            OSError, NotAFolder, OutsideRoot, BadPath: As the way says.
        """
        self._way = way
        self._open_source = open_source
        self._notes = notes
        self._nameless = nameless
        self._missing: list[str] = []
        self._made: list[tuple[int, str]] = []
        self._locked = False
        deepest = self._deepest(parent(path))
        self._fds = [deepest.fd]
        self._folder = deepest.real
        self.spelling = self.name = basename(path)
        self.folders: Sequence[WorkPath] = ()
        self.warnings: Sequence[Warn] = ()
        self.removed = 0
        try:
            self._spell()
        except BaseException:
            os.close(self._fds.pop())
            raise
        self.real = join(_below(self._folder, self._missing), self.name)

    def _spell(self) -> None:
        """Take the names that the folders list, where others mean the same."""
        from readroom.core.stores.local.spelling import as_listed, folder_as_listed  # changes need it

        if self._folder != ".":
            root = self._way.folder(WorkPath("."))
            listed = folder_as_listed(root.fd, self._folder)
            os.close(root.fd)
            if listed != self._folder:  # some file systems have other numbers for another spelling
                again = self._way.folder(listed)
                os.close(self._fds.pop())
                self._fds, self._folder = [again.fd], again.real
        if not self._missing:
            self.name = as_listed(self._fds[-1], self.spelling)

    def _deepest(self, folder: WorkPath) -> resolve.Found:
        while True:
            try:
                return self._way.folder(folder)
            except FileNotFoundError:
                if folder == ".":
                    raise
            except NotADirectoryError as error:
                if isinstance(error, NotAFolder) or folder == ".":
                    raise
            self._missing.insert(0, basename(folder))
            folder = parent(folder)

    @property
    def fd(self) -> int:
        """The deepest folder on the way that is there."""
        return self._fds[-1]

    @property
    def folder(self) -> WorkPath:
        """Its real name."""
        return self._folder

    @property
    def missing(self) -> Sequence[str]:
        """The names of the folders between that one and the name."""
        return self._missing

    @property
    def lock(self) -> tuple[int, ...]:
        """The identity of the folder."""
        status = os.fstat(self._fds[-1])
        return status.st_dev, status.st_ino

    def look(self) -> Stat | None:
        if self._missing:
            return None
        try:
            return resolve.to_stat(os.stat(self.name, dir_fd=self._fds[-1], follow_symlinks=False))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise resolve.unwritten(error, self.real) from None

    @property
    def writable(self) -> bool:
        """Whether the mode of the file, and the permissions of this process, let it be written.

        Raises:
            ReadOnlyPlace: Nothing on its file system may; the mode has no part in that.
            ReadOnlyFile: It has the immutable attribute; nor has the mode a part in that.
        """
        stat_now = self.look()
        if stat_now is None:
            return True
        effective = os.access in os.supports_effective_ids
        folder = self._fds[-1]
        if os.fstatvfs(folder).f_flag & os.ST_RDONLY:
            raise ReadOnlyPlace(self.real)
        if not stat_now.mode & 0o222:
            return False
        allowed = os.access(
            self.name, os.W_OK, dir_fd=folder, effective_ids=effective, follow_symlinks=not effective
        )
        if not allowed and self._is_immutable():
            raise ReadOnlyFile(self.real, stat_now.mode, immutable=True)
        return allowed

    def _is_immutable(self) -> bool:
        """Whether the file has the attribute of `chattr +i` or `+a`; False if that cannot be found out."""
        if sys.platform != "linux":
            return False
        try:
            fd = os.open(self.name, resolve.READ_FLAGS | os.O_NOFOLLOW, dir_fd=self._fds[-1])
        except OSError:
            return False
        try:
            flags = fcntl.ioctl(fd, _GET_FLAGS, bytes(8))
        except OSError:
            return False
        finally:
            os.close(fd)
        return bool(flags[0] & _FIXED)

    def open(self) -> Source:
        """Open the file at the name, without following a link."""
        if self._missing:
            raise NotFound(self.real)
        try:
            fd = os.open(self.name, resolve.READ_FLAGS | os.O_NOFOLLOW, dir_fd=self._fds[-1])
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.EMLINK):
                raise Moved from None  # it has become a link
            raise resolve.unwritten(error, self.real) from None
        try:
            status = os.fstat(fd)
            resolve.require_regular(status, self.real)
            return self._open_source(resolve.Found(fd, self.real, status))
        except BaseException:
            os.close(fd)
            raise

    def enter(self, deadline: Deadline, *, make_folders: bool) -> None:
        """Make missing folders, lock out other writers, and clean up after crashed ones."""
        if self._missing and not make_folders:
            raise NotFound(self.real)
        try:
            self._make_folders()
        except OSError as error:
            raise resolve.unwritten(error, self.real) from None
        self.hold(deadline)

    def hold(self, deadline: Deadline) -> None:
        """Lock the deepest folder that is there, and clean up in it."""
        try:
            unfinished.lock(self._fds[-1], deadline)
        except OSError as error:
            raise resolve.unwritten(error, self.real) from None
        self._locked = True
        self._notes.sweep(self._fds[-1])

    def _make_folders(self) -> None:
        while self._missing:
            name, above = self._missing[0], self._fds[-1]
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, dir_fd=above)
                self._made.append((above, name))
                os.fsync(above)
            # Never through a link: it was not there when the rules were checked.
            self._fds.append(os.open(name, resolve.FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above))
            self._folder = join(self._folder, name)
            self._missing.pop(0)
            if self._made and self._made[-1] == (above, name):
                self.folders = (*self.folders, self._folder)

    def put(self, pieces: Iterable[bytes], over: Source | None, ready: Callable[[], None]) -> Sequence[Warn]:
        """Write a file and rename it to the name.

        Args:
            pieces: Its bytes.
            over: The file to replace, as `open` returned it; None if there must be none.
            ready: Called when everything is written but nothing is changed yet; its exception ends the call.

        Raises:
            Moved: The name belongs to another file than `over`, or the folder has moved.
            NoSpace, ReadOnlyPlace, NoPermission, StoreFailed: Nothing was changed.
        """
        warnings: list[Warn] = []
        mode, old = (_NEW_MODE, None) if over is None else (_PRIVATE_MODE, over.version)
        try:
            with Draft(self._fds[-1], self._notes, old, mode, nameless=self._nameless) as draft:
                for block in _blocks(pieces):
                    write_all(draft.fd, block)
                if over is not None:
                    warnings += keep(_descriptor(over), draft.fd)
                flush(draft.fd)
                ready()
                self.require_same_folder()
                self._name(draft, over)
        except OSError as error:
            raise resolve.unwritten(error, self.real) from None
        self._made.clear()
        return [*warnings, *self._flushed()]

    def _name(self, draft: Draft, over: Source | None) -> None:
        if over is not None:
            rename.replace(self._fds[-1], draft.named(), self.name, over.version)
        elif draft.temporary is not None:
            rename.create(self._fds[-1], draft.temporary, self.name)
        else:
            try:
                draft.link(self.name)
            except FileExistsError:
                raise Moved from None

    def enter_with(self, other: WriteTarget, deadline: Deadline) -> None:
        """Enter both targets, in an order that avoids a deadlock."""
        assert isinstance(other, LocalPlace)
        if self._missing:
            raise NotFound(self.real)
        try:
            other._make_folders()
            ends = {place.lock: place for place in (self, other)}
            for _, place in sorted(ends.items()):
                unfinished.lock(place._fds[-1], deadline)
                place._locked = True
        except OSError as error:
            raise resolve.unwritten(error, other.real) from None

    def make(self) -> None:
        """Make a folder at the name."""
        with self._changing():
            os.mkdir(self.name, dir_fd=self._fds[-1])
        self.folders = (*self.folders, self.real)

    def remove(self, expected: Version | None) -> None:
        """Remove a file or a link."""
        with self._changing():
            if expected is not None:
                with self._notes.begin(self._fds[-1], expected) as note:
                    rename.remove(self._fds[-1], self.name, expected, note.name)
            else:
                rename.remove_tree(self._fds[-1], self.name)

    def remove_folder(self, step: Step) -> None:
        """Remove a folder with everything in it, by descriptors."""
        removal = rename.Removal(step)
        try:
            with self._changing():
                removal.folder(self._fds[-1], self.name, self.real)
        finally:
            self.removed = removal.removed

    def move(self, found: Stat, to: WriteTarget, over: Version | None) -> None:
        """Rename to the other target; that cannot be done atomically across file systems."""
        assert isinstance(to, LocalPlace)
        old, new = (self._fds[-1], self.name), (to._fds[-1], to.name)
        with to._changing(), self._changing():
            if over is None:
                rename.move(old, new, (found.device, found.inode))
            else:
                rename.take(old, new, (found.device, found.inode), over)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Around a change of names: checks the folder, translates errors, and flushes."""
        self.require_same_folder()
        try:
            yield
        except FileExistsError:
            raise Moved from None
        except OSError as error:
            raise resolve.unwritten(error, self.real) from None
        self._made.clear()
        self.warnings = (*self.warnings, *self._flushed())

    def _flushed(self) -> Sequence[Warn]:
        """Flush the folder, so the change survives a power cut; a warning if that fails."""
        try:
            flush(self._fds[-1])
        except OSError as error:
            return [Warn("not_flushed", f"the folder could not be flushed to disk: {error.strerror}")]
        return ()

    def require_same_folder(self) -> None:
        """Raise Moved if the folder was moved, even out of the root, since it was opened."""
        try:
            again = self._way.folder(self._folder)
        except OSError:
            raise Moved from None
        try:
            now, before = os.fstat(again.fd), os.fstat(self._fds[-1])
        finally:
            os.close(again.fd)
        if (now.st_dev, now.st_ino) != (before.st_dev, before.st_ino) or again.real != self._folder:
            raise Moved

    def close(self) -> None:
        """Release the lock, and remove folders that were made in vain. A second call does nothing."""
        fds, self._fds = self._fds, []
        if fds and self._locked:
            unfinished.unlock(fds[-1])
        made, self._made = self._made, []
        for above, name in reversed(made):
            with contextlib.suppress(OSError):
                os.rmdir(name, dir_fd=above)
        for fd in fds:
            os.close(fd)


def _below(folder: WorkPath, names: Sequence[str]) -> WorkPath:
    return WorkPath("/".join([*parts(folder), *names]) or ".")


def _descriptor(source: Source) -> int:
    fd = source.fileno()
    assert fd is not None  # it came from `open` above
    return fd


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, so that many replacements do not take as many writes."""
    waiting, size = [], 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= SMALL_FILE_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    yield b"".join(waiting)


def write_all(fd: int, data: bytes) -> None:
    """Write all of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def flush(fd: int) -> None:
    """Have what was written on the disk."""
    try:
        if hasattr(fcntl, "F_FULLFSYNC"):  # macOS: fsync alone leaves data in the drive's cache
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
        else:
            os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot flush
            raise
