"""Where the files come from that a search opens: one round for nearly all, one for the rest.

rg takes a file with a NUL for binary, and UTF-16 without a mark is full of them; a log of a machine
that lost its power may have some in its middle; into compressed files rg is not to look.  All of them
are searched in a second round, behind all others, or else nothing could be shown before all files were
seen.  They are known from a pass over all files (`sweep`).  Stores without rg keep the same order,
but for the texts with a NUL in their middle, which are like any other there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import Protocol, final

from msgspec import Struct

from readroom.deadline import Deadline
from readroom.engine.cursors import Cursor, end_of_folder, path_key
from readroom.engine.grep.process import LeftFile
from readroom.engine.grep.ripgrep import Tree
from readroom.engine.grep.sweep import Late, Swept
from readroom.engine.scope import Scope, join_below
from readroom.errors import ReadroomError, TimedOut
from readroom.limits import GREP_FILE_LEAST_S
from readroom.paths import ROOT
from readroom.policy.guard import Guard
from readroom.search.pattern import Pattern
from readroom.search.prefilter import anywhere, escaped, superset
from readroom.search.ripgrep import LATE_LITERALS, Reports, late_flags, pattern_flags
from readroom.stores.base import Folder
from readroom.values import EntryKind, GrepRequest

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
        deadline: Deadline,
        share: float,
        filled: Callable[[], float],
        *,
        confined: bool,
    ) -> None:
        """`share` is how many seconds one file may take, `filled` how much of the page is used by now."""
        self._guard = guard
        self._request = request
        self._pattern = pattern
        self._deadline = deadline
        self._share = share
        self._filled = filled
        self._confined = confined

    def rounds(self, top: Folder, scope: Scope, opened: ExitStack) -> Rounds:
        """The rounds; `opened` closes what they hold."""
        if self._guard.folder is None:
            walked = Walked(self._guard, top, scope, self._deadline)
            return Rounds(walked, walked)
        root = opened.enter_context(self._guard.open_folder(ROOT)).fileno() if self._confined else None
        shared = (self._guard, top, scope, self._request, self._deadline)
        sought, spare = self._sought()
        reports = Reports()
        tree = Tree(*shared, self._share, root, sought, spare, reports=reports)
        heads = Tree(*shared, GREP_FILE_LEAST_S, root, late_flags(), heads=True)
        opened.callback(heads.close)
        first = Swept(tree, self._deadline, self._filled)
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
