"""A private folder of this process, outside the workspace, removed when the process ends.

The process holds a lock in it as long as it lives.  If it ends without removing the folder, the lock is
released, and the next process that makes such a folder removes the old one.  A folder gets its final name
only once it is locked, so that none is mistaken for abandoned before it is in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
import tempfile
from typing import final

from readroom.core.errors import StoreFailed, reason_of
from readroom.core.paths import lies_in

_PREFIX = "readroom-run-"
_UNFINISHED = ".readroom-new-"
_LOCK = "lock"

_TEMPORARY = "tmp"

_NEW_BYTES = 16
"""Random bytes in unique names."""

_ELSEWHERE = ("/tmp", "/var/tmp")
"""Tried if the default folder for temporary files is in the workspace."""


@final
class PrivateFolder:
    """The folder, which only this user can read."""

    def __init__(self, away_from: str, places: tuple[str, ...] = ()) -> None:
        """Make the folder. Raises StoreFailed.

        Args:
            away_from: A folder that must neither contain it nor be inside it.
            places: Where it may be; none for the folder of temporary files.
        """
        place = _place(away_from, places or (tempfile.gettempdir(), *_ELSEWHERE))
        sweep(place)
        try:
            made = tempfile.mkdtemp(prefix=_UNFINISHED, dir=place)
            self._lock = os.open(os.path.join(made, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            self.path = os.path.join(place, _PREFIX + os.path.basename(made).removeprefix(_UNFINISHED))
            os.rename(made, self.path)
        except OSError as error:
            raise StoreFailed(place, reason_of(error)) from None

    def inside(self, name: str, mode: int = 0o700) -> str:
        """The path of a folder in it, made if missing."""
        path = os.path.join(self.path, name)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreFailed(path, reason_of(error)) from None
        return path

    def file(self, name: str, mode: int) -> str:
        """The path of an empty file in it, made if missing."""
        path = os.path.join(self.path, name)
        try:
            # Only created, not opened: its mode may forbid that, and another thread may have created it.
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode))
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreFailed(path, reason_of(error)) from None
        return path

    def temporary(self) -> str:
        """A new folder in it, for the temporary files of one command."""
        self.inside(_TEMPORARY)
        return self.inside(f"{_TEMPORARY}/{secrets.token_hex(_NEW_BYTES)}")

    def remove(self) -> None:
        """Remove it with everything in it; a second call does nothing."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            remove_tree(self.path)
            os.close(lock)


def sweep(place: str) -> None:
    """Remove abandoned folders of this user."""
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(place) if name.startswith(_PREFIX)]
        for name in names:
            with contextlib.suppress(OSError):
                _remove_abandoned(os.path.join(place, name))


def _remove_abandoned(path: str) -> None:
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
        return
    lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError while its process is running
        remove_tree(path)
    finally:
        os.close(lock)


def remove_tree(path: str) -> None:
    """Remove a folder with everything in it, at any depth and with any modes.

    What cannot be removed stays, without an error.  Every folder below is moved up into the topmost
    one and emptied there, so that neither path lengths nor open descriptors grow with depth; no link
    is followed.
    """
    with contextlib.suppress(OSError):
        top = _opened(path)
        try:
            pending = _emptied(top, top)
            while pending:
                with contextlib.suppress(OSError):
                    _remove_folder(pending.pop(), top, pending)
        finally:
            os.close(top)
        os.rmdir(path)


def _remove_folder(name: str, top: int, pending: list[str]) -> None:
    """Remove a folder inside the topmost one; its own folders are added to `pending`."""
    folder = _opened(name, top)
    try:
        pending += _emptied(folder, top)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=top)


def _emptied(folder: int, top: int) -> list[str]:
    """Remove all files of a folder and move its folders up into the topmost one; returns their new names."""
    moved = []
    with os.scandir(folder) as entries:
        listed = list(entries)
    for entry in listed:
        with contextlib.suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.name, dir_fd=folder)
                continue
            name = secrets.token_hex(_NEW_BYTES)
            # Moving a folder changes its "..", which needs the right to write to it.
            _let_in(entry.name, folder)
            os.rename(entry.name, name, src_dir_fd=folder, dst_dir_fd=top)
            moved.append(name)
    return moved


def _opened(name: str, above: int | None = None) -> int:
    """Open a folder, making it accessible to its owner again."""
    _let_in(name, above)
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)


def _let_in(name: str, above: int | None) -> None:
    with contextlib.suppress(OSError, NotImplementedError):  # the latter for links
        os.chmod(name, stat.S_IRWXU, dir_fd=above, follow_symlinks=False)


def _place(away_from: str, places: tuple[str, ...]) -> str:
    root = os.path.realpath(away_from)
    for place in places:
        real = os.path.realpath(place)
        if os.path.isdir(real) and os.access(real, os.W_OK | os.X_OK) and not lies_in(real, root):
            return real
    raise StoreFailed(places[0], "the outputs of commands need a place outside the workspace")
