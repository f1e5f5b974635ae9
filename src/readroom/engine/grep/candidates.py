"""Find the files that a search opens, in two rounds: one for nearly all of them, one for the rest.

rg treats a file with a NUL as binary.  UTF-16 without a byte order mark is full of NULs, and the log of
a machine that lost power may have some in its middle.  rg does not search compressed files here.  All of
these are searched in a second round, after all other files; otherwise nothing could be shown before every
file had been checked.  Stores without rg keep the same order, except that texts with a NUL in their middle
are treated like any other.

A common word fills its page after a few files, if they come in path order; a rare one needs the whole
tree, which all threads of rg search in half the time, but in no order.  So rg gets a head start in path
order, on one thread.  If the page does not fill, rg starts again with all threads, and the names are sorted
at the end.  A tree that is too large for that, or a search that needs another attempt, continues in path
order, where the search can wait for each file and knows its place when time runs out.

The same pass finds the files for the second round: those that rg treats as binary, and those in which it
found one of the signatures that such files begin with.  A search that continues from a cursor has not seen
all files: it makes such a pass for its second round, and if time does not suffice, checks the beginnings of
all files instead.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence, Set
from contextlib import ExitStack, closing
from functools import partial
from typing import Protocol, final

from msgspec import Struct

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor, end_of_folder, path_key
from readroom.engine.grep.overlooked import Overlooked
from readroom.engine.grep.process import Child
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.grep.watch import LeftFile, Watch
from readroom.engine.scope import Scope, join_below
from readroom.engine.services import PassTimes
from readroom.engine.unsearched import Unsearched
from readroom.errors import BadPath, NoPermission, ReadroomError, StoreFailed, TimedOut
from readroom.limits import GREP_FILE_LEAST_S, GREP_REPORTED_FILES, GREP_SWEEP_SHARE
from readroom.limits.files import GREP_FIRST_HIT_S, GREP_HEAD_START_S, GREP_SMALL_S
from readroom.paths import ROOT
from readroom.policy.guard import Guard
from readroom.search.pattern import Pattern
from readroom.search.prefilter import anywhere, escaped, superset
from readroom.search.ripgrep import LATE_LITERALS, Reports, late_flags, nul_flags, pattern_flags
from readroom.stores.base import Folder
from readroom.values import EntryKind, GrepRequest

_WORTH_WAITING = 6
"""Head starts that are worth waiting for a page that fills evenly: all threads need about as long for a
large tree."""

_GROWN = 2
"""A small tree counts as a large one if it takes this many times as long as last time."""

_LARGEST_FOLDER = 64
"""Head starts that rg may spend on reading and sorting the names of one folder: 200,000 names take 30."""

_WALL = 40
"""How many times its processor time a head start may take in wall-clock time, for busy machines."""


@final
class Swept:
    """The first round: nearly all files. Attributes as of `Tree`.

    Attributes:
        began_s: When rg started the head start, by the monotonic clock, or reached its first file.
        found: The candidates that were yielded.
        saw_all: Whether one pass has covered the whole tree, so that the reports are complete.
    """

    def __init__(
        self,
        tree: Tree,
        deadline: Deadline,
        filled: Callable[[], float],
        expected_s: float | None = None,
        took: Callable[[float], object] | None = None,
    ) -> None:
        """Prepare the round.

        Args:
            tree: Finds the candidates.
            deadline: Ends the search.
            filled: Returns how much of the page is used, from 0 to 1.
            expected_s: Processor time that the whole tree took last time; None if unknown.
            took: Called with the processor time of a pass over the whole tree.
        """
        self._tree = tree
        self._deadline = deadline
        self._filled = filled
        self._took = took
        small = expected_s is not None and expected_s <= GREP_SMALL_S
        self._least_s = _GROWN * expected_s if expected_s is not None and small else 0.0
        self.began_s = 0.0
        self._reading_s = 0.0
        self._in_files = False
        self.found: set[str] = set()
        self.saw_all = False

    @property
    def unreadable(self) -> list[str]:
        """Files and folders that rg could not read."""
        return self._tree.unreadable

    @property
    def stopped_at(self) -> str | None:
        """How far the search had come at the deadline."""
        return self._tree.stopped_at

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were not searched to their end."""
        return self._tree.left

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        for path in self._files(after, at_once=at_once):
            self.found.add(path)
            yield path

    def _files(self, after: Cursor | None, *, at_once: bool) -> Generator[str]:
        if after is not None:
            yield from self._tree.files(after, at_once=at_once)
            return
        least: bytes | None = b""
        if at_once and not _has_threads():
            yield from self._tree.files(None)
            least = None
        elif at_once:
            self.began_s = time.monotonic()
            least = yield from self._tree.files_while(self.goes_well)
        if least is not None:
            yield from self._rest(least, at_once)
        self.saw_all = True
        if self._took is not None:
            self._took(self._tree.worked_s)

    def goes_well(self, child: Child, watch: Watch) -> bool:
        """Whether to continue in path order."""
        worked, now = child.worked_s, time.monotonic()
        used, filled = max(worked - self._reading_s, (now - self.began_s) / _WALL), self._filled()
        # The time it would take altogether if the page kept filling at this rate.
        most = max(self._least_s, filled * _WORTH_WAITING * GREP_HEAD_START_S)
        if used < max(most, GREP_HEAD_START_S if filled else GREP_FIRST_HIT_S):
            return True
        if filled or self._in_files or not 0 < worked <= _LARGEST_FOLDER * GREP_HEAD_START_S:
            return False
        # All names of a large folder are read before its first file.
        began = self._reading_s > 0
        self._in_files = watch.now() is not None
        self._reading_s, self.began_s = worked, now
        return began or not self._in_files

    def _rest(self, least: bytes, at_once: bool) -> Generator[str]:
        left = self._deadline.remaining
        share = GREP_SWEEP_SHARE if at_once else 1.0
        within = self._deadline if left is None else self._deadline.within(left * share)
        names, whole = self._tree.everything(within)
        if whole:
            yield from (path for path in names if path_key(path) >= least)
        else:
            yield from self._tree.files_from(least, at_once=at_once)


