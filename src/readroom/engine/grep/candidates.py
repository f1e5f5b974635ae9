"""The files that a search opens, in two rounds: one for nearly all of them, one for the rest.

rg takes a file with a NUL for binary, and UTF-16 without a mark is full of them; a log of a machine
that lost its power may have some in its middle; into compressed files rg is not to look.  All of them
are searched in a second round, behind all others, or else nothing could be shown before all files were
seen.  Stores without rg keep the same order, but for the texts with a NUL in their middle, which are
like any other there.

A common word has its page after a few files, if these come in path order; a rare one needs the
whole tree, which all threads of rg search in half the time, in no order.  So rg has a head
start in path order, on one thread.  When the page does not fill, it begins again with all threads, and
the names are sorted at the end.  What is too large for that, or needs another attempt, goes on
in path order, where each file can be waited for and a search that is out of time knows its place.

The same pass says which files the second round looks at: those that rg takes for binary, and those in
which it found how a late file begins.  A search that goes on from a cursor has not seen all files: it
makes such a pass for its second round, and where time does not suffice, looks at how all files begin.
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
from readroom.engine.grep.process import Child
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.grep.watch import LeftFile, Watch
from readroom.engine.scope import Scope, join_below
from readroom.engine.services import PassTimes
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
"""Head starts in which a page that fills evenly is full: about what all threads need for a large tree."""

_GROWN = 2
"""How many times as long as it took last a small tree may take, until it counts as a large one."""

_LARGEST_FOLDER = 64
"""Head starts in which rg may read the names of one folder and sort them: 200,000 take 30."""

_WALL = 40
"""How many times as long a head start may take by the clock, in which a busy machine does other things."""


@final
class Swept:
    """The first round: nearly all files. Attributes as of `Tree`.

    Attributes:
        began_s: When rg began with the head start, by the clock, or with its first file.
        found: What was given.
        saw_all: Whether one pass has come through the whole tree, so that the reports are complete.
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
            tree: Gives the candidates.
            deadline: Ends the search.
            filled: Says how much of the page is used, from 0 to 1.
            expected_s: Processor time that the whole tree took last; None when that is not known.
            took: Is told the processor time of a pass over the whole tree.
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
        """Where the deadline found it."""
        return self._tree.stopped_at

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were left before their end."""
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
        """Whether to stay in path order."""
        worked, now = child.worked_s, time.monotonic()
        used, filled = max(worked - self._reading_s, (now - self.began_s) / _WALL), self._filled()
        # What it would take altogether if the page went on to fill like that.
        most = max(self._least_s, filled * _WORTH_WAITING * GREP_HEAD_START_S)
        if used < max(most, GREP_HEAD_START_S if filled else GREP_FIRST_HIT_S):
            return True
        if filled or self._in_files or not 0 < worked <= _LARGEST_FOLDER * GREP_HEAD_START_S:
            return False
        # The names of a large folder are all read before its first file is.
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
    """The second round: what can only be found by how it begins, and texts that rg takes for binary.

    Attributes as of `Tree`, and:
        texts: Texts with a NUL behind their beginning, for which rg left them in the first round.
        texts_known: Whether these are all.
    """

    def __init__(
        self, tree: Tree, first: Swept, searched: Tree, reports: Reports, scope: Scope, deadline: Deadline
    ) -> None:
        """Prepare a round.

        Args:
            tree: Looks at how files begin.
            first: The round before.
            searched: Its tree.
            reports: What was said of binary files meanwhile.
            scope: Which files are asked for.
            deadline: Ends the search.
        """
        self._tree = tree
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
        """Where the deadline found it."""
        stopped = self._tree.stopped_at
        return stopped if stopped is None else min((stopped, *self._waiting), key=path_key)

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were left before their end."""
        return self._tree.left

    def add(self, path: str) -> None:
        """Take a candidate of the first round that turned out to be for this one."""
        self._seen.add(path)

    def begin(self) -> None:
        """Start to look beside the first round, where that will not say what there is to look at."""
        if not self._reports.sure or not self._searched.looks_at_all:
            self._tree.begin()

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        least = b"" if after is None else after.place.key

        def asked(paths: Iterable[str]) -> list[str]:
            return sorted((p for p in paths if path_key(p) >= least and self._scope.takes(p)), key=path_key)

        known = self._knows_all(begins=after is None)
        if known:
            self.texts = set(self._reports.texts) - self._seen
        elif self._searched.leaves_binary and self.texts_known:
            self.texts = self._taken_for_binary()
        # A text is none for which rg says that it begins like a late file, and its turn comes before that
        # of any behind it: so both are given as they come, and time that runs out finds none passed.
        self._waiting.extend(asked(self.texts | self._seen if known else self.texts))
        named = asked((self._reports.binary | self._unseen) - self._seen) if known else []
        with closing(self._tree.named(named) if known else self._tree.files(after, at_once=at_once)) as heads:
            for path in heads:
                while self._waiting and path_key(self._waiting[0]) < path_key(path):
                    yield self._waiting.popleft()
                self.texts.discard(path)
                if self._waiting and self._waiting[0] == path:
                    self._waiting.popleft()
                yield path
        while self._waiting:
            yield self._waiting.popleft()

    def _knows_all(self, *, begins: bool) -> bool:
        """Whether a pass over all files has said what there is; a search that goes on makes one for that."""
        if not self._reports.sure or not self._searched.looks_at_all:
            return False
        found = self._first.found
        if not (begins and self._first.saw_all):
            names, self.texts_known = self._searched.everything(self._part())
            # What the round before found is not looked at again on this page: some of it may be for this one.
            found = self._unseen = set(names)
        if self.texts_known and not self._reports.logged:
            self._look_for_nul(found)
        known = self.texts_known and self._reports.sure and self._searched.looks_at_all
        return known and (self._tree.is_confined or not self._reports.binary | self._unseen)

    def _look_for_nul(self, found: Set[str]) -> None:
        """Note which files are binary; `found` are those in which rg found something, NUL or not."""
        binary, self.texts_known = self._searched.instead(nul_flags()).everything(self._part())
        self._reports.sure = len(binary) <= GREP_REPORTED_FILES
        if self._tree.is_confined and self._reports.sure:
            self._reports.binary.update(binary)
            self._reports.texts.update(set(self._searched.as_text().named(binary)).difference(found))
        elif binary:
            self._reports.sure = False

    def _taken_for_binary(self) -> set[str]:
        """What rg finds only where it takes no file for binary: some are, as opening them shows."""
        texts, all_texts = self._searched.as_text().everything(self._part())
        others, all_others = self._searched.everything(self._part())
        self.texts_known = all_texts and all_others
        return set(texts).difference(others) if self.texts_known else set()

    def _part(self) -> Deadline:
        """Some of the time that is left."""
        left = self._deadline.remaining
        return self._deadline if left is None else self._deadline.within(left * GREP_SWEEP_SHARE)


