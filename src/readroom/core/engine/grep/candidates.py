"""Find the files that a search opens, in two rounds: one for nearly all of them, one for the rest.

rg treats a file with a NUL as binary.  UTF-16 without a byte order mark is full of NULs, and the log of
a machine that lost power may have some in its middle.  rg does not search compressed files here.  All of
these are searched in a second round, after all other files; otherwise nothing could be shown before every
file had been checked.  Stores without rg keep the same order, except that texts with a NUL in their middle
are treated like any other.

A common word fills its page after a few files, if they come in path order; a rare one needs the whole
tree, which all threads of rg search in half the time, but in no order.  So rg gets a short head start in
path order, on one thread.  If the page does not fill, rg starts again with all threads, and the names are
sorted at the end.  A tree that is too large for that continues in path order, where the search can wait for
each file and knows its place when time runs out.

The pass over all files also finds the files for the second round: those that rg treats as binary, and those
in which it found one of the signatures that such files begin with.  A search that continues from a cursor
has not seen all files: it makes such a pass for its second round, and if time does not suffice, checks the
beginnings of all files instead.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Set
from contextlib import ExitStack, closing, suppress
from typing import Protocol, final

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.engine.ahead import in_step
from readroom.core.engine.cursors import Cursor, end_of_folder, path_key, sort_of
from readroom.core.engine.grep.process import Child, Watch
from readroom.core.engine.grep.ripgrep import Noted, Tree
from readroom.core.engine.scope import Scope, join_below
from readroom.core.engine.unsearched import Unsearched
from readroom.core.engine.walk import Run, Walk, in_order
from readroom.core.errors import ReadroomError, TimedOut
from readroom.core.formats.kinds import is_archive_name, is_searched, suffix
from readroom.core.limits import GREP_FILE_LEAST_S, HEAD_BYTES, MAX_PATH_DEPTH
from readroom.core.limits.files import GREP_HEAD_START_S
from readroom.core.paths import WorkPath
from readroom.core.policy.guard import Guard
from readroom.core.search import ripgrep
from readroom.core.search.pattern import Pattern, is_mixed
from readroom.core.search.prefilter import anywhere, escaped, superset
from readroom.core.stores.base import Begun, Folder, is_far
from readroom.core.values import EntryKind, GrepRequest

PLAIN: tuple[int, ...] = ()
WIDE: tuple[int, ...] = (1,)
"""The rounds, as ranks of places in a cursor: `PLAIN` sorts before `WIDE`."""

FIRST = "\x01"
"""Sorts before every name: the beginning of a round, in a cursor."""

_WORTH_WAITING = 3
"""Head starts that are worth waiting for a page that fills: all threads need about as long for a large
tree."""

_LARGEST_FOLDER = 32
"""Head starts that rg may spend on reading and sorting the names of one folder: 200,000 names take 15."""

_WALL = 20
"""How many times its processor time a head start may take in wall-clock time, for busy machines."""


class Finder(Protocol):
    """Finds candidates; see `ripgrep.Tree`."""

    @property
    def stopped_at(self) -> str | None:
        """The first file that may not be fully searched, once the deadline has passed."""

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""


GREP_SWEEP_SHARE = 0.5
"""The part of the time for searching with all threads, which cannot be continued from its middle; what takes
longer is searched in path order."""


@final
class Plain:
    """The first round: nearly all files. Attributes as of `Tree`.

    Attributes:
        found: The candidates that were yielded.
        saw_all: Whether one pass has covered the whole tree, so that the reports are complete.
    """

    def __init__(self, tree: Tree, deadline: Deadline, filled: Callable[[], float]) -> None:
        """`tree` finds the candidates, `filled` says how much of the page is used, from 0 to 1."""
        self._tree = tree
        self._deadline = deadline
        self._filled = filled
        self._began_s = 0.0
        self._reading_s = 0.0
        self._in_files = False
        self.found: set[str] = set()
        self.saw_all = False

    @property
    def stopped_at(self) -> str | None:
        """How far the search had come at the deadline."""
        return self._tree.stopped_at

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        for path in self._tree.files(after, at_once=at_once) if after else self._all(at_once):
            self.found.add(path)
            yield path
        self.saw_all = self.saw_all or after is None

    def _all(self, at_once: bool) -> Generator[str]:
        least: bytes | None = b""
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if at_once and processors == 1:
            yield from self._tree.files(None)
            return
        if at_once:
            self._began_s = time.monotonic()
            least = yield from self._tree.files_while(self.goes_well)
        if least is None:
            return
        left = self._deadline.remaining
        share = GREP_SWEEP_SHARE if at_once else 1.0
        within = self._deadline if left is None else self._deadline.within(left * share)
        names, whole = self._tree.everything(within)
        if whole:
            yield from (path for path in names if path_key(path) >= least)
        else:
            yield from self._tree.files_from(least, at_once=at_once)

    def goes_well(self, child: Child, watch: Watch) -> bool:
        """Whether to continue in path order: at the beginning, and while the page fills."""
        worked_s, now_s = child.worked_s, time.monotonic()
        if not self._in_files and 0 < worked_s < _LARGEST_FOLDER * GREP_HEAD_START_S:
            # rg reads and sorts all names of a large folder before it opens the first file.
            self._in_files = self._filled() > 0 or watch.now() is not None
            if not self._in_files:
                self._reading_s, self._began_s = worked_s, now_s
        used = max(worked_s - self._reading_s, (now_s - self._began_s) / _WALL)
        return used < GREP_HEAD_START_S * max(1.0, _WORTH_WAITING * self._filled())


_LOOKED_AT = 256
"""Binary files whose beginnings are read to see whether they are texts: some 20 ms."""

_NEVER_TEXT = frozenset(
    (
        *("png", "jpg", "jpeg", "gif", "webp", "bmp", "tif", "tiff", "ico", "icns", "heic", "woff", "woff2"),
        *("ttf", "otf", "eot", "mp3", "mp4", "mov", "mkv", "webm", "avi", "ogg", "flac", "wav", "m4a"),
        *("o", "a", "so", "dll", "dylib", "exe", "obj", "pyc", "class", "wasm", "node", "pdb", "lib"),
    )
)
"""Endings of files that are binary whatever they hold."""


@final
class SecondRound:
    """The second round: files that a search includes and that rg skips in silence. Attributes as of `Tree`.

    wide      recognised by their first bytes only: UTF-16 without a mark, compressed files
    texts     with a NUL after their beginning, where rg stops
    mixed     with a NUL in their beginning that are texts nevertheless
    misread   hidden by patterns of ignore files that rg takes otherwise than git does

    All others with a NUL in their beginning are binary: they are left out, and counted.

    Attributes:
        texts: The files in which rg would find nothing, or not everything.
        texts_known: Whether these are all.
    """

    def __init__(
        self,
        guard: Guard,
        top: WorkPath,
        heads: Tree,
        first: Plain,
        searched: Tree,
        reports: ripgrep.Reports,
        scope: Scope,
        deadline: Deadline,
        names: Unsearched,
    ) -> None:
        """`heads` checks the beginnings of files, `searched` is the tree of the round `first`, and `reports`
        are what rg reported during it; `names` collects what is left out.
        """
        self._guard = guard
        self._top = top
        self._heads = heads
        self._first = first
        self._searched = searched
        self._reports = reports
        self._scope = scope
        self._deadline = deadline
        self._names = names
        self._binary: Set[str] = frozenset()
        self._skips: ripgrep.Skips | None = None
        self._opened: set[str] = set()
        self._seen: set[str] = set()
        self._waiting: deque[str] = deque()
        self.texts: set[str] = set()
        self.texts_known = True

    @property
    def stopped_at(self) -> str | None:
        """How far the search had come at the deadline."""
        stopped = self._heads.stopped_at
        return stopped if stopped is None else min((stopped, *self._waiting), key=path_key)

    def add(self, path: str) -> None:
        """Add a candidate of the first round that turned out to belong to this one."""
        self._seen.add(path)

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        least = b"" if after is None else after.place.key
        left = self._deadline.remaining
        # A share for all that only prepares this round, so that each page gets further.
        part = self._deadline if left is None else self._deadline.within(left * GREP_SWEEP_SHARE)
        walked = after is None and self._first.saw_all
        unseen: Set[str] = frozenset()
        if not walked:
            # The first round does not search its files again on this page: some may belong to this round.
            names, self.texts_known = self._searched.everything(part)
            walked, unseen = self.texts_known, set(names)
        binary = self._with_nul(part, self._first.found | unseen) if walked else None
        self.texts_known = binary is not None
        by_name = binary is not None and self._heads.is_confined
        self.texts -= self._seen
        self.texts |= set(self._mixed())
        self.texts |= self._misread(part, walked=walked)
        # Both kinds come in path order, so that none is skipped when time runs out.
        self._opened.update(self.texts, self._seen)
        waiting = filter(self._scope.takes, self.texts | self._seen if binary is not None else self.texts)
        self._waiting.extend(sorted((path for path in waiting if path_key(path) >= least), key=path_key))
        named = sorted(((binary or set()) | unseen) - self._seen, key=path_key) if by_name else []
        heads = self._heads.named(named) if by_name else self._heads.files(after, at_once=at_once)
        with closing(heads) as some:
            for path in some:
                self._opened.add(path)
                if path_key(path) < least:
                    continue  # searched on an earlier page
                while self._waiting and path_key(self._waiting[0]) < path_key(path):
                    yield self._waiting.popleft()
                if self._waiting and self._waiting[0] == path:
                    self._waiting.popleft()
                yield path
        while self._waiting:
            yield self._waiting.popleft()

    def _with_nul(self, part: Deadline, found: Set[str]) -> set[str] | None:
        """All files with a NUL; keeps which of them are texts that are not among those `found`.

        None if time does not suffice.
        """
        reports = self._reports
        if reports.logged and reports.sure and self._searched.leaves_binary:
            self.texts = set(reports.texts)
            self._binary = reports.binary - self.texts
            return reports.binary
        names, whole = self._searched.instead(ripgrep.nul_flags()).everything(part)
        if not whole:
            return None
        if self._searched.leaves_binary:
            if self._heads.is_confined and names:
                self._binary = set(self._searched.instead(ripgrep.early_nul_flags()).named(names))
            self.texts = set(names).difference(self._binary, found)
        return set(names)

    def _mixed(self) -> Iterator[str]:
        maybe = (path for path in self._binary if suffix(path) not in _NEVER_TEXT and not is_searched(path))
        asked = [path for path in maybe if not is_archive_name(path) and self._scope.takes(path)]
        for path in sorted(asked, key=path_key)[:_LOOKED_AT]:
            with suppress(ReadroomError), self._guard.open(join_below(self._top, path)) as source:
                if is_mixed(source.read_at(0, HEAD_BYTES)):
                    yield path

    def _misread(self, part: Deadline, *, walked: bool) -> set[str]:
        """Files that rg takes for ignored and git does not; `walked` says that the log is of a whole walk."""
        reports = self._reports
        if not (walked and reports.logged):
            reports = ripgrep.Reports()
            try:
                deque(self._searched.listing(part, reports), maxlen=0)
            except TimedOut:
                reports.skips.sure = False
        self._skips = skips = reports.skips
        if self._scope.sees_ignored:
            return set()
        tree = self._searched.unignored()
        if skips.sure and tree.is_confined:
            paths = sorted(filter(self._names.may_be_named, self._names.misread(skips)), key=path_key)
            return set(tree.named(paths)) if paths else set()
        names, whole = self._searched.everything(part)
        return set(tree.everything(part)[0]).difference(names) if whole else set()

    def count(self, deadline: Deadline) -> None:
        """Collect the names of what is left out."""
        self._names.add_binary(self._binary - self._opened)
        skips = self._skips
        if skips is None or not skips.sure or not skips.as_git:
            self._names.walk(deadline)
        else:
            self._names.add_skips(skips, deadline)


# -----------------------------------------------------------------------------
# The files below one folder of a store that rg cannot walk, in path order.
# -----------------------------------------------------------------------------


@final
class Walked:
    """All files in a scope: each has to be searched. Attributes as of `ripgrep.Tree`."""

    def __init__(
        self,
        guard: Guard,
        top: Folder,
        scope: Scope,
        deadline: Deadline,
        noted: Noted,
        passes: Callable[[WorkPath], bool] | None = None,
        *,
        asks: bool = True,
    ) -> None:
        """`passes` tells whether a file may match, where that is known; `asks` says that each is opened
        before the next is taken."""
        self._passes = passes
        self._asks = asks
        self._guard = guard
        self._top = top
        self._scope = scope
        self._deadline = deadline
        self._noted = noted
        self.stopped_at: str | None = None

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order, relative to the folder; from a cursor on, its own file included."""
        least = b"" if after is None else after.place.key
        self.stopped_at = FIRST if after is None else after.path

        def enters(folder: str) -> bool:
            return end_of_folder(path_key(folder)) > least and self._scope.enters(folder)

        walk = Walk(
            self._guard,
            self._deadline,
            depth=MAX_PATH_DEPTH,
            ignores=None,
            enters=enters,
            unit=None,
            least=os.fsdecode(least.replace(b"\0", b"/")),
        )
        try:
            with closing(walk.below(self._top, self._top.real)) as runs:
                for run in runs:
                    for path in (
                        self._far(run, least) if self._asks and is_far(run.folder) else self._paths(run)
                    ):
                        self.stopped_at = path
                        self._deadline.check()
                        if self._is_candidate(run, path, least):
                            yield path
        finally:
            self._noted.unreadable += walk.closed
            self._noted.unnamed += walk.unnamed
        if walk.stopped is not None:
            raise walk.stopped

    def _paths(self, run: Run) -> Iterator[str]:
        return (run.prefix + name for name in in_order(run.names))

    def _far(self, run: Run, least: bytes) -> Iterator[str]:
        """The candidates of a run, asked for ahead, and its last path: all before it have been seen."""
        paths = [*self._paths(run)]
        files = (path for path in paths if self._is_candidate(run, path, least))
        with closing(in_step(files, self._ask)) as asked:
            yield from asked
        yield from (path for path in paths[-1:] if not self._is_candidate(run, path, least))

    def _ask(self, path: str) -> Begun | None:
        return self._guard.ahead(join_below(self._top.real, path), self._deadline)

    def _is_candidate(self, run: Run, path: str, least: bytes) -> bool:
        if run.kind(path[len(run.prefix) :]) is not EntryKind.FILE or path_key(path) < least:
            return False
        taken = self._scope.takes(path)
        return taken and (self._passes is None or self._passes(join_below(self._top.real, path)))


