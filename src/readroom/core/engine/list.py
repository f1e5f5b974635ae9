"""List the names below one folder, a page at a time.

    walk    every name below it in path order, counting names that are denied or ignored
    pick    by name: the first names after the cursor, counting the rest;
            by time or size: look at everything and keep the first ones of that order
    look    by name: only at the names that are shown

Names that begin with a dot are shown like any other, because `.github` and `.env.example` are what an
agent looks for.  Denied names are counted before a glob is applied; otherwise a glob could be used to
guess them.
"""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from msgspec.structs import replace

from readroom.core import errors
from readroom.core.engine.cursors import ListPlace, path_key, read_cursor, write_cursor
from readroom.core.engine.scope import globs_in, is_hidden, reading_of
from readroom.core.engine.services import Job, Services
from readroom.core.engine.walk import CHECK_EVERY, Run, Walk, in_order, names_after
from readroom.core.limits import LIST_MAX_DEPTH, MAX_WARNINGS
from readroom.core.paths import ROOT, WorkPath, join, parts
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.quoting import first_of
from readroom.core.search.globs import Globs
from readroom.core.stores.base import Folder
from readroom.core.stores.spending import spending
from readroom.core.text import hidden
from readroom.core.text.collation import collation_key
from readroom.core.values import Cap, EntryKind, ListEntry, ListRequest, ListResult, Omission
from readroom.core.values.files import Warn

_NAMED_CLOSED = 3
"""Unreadable folders that the warning names; more are counted."""


def perform(services: Services, job: Job[ListRequest]) -> ListResult:
    """The page of names that `request` asks for.

    Raises:
        NotFound, NotAFolder, Denied, OutsideRoot, NoPermission: From opening the folder.
        BadPattern: A glob that cannot be used.
        BadCursor: It was given for other arguments.
        TimedOut: There was nothing to show before the time limit.
        Cancelled: The caller went away.
    """
    with services.guard.open_folder(job.request.path) as top:
        return _Listing(services, job).result(top)


class _Page:
    """The entries of the page so far, and why there are no more."""

    def __init__(self, cap: Cap, request: ListRequest, limit: int) -> None:
        # The continuation repeats the globs.
        globs = sum(len(glob.encode("utf-8", "replace")) for glob in request.glob)
        self._room = cap.size - cap.measure.frame(request.path) - globs
        assert cap.measure.list is not None, "the contract has a listing"
        self._listed = cap.measure.list.listed
        self._limit = limit
        self.entries: list[ListEntry] = []
        self.reason: str | None = None

    def add(self, entry: ListEntry) -> bool:
        """Add an entry, if it fits. The first always does, so every page makes progress."""
        if len(self.entries) == self._limit:
            self.reason = "limit"
            return False
        cost = self._listed(entry)
        # The cursor repeats the last name, and JSON may double its length.
        if self.entries and self._room < 3 * cost:
            self.reason = "reply_cap"
            return False
        self._room -= cost
        self.entries.append(entry)
        return True


