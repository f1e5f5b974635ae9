"""A private folder of this process, outside the workspace, that is gone when the process is.

Its lock is held as long as the process lives.  A process that ended without
removing its folder leaves it unlocked, and the next one to make a folder removes
it.  A folder gets its lasting name when it is locked, so that none is taken for
abandoned before it is in use.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from typing import final

from readroom.errors import StoreFailed

_PREFIX = "readroom-run-"
_UNFINISHED = ".readroom-new-"
_LOCK = "lock"

_ELSEWHERE = ("/tmp", "/var/tmp")
"""Tried where the usual place for temporary files lies in the workspace."""


@final
class PrivateFolder:
    """Nobody but this user can look into it."""

    def __init__(self, away_from: str, places: tuple[str, ...] = ()) -> None:
        """Make one.

        Args:
            away_from: A folder that must neither hold it nor lie in it.
            places: Where it may be; none for where temporary files go.

        Raises:
            StoreFailed: There is no such place, or the system refuses.
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
            raise StoreFailed(place, error.strerror or type(error).__name__) from None

    def inside(self, name: str, mode: int = 0o700) -> str:
        """The path of a folder in it, made if it is not there."""
        path = os.path.join(self.path, name)
        try:
            os.mkdir(path, mode)
        except FileExistsError:
            pass
        except OSError as error:
            raise StoreFailed(path, error.strerror or type(error).__name__) from None
        return path

    def remove(self) -> None:
        """Remove it with all that is in it; a second call does nothing."""
        lock, self._lock = self._lock, -1
        if lock >= 0:
            remove_tree(self.path)
            os.close(lock)


def sweep(place: str) -> None:
    """Remove the folders that processes of this user left behind."""
    with contextlib.suppress(OSError):
        names = [name for name in os.listdir(place) if name.startswith(_PREFIX)]
        for name in names:
            with contextlib.suppress(OSError):
                _remove_abandoned(os.path.join(place, name))


def _remove_abandoned(path: str) -> None:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return
    lock = os.open(os.path.join(path, _LOCK), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError while its process lives
        remove_tree(path)
    finally:
        os.close(lock)


def remove_tree(path: str) -> None:
    """Remove a folder and what commands have put into it, read-only folders included."""

    def again(act: Callable[[str], object], name: str, problem: object) -> None:
        with contextlib.suppress(OSError):
            os.chmod(os.path.dirname(name), 0o700)
            if not os.path.islink(name) and os.path.isdir(name):
                os.chmod(name, 0o700)
                shutil.rmtree(name, ignore_errors=True)
            else:
                act(name)

    shutil.rmtree(path, onerror=again)
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)


def _place(away_from: str, places: tuple[str, ...]) -> str:
    root = os.path.realpath(away_from)
    for place in places:
        real = os.path.realpath(place)
        if os.path.isdir(real) and os.access(real, os.W_OK | os.X_OK) and not _within(real, root):
            return real
    raise StoreFailed(places[0], "the outputs of commands need a place outside the workspace")


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
