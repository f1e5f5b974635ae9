"""Detect hard links to denied files.

A hard link gives a denied file a harmless name, and nothing in the path shows it.  So before a file with
more than one name is opened, all denied files below the root are found and remembered by their identity
(device and inode).

The search costs about 1 us a file, 0.05 s for 50,000, and package managers link thousands of files; so
its result is kept.  A link changes the change time of its file, which only root can set back: a file that
was last changed before the search began has the names it had then.  A file that was changed later starts
a new search.  Denied files with one name are remembered as well, so that a link to one of them is caught
even where the clocks of this machine and of a file server differ.

The names of a file are often all in one folder, which is checked first.  They are always on one file
system, so other file systems below the root, such as /proc, are skipped.  If that is still too much for
one call, the search stops, the file is refused, and the next call continues the search.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import final

from readroom.core.deadline import Deadline
from readroom.core.errors import HardLinked, ReadroomError, TimedOut
from readroom.core.paths import ROOT, WorkPath, join, parent
from readroom.core.policy.names import MOUNTS, mounts_below
from readroom.core.policy.rules import Rules
from readroom.core.stores.base import Folder, Source, Store
from readroom.core.values import EntryKind

_CLOCK_STEP_NS = 100_000_000
"""File times come from a clock with steps of up to 10 ms; ten steps are a safe margin."""


_NAMES = 1000
"""Names of a folder that are checked together: enough to be fast, few enough to stop in time."""


@final
class HardLinks:
    """Checks open files for denied names. Safe to share between threads."""

    def __init__(
        self,
        store: Store,
        *,
        wall_ns: Callable[[], int] = time.time_ns,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """`wall_ns` is compared with file times, `clock_s` measures durations."""
        self._store = store
        self._wall_ns = wall_ns
        self._clock_s = clock_s
        self._lock = threading.Lock()
        self._searches: dict[int | None, _Search] = {}

    def check(self, source: Source, requested: WorkPath, rules: Rules) -> None:
        """Raise HardLinked unless no other name of an open file below the root is denied.

        Raises:
            HardLinked: One is, or that is not known, or not yet.
        """
        links, version = source.stat.links, source.version
        device = _device_of(self._store, source)
        with self._lock:  # waiting threads find the search done, or continue it
            search = self._searches.get(device)
            now_s, now_ns = self._clock_s(), self._wall_ns()
            if search is None or not search.covers(rules, now_s, now_ns, version.ctime_ns):
                if search is not None and search.rules is not rules:
                    self._searches.clear()
                search = self._searches[device] = _Search(self._store, rules, device, now_ns)
            if search.pending and _all_beside(self._store, source, rules):
                return
            search.go_on(self._clock_s)
        if _identity(version.device, version.inode) in search.denied:
            raise HardLinked(requested, links, "one of the others is denied")
        if search.crowded:
            problem = "there are too many denied files to find its other names among them"
            raise HardLinked(requested, links, problem)
        if search.pending:
            progress = f"{search.folders:,} folders were searched so far"
            problem = f"it is not known yet whether one of the others is denied ({progress})"
            raise HardLinked(requested, links, problem, _AGAIN, known=False)


_AGAIN = (
    "Send the same call again: the search continues where it stopped. "
    "Or ask the user to serve a smaller folder."
)


HARDLINK_SCAN_S = 2.0
"""Longest search for denied files with several names in one call: some million files. The next call
continues, so that a root as large as a disk costs some calls and not one of 20 s."""

HARDLINK_SCAN_KEPT_S = 60.0
"""How long the result of that search is valid. A link made later is noticed by the file's change time; what
is not noticed is a folder renamed to a denied name, whose files were readable until then."""

HARDLINK_SCAN_SHARE = 20
"""It is valid for so many times as long as it took: a large tree is not searched all the time."""

HARDLINK_NAMES = 400_000
"""Denied files that are remembered in all, 40 MB."""


@final
class _Search:
    """Collects the identities of all denied files of one file system, step by step.

    Attributes:
        rules: What is denied.
        denied: The denied files found so far.
        pending: Folders still to search, each with whether it is denied; empty when the search is done.
        folders: The number of folders searched.
        crowded: There are too many denied files to remember.
    """

    def __init__(self, store: Store, rules: Rules, device: int | None, began_ns: int) -> None:
        """`device` restricts the search to folders on it; None searches all."""
        self.rules = rules
        self.denied: set[int] = set()
        self.folders = 0
        self.crowded = False
        self.pending: list[tuple[WorkPath, bool]] = [(ROOT, False)]
        self._store = store
        self._device = device
        self._began_ns = began_ns
        self._took_s = 0.0
        self._ends_s = float("inf")
        if device is not None:
            self._add_mounts(device)

    def covers(self, rules: Rules, now_s: float, now_ns: int, changed_ns: int) -> bool:
        """Whether the search is valid for a file with that change time."""
        # After the clock was set back, later changes look older than they are.
        in_time = changed_ns < self._began_ns - _CLOCK_STEP_NS <= now_ns
        return self.rules is rules and now_s < self._ends_s and in_time

    def go_on(self, clock_s: Callable[[], float]) -> None:
        """Continue the search for a limited time."""
        if not self.pending:
            return
        began = clock_s()
        deadline = Deadline(HARDLINK_SCAN_S, clock=clock_s)
        with suppress(TimedOut):
            while self.pending:
                deadline.check()
                self._folder(*self.pending.pop())
                if len(self.denied) > HARDLINK_NAMES:
                    self.crowded = True
                    self.pending.clear()
        now = clock_s()
        self._took_s += now - began
        if not self.pending:
            self._ends_s = now + max(HARDLINK_SCAN_KEPT_S, HARDLINK_SCAN_SHARE * self._took_s)

    def _folder(self, path: WorkPath, denied: bool) -> None:
        self.folders += 1
        try:
            with self._store.open_folder(path) as folder:
                # Something else may have the name now, perhaps a link: it was never a folder of this tree.
                if folder.real == path and self._device in (None, _device(folder)):
                    self.pending += _look(folder, path, denied, self.rules, self.denied)
        except ReadroomError:
            return  # deleted, or not accessible to this process, which then cannot have linked its files

    def _add_mounts(self, device: int) -> None:
        """Add the places where this file system is mounted again below other ones."""
        for path in mounts_below(self._store.folder or "", device):
            try:
                real, stat = self._store.stat(path)
            except ReadroomError:
                continue
            denied = not self.rules.decide(real, folder=stat.kind is EntryKind.FOLDER).allowed
            if stat.kind is EntryKind.FOLDER:
                self.pending.append((real, denied))
            elif denied:
                self.denied.add(_identity(stat.device, stat.inode))


def _device_of(store: Store, source: Source) -> int | None:
    """The device of a file and its folder; None if they differ, or mounts are unknown."""
    if store.folder is None or not os.path.exists(MOUNTS):
        return None
    try:
        with store.open_folder(parent(source.real)) as folder:
            # They differ in overlays of several file systems, and where a single file is mounted.
            return source.version.device if _device(folder) == source.version.device else None
    except ReadroomError:
        return None


def _all_beside(store: Store, source: Source, rules: Rules) -> bool:
    """Whether all names of a file are in one small folder and none is denied."""
    above, version, left = parent(source.real), source.version, source.stat.links
    try:
        with store.open_folder(above) as folder:
            some = next(folder.names(_NAMES), None)
            if some is None or folder.real != above:
                return False
            for name in set(some.names).difference(some.kinds, rules.denied(above, some.names, ())):
                stat = folder.stat(name)
                left -= (stat.device, stat.inode) == (version.device, version.inode)
    except ReadroomError:
        return False
    return left <= 0


def _device(folder: Folder) -> int | None:
    fd = folder.fileno()
    return None if fd is None else os.fstat(fd).st_dev


HARDLINK_SINGLE_NAMES = 100_000
"""Denied files with one name that are remembered, 10 MB: a second line, see `policy/hardlinks.py`."""


def _look(
    folder: Folder, path: WorkPath, denied: bool, rules: Rules, single_names: set[int]
) -> list[tuple[WorkPath, bool]]:
    """Record the denied files of a folder; returns its folders, each with whether it is denied."""
    deeper = []
    for some in folder.names(_NAMES):
        folders = {name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER}
        shut = set(some.names) if denied else rules.denied(path, some.names, folders)
        deeper += [(join(path, name), name in shut) for name in folders]
        for name in shut.difference(some.kinds):  # only regular files can be opened
            try:
                stat = folder.stat(name)
            except ReadroomError:
                continue
            if stat.links > 1 or len(single_names) < HARDLINK_SINGLE_NAMES:
                single_names.add(_identity(stat.device, stat.inode))
    return deeper


def _identity(device: int, inode: int) -> int:
    """Device and inode as one number, which takes half the memory of a pair."""
    return device << 64 | inode
