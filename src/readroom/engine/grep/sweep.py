"""The two rounds of a search that begins, from one pass of rg over the tree.

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
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import final

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor, path_key
from readroom.engine.grep.process import Child, LeftFile
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.scope import Scope
from readroom.limits import GREP_SWEEP_SHARE
from readroom.limits.files import GREP_FIRST_HIT_S, GREP_HEAD_START_S
from readroom.search.ripgrep import Reports

_WORTH_WAITING = 6
"""Head starts in which a page that fills evenly is full: about what all threads need for a large tree."""

_WALL = 40
"""How many times as long a head start may take by the clock, in which a busy machine does other things."""


@final
class Swept:
    """The first round: nearly all files. Attributes as of `Tree`.

    Attributes:
        saw_all: Whether one pass has come through the whole tree, so that the reports are complete.
    """

    def __init__(self, tree: Tree, deadline: Deadline, filled: Callable[[], float]) -> None:
        """`filled` says how much of the page is used, from 0 to 1."""
        self._tree = tree
        self._deadline = deadline
        self._filled = filled
        self._began_s = 0.0
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
        if after is not None:
            yield from self._tree.files(after, at_once=at_once)
            return
        least: bytes | None = b""
        if at_once and not _has_threads():
            yield from self._tree.files(None)
            least = None
        elif at_once:
            self._began_s = time.monotonic()
            least = yield from self._tree.files_while(self._goes_well)
        if least is not None:
            yield from self._rest(least, at_once)
        self.saw_all = True

    def _goes_well(self, child: Child) -> bool:
        """Whether to stay in path order."""
        worked = child.worked_s
        waited = time.monotonic() - self._began_s
        used, filled = max(worked, waited / _WALL), self._filled()
        if used < (GREP_HEAD_START_S if filled else GREP_FIRST_HIT_S):
            return True
        # What it would take altogether if the page went on to fill like that.
        return used < filled * _WORTH_WAITING * GREP_HEAD_START_S

    def _rest(self, least: bytes, at_once: bool) -> Generator[str]:
        left = self._deadline.remaining
        share = GREP_SWEEP_SHARE if at_once else 1.0
        within = Deadline() if left is None else self._deadline.within(left * share)
        names, whole = self._tree.everything(within)
        out_of_time = self._deadline.expired and not at_once
        if whole or out_of_time:  # in an order that is not by path, what is known is known
            yield from (path for path in names if path_key(path) >= least)
            self._deadline.check()
        if not whole:
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
        return stopped if stopped is None else min(stopped, *self._waiting, key=path_key)

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
        if self._knows_all(begins=after is None):
            binary = sorted(filter(self._scope.takes, self._reports.binary - self._seen), key=path_key)
            with closing(self._tree.named(binary)) as named:
                late = {*named, *self._seen}
            self.texts = set(filter(self._scope.takes, self._reports.texts)) - late
            yield from sorted((path for path in late | self.texts if path_key(path) >= least), key=path_key)
            return
        if self._searched.leaves_binary and self.texts_known:
            self.texts = self._taken_for_binary()
        self._waiting.extend(sorted((path for path in self.texts if path_key(path) >= least), key=path_key))
        with closing(self._tree.files(after, at_once=at_once)) as heads:
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
        if not (begins and self._first.saw_all):
            _, self.texts_known = self._searched.everything(self._part())
        known = self.texts_known and self._reports.sure and self._searched.looks_at_all
        return known and (self._tree.is_confined or not self._reports.binary)

    def _taken_for_binary(self) -> set[str]:
        """What rg finds only where it takes no file for binary: some are, as whoever opens them sees."""
        texts, all_texts = self._searched.as_text().everything(self._part())
        others, all_others = self._searched.everything(self._part())
        self.texts_known = all_texts and all_others
        return set(texts).difference(others) if self.texts_known else set()

    def _part(self) -> Deadline:
        """Some of the time that is left."""
        left = self._deadline.remaining
        return Deadline() if left is None else self._deadline.within(left * GREP_SWEEP_SHARE)


def _has_threads() -> bool:
    """Whether rg may run on several processors at once."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) > 1
