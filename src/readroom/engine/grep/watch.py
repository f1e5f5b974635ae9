"""Watch which file a running rg is in, and for how long, as the system tells.

Without that, on systems other than Linux, a file that takes for ever keeps a search
from those behind it; the search then ends with its deadline and says so.
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
"""A file that was left before its end, how many bytes of it were read, and its size, where they are known."""


class OpenFile(NamedTuple):
    """A file that a process has open: its name, how far it was read, and its size, where they are known."""

    path: str
    read: int | None
    size: int | None


@final
class Watch:
    """Looks which file rg is in, and for how long. `stuck` is the one that took more than its share."""

    def __init__(self, child: Child, top: Folder, share: float, deadline: Deadline) -> None:
        self._child = child
        self._top = top
        self._share = share
        self._deadline = deadline
        self._path: str | None = None
        self._since: float | None = None
        self.stuck: OpenFile | None = None

    def begin(self) -> None:
        """It has found something: whatever it looks into now, it has just begun with."""
        self._path = None

    def now(self) -> OpenFile | None:
        """The file that it is in; None when there is none, or no way to see it."""
        return _opened_file(self._child.pid, self._top)

    def reached(self) -> str | None:
        """The file before which all are searched; None when there is none, or no way to see it.

        What a folder ignores is read before any of its files, also of those that come before it.
        """
        file = self.now()
        return None if file is None or file.path.rpartition("/")[2] in MARKS else file.path

    def is_stuck(self) -> bool:
        """Whether it has been in the same file for all of its share. To be asked again and again."""
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
    """Asks whether to give up, and keeps what was said last."""

    def __init__(self, ask: Callable[[], bool]) -> None:
        self._ask = ask
        self.last = False

    def __call__(self) -> bool:
        """Ask."""
        self.last = self._ask()
        return self.last


def _opened_file(pid: int, top: Folder) -> OpenFile | None:
    """The file below `top` that a process has open; None when there is none, or no way to see it.

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
    """How far a process has read what it has open; None where that cannot be known, or where it is mapped."""
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