def _has_threads() -> bool:
    """Whether rg may run on several processors at once."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) > 1


# -----------------------------------------------------------------------------
# Where rg searches: the two rounds of a search that begins, from one pass over the tree.
# -----------------------------------------------------------------------------


# -----------------------------------------------------------------------------
# The files below one folder of a store that no program can walk, in path order.
# -----------------------------------------------------------------------------


@final
class Walked:
    """All files that a scope takes: each has to be searched. Attributes as of `ripgrep.Tree`."""

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
        kinds = {entry.name: entry.kind for entry in folder.entries()}
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
"""The rounds, as ranks of places in a cursor: one sorts behind the other."""


class Finder(Protocol):
    """What gives candidates; see `ripgrep.Tree`."""

    @property
    def unreadable(self) -> list[str]:
        """Files and folders, relative, that could not be read."""

    @property
    def stopped_at(self) -> str | None:
        """When the deadline passed: the first file that may not be fully searched."""

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were left before their end, which would have kept the search from the others."""

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""


class Rounds(Struct, frozen=True):
    """The two finders of one search, for `PLAIN` and `WIDE`; they may be one.

    `tree` is the first one where rg searches.
    """

    plain: Finder
    wide: Finder
    tree: Tree | None = None

    def begin(self) -> None:
        """Start to look for the second round beside the first, where that is not one pass."""
        if isinstance(self.wide, Late):
            self.wide.begin()

    def add_late(self, path: str) -> None:
        """Take a candidate of the first round that is for the second."""
        if isinstance(self.wide, Late):
            self.wide.add(path)

    def has_text(self, path: str) -> bool:
        """Whether a candidate of the second round is a text that rg takes for binary."""
        return isinstance(self.wide, Late) and path in self.wide.texts

    @property
    def texts_known(self) -> bool:
        """Whether such texts were all found."""
        return not isinstance(self.wide, Late) or self.wide.texts_known

    def all(self) -> Generator[str]:
        """The candidates of both, each once, those of the first in path order."""
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
        """`share` is how many seconds one file may take, `filled` how much of the page is used by now."""
        self._guard = guard
        self._request = request
        self._pattern = pattern
        self._deadline = deadline
        self._share = share
        self._filled = filled
        self._passes = passes
        self._confined = confined

    def rounds(self, top: Folder, scope: Scope, opened: ExitStack) -> Rounds:
        """The rounds; `opened` closes what they hold."""
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
        return Rounds(first, Late(heads, first, tree, reports, scope, self._deadline), tree)

    def _sought(self) -> tuple[list[str], list[str] | None]:
        """What rg looks for, and what instead when that is too much for it."""
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
