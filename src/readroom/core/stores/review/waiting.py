"""One set of changes that wait, on disk: a file that says everything, and the contents next to it.

    lock   one writer at a time, of all processes
    tree   what waits; replaced in one step, so a process that is killed leaves the old or the new one
    data/  the contents, each written and flushed before the tree that names it

Only this user can read it.  What the tree does not name is removed by the next writer.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from typing import final

from msgspec.structs import replace

from readroom.core.closeable import Closeable
from readroom.core.deadline import Deadline
from readroom.core.errors import NoSpace, StoreFailed, reason_of
from readroom.core.errors.review import ReviewFull, ReviewUnusable
from readroom.core.limits import BLOCK_BYTES
from readroom.core.paths import WorkPath
from readroom.core.stores.local.place import flush, write_all
from readroom.core.stores.local.resolve import unwritten
from readroom.core.stores.local.unfinished import lock, unlock
from readroom.core.stores.private import remove_tree
from readroom.core.stores.review.tree import (
    EMPTY,
    FileNode,
    Holder,
    OtherVersion,
    Tree,
    decoded,
    encoded,
)
from readroom.core.text.hashes import Hashing

_TREE, _LOCK, _DATA = "tree", "lock", "data"

REVIEW_BYTES = 64 * 1024 * 1024
"""Contents in one set: more than a person reads."""

REVIEW_NAMES = 10_000
"""Changed names in one set; a folder that is moved counts each name in it."""

REVIEW_SETS = 100
"""Sets of one folder: the number of conversations whose changes can wait at once."""

_TREE_BYTES = 64 * 1024 * 1024
"""Largest tree that is read: names as long as may be."""

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@final
class WaitingSet:
    """One set. Safe to share between threads and processes."""

    def __init__(self, folder: str, holder: Holder, root: str, inode: int) -> None:
        """`folder` is made when something first waits."""
        self.folder = folder
        self._holder = holder
        self._root = os.fsencode(root)
        self._inode = inode
        self._seen: tuple[tuple[int, int, int], Tree] | None = None
        self.held: Held | None = None
        """Who holds it, if that is in this process and through this object."""

    def tree(self) -> Tree:
        """The changes that wait now. Raises StoreFailed if it cannot be read."""
        path = os.path.join(self.folder, _TREE)
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            return EMPTY
        except OSError as error:
            raise ReviewUnusable(".", reason_of(error)) from None
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        seen = self._seen
        if seen is None or seen[0] != state:
            seen = self._seen = (state, read_tree(self.folder))
        return seen[1]

    def data(self, node: FileNode) -> int:
        """A descriptor of a content. Raises StoreFailed for one that is damaged."""
        try:
            fd = os.open(os.path.join(self.folder, _DATA, node.data), _FLAGS)
        except OSError as error:
            raise ReviewUnusable(".", f"a content cannot be read: {reason_of(error)}") from None
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size != node.size:
            os.close(fd)
            raise ReviewUnusable(".", "a content is damaged")
        return fd

    def checked(self, node: FileNode, fd: int) -> Iterator[bytes]:
        """The bytes of a content. Raises StoreFailed, at the end, if they are not those that were written."""
        hashing = Hashing()
        while block := os.pread(fd, BLOCK_BYTES, hashing.size):
            hashing.add(block)
            yield block
        if hashing.digits != node.digest:
            raise ReviewUnusable(".", "a content is damaged")

    def hold(self, deadline: Deadline) -> Held:
        """Lock out other writers. Raises NoSpace, StoreFailed, TimedOut, Cancelled."""
        try:
            self._make()
            fd = os.open(
                os.path.join(self.folder, _LOCK),
                os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        except OSError as error:
            raise _failed(error) from None
        try:
            lock(fd, deadline)
        except BaseException:
            os.close(fd)
            raise
        held = self.held = Held(self, fd)
        try:
            held.sweep()
        except BaseException:
            held.close()
            raise
        return held

    def _make(self) -> None:
        above = os.path.dirname(self.folder)
        for path in (os.path.dirname(above), above):
            os.makedirs(path, 0o700, exist_ok=True)
        if not os.path.isdir(self.folder) and len(os.listdir(above)) >= REVIEW_SETS:
            _remove_empty(above)
            if len(os.listdir(above)) >= REVIEW_SETS:
                raise ReviewFull(f"the changes of {REVIEW_SETS} conversations wait already")
        for path in (self.folder, os.path.join(self.folder, _DATA)):
            with contextlib.suppress(FileExistsError):
                os.mkdir(path, 0o700)

    def first(self, agent: str) -> Tree:
        """The tree to which the next change is added."""
        tree, now = self.tree(), time.time()
        if tree is EMPTY or not tree.nodes:
            return Tree(self._holder, self._root, self._inode, serial=tree.serial, began=now, agent=agent)
        return replace(tree, agent=agent)


@final
class Held(Closeable):
    """A set while no one else can change it."""

    def __init__(self, waiting: WaitingSet, fd: int) -> None:
        """Takes over the descriptor of the lock."""
        self._set = waiting
        self._fd = fd
        self._new: set[str] = set()

    def sweep(self) -> None:
        """Remove contents that a killed process left."""
        folder = os.path.join(self._set.folder, _DATA)
        try:
            tree = self._set.tree()
        except ReviewUnusable:
            return  # it says nothing of what it has
        named = {node.data for node in tree.nodes.values() if isinstance(node, FileNode)}
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name not in named:
                    with contextlib.suppress(OSError):
                        os.unlink(os.path.join(folder, name))

    def written(self, pieces: Iterable[bytes], room: int, mode: int) -> FileNode:
        """A content, on disk but not named yet. Raises NoSpace, StoreFailed."""
        name = secrets.token_hex(16)
        hashing = Hashing()
        try:
            fd = os.open(
                os.path.join(self._set.folder, _DATA, name),
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
            self._new.add(name)
            try:
                for piece in pieces:
                    hashing.add(piece)
                    if hashing.size > room:
                        raise _too_large()
                    write_all(fd, piece)
                flush(fd)
            finally:
                os.close(fd)
        except OSError as error:
            if isinstance(error, StoreFailed | NoSpace):
                raise
            raise _failed(error) from None
        return FileNode(name, hashing.size, hashing.digits, mode, time.time_ns(), 0)

    def save(self, tree: Tree) -> None:
        """Let a tree be what waits, in one step. Raises NoSpace, StoreFailed: nothing was changed."""
        if len(tree.nodes) > REVIEW_NAMES:
            raise ReviewFull(f"{len(tree.nodes):,} names would wait, more than {REVIEW_NAMES:,}")
        if tree.size > REVIEW_BYTES:
            raise _too_large()
        named = {node.data for node in tree.nodes.values() if isinstance(node, FileNode)}
        folder = self._set.folder
        new = os.path.join(folder, f"{_TREE}.new")
        try:
            if named & self._new:
                _flush_folder(os.path.join(folder, _DATA))
            fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                write_all(fd, encoded(replace(tree, changed=time.time())))
                flush(fd)
            finally:
                os.close(fd)
            os.rename(new, os.path.join(folder, _TREE))
            _flush_folder(folder)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(new)
            raise _failed(error) from None
        self._new -= named
        self.sweep()

    def clear(self) -> None:
        """Let nothing wait, whatever state the set is in. Raises StoreFailed."""
        try:
            os.unlink(os.path.join(self._set.folder, _TREE))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise _failed(error) from None
        self.sweep()

    def close(self) -> None:
        """Let others in; contents that no tree names go. A second call does nothing."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        if self._set.held is self:
            self._set.held = None
        for name in self._new:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._set.folder, _DATA, name))
        unlock(fd)
        os.close(fd)


