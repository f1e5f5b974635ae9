"""Find the files below a local folder that may match, with rg.

rg walks by name, and a name can be made to refer to something else at any moment.  So its results are only
candidates: each is opened through the guard, and the shown lines come from a search of that descriptor.

rg searches one file after the other.  If a file takes more than its share of the time, rg is ended and
started again without that file.
"""

from __future__ import annotations

import functools
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from copy import copy
from typing import final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import Cursor, end_of_folder, path_key
from readroom.core.engine.grep.process import Child, OpenFile, Watch, confines, failed
from readroom.core.engine.scope import Scope, join_below
from readroom.core.errors import AbsentError, NoPermission, ReadroomError, RefusedError, StoreFailed, TimedOut
from readroom.core.limits import GREP_CHILD_BYTES
from readroom.core.limits.files import CLOCK_S, GREP_HEAD_START_S
from readroom.core.paths import ROOT, ancestors, join
from readroom.core.policy.guard import Guard
from readroom.core.search.refusals import refusal
from readroom.core.search.ripgrep import (
    UNSPELLED,
    Records,
    Reports,
    asks_for_nul,
    can_be_glob,
    glob_of,
    ranges_before,
    tree_flags,
    unreadable,
)
from readroom.core.stores.base import Folder
from readroom.core.values import EntryKind, GrepRequest

_RUNS = 4
"""How often rg is run for one search: if the system ended it, it continues where it stopped."""

_WORTH_TELLING = re.compile(r"\.git|/?(?:[\w.+-]+/)+", re.ASCII)
"""Denied folders with a literal name: they may be large, and rg matches them at no cost. Patterns cost a
tenth of a search, and rg and git could differ about them."""


class Noted(Struct):
    """What the finders of one search could not read or did not finish.

    Attributes:
        unreadable: Files and folders, relative.
        cut: Archives that are cut short, relative.
        unusable: Archives with members that no path leads to, relative.
        left: Files that held up the others.
        waiting: Candidates of finders that are ahead of others: the search has not passed these.
        unnamed: What was seen that no path leads to.
    """

    unreadable: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)
    left: list[OpenFile] = field(default_factory=list)
    waiting: dict[int, str | None] = field(default_factory=dict)
    unnamed: int = 0

    def passed(self) -> list[OpenFile]:
        """The files in `left` that the search has passed."""
        until = min((path_key(path) for path in self.waiting.values() if path is not None), default=None)
        return [file for file in self.left if until is None or path_key(file.path) < until]


@functools.lru_cache(maxsize=16)
def _spared(patterns: Sequence[str], *, hidden: bool, below: bool) -> Sequence[str]:
    """The denied patterns that rg gets as excludes: those that mean the same in the searched folder.

    `hidden` says whether rg searches hidden names, `below` whether it starts below the root.
    """

    def spared(pattern: str) -> bool:
        plain = pattern.removesuffix("/")
        seen = hidden or not plain.rpartition("/")[2].startswith(".")
        return seen and not (below and "/" in plain) and _WORTH_TELLING.fullmatch(pattern) is not None

    return tuple(filter(spared, patterns))


GREP_NAMED_BYTES = 96 * 1024
"""Names of files passed to one search process; every Linux takes 128 KiB."""

GREP_SWEEP_BYTES = 192 * 1024 * 1024
"""Memory of a search process that looks with all threads: it lists a folder before it looks into it, and
300,000 names take that much."""


