"""Find the files below a local folder that may match, with rg.

rg walks by name, and names can be made to mean something else at any moment.  So
what it finds are candidates, nothing more: each is opened through the guard, and
what is shown comes from a search of that descriptor.

It looks into one file after the other.  Where one takes more than its share of the
time, it is ended, and begins again without that file.
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

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor, end_of_folder, path_key
from readroom.engine.grep.process import Child, confines, failed
from readroom.engine.grep.watch import Doubt, LeftFile, OpenFile, Watch
from readroom.engine.scope import Scope, join_below
from readroom.errors import AbsentError, NoPermission, ReadroomError, RefusedError, StoreFailed, TimedOut
from readroom.limits import GREP_CHILD_BYTES, GREP_NAMED_BYTES, GREP_SKIPPED_NAMES
from readroom.limits.files import CLOCK_S, GREP_FIRST_HIT_S, GREP_SWEEP_BYTES
from readroom.paths import ROOT, ancestors, join
from readroom.policy.guard import Guard
from readroom.search.ripgrep import (
    UNSPELLED,
    Records,
    Reports,
    asks_for_nul,
    can_be_glob,
    glob_of,
    literal_glob,
    ranges_before,
    refusal,
    tree_flags,
    unreadable,
)
from readroom.stores.base import Folder
from readroom.values import EntryKind, GrepRequest

_RUNS = 4
"""How often a search that the system ended is taken up again where it stopped."""

_WORTH_TELLING = re.compile(r"\.git|/?(?:[\w.+-]+/)+", re.ASCII)
"""Denied folders spelled out: they may be large, and rg looks them up at no cost. Patterns cost a tenth of a
search, and rg and git could differ about them."""


@functools.lru_cache(maxsize=16)
def _spared(patterns: Sequence[str], *, hidden: bool, below: bool) -> Sequence[str]:
    """What rg is told not to look at, of what is denied: patterns that mean the same from where it looks.

    `hidden` says whether it looks at hidden names, `below` whether it begins below the root.
    """

    def spared(pattern: str) -> bool:
        plain = pattern.removesuffix("/")
        seen = hidden or not plain.rpartition("/")[2].startswith(".")
        return seen and not (below and "/" in plain) and _WORTH_TELLING.fullmatch(pattern) is not None

    return tuple(filter(spared, patterns))


@final
class Tree:
    """The files below one folder in which rg finds something.

    Attributes:
        unreadable: Files and folders, relative, that rg could not read.
        stopped_at: When the deadline passed: the first file in path order that may
            not be fully searched; None when that cannot be told.
        left: Files that were left before their end.
        worked_s: Processor time of the last process that came through all files.
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
        spare: Sequence[str] | None = None,
        heads: bool = False,
        reports: Reports | None = None,
    ) -> None:
        """Prepare a search.

        Args:
            guard: Opens what is looked at beside rg.
            top: The folder, opened through the guard.
            scope: Which files are asked for.
            request: What is searched for.
            deadline: Ends it.
            share: Seconds that one file may take.
            root: A descriptor of the folder that rg is confined to; None for no confinement.
            sought: What rg is told to look for, as flags.
            spare: The same for when that is too large a pattern for rg.
            heads: rg looks at how files begin, and maps them into its memory for that; where one keeps it
                nevertheless, the file is given as if it were found.
            reports: Takes what rg says of binary files while it goes through all of the tree.
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
        self._begun: Child | None = None
        self._named: Sequence[str] | None = None
        self.unreadable: list[str] = []
        self.stopped_at: str | None = None
        self.left: list[LeftFile] = []
        self.worked_s = 0.0
        self._passed: list[str] = []

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order, relative to the folder; from a cursor on, with its file unless done.

        Args:
            after: The cursor.
            at_once: Each is given as soon as it is found; otherwise in blocks, which is faster for all.

        Raises:
            TimedOut, Cancelled: From the deadline.
            BadPattern: rg does not take the pattern.
        """
        least = b"" if after is None else after.place.key
        if after is not None and after.line is None:
            least += b"\0"  # it is done, and may be one that took too long
            if not UNSPELLED.search(after.path):  # or else others would be left out with it
                self._passed.append(after.path)
        yield from self.files_from(least, after, at_once=at_once)

    def files_from(
        self, least: bytes, after: Cursor | None = None, *, at_once: bool = True
    ) -> Generator[str]:
        """The same, of which those whose key is less than `least` were given before."""
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
        """Candidates in path order as long as that goes well, which is asked often.

        Returns:
            The least key of those that were not given; None when these were all.
        """
        return (yield from self._run(None, b"", at_once=True, goes_well=goes_well))

    def named(self, files: Sequence[str]) -> Generator[str]:
        """Those among some files, in path order, in which rg finds something.

        rg follows a link that takes the name of a file meanwhile: for where the kernel keeps it inside.
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
        """What all threads of rg find together, in path order, and whether that is all that there is."""
        names: list[str] = []
        child = self._started(None, at_once=False, within=deadline)
        if child is None:
            return names, True
        records, whole = Records(), False
        with child:
            with suppress(TimedOut):
                for data in child.output():
                    names += records.add(data)
                self.worked_s = child.worked_s
                whole = child.status >= 0 and self._came_through(child)
        return sorted(filter(self._scope.takes, names), key=path_key), whole

    @property
    def is_confined(self) -> bool:
        """Whether the kernel keeps rg inside the root."""
        return self._root is not None and confines()

    @property
    def looks_at_all(self) -> bool:
        """Whether nothing was left out of what rg looks at."""
        return not self._passed and self.leaves_binary

    @property
    def leaves_binary(self) -> bool:
        """Whether rg leaves a file at its first NUL."""
        return "--text" not in self._sought

    def as_text(self) -> Tree:
        """The same search of all files, whatever NUL they hold."""
        return self.instead([*self._sought, "--text"], self._spare)

    def instead(self, sought: Sequence[str], spare: Sequence[str] | None = None) -> Tree:
        """A search of the same files for something else; `sought` and `spare` as of this one."""
        tree = copy(self)
        tree._sought, tree._spare, tree._reports = sought, spare, None
        return tree

    def begin(self) -> None:
        """Start the process of `files(None)` already now: it looks while others are waited for."""
        self._begun = self._started(None)

    def close(self) -> None:
        """End what was begun and not used."""
        if self._begun is not None:
            self._begun.close()

    def listing(self, deadline: Deadline) -> Iterator[str]:
        """The files that are searched, in path order, without searching them."""
        flags = ["--no-config", "--files", "--sort=path", *self._kept(None), "--", *self._where(None)]
        with Child(flags, deadline, folder=_entrance(self._top, self._guard), root=self._root) as child:
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
        """One process; where to take it up again when it was ended, None when it was not."""
        begun, self._begun = self._begun, None
        child = begun or self._started(after, at_once=at_once)
        if child is None:
            return None
        with child:
            records, watch = Records(), Watch(child, self._top, self._share, self._deadline)
            pause_s = CLOCK_S if goes_well is None else GREP_FIRST_HIT_S / 2
            given_up = Doubt(watch.is_stuck if goes_well is None else lambda: not goes_well(child, watch))
            try:
                for data in child.output(given_up, pause_s):
                    watch.begin()
                    for path in records.add(data):
                        key = path_key(path)
                        if key >= least and self._scope.takes(path):
                            yield path
                            least = key + b"\0"
                    if goes_well is not None and given_up():
                        break
            except TimedOut:
                self._note_stop(child, records, watch)
                raise
            if goes_well is not None and given_up.last:
                # Should time pass before another process has come further, this is how far it is.
                self._note_stop(child, records, watch)
                return least
            if watch.stuck is not None:
                path = watch.stuck.path
                if self._heads and path_key(path) >= least and self._scope.takes(path):
                    yield path
                return self._pass(watch.stuck, least)
            self.worked_s = child.worked_s  # not told any more when it was waited for
            if child.status < 0:
                # A line too long to be held; or a mapped file that became shorter.
                self._mapped = self._mapped or child.starved
                if child.starved or child.status == -signal.SIGBUS:
                    return least
                raise failed(child)
            return None if self._came_through(child) else least

    def _note_stop(self, child: Child, records: Records, watch: Watch) -> None:
        """End a process; all files before the one that it was in are done, but for what nobody has read."""
        now = watch.reached()
        stopped = next(records.add(child.rest()), now)
        # What policy denies is walked by rg like anything else, and nobody's to know.
        if stopped is None or not self._scope.takes(stopped) or not self._may_be_named(stopped):
            return
        if self.stopped_at is None or path_key(stopped) > path_key(self.stopped_at):
            self.stopped_at = stopped  # a process that began anew may be less far

    def _pass(self, file: OpenFile, least: bytes) -> bytes:
        """Go on without a file; where."""
        self._passed.append(file.path)
        key = path_key(file.path)
        taken = key >= least and self._scope.takes(file.path) and self._may_be_named(file.path)
        if taken and not self._heads:
            self.left.append((file.path, file.read, file.size))
        for path in self._taken_for(file.path):
            self.unreadable.append(path)
        return max(key + b"\0", least)

    def _taken_for(self, path: str) -> list[str]:
        """What the glob that leaves out a file leaves out as well: only where a name cannot be spelled."""
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
        """A process, in path order unless all its threads look `within` a time; None for nowhere to look."""
        if not (where := self._where(after)):
            return None
        reports = None if after is not None else self._reports
        order = "--sort=path" if within is None else "--sort=none"
        buffering = "--line-buffered" if at_once else "--block-buffered"
        said = [] if reports is None else reports.flags()
        flags = [*self._flags(after), *said, order, buffering, "--", *where]
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
        """Note what could not be read; false when that is the folder itself, and another way is left."""
        if child.status != 2:
            return True
        if asks_for_nul(child.messages):
            # Files with a NUL are found then, too, and passed over when they are opened.
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
                # The guard could open it. There are file systems on which the kernel cannot confine.
                if self._root is None:
                    raise NoPermission(self._top.real)
                self._root = None
                return False
            if self._may_hold_asked(relative) and self._may_be_named(relative):
                self.unreadable.append(relative)
        return True

    def _may_hold_asked(self, relative: str) -> bool:
        """Whether a name is that of a file that is asked for, or of a folder with some."""
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

    def _flags(self, after: Cursor | None) -> list[str]:
        return [
            *self._sought,
            *self._kept(after),
            # The cheapest record that a line feed ends, which is what flushes it: "path NUL 1 LF".
            *("--count", "--max-count=1", "--with-filename"),
        ]

    def _kept(self, after: Cursor | None) -> list[str]:
        """Which files are looked at, and in which order they come."""
        hints = self._scope.hints()
        # Without confinement nothing would keep rg from reading ignore files above the root.
        parents = self._root is not None
        skipped = [] if after is None else self._skipped(after.path)
        skipped += [glob_of(path) for path in self._passed]
        hidden, below = "hidden" in self._request.include, self._top.real != ROOT
        denied = _spared(tuple(self._guard.irrevocable()), hidden=hidden, below=below)
        flags = tree_flags(
            self._request,
            hints.names,
            [*hints.without, *denied, *skipped],
            parents=parents,
            repository=self._in_repository(parents),
        )
        return [*flags, "--null"]

    def _in_repository(self, parents: bool) -> bool:
        """rg sees repositories inside others only when told to look; then there must be one to begin with."""
        above = (ROOT, *ancestors(self._top.real)) if parents else ()
        for folder in (*above, self._top.real):
            try:
                self._guard.store.stat(join(folder, ".git"))
            except ReadroomError:
                continue
            return True
        return False

    def _where(self, after: Cursor | None) -> list[str]:
        """Where rg begins: folders in path order. A link given to it by name would be followed."""
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

    def _skipped(self, path: str) -> list[str]:
        """Globs for what comes before a path, as far as arguments go; the rest is found and not taken."""
        globs: list[str] = []
        above = ""
        for part in path.split("/"):
            least = os.fsencode(part)
            globs += self._names_before(above, least)
            above = f"{above}/{part}" if above else part
        return globs if len(globs) <= GREP_SKIPPED_NAMES else [*ranges_before(path)]

    def _names_before(self, folder: str, least: bytes) -> list[str]:
        prefix = f"{folder}/" if folder else ""
        try:
            with self._guard.open_folder(join_below(self._top.real, folder)) as opened:
                return [
                    literal_glob(prefix + entry.name)
                    for entry in opened.entries()
                    if os.fsencode(entry.name) < least
                    and entry.kind in (EntryKind.FILE, EntryKind.FOLDER)
                    and can_be_glob(prefix + entry.name)
                ]
        except ReadroomError:
            return []


def _entrance(folder: Folder, guard: Guard) -> str:
    """A path that leads to exactly this folder, for a child that is about to start."""
    fd = folder.fileno()
    if fd is not None and sys.platform == "linux" and os.path.isdir(f"/proc/self/fd/{fd}"):
        return f"/proc/self/fd/{fd}"
    return os.path.join(guard.folder or "/", folder.real)