def _too_large() -> ReviewFull:
    return ReviewFull(f"the contents that wait may have {REVIEW_BYTES:,} bytes together")


def _failed(error: OSError) -> Exception:
    return unwritten(error, WorkPath("the changes that wait for review"))


def _flush_folder(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        flush(fd)
    finally:
        os.close(fd)


def read_tree(folder: str) -> Tree:
    """The tree of a set. Raises StoreFailed if it is damaged, of another version, or not this user's."""
    try:
        fd = os.open(os.path.join(folder, _TREE), _FLAGS)
    except FileNotFoundError:
        return EMPTY
    except OSError as error:
        raise ReviewUnusable(".", reason_of(error)) from None
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise ReviewUnusable(".", "the file that says what waits is not this user's")
        if status.st_size > _TREE_BYTES:
            raise ReviewUnusable(".", "the file that says what waits is too large")
        with os.fdopen(os.dup(fd), "rb") as file:
            data = file.read(_TREE_BYTES)
    finally:
        os.close(fd)
    try:
        return decoded(data)
    except OtherVersion:
        raise ReviewUnusable(".", "another version of readroom wrote them") from None
    except ValueError:
        raise ReviewUnusable(".", "the file that says what waits is damaged") from None


def _remove_empty(above: str) -> None:
    """Remove the sets in which nothing waits and that nobody holds."""
    for name in os.listdir(above):
        folder = os.path.join(above, name)
        with contextlib.suppress(StoreFailed, OSError):
            if read_tree(folder).nodes:
                continue
            fd = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                import fcntl

                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not read_tree(folder).nodes:
                    remove_tree(folder)
            finally:
                os.close(fd)
