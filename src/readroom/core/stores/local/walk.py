"""Confinement without help from the kernel: a path is resolved one component at a time.

Every folder on the way is opened relative to the one before, never following a link.  A link is read, and
the parts of its target are resolved in its place.  The open folders form a stack: ".." in a target pops
one, and the root cannot be popped.  A rename at any moment may change which folders are met, but never
whether they were reached from the root.

An absolute target is resolved from the root if it begins with a name of the root, and is refused as
outside otherwise.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from readroom.core.errors import BadPath, NotAFolder, OutsideRoot
from readroom.core.limits import LINK_HOPS, MAX_PATH_DEPTH
from readroom.core.paths import WorkPath, parts
from readroom.core.stores.local import resolve

# O_PATH, where it exists, passes through folders that may be entered but not listed.
_ENTER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

_NO_LINK = (errno.EINVAL,)
_MAYBE_LINK = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""Errors of O_DIRECTORY | O_NOFOLLOW for a link: Linux ENOTDIR, macOS ELOOP, FreeBSD EMLINK."""

_SWAP_TRIES = 64
"""How often a name is looked at again that was a link at first and then not; as often as `openat2` is
tried."""


class WalkWay:
    """Opens names below a root, component by component."""

    __slots__ = ("_names", "_root")

    def __init__(self, root: resolve.Root, names: Sequence[str]) -> None:
        """`names` are the absolute names of the root, by which links may point into it."""
        self._root = root
        self._names = [[part for part in name.split("/") if part] for name in names]

    def file(self, path: WorkPath) -> resolve.Found:
        with _Walk(self._root.fd, self._names, path) as walk:
            while True:
                status = walk.to_leaf()
                resolve.require_regular(status, path)
                # It may have become a pipe: opening does not block, and the opened file is checked.
                fd = walk.opened(resolve.READ_FLAGS)
                if fd is not None:
                    return resolve.checked(fd, walk.real(), path)

    def folder(self, path: WorkPath) -> resolve.Found:
        with _Walk(self._root.fd, self._names, path) as walk:
            while True:
                status = walk.to_leaf()
                if not stat.S_ISDIR(status.st_mode):
                    raise NotAFolder(path, resolve.what(status.st_mode))
                fd = walk.opened(resolve.FOLDER_FLAGS)
                if fd is not None:
                    return resolve.Found(fd, walk.real(), os.fstat(fd))

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        with _Walk(self._root.fd, self._names, path) as walk:
            status = walk.to_leaf()
            return walk.real(), status


class _Walk:
    """One walk: the open folders, their names, and the parts still to go."""

    __slots__ = ("_fds", "_hops", "_leaf", "_names", "_path", "_pending", "_reals", "_tries")

    def __init__(self, root: int, reals: Sequence[Sequence[str]], path: WorkPath) -> None:
        self._reals = reals
        self._path = path
        self._fds = [root]  # the store owns the first one
        self._names: list[str] = []
        self._pending = parts(path)[::-1]
        self._leaf = "."
        self._hops = 0
        self._tries = 0

    def __enter__(self) -> _Walk:
        return self

    def __exit__(self, *_: object) -> None:
        self._shrink(1)

    def real(self) -> WorkPath:
        """The name of what was found."""
        names = self._names if self._leaf == "." else [*self._names, self._leaf]
        return WorkPath("/".join(names) or ".")

    def to_leaf(self) -> os.stat_result:
        """Walk until the last part is not a link; its stat. Called again, it looks once more."""
        while True:
            if self._leaf != ".":
                self._pending.append(self._leaf)
                self._leaf = "."
            if not self._pending:
                return os.fstat(self._fds[-1])
            part = self._pending.pop()
            if part == ".":
                continue
            if part == "..":
                self._up()
            elif self._pending:
                self._enter(part)
            else:
                status = os.stat(part, dir_fd=self._fds[-1], follow_symlinks=False)
                if not stat.S_ISLNK(status.st_mode):
                    self._leaf = part
                    return status
                self._follow(part)

    def opened(self, flags: int) -> int | None:
        """A descriptor of the leaf; None when it has become a link since it was looked at."""
        try:
            return os.open(self._leaf, flags | os.O_NOFOLLOW, dir_fd=self._fds[-1])
        except OSError as error:
            if error.errno not in _MAYBE_LINK:
                raise
            self._again()
            return None

    def _enter(self, part: str) -> None:
        if len(self._fds) > MAX_PATH_DEPTH:
            raise BadPath(self._path, f"leads through more than {MAX_PATH_DEPTH} folders")
        try:
            fd = os.open(part, _ENTER_FLAGS, dir_fd=self._fds[-1])
        except OSError as error:
            if error.errno not in _MAYBE_LINK:
                raise
            self._follow(part)
            return
        self._fds.append(fd)
        self._names.append(part)

    def _up(self) -> None:
        if not self._names:
            raise OutsideRoot(self._path, "a link on the way leads above the root")
        self._names.pop()
        self._shrink(len(self._fds) - 1)

    def _follow(self, part: str) -> None:
        try:
            target = os.readlink(part, dir_fd=self._fds[-1])
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            self._not_a_link(part)
            return
        self._hops += 1
        if self._hops > LINK_HOPS:
            raise BadPath(self._path, f"leads through more than {LINK_HOPS} links, or a loop of links")
        todo = [name for name in target.split("/") if name not in ("", ".")]
        if target.endswith(("/", "/.")):
            todo.append(".")  # what precedes it must be a folder
        if target.startswith("/"):
            todo = self._from_root(todo)
            self._names.clear()
            self._shrink(1)
        self._pending.extend(reversed(todo))

    def _not_a_link(self, part: str) -> None:
        """It was not a folder, and is not a link: a file in the middle of a path, or a swap in between."""
        status = os.stat(part, dir_fd=self._fds[-1], follow_symlinks=False)
        if self._pending and not stat.S_ISDIR(status.st_mode) and not stat.S_ISLNK(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        self._again()
        self._pending.append(part)

    def _from_root(self, todo: list[str]) -> list[str]:
        for root in self._reals:
            if todo[: len(root)] == root:
                return todo[len(root) :]
        raise OutsideRoot(self._path, "a link on the way leads to an absolute path elsewhere")

    def _again(self) -> None:
        self._tries += 1
        if self._tries > _SWAP_TRIES:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _shrink(self, length: int) -> None:
        while len(self._fds) > length:
            os.close(self._fds.pop())