class _Listing:
    """The listing of one call.

    `total` counts entries that match the call, `before` those of them that come
    before this page, `shut` has folders below the depth of the call in which a glob
    was not looked for.  A glob with folders in it sets the depth that it needs.
    """

    def __init__(self, services: Services, job: Job[ListRequest]) -> None:
        limits, request, cap = services.limits, job.request, job.cap
        self._guard = services.guard
        self._targets = services.targets
        self._limits = limits
        self._request = request
        self._globs = Globs(globs_in(services.guard, request.path, request.glob) if request.glob else ())
        levels = self._globs.levels if request.glob else 0
        self._depth = LIST_MAX_DEPTH if levels is None else max(request.depth, levels)
        self._shut: list[str] = []
        self._after = read_cursor(request)
        named = any(part.startswith(".") for part in parts(WorkPath(request.path)))
        self._hides = request.files and not named
        self._deadline = job.deadline
        limit = request.limit or limits.list_limit
        self._page = _Page(cap, request, limit)
        # An entry takes at least one byte, so more than this never fits.
        self._maximum = min(limit, cap.size) + 1
        self._total = 0
        self._before = 0

    def result(self, top: Folder) -> ListResult:
        walk = Walk(
            self._guard,
            self._deadline,
            depth=self._depth,
            ignores=None if "ignored" in self._request.include else IgnoreTree(self._guard, top.real),
            enters=self._enters,
            least=self._least(),
        )
        self._walk = walk
        with spending(), closing(walk.below(top, WorkPath(self._request.path))) as runs:
            if self._request.sort == "name":
                self._by_name(runs)
            else:
                self._by_value(runs)
        if self._resumes and self._after is not None:
            self._before += self._after.value
            self._total += self._after.value
        if isinstance(walk.stopped, errors.TransferLimit) and not self._page.entries:
            raise walk.stopped
        if not walk.finished and not self._page.entries:
            advice = "List a subfolder, or use a smaller depth."
            raise errors.TimedOut(self._limits.list_timeout_s, advice, next_request=self._smaller())
        return self._shown(walk)

    def _least(self) -> str:
        """The path before which nothing need be looked at: where the page before this one ended."""
        if self._request.sort != "name" or self._request.skip or self._after is None:
            return ""
        return os.fsdecode(self._after.key).replace("\0", "/")

    def _enters(self, folder: str) -> bool:
        if self._hides and is_hidden(folder) and not self._globs.names_hidden:
            return bool(self._globs.decides(folder, folder=True))
        return self._globs.enters(folder) and self._globs.may_hold(folder)

    def _smaller(self) -> ListRequest | None:
        """A smaller listing that takes less time; None if this is the smallest."""
        smaller = replace(self._request, depth=1, sort="name", cursor=None)
        return smaller if smaller != self._request else None

    def _by_name(self, runs: Iterator[Run]) -> None:
        """In the order of the walk: skip to the cursor, take what fits, count the rest."""
        taking = True
        for run in runs:
            names = self._asked_for(run)
            self._total += len(names)
            first, following = self._placed_in(run, names)
            if self._resumes:
                self._total -= first  # counted on the pages before
            else:
                self._before += first
            for name in following if taking else ():
                entry = self._look(run, name)
                if entry is None:
                    self._total -= 1
                elif not self._page.add(entry):
                    taking = False
                    break
            if not taking and self._walk.in_pages:
                return  # to count the rest costs as much as to list it

    @property
    def _resumable(self) -> bool:
        """Whether the next page need not look at the names before it."""
        return self._walk.in_pages and not self._request.skip

    @property
    def _resumes(self) -> bool:
        """Whether names before this page are not looked at again."""
        return self._walk.in_pages and bool(self._least())

    def _asked_for(self, run: Run) -> Sequence[str]:
        """The names that the globs take."""
        if self._request.files:
            return [name for name in run.names if self._is_file(run, name)]
        if self._globs.takes_all:
            return run.names
        takes, kinds, folder = self._globs.takes, run.kinds, EntryKind.FOLDER
        deeper = self._globs.any_depth or self._globs.levels is None
        if deeper and run.prefix.count("/") + 1 == self._depth:
            below = [run.prefix + name for name in run.names if kinds.get(name) is folder]
            self._shut += filter(self._enters, below)
        return [name for name in run.names if takes(run.prefix + name, folder=kinds.get(name) is folder)]

    def _is_file(self, run: Run, name: str) -> bool:
        path = run.prefix + name
        if run.kind(name) is not EntryKind.FILE:
            return False
        decided = self._globs.decides(path, folder=False)
        if decided is None:
            hidden = self._hides and is_hidden(path)
            return not hidden and self._globs.takes(path, folder=False)
        return decided

    def _placed_in(self, run: Run, names: Sequence[str]) -> tuple[int, Iterable[str]]:
        """How many of the names come before this page, and the other names in order."""
        if self._request.skip:
            first = min(len(names), max(0, self._request.skip - self._before))
            return first, islice(in_order(names), first, None)
        if self._after is None:
            return 0, in_order(names)
        shown, here = self._after.key, path_key(run.prefix)
        if not shown.startswith(here):
            return (len(names), ()) if here < shown else (0, in_order(names))
        rest = names_after(names, os.fsdecode(shown[len(here) :]))
        return len(names) - len(rest), in_order(rest)

    def _by_value(self, runs: Iterator[Run]) -> None:
        """Look at every entry and keep the first ones of that order, as many as a reply can hold."""
        skip = self._request.skip or 0
        first = heapq.nsmallest(skip + self._maximum, self._placed(runs), key=lambda pair: pair[0])
        self._before += min(skip, len(first))
        for _, entry in first[skip:]:
            if not self._page.add(entry):
                break

    def _placed(self, runs: Iterator[Run]) -> Iterator[tuple[ListPlace, ListEntry]]:
        try:
            for entry in self._looked(runs):
                self._total += 1
                place = self._place(entry)
                if self._after is None or place > self._after:
                    yield place, entry
                else:
                    self._before += 1
        except errors.TimedOut:
            return

    def _looked(self, runs: Iterator[Run]) -> Iterator[ListEntry]:
        for run in runs:
            for count, name in enumerate(self._asked_for(run)):
                if count % CHECK_EVERY == 0:
                    self._deadline.check()
                entry = self._look(run, name)
                if entry is not None:
                    yield entry

    def _place(self, entry: ListEntry) -> ListPlace:
        """The sort key: newest or largest first, entries without a value last."""
        if self._request.sort == "locale":
            return ListPlace(0, collation_key(entry.path))
        value = entry.made if self._request.sort == "made" else -self._value(entry)
        return ListPlace(value, path_key(entry.path))

    def _value(self, entry: ListEntry) -> int:
        value = entry.mtime_ns if self._request.sort == "mtime" else entry.size
        return -1 if value is None else value

    # --- one entry ----------------------------------------------------------------------------

    def _look(self, run: Run, name: str) -> ListEntry | None:
        """The entry for a name; None if it is gone, or no longer what the folder said."""
        path, kind = run.prefix + name, run.kind(name)
        try:
            stat = run.folder.stat(name)
        except errors.NotFound:
            return None
        except (errors.NoPermission, errors.StoreFailed):
            return ListEntry(path, kind, None, None)
        if stat.kind is not kind:
            # Policy was asked about the other file, and may decide differently about this one.
            return None
        size = stat.size if kind is EntryKind.FILE else None
        target, leads_to = self._target(run.folder, name) if kind is EntryKind.LINK else (None, None)
        return ListEntry(path, kind, size, stat.mtime_ns, target, stat.inode, stat.mode, leads_to)

    def _target(self, folder: Folder, name: str) -> tuple[str | None, EntryKind | None]:
        """The target of a link, as stored, and what it is; None if it is denied or outside the root."""
        target = None
        try:
            target = self._guard.link_target(folder, name)
            if target is None:
                return None, None
            return target, self._guard.stat(join(folder.real, name))[1].kind
        except errors.Denied:
            return None, None
        except errors.ReadroomError:
            return target, None

    # --- the page -----------------------------------------------------------------------------

    def _shown(self, walk: Walk) -> ListResult:
        entries, page = self._page.entries, self._page
        after = self._before + len(entries)
        rest = after < self._total
        # In any other order, entries not read yet could come before the last one shown.
        continues = walk.finished or self._request.sort == "name"
        reason = (page.reason or "timeout") if rest or not walk.finished else None
        following = None
        if reason is not None and continues:
            following = self._after_entry(entries[-1], after)
        result = ListResult(
            request=self._request,
            entries=entries,
            first=self._before + 1 if entries else 0,
            total=self._total,
            total_known=walk.finished,
            ignored=walk.ignored,
            denied=walk.denied,
            reason=reason,
            omitted=() if reason is None else (self._omission(after, reason, following),),
            next=following,
            warnings=(
                *self._about_others(),
                *hidden.in_names((entry.path for entry in entries), limit=MAX_WARNINGS),
                *_warnings(walk.closed),
                *_about_unnamed(walk.unnamed),
            ),
        )
        return result if reason is not None or not self._request.glob else self._with_readings(result)

    def _about_others(self) -> Iterator[Warn]:
        """A note about the names that are other roots."""
        others = self._targets.about_others() if self._request.path == ROOT else ""
        if others:
            yield Warn("folders", others)

    def _with_readings(self, result: ListResult) -> ListResult:
        """The last page, with the folders in which the globs were not looked for, and how they were read."""
        omitted, warnings = list(result.omitted), list(result.warnings)
        if self._shut:
            shut = sorted(self._shut, key=path_key)
            warnings.append(Warn("not_looked_into", first_of(shut, _NAMED_CLOSED)))
            omitted.append(Omission("folders", 1, len(shut), "depth", request=self._below(shut[0])))
        if not self._total:
            warnings += reading_of(self._guard, self._request.path, self._request.glob)
        return replace(result, omitted=omitted, warnings=warnings)

    def _below(self, shut: str) -> ListRequest:
        """The listing that looks into a folder below the depth of this one."""
        if self._depth < LIST_MAX_DEPTH:
            return replace(self._request, depth=LIST_MAX_DEPTH, cursor=None)
        path = join(WorkPath(self._request.path), shut)
        # Other globs are about the folder that this call names.
        same = all("/" not in glob or glob.startswith(("**/", "!**/")) for glob in self._request.glob)
        return replace(self._request, path=path, glob=self._request.glob if same else (), cursor=None)

    def _after_entry(self, last: ListEntry, after: int) -> ListRequest:
        if self._request.skip is not None:
            return replace(self._request, skip=after)
        value = self._place(last).value if self._request.sort != "name" else after if self._resumable else 0
        return replace(self._request, cursor=write_cursor(self._request, value, last.path))

    def _omission(self, after: int, reason: str, following: ListRequest | None) -> Omission:
        way = following or replace(self._request, sort="name", cursor=None)
        return Omission("entries", after + 1, max(self._total, after + 1), reason, request=way)


def _about_unnamed(count: int) -> Iterator[Warn]:
    if count:
        what = f"{count:,} key{'s' if count > 1 else ''} here that no path leads to, or that of a folder"
        yield Warn("unnamed", f"{what}: an empty part, '.', '..', a NUL, or a final slash")


def _warnings(closed: Mapping[str, errors.ReadroomError]) -> Iterator[Warn]:
    shut = [
        path for path, error in closed.items() if isinstance(error, (errors.NoPermission, errors.BadPath))
    ]
    if shut:
        yield Warn("no_permission", f"cannot be opened: {first_of(shut, _NAMED_CLOSED)}")
    broken = [path for path in closed if path not in shut]
    if broken:
        problem = closed[broken[0]].facts.get("problem")
        why = f" ({problem})" if problem and len(broken) == 1 else ""
        yield Warn("unreadable", f"cannot be read: {first_of(broken, _NAMED_CLOSED)}{why}")