class Rounds(Struct, frozen=True):
    """The finders of `PLAIN` and `WIDE`, which may be the same, and what they noted; with rg its tree."""

    plain: Finder
    wide: Finder
    noted: Noted
    tree: Tree | None = None
    second: SecondRound | None = None

    def all(self) -> Generator[str]:
        """The candidates of both rounds, each once, those of the first in path order."""
        seen = set()
        for path in self.plain.files(None, at_once=False):
            seen.add(path)
            yield path
        if self.wide is not self.plain:
            yield from (path for path in self.wide.files(None, at_once=False) if path not in seen)


def rounds_below(
    guard: Guard,
    request: GrepRequest,
    pattern: Pattern,
    top: Folder,
    scope: Scope,
    names: Unsearched,
    deadline: Deadline,
    opened: ExitStack,
    *,
    share: float,
    filled: Callable[[], float],
    confined: bool,
) -> Rounds:
    """The rounds of a search below a folder.

    `names` collects what is left out, and `opened` closes what the rounds hold. `share` is how many seconds
    one file may take, `filled` says how much of the page is used so far, from 0 to 1.
    """
    noted = Noted()
    if guard.folder_at(top.real) is None or guard.masks:
        from readroom.core.engine.grep.sieve import Sieve, held_by_store  # most workspaces are one folder

        if guard.masks:
            passes = None  # other programs would find what is masked
        elif len(guard.tops) == 1:
            passes = held_by_store(guard, request, top.real)
        else:
            both = _sought(request, pattern)
            passes = Sieve(guard, request, both, deadline, share=share, confined=confined).passes
        asks = sort_of(request) != "mtime"
        walked = Walked(guard, top, scope, deadline, noted, passes, asks=asks)
        return Rounds(walked, walked, noted)
    root = opened.enter_context(guard.open_folder(guard.top_of(top.real))).fileno() if confined else None
    shared = (guard, top, scope, request, deadline)
    sought, spare = _sought(request, pattern)
    reports = ripgrep.Reports(logged=not scope.hints().names)
    tree = Tree(*shared, share, root, sought, noted, spare, reports=reports)
    heads = Tree(*shared, GREP_FILE_LEAST_S, root, ripgrep.late_flags(), noted, heads=True)
    first = Plain(tree, deadline, filled)
    second = SecondRound(guard, top.real, heads, first, tree, reports, scope, deadline, names)
    return Rounds(first, second, noted, tree, second)


def _sought(request: GrepRequest, pattern: Pattern) -> tuple[list[str], list[str] | None]:
    """The flags for what rg searches for, and a fallback if rg rejects the pattern as too large."""
    regex = escaped(request.pattern) if request.fixed else request.pattern
    unknown = ripgrep.pattern_flags(
        request, [regex, *anywhere(multiline=request.multiline), *ripgrep.LATE_LITERALS]
    )
    if pattern.problem is not None:
        return unknown, None
    wider = superset(
        request.pattern, fixed=request.fixed, ignore_case=request.ignore_case, multiline=request.multiline
    )
    plain = ripgrep.pattern_flags(request, [wider or regex, *ripgrep.LATE_LITERALS])
    return plain, None if wider is None else unknown
