"""Confinement by the Linux kernel, through `openat2`.

What is found is first held by an O_PATH descriptor, which has no effect on a
pipe or a device; only a regular file is then opened for reading, through its own
entry in /proc, so that it is the very object that was looked at.

A path without links, the usual one, has the name that was asked for.  With links
the kernel tells the name.  Where the kernel stops at a link it may not follow,
or cannot be sure because of renames, the walk gives the verdict.
"""

from __future__ import annotations

import errno
import os
import stat

from readroom.errors import NotAFolder
from readroom.paths import WorkPath
from readroom.stores import openat2
from readroom.stores.confinement import FOLDER_FLAGS, READ_FLAGS, Found, Root, require_regular, what
from readroom.stores.walk import WalkWay

_BENEATH = openat2.RESOLVE_BENEATH | openat2.RESOLVE_NO_MAGICLINKS

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
        self._plain = openat2.Opener(os.O_PATH, _BENEATH | openat2.RESOLVE_NO_SYMLINKS)
        self._links = openat2.Opener(os.O_PATH, _BENEATH)

    def file(self, path: WorkPath) -> Found:
        """A regular file, opened for reading."""
        held = self._held(path)
        if held is None:
            return self._walk.file(path)
        try:
            require_regular(held.stat, path)
            return Found(os.open(f"/proc/self/fd/{held.fd}", READ_FLAGS), held.real, held.stat)
        finally:
            os.close(held.fd)

    def folder(self, path: WorkPath) -> Found:
        """A folder, opened for reading its names."""
        held = self._held(path)
        if held is None:
            return self._walk.folder(path)
        try:
            if not stat.S_ISDIR(held.stat.st_mode):
                raise NotAFolder(path, what(held.stat.st_mode))
            return Found(os.open(f"/proc/self/fd/{held.fd}", FOLDER_FLAGS), held.real, held.stat)
        finally:
            os.close(held.fd)

    def stat(self, path: WorkPath) -> tuple[WorkPath, os.stat_result]:
        """Where and what anything is, without opening it."""
        held = self._held(path)
        if held is None:
            return self._walk.stat(path)
        os.close(held.fd)
        return held.real, held.stat

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
            found = os.fstat(fd)
            real = self._real(fd)
        except BaseException:
            os.close(fd)
            raise
        if real is None:
            os.close(fd)
            return None
        return Found(fd, real, found)

    def _real(self, fd: int) -> WorkPath | None:
        """The name below the root of what a descriptor holds; None when it has none any more."""
        root = os.readlink(f"/proc/self/fd/{self._root.fd}")
        name = os.readlink(f"/proc/self/fd/{fd}")
        if name == root:
            return WorkPath(".")
        top = root if root.endswith("/") else root + "/"
        # A name that ends like this is either gone or really called so: the walk can tell.
        if not name.startswith(top) or name.endswith(_DELETED):
            return None
        return WorkPath(name[len(top) :])