@final
class Tree:
    """The files below one folder in which rg finds something.

    Attributes:
        stopped_at: The first file in path order that may not be fully searched, once the deadline has
            passed; None if unknown.
    """

    def __init__(
        self,
        guard: Guard,
        top: Folder,
        scope: Scope,
        request: GrepRequest,
        deadline: Deadline,
        share: float,
        root: int | None,
        sought: Sequence[str],
        noted: Noted,
        spare: Sequence[str] | None = None,
        heads: bool = False,
        reports: Reports | None = None,
    ) -> None:
        """Prepare a search.

        Args:
            share: Seconds that one file may take.
            root: A descriptor of the folder that rg is confined to; None for no confinement.
            sought: What rg searches for, as flags.
            noted: Collects what could not be read or finished.
            spare: The same, in case `sought` is too large a pattern for rg.
            heads: rg checks the beginnings of files, and maps them into memory for that; a file that takes
                too long nevertheless is yielded as if it had been found.
            reports: Collects what rg reports about binary files in a pass over the whole tree.
        """
        self._guard = guard
        self._top = top
        self._scope = scope
        self._request = request
        self._deadline = deadline
        self._share = share
        self._root = root
        self._sought = sought
        self._spare = spare
        self._heads = heads
        self._mapped = heads
        self._reports = reports
        self._named: Sequence[str] | None = None
        self._noted = noted
        self.stopped_at: str | None = None
        self._passed: list[str] = []

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order, relative to the folder; from a cursor on, with its file unless done.

        Args:
            after: The cursor.
            at_once: Yield each as soon as it is found; otherwise in blocks, which is faster overall.

        Raises:
            TimedOut, Cancelled: From the deadline.
            BadPattern: rg does not accept the pattern.
        """
        least = b"" if after is None else after.place.key
        if after is not None and after.line is None:
            least += b"\0"  # the file is done, and may be one that took too long
            if not UNSPELLED.search(after.path):  # otherwise its glob would exclude others too
                self._passed.append(after.path)
        yield from self.files_from(least, after, at_once=at_once)

    def files_from(
        self, least: bytes, after: Cursor | None = None, *, at_once: bool = True
    ) -> Generator[str]:
        """The same, without the files whose key is less than `least`, which were yielded before."""
        runs = 0
        while runs < _RUNS:
            passed = len(self._passed)
            again = yield from self._run(after, least, at_once)
            if again is None:
                return
            least = again
            runs += len(self._passed) == passed
        raise StoreFailed(self._top.real, "the search program was ended by the system, again and again")

    def files_while(self, goes_well: Callable[[Child, Watch], bool]) -> Generator[str, None, bytes | None]:
        """Candidates in path order as long as `goes_well`, which is called often, is true.

        Returns:
            The least key of those that were not yielded; None if these were all.
        """
        return (yield from self._run(None, b"", at_once=True, goes_well=goes_well))

    def named(self, files: Sequence[str]) -> Generator[str]:
        """Those of the given files, in path order, in which rg finds something.

        rg follows a link that replaces a file meanwhile, so use it only if the kernel confines rg.
        """
        rest = deque(files)
        while rest:
            size, some = 0, []
            while rest and (size := size + len(os.fsencode(rest[0])) + 1) < GREP_NAMED_BYTES:
                some.append(rest.popleft())
            self._named = some or [rest.popleft()]
            yield from self.files_from(b"")
        self._named = None

    def everything(self, deadline: Deadline) -> tuple[list[str], bool]:
        """The files that rg finds with all its threads, in path order, and whether the list is complete."""
        names: list[str] = []
        child = self._started(None, at_once=False, within=deadline)
        if child is None:
            return names, True
        records, whole = Records(), False
        with child:
            with suppress(TimedOut):
                for data in child.output():
                    names += records.add(data)
                whole = child.status >= 0 and self._came_through(child)
        return sorted(filter(self._scope.takes, names), key=path_key), whole

    @property
    def is_confined(self) -> bool:
        """Whether the kernel confines rg to the root."""
        return self._root is not None and confines()

    @property
    def leaves_binary(self) -> bool:
        """Whether rg stops searching a file at its first NUL."""
        return "--text" not in self._sought

    def instead(self, sought: Sequence[str]) -> Tree:
        """A search of the same files for something else; `sought` as in the constructor."""
        tree = copy(self)
        tree._sought, tree._spare, tree._reports = sought, None, None
        return tree

    def unignored(self) -> Tree:
        """The same search of all files that the scope takes, whatever rg makes of ignore files."""
        tree = copy(self)
        tree._reports = None
        tree._request = replace(self._request, include=self._request.include | {"ignored"})
        return tree

    def listing(self, deadline: Deadline, reports: Reports | None = None) -> Iterator[str]:
        """The files that would be searched, in path order; with `reports`, of all names and in no order."""
        said = ["--sort=path"] if reports is None else reports.flags()
        flags = ["--no-config", "--files", *said, *self._kept(None, named=reports is None)]
        where = (_entrance(self._top, self._guard), self._root)
        with Child(
            [*flags, "--", *self._where(None)], deadline, folder=where[0], root=where[1], reports=reports
        ) as child:
            left = b""
            for data in child.output():
                *names, left = (left + data).split(b"\0")
                yield from (os.fsdecode(name[2:]) for name in names)

    def _run(
        self,
        after: Cursor | None,
        least: bytes,
        at_once: bool,
        goes_well: Callable[[Child, Watch], bool] | None = None,
    ) -> Generator[str, None, bytes | None]:
        """Run one process; returns the key to continue from if it was ended, otherwise None."""
        child = self._started(after, at_once=at_once)
        if child is None:
            return None
        with child:
            records, watch = Records(), Watch(child, self._top, self._share, self._deadline)
            pause_s = CLOCK_S if goes_well is None else GREP_HEAD_START_S / 8
            given_up = watch.is_stuck if goes_well is None else lambda: not goes_well(child, watch)
            try:
                for data in child.output(given_up, pause_s):
                    watch.begin()
                    for path in records.add(data):
                        key = path_key(path)
                        if key >= least and self._scope.takes(path):
                            yield path
                            least = key + b"\0"
                    if goes_well is not None and not goes_well(child, watch):
                        child.gave_up = True
                        break
            except TimedOut:
                self._note_stop(child, records, watch)
                raise
            if child.gave_up and watch.stuck is None:
                # If time runs out before another process has come further, this is the place to report.
                self._note_stop(child, records, watch)
                return least
            if watch.stuck is not None:
                path = watch.stuck.path
                if self._heads and path_key(path) >= least and self._scope.takes(path):
                    yield path
                return self._pass(watch.stuck, least)
            if child.status < 0:
                # A line that is too long for its memory, or a mapped file that became shorter.
                self._mapped = self._mapped or child.starved
                if child.starved or child.status == -signal.SIGBUS:
                    return least
                raise failed(child)
            return None if self._came_through(child) else least

    def _note_stop(self, child: Child, records: Records, watch: Watch) -> None:
        """End a process and note where: files before its current one are done, except for unread results."""
        now = watch.reached()
        stopped = next(records.add(child.rest()), now)
        # rg walks denied paths like any other, but they must not be disclosed.
        if stopped is None or not self._scope.takes(stopped) or not self._may_be_named(stopped):
            return
        if self.stopped_at is None or path_key(stopped) > path_key(self.stopped_at):
            self.stopped_at = stopped  # a restarted process may have come less far

    def _pass(self, file: OpenFile, least: bytes) -> bytes:
        """Exclude a file from the next process; returns the key to continue from."""
        self._passed.append(file.path)
        key = path_key(file.path)
        taken = key >= least and self._scope.takes(file.path) and self._may_be_named(file.path)
        if taken and not self._heads:
            self._noted.left.append(file)
        self._noted.unreadable += self._taken_for(file.path)
        return max(key + b"\0", least)

    def _taken_for(self, path: str) -> list[str]:
        """Other files that the glob for a file excludes too: only if a glob cannot spell its name exactly."""
        if can_be_glob(path):
            return []
        folder, _, name = path.rpartition("/")
        spelled = re.compile(UNSPELLED.sub(".", re.escape(name)), re.DOTALL)
        try:
            with self._guard.open_folder(join_below(self._top.real, folder)) as opened:
                names = [f"{folder}/{one.name}" if folder else one.name for one in opened.entries()]
        except ReadroomError:
            return []
        like = [one for one in names if spelled.fullmatch(one.rpartition("/")[2]) and one != path]
        return [one for one in like if self._scope.takes(one) and self._may_be_named(one)]

    def _started(
        self, after: Cursor | None, *, at_once: bool = True, within: Deadline | None = None
    ) -> Child | None:
        """Start rg, in path order, or `within` a deadline with all threads; None if nothing is to search."""
        if not (where := self._where(after)):
            return None
        reports = None if after is not None else self._reports
        order = "--sort=path" if within is None else "--sort=none"
        buffering = "--line-buffered" if at_once else "--block-buffered"
        said = [] if reports is None else reports.flags()
        # The cheapest record that ends with a line feed, which flushes it: "path NUL 1 LF".
        counts = ("--count", "--max-count=1", "--with-filename")
        flags = [*self._sought, *self._kept(after), *counts, *said, order, buffering, "--", *where]
        return Child(
            flags,
            within or self._deadline,
            folder=_entrance(self._top, self._guard),
            root=self._root,
            mapped=self._mapped,
            reports=reports,
            memory=GREP_CHILD_BYTES if within is None else GREP_SWEEP_BYTES,
            held_back=at_once and not self._heads,
        )

    def _came_through(self, child: Child) -> bool:
        """Record what could not be read; False if rg failed altogether and can be run in another way."""
        if child.status != 2:
            return True
        if asks_for_nul(child.messages):
            # Then files with a NUL are found too, and skipped when they are opened.
            self._sought = [*self._sought, "--text"]
            return False
        if (refused := refusal(child.messages, self._request)) is not None:
            if self._spare is None:
                raise refused
            self._sought, self._spare = self._spare, None
            return False
        for path in unreadable(child.messages):
            relative = path.removeprefix("./")
            if relative == "":
                # The guard could open it, so this may be a file system on which the kernel cannot confine.
                if self._root is None:
                    raise NoPermission(self._top.real)
                self._root = None
                return False
            if self._may_hold_asked(relative) and self._may_be_named(relative):
                self._noted.unreadable.append(relative)
        return True

    def _may_hold_asked(self, relative: str) -> bool:
        """Whether a name is that of a file in the scope, or of a folder that may contain some."""
        if self._scope.takes(relative):
            return True
        try:
            _, stat = self._guard.stat(join_below(self._top.real, relative))
        except (AbsentError, RefusedError):
            return False
        except ReadroomError:
            return self._scope.enters(relative)
        return stat.kind is EntryKind.FOLDER and self._scope.enters(relative)

    def _may_be_named(self, relative: str) -> bool:
        path = join_below(self._top.real, relative)
        return self._guard.allows(path, folder=False) and self._guard.allows(path, folder=True)

    # --- arguments ----------------------------------------------------------------------------

    def _kept(self, after: Cursor | None, *, named: bool = True) -> list[str]:
        """Flags for which files are searched, of all names unless `named`, and for a NUL after each."""
        hints = self._scope.hints()
        # Without confinement rg could read ignore files above the root.
        parents = self._root is not None
        skipped = [] if after is None else [*ranges_before(after.path)]
        skipped += [glob_of(path) for path in self._passed]
        hidden, below = self._scope.sees_hidden, self._top.real not in self._guard.tops
        denied = _spared(tuple(self._guard.irrevocable(self._top.real)), hidden=hidden, below=below)
        flags = tree_flags(
            self._request.include | ({"hidden"} if hidden else frozenset()),
            hints.names if named else (),
            [*hints.without, *denied, *skipped],
            parents=parents,
            repository=self._in_repository(parents),
        )
        return [*flags, "--null"]

    def _in_repository(self, parents: bool) -> bool:
        """Whether it is in a repository: then rg can require one for ignore files, and sees nested ones."""
        own, below = self._guard.top_of(self._top.real), ancestors(self._top.real)
        above = (*([ROOT] if own == ROOT else []), *below) if parents else ()
        for folder in (*above, self._top.real):
            try:
                self._guard.store.stat(join(folder, ".git"))
            except ReadroomError:
                continue
            return True
        return False

    def _where(self, after: Cursor | None) -> list[str]:
        """Where rg starts: folders in path order. No links, since rg follows those that are arguments."""
        if self._named is not None:
            return [f"./{path}" for path in self._named if path not in self._passed]
        folders = []
        for folder in self._scope.hints().folders:
            if folder == "":
                return ["./"]
            if after is not None and end_of_folder(path_key(folder)) <= after.place.key:
                continue
            if self._scope.enters(folder) and self._is_folder(folder):
                folders.append(f"./{folder}")
        return folders

    def _is_folder(self, folder: str) -> bool:
        path = join_below(self._top.real, folder)
        try:
            with self._guard.open_folder(path) as opened:
                return opened.real == path
        except ReadroomError:
            return False


def _entrance(folder: Folder, guard: Guard) -> str:
    """A path of exactly this folder, for a child that is about to start."""
    fd = folder.fileno()
    if fd is not None and sys.platform == "linux" and os.path.isdir(f"/proc/self/fd/{fd}"):
        return f"/proc/self/fd/{fd}"
    _, place = guard.own(folder.real)
    return os.path.join(guard.folder_at(folder.real) or "/", place.inner(folder.real))