@final
class Late:
    """The second round: files recognised only by their first bytes, and texts that rg treats as binary.

    Attributes as of `Tree`, and:
        texts: Texts that rg skipped in the first round, most of them because of a NUL.
        texts_known: Whether these are all.
    """

    def __init__(
        self,
        tree: Tree,
        first: Swept,
        searched: Tree,
        reports: Reports,
        scope: Scope,
        deadline: Deadline,
        overlooked: Overlooked,
    ) -> None:
        """Prepare a round.

        Args:
            tree: Checks the beginnings of files.
            first: The first round.
            searched: The tree of the first round.
            reports: What rg reported about binary files during it.
            scope: Which files are asked for.
            deadline: Ends the search.
            overlooked: Finds the files that rg skipped.
        """
        self._tree = tree
        self._overlooked = overlooked
        self._walked = False
        self._first = first
        self._searched = searched
        self._reports = reports
        self._scope = scope
        self._deadline = deadline
        self._seen: set[str] = set()
        self._unseen: set[str] = set()
        self._waiting: deque[str] = deque()
        self.texts: set[str] = set()
        self.texts_known = True

    @property
    def unreadable(self) -> list[str]:
        """Files and folders that rg could not read."""
        return self._tree.unreadable

    @property
    def stopped_at(self) -> str | None:
        """How far the search had come at the deadline."""
        stopped = self._tree.stopped_at
        return stopped if stopped is None else min((stopped, *self._waiting), key=path_key)

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were not searched to their end."""
        return self._tree.left

    def add(self, path: str) -> None:
        """Add a candidate of the first round that turned out to belong to this one."""
        self._seen.add(path)

    def begin(self) -> None:
        """Start rg alongside the first round, unless that round will report these files."""
        if not self._reports.sure or not self._searched.looks_at_all:
            self._tree.begin()

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        least = b"" if after is None else after.place.key

        def asked(paths: Iterable[str]) -> list[str]:
            return sorted((p for p in paths if path_key(p) >= least and self._scope.takes(p)), key=path_key)

        part = self._part()  # for all that only prepares this round, so that each page gets further
        known = self._knows_all(part, begins=after is None)
        if known:
            self.texts = set(self._reports.texts) - self._seen
        elif self._searched.leaves_binary and self.texts_known:
            self.texts = self._taken_for_binary(part)
        self.texts |= self._overlooked.look(part, b"" if known else least, walked=self._walked)
        # Both kinds come in path order, so that none is skipped when time runs out.
        self._overlooked.opened.update(self.texts, self._seen)
        self._waiting.extend(asked(self.texts | self._seen if known else self.texts))
        named = sorted((self._reports.binary | self._unseen) - self._seen, key=path_key) if known else []
        with closing(self._tree.named(named) if known else self._tree.files(after, at_once=at_once)) as heads:
            for path in heads:
                self._overlooked.opened.add(path)
                if path_key(path) < least:
                    continue  # searched on an earlier page
                while self._waiting and path_key(self._waiting[0]) < path_key(path):
                    yield self._waiting.popleft()
                if self._waiting and self._waiting[0] == path:
                    self._waiting.popleft()
                yield path
        while self._waiting:
            yield self._waiting.popleft()

    def _knows_all(self, part: Deadline, *, begins: bool) -> bool:
        """Whether a pass over all files has found this round's files; after a cursor, makes that pass."""
        self._walked = begins and self._first.saw_all
        if not self._reports.sure or not self._searched.looks_at_all:
            return False
        found = self._first.found
        if not self._walked:
            names, self.texts_known = self._searched.everything(part)
            self._walked = self.texts_known
            # The first round does not search its files again on this page: some may belong to this round.
            found = self._unseen = set(names)
        if self.texts_known and not self._reports.logged:
            self._look_for_nul(found, part)
        known = self.texts_known and self._reports.sure and self._searched.looks_at_all
        return known and (self._tree.is_confined or not self._reports.binary | self._unseen)

    def _look_for_nul(self, found: Set[str], part: Deadline) -> None:
        """Record which files are binary; `found` are those in which rg found something, NUL or not."""
        binary, self.texts_known = self._searched.instead(nul_flags()).everything(part)
        self._reports.sure = len(binary) <= GREP_REPORTED_FILES
        if self._tree.is_confined and self._reports.sure:
            self._reports.binary.update(binary)
            self._reports.texts.update(set(self._searched.as_text().named(binary)).difference(found))
        elif binary:
            self._reports.sure = False

    def _taken_for_binary(self, part: Deadline) -> set[str]:
        """Files that rg finds only with `--text`: opening them will show that some are binary."""
        texts, all_texts = self._searched.as_text().everything(part)
        others, all_others = self._searched.everything(part)
        self.texts_known = all_texts and all_others
        return set(texts).difference(others) if self.texts_known else set()

    def _part(self) -> Deadline:
        """A share of the remaining time."""
        left = self._deadline.remaining
        return self._deadline if left is None else self._deadline.within(left * GREP_SWEEP_SHARE)


