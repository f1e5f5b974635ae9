"""Removing names by the descriptors of their folders: no link is followed, however the tree is moved about.

Every folder is opened relative to the one above it, without following a link, and what is in it
is removed relative to that: who puts a link in its place meanwhile gets the link removed, or
nothing.
"""

from __future__ import annotations

import errno
import os

from readroom.paths import WorkPath, join
from readroom.stores.base import Moved, Step
from readroom.stores.confinement import FOLDER_FLAGS

_A_FOLDER = (errno.EISDIR, errno.EPERM)
"""What Linux and macOS say when a folder is to be unlinked."""

_ANOTHER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EMLINK)
"""It was a folder, and is something else or nothing by now."""


def remove(folder: int, name: str) -> None:
    """Remove a file or a link. Raises Moved when it is a folder or gone."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        raise Moved from None
    except OSError as error:
        if error.errno in _A_FOLDER and _is_folder(folder, name):
            raise Moved from None
        raise


class Removal:
    """The removal of one folder with all that is in it.

    Attributes:
        removed: Names that are gone so far, whatever then failed.
    """

    def __init__(self, step: Step) -> None:
        """`step` is called before each removal, for a folder before what is in it."""
        self._step = step
        self.removed = 0

    def folder(self, above: int, name: str, path: WorkPath) -> None:
        """Remove it.

        Args:
            above: The folder that it is in.
            name: Its name there.
            path: Its name for `step`.

        Raises:
            Moved: Somebody else is changing it.
            OSError: The system's refusal.
        """
        self._step(path, True)
        try:
            folder = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=above)
        except OSError as error:
            if error.errno in _ANOTHER:
                raise Moved from None
            raise
        try:
            for inner, is_folder in _names(folder):
                if is_folder:
                    self.folder(folder, inner, join(path, inner))
                else:
                    self._step(join(path, inner), False)
                    remove(folder, inner)
                    self.removed += 1
        finally:
            os.close(folder)
        try:
            os.rmdir(name, dir_fd=above)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, *_ANOTHER):
                raise Moved from None
            raise
        self.removed += 1


def _names(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]


def _is_folder(folder: int, name: str) -> bool:
    try:
        os.close(os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=folder))
    except OSError:
        return False
    return True
