"""Files with several names: whether one of the others is denied.

A hard link gives a denied file a harmless name, and nothing on the path tells.
So before a file with more than one name is opened, all denied files below the
root are found and known by their identity (device and inode).

The search costs about 1 us a file, 0.05 s for 50,000, and package managers link
thousands of files; so it is kept.  A link changes the change time of its file,
which nobody but root can set back: what was last changed before the search began
has the names it had then.  A file changed later is searched for anew.  Denied
files with one name are known as well, so that a link to one of them is caught
even where the clocks of this machine and of a file server differ.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from readroom.deadline import Deadline
from readroom.errors import HardLinked, ReadroomError, TimedOut
from readroom.limits import (
    HARDLINK_NAMES,
    HARDLINK_SCAN_KEPT_S,
    HARDLINK_SCAN_S,
    HARDLINK_SINGLE_NAMES,
)
from readroom.model import EntryKind
from readroom.paths import ROOT, WorkPath, join
from readroom.policy.rules import Rules
from readroom.stores.base import Folder, Source, Store

_CLOCK_STEP_NS = 100_000_000
"""File times are taken from a clock that moves in steps of up to 10 ms; ten of them are never missed."""


_NAMES = 1000
"""Names of a folder that are looked at together: enough to be fast, few enough to be stopped in time."""


@dataclass(frozen=True, slots=True)
class _Search:
    """Identities of all denied files at one time; None when they are too many to be found in time."""

    rules: Rules
    began_ns: int
    ends_s: float
    denied: frozenset[int] | None

    def covers(self, rules: Rules, now_s: float, changed_ns: int) -> bool:
        """Whether it says something about a file that was last changed then."""
        return self.rules is rules and now_s < self.ends_s and changed_ns < self.began_ns - _CLOCK_STEP_NS


@final
class HardLinks:
    """Finds denied names of open files. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wall_ns` is compared with file times, `clock_s` measures how long."""
        self._store = store
        self._wall_ns = wall_ns
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._last: _Search | None = None

    def check(self, source: Source, asked: WorkPath, rules: Rules) -> None:
        """Return when no other name below the root of an open file is denied.

        Raises:
            HardLinked: One is, or there are too many files to find out.
        """
        links, version = source.stat.links, source.version
        with self._lock:  # threads that wait here find the search done
            last = self._last
            if last is None or not last.covers(rules, self._clock_s(), version.ctime_ns):
                last = self._last = self._search(rules)
        if last.denied is None:
            problem = "there are too many files to find its other names among them"
            raise HardLinked(asked, links, problem)
        if _identity(version.device, version.inode) in last.denied:
            raise HardLinked(asked, links, "one of the others is denied")

    def _search(self, rules: Rules) -> _Search:
        began_ns = self._wall_ns()
        deadline = Deadline(HARDLINK_SCAN_S, clock=self._clock_s)
        try:
            found = _denied(self._store, rules, deadline)
        except TimedOut:
            found = None
        denied = None if found is None else frozenset(found)
        return _Search(rules, began_ns, self._clock_s() + HARDLINK_SCAN_KEPT_S, denied)


def _denied(store: Store, rules: Rules, deadline: Deadline) -> set[int] | None:
    found: set[int] = set()
    pending = [(ROOT, False)]
    while pending:
        deadline.check()
        if len(found) > HARDLINK_NAMES:
            return None
        path, denied = pending.pop()
        try:
            with store.open_folder(path) as folder:
                # Something else under its name by now, perhaps a link: it was never a folder of this tree.
                if folder.real == path:
                    pending += _look(folder, path, denied, rules, found)
        except ReadroomError:
            continue  # gone, or closed to this process, which then cannot have linked what is in it
    return found


def _look(
    folder: Folder, path: WorkPath, denied: bool, rules: Rules, found: set[int]
) -> list[tuple[WorkPath, bool]]:
    """Note the denied files of one folder; its folders, with whether they are denied."""
    deeper = []
    for some in folder.names(_NAMES):
        folders = {name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER}
        shut = set(some.names) if denied else rules.denied(path, some.names, folders)
        deeper += [(join(path, name), name in shut) for name in folders]
        for name in shut.difference(some.kinds):  # what is no regular file cannot be opened anyway
            try:
                stat = folder.stat(name)
            except ReadroomError:
                continue
            if stat.links > 1 or len(found) < HARDLINK_SINGLE_NAMES:
                found.add(_identity(stat.device, stat.inode))
    return deeper


def _identity(device: int, inode: int) -> int:
    """One number for both: half the memory of a pair."""
    return device << 64 | inode