def _has_threads() -> bool:
    """Whether rg can run on several processors at once."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) > 1


# -----------------------------------------------------------------------------
# The files below one folder of a store that rg cannot walk, in path order.
# -----------------------------------------------------------------------------


@final
class Walked:
    """All files in a scope: each has to be searched. Attributes as of `ripgrep.Tree`."""

    def __init__(self, guard: Guard, top: Folder, scope: Scope, deadline: Deadline) -> None:
        self._guard = guard
        self._top = top
        self._scope = scope
        self._deadline = deadline
        self.unreadable: list[str] = []
        self.stopped_at: str | None = None
        self.left: list[LeftFile] = []

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order, relative to the folder; from a cursor on, its own file included."""
        least = b"" if after is None else after.place.key
        yield from self._below("", self._top, least)

    def _below(self, prefix: str, folder: Folder, least: bytes) -> Iterator[str]:
        try:
            kinds = {entry.name: entry.kind for entry in folder.entries()}
        except ReadroomError:
            if not prefix:
                raise
            self.unreadable.append(prefix.removesuffix("/"))
            return
        for name in sorted(kinds, key=os.fsencode):
            path = prefix + name
            key = path_key(path)
            try:
                self._deadline.check()
            except TimedOut:
                self.stopped_at = path
                raise
            if kinds[name] is EntryKind.FILE:
                if key >= least and self._scope.takes(path):
                    yield path
            elif kinds[name] is EntryKind.FOLDER and end_of_folder(key) > least and self._scope.enters(path):
                yield from self._deeper(path, least)

    def _deeper(self, path: str, least: bytes) -> Iterator[str]:
        below = join_below(self._top.real, path)
        try:
            folder = self._guard.open_folder(below)
        except (NoPermission, StoreFailed, BadPath):
            self.unreadable.append(path)
            return
        except ReadroomError:
            return  # denied, or gone since its name was read
        with folder:
            if folder.real == below:
                yield from self._below(f"{path}/", folder, least)


