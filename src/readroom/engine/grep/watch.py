"""Watch which file a running rg has open, and for how long, in /proc.

On systems without it, that is other than Linux, a file that takes forever holds up the files after it; the
search then ends at its deadline and says so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import NamedTuple, TypeAlias, final

from readroom.deadline import Deadline
from readroom.engine.grep.process import Child
from readroom.policy.ignore_files import MARKS
from readroom.stores.base import Folder

LeftFile: TypeAlias = tuple[str, int | None, int | None]
"""A file that was not searched to its end, the bytes read, and its size, if they are known."""


class OpenFile(NamedTuple):
    """A file that a process has open: its name, how far it was read, and its size, if they are known."""

    path: str
    read: int | None
    size: int | None


@final
class Watch:
    """Watches the file that rg has open. `stuck` is the one that took more than its share of the time."""

    def __init__(self, child: Child, top: Folder, share: float, deadline: Deadline) -> None:
        self._child = child
        self._top = top
        self._share = share
        self._deadline = deadline
        self._path: str | None = None
        self._since: float | None = None
        self.stuck: OpenFile | None = None

    def begin(self) -> None:
        """Start timing anew: rg has found something, so it has just begun with its current file."""
        self._path = None

    def now(self) -> OpenFile | None:
        """The file that rg has open; None if there is none, or if it cannot be seen."""
        return _opened_file(self._child.pid, self._top)

    def reached(self) -> str | None:
        """The file before which all are searched; None if there is none, or if it cannot be seen.

        An ignore file does not count: rg reads it before all other files of its folder.
        """
        file = self.now()
        return None if file is None or file.path.rpartition("/")[2] in MARKS else file.path

    def is_stuck(self) -> bool:
        """Whether rg has been in the same file for all of its share. Call it repeatedly."""
        left, file = self._deadline.remaining, self.now()
        if left is None or file is None:
            self._path = None
            return False
        if file.path != self._path or self._since is None:
            self._path, self._since = file.path, left
            return False
        if self._since - left < self._share:
            return False
        self.stuck = file
        return True


@final
class Doubt:
    """Asks whether to give up, and keeps the last answer."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask
        self.last = False

    def __call__(self) -> bool:
        """Ask."""
        self.last = self._ask()
        return self.last


def _opened_file(pid: int, top: Folder) -> OpenFile | None:
    """The file below `top` that a process has open; None if there is none, or if it cannot be seen.

    In path order rg has one file open at a time: all before it are searched.
    """
    try:
        names = os.listdir(f"/proc/{pid}/fd")
        above = os.readlink(f"/proc/self/fd/{top.fileno()}")
    except OSError:
        return None
    prefix = above if above.endswith("/") else above + "/"
    for name in names:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue
        if target.startswith(prefix) and os.path.isfile(target):
            return OpenFile(target[len(prefix) :], _position(pid, name), _size(target))
    return None


def _position(pid: int, descriptor: str) -> int | None:
    """How far a process has read an open file; None if unknown, or if the file is mapped."""
    try:
        with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:
            match = re.match(r"pos:\s*(\d+)", file.read())
    except OSError:
        return None
    return int(match[1]) or None if match else None


def _size(path: str) -> int | None:
    try:
        return os.stat(path, follow_symlinks=False).st_size
    except OSError:
        return None