PLAIN: tuple[int, ...] = ()
WIDE: tuple[int, ...] = (1,)
"""The rounds, as ranks of places in a cursor: `PLAIN` sorts before `WIDE`."""


class Finder(Protocol):
    """Finds candidates; see `ripgrep.Tree`."""

    @property
    def unreadable(self) -> list[str]:
        """Files and folders, relative, that could not be read."""

    @property
    def stopped_at(self) -> str | None:
        """The first file that may not be fully searched, once the deadline has passed."""

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were not searched to their end, because they held up the others."""

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""


class Rounds(Struct, frozen=True):
    """The finders of `PLAIN` and `WIDE`, which may be the same; with rg its tree and skipped files."""

    plain: Finder
    wide: Finder
    tree: Tree | None = None
    overlooked: Overlooked | None = None

    def begin(self) -> None:
        """Start the second round's rg alongside the first, unless one pass serves both."""
        if isinstance(self.wide, Late):
            self.wide.begin()

    def add_late(self, path: str) -> None:
        """Add a candidate of the first round that belongs to the second."""
        if isinstance(self.wide, Late):
            self.wide.add(path)

    def has_text(self, path: str) -> bool:
        """Whether a candidate of the second round is a text that rg skipped."""
        return isinstance(self.wide, Late) and path in self.wide.texts

    @property
    def texts_known(self) -> bool:
        """Whether all such texts were found."""
        return not isinstance(self.wide, Late) or self.wide.texts_known

    def all(self) -> Generator[str]:
        """The candidates of both rounds, each once, those of the first in path order."""
        self.begin()
        seen = set()
        for path in self.plain.files(None, at_once=False):
            seen.add(path)
            yield path
        if self.wide is not self.plain:
            yield from (path for path in self.wide.files(None, at_once=False) if path not in seen)


@final
class Finding:
    """Makes the rounds of a search below a folder."""

    def __init__(
        self,
        guard: Guard,
        request: GrepRequest,
        pattern: Pattern,
        share: float,
        filled: Callable[[], float],
        passes: PassTimes,
        *,
        deadline: Deadline,
        confined: bool,
    ) -> None:
        """`share` is how many seconds one file may take, `filled` how much of the page is used so far."""
        self._guard = guard
        self._request = request
        self._pattern = pattern
        self._deadline = deadline
        self._share = share
        self._filled = filled
        self._passes = passes
        self._confined = confined

    def rounds(self, top: Folder, scope: Scope, opened: ExitStack, names: Unsearched) -> Rounds:
        """The rounds; `opened` closes the resources they hold, `names` collects what they leave out."""
        if self._guard.folder is None:
            walked = Walked(self._guard, top, scope, self._deadline)
            return Rounds(walked, walked)
        root = opened.enter_context(self._guard.open_folder(ROOT)).fileno() if self._confined else None
        shared = (self._guard, top, scope, self._request, self._deadline)
        sought, spare = self._sought()
        reports = Reports(logged=not scope.hints().names)
        tree = Tree(*shared, self._share, root, sought, spare, reports=reports)
        heads = Tree(*shared, GREP_FILE_LEAST_S, root, late_flags(), heads=True)
        opened.callback(heads.close)
        asked = (top.real, self._request.glob, self._request.type, self._request.include)
        known = (self._passes.get(asked), partial(self._passes.put, asked))
        first = Swept(tree, self._deadline, self._filled, *known)
        overlooked = Overlooked(self._guard, top.real, tree, reports, scope, names)
        late = Late(heads, first, tree, reports, scope, self._deadline, overlooked)
        return Rounds(first, late, tree, overlooked)

    def _sought(self) -> tuple[list[str], list[str] | None]:
        """The flags for what rg searches for, and a fallback if rg rejects the pattern as too large."""
        request = self._request
        plain = pattern_flags(request, [_as_regex(request), *LATE_LITERALS])
        unknown = pattern_flags(
            request, [_as_regex(request), *anywhere(multiline=request.multiline), *LATE_LITERALS]
        )
        if self._pattern.problem is not None:
            return unknown, None
        wider = superset(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            multiline=request.multiline,
        )
        return (plain, None) if wider is None else (pattern_flags(request, [wider, *LATE_LITERALS]), unknown)


def _as_regex(request: GrepRequest) -> str:
    return escaped(request.pattern) if request.fixed else request.pattern
