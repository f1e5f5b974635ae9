"""Walk the names below one folder in path order, through the guard.

Each folder is opened once, and its names are looked up relative to that descriptor.  Names that policy
denies are counted and never leave this module; ignored names are counted.  Links are listed and never
followed.  The content of a folder comes directly after its name, compared part by part as bytes, so a
walk that ends early has yielded a true beginning.

Names come in runs: of a folder with 100,000 names a page shows a few, and the rest only need counting.
Runs are in path order, the names in a run are not; callers sort those they show.  Memory holds the names
of one folder per level.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from readroom.core import errors
from readroom.core.deadline import Deadline
from readroom.core.paths import WorkPath, join
from readroom.core.policy.guard import Guard
from readroom.core.policy.ignore_files import IgnoreTree
from readroom.core.stores.base import Folder, OrderedFolder
from readroom.core.values import EntryKind, Names

CHECK_EVERY = 4096
"""Names between two checks of the clock: a few milliseconds of work, 40 if each has a stat."""

_SORTED_AT_ONCE = 1024
_FIRST_PART = 8
"""The fraction of a folder's names, at its beginning, that is sorted before the others."""
_SAMPLES = 64
"""Names that are sampled to find where that part ends."""


def in_order(names: Sequence[str]) -> Iterator[str]:
    """Names of one folder in the order of their bytes.

    Sorting costs more than anything else that a listing does with a name, and a page shows the first
    few: the others are sorted when they are asked for.
    """
    key = _key(names)
    rest = names
    if len(names) > _SORTED_AT_ONCE:
        samples = sorted(names[:: len(names) // _SAMPLES], key=key)
        border = samples[len(samples) // _FIRST_PART]
        rest = _after(names, border, key)
        yield from sorted(_up_to(names, border, key), key=key)
    yield from sorted(rest, key=key)


def names_after(names: Sequence[str], border: str) -> list[str]:
    """The names that sort after `border`, unsorted."""
    return _after(names, border, _key(names) if border.isascii() else os.fsencode)


_Key: TypeAlias = "Callable[[str], bytes] | None"


def _key(names: Sequence[str]) -> _Key:
    """The sort key of names; None if they sort like their bytes as they are."""
    return None if "".join(names).isascii() else os.fsencode


def _after(names: Sequence[str], border: str, key: _Key) -> list[str]:
    if key is None:
        return [name for name in names if name > border]
    last = key(border)
    return [name for name in names if key(name) > last]


def _up_to(names: Sequence[str], border: str, key: _Key) -> list[str]:
    if key is None:
        return [name for name in names if name <= border]
    last = key(border)
    return [name for name in names if key(name) <= last]


class Run(Struct, frozen=True):
    """Consecutive names of an open folder; `prefix` leads to them from the start of the walk.

    `names` are in no order: see `in_order`.
    `kinds` says what those names of the folder are that are not regular files.
    """

    folder: Folder
    prefix: str
    names: Sequence[str]
    kinds: Mapping[str, EntryKind]

    def kind(self, name: str) -> EntryKind:
        """What one of the names is."""
        return self.kinds.get(name, EntryKind.FILE)


class _Level(Struct):
    """An open folder, how many of its names were yielded, which of them are entered, and what follows."""

    whole: Run
    stops: Iterator[int]
    at: int = 0
    following: Iterator[Names] | None = None

    def run(self, end: int) -> Run:
        whole, start, self.at = self.whole, self.at, end
        return Run(whole.folder, whole.prefix, whole.names[start:end], whole.kinds)


class Walk:
    """One walk. The counters grow while it runs and are final when it has ended.

    Attributes:
        denied: Names that policy denies.
        ignored: Names that ignore files hide.
        closed: Folders, relative, that cannot be opened or read to their end, and why.
        finished: Whether everything was seen; false when the deadline passed.
        stopped: What ended it early.
        unnamed: What was seen that no path leads to.
        in_pages: Whether names come in pages that cost something, so that only some may be looked at.
    """

    def __init__(
        self,
        guard: Guard,
        deadline: Deadline,
        *,
        depth: int,
        ignores: IgnoreTree | None,
        enters: Callable[[str], bool],
        unit: str | None = "entries",
        least: str = "",
    ) -> None:
        """Prepare a walk.

        Args:
            guard: Opens every folder.
            deadline: Ends the walk early.
            depth: Levels of folders that are opened; 1 is the first one only.
            ignores: Hides names; None shows them all.
            enters: Whether a folder is opened, by its path relative to where the walk begins.
            unit: As what names are reported as progress; None to report none.
            least: A path; names before it need not be yielded.
        """
        self._guard = guard
        self._deadline = deadline
        self._depth = depth
        self._ignores = ignores
        self._enters = enters
        self._unit = unit
        self._seen = 0
        self._least = least
        self.stopped: errors.TimedOut | None = None
        self.unnamed = 0
        self.in_pages = False
        self.denied = 0
        self.ignored = 0
        self.closed: dict[str, errors.ReadroomError] = {}
        self.finished = False

    def below(self, top: Folder, asked_path: WorkPath) -> Generator[Run]:
        """Everything below `top`, which was opened as `asked_path` and is closed by the caller.

        Raises:
            Cancelled: The caller went away.
        """
        stack: list[_Level] = []
        try:
            stack.append(self._level(top, asked_path, "", self._depth > 1))
            while stack:
                level = stack[-1]
                stop = next(level.stops, None)
                yield level.run(len(level.whole.names) if stop is None else stop + 1)
                if stop is None:
                    stack.pop()
                    more = self._more(level, asked_path, len(stack) + 1 < self._depth)
                    if more is not None:
                        stack.append(more)
                    elif stack:
                        level.whole.folder.close()
                    continue
                deeper = self._deeper(
                    level.whole, level.whole.names[stop], asked_path, len(stack) + 1 < self._depth
                )
                if deeper is not None:
                    stack.append(deeper)
            self.finished = True
        except errors.TimedOut as error:
            self.stopped = error
        finally:
            for level in stack[1:]:
                level.whole.folder.close()

    def _deeper(self, above: Run, name: str, asked_path: WorkPath, further: bool) -> _Level | None:
        path = above.prefix + name
        below = join(asked_path, path)
        try:
            folder = self._guard.open_folder(below)
        except (errors.NoPermission, errors.StoreFailed, errors.BadPath) as error:
            self.closed[path] = error
            return None
        except (errors.NotFound, errors.NotAFolder, errors.RefusedError):
            # Gone or replaced since its name was read; its replacement was not asked for.
            return None
        try:
            if folder.real == join(above.folder.real, name):
                return self._level(folder, below, f"{path}/", further)
        except BaseException:
            folder.close()
            raise
        # It has become a link, and links are not followed.
        folder.close()
        return None

    def _level(self, folder: Folder, asked_path: WorkPath, prefix: str, further: bool) -> _Level:
        following = None
        if isinstance(folder, OrderedFolder):
            self.in_pages = True
            following = folder.in_order(self._least_in(prefix))
        return self._filled(folder, asked_path, prefix, following, further)

    def _least_in(self, prefix: str) -> str:
        """The first name in a folder that may have to be yielded."""
        below = self._least.startswith(prefix)
        return self._least[len(prefix) :].partition("/")[0] if below else ""

    def _more(self, level: _Level, asked_path: WorkPath, further: bool) -> _Level | None:
        """The same folder with its next names; None at its end."""
        whole = level.whole
        if level.following is None or not whole.names:
            return None
        below = join(asked_path, whole.prefix.removesuffix("/")) if whole.prefix else asked_path
        return self._filled(whole.folder, below, whole.prefix, level.following, further)

    def _filled(
        self,
        folder: Folder,
        asked_path: WorkPath,
        prefix: str,
        following: Iterator[Names] | None,
        further: bool,
    ) -> _Level:
        self._deadline.check()
        names, kinds = self._shown(folder, asked_path, prefix, following)
        self._seen += len(names)
        if self._unit is not None:
            self._deadline.report(self._seen, None, self._unit)
        further = further and EntryKind.FOLDER in kinds.values()
        if further:
            names = [*in_order(names)]
        stops = (
            at
            for at, name in enumerate(names if further else ())
            if kinds.get(name) is EntryKind.FOLDER and self._enters(prefix + name)
        )
        return _Level(Run(folder, prefix, names, kinds), stops, following=following)

    def _shown(
        self, folder: Folder, asked_path: WorkPath, prefix: str, following: Iterator[Names] | None
    ) -> tuple[list[str], dict[str, EntryKind]]:
        """The names that may be shown, and the kinds of those that are not files.

        Those are all, or the first that are `following`.
        """
        names: list[str] = []
        kinds: dict[str, EntryKind] = {}
        before: int = getattr(folder, "unnamed", 0)
        try:
            for some in folder.names(CHECK_EVERY) if following is None else following:
                self._deadline.check()
                out = self._out(folder.real, asked_path, some)
                names += [name for name in some.names if name not in out] if out else some.names
                kinds |= some.kinds
                if following is not None and names:
                    break
        except (errors.Cancelled, errors.TimedOut):
            raise
        except errors.ReadroomError as error:
            # A dead mount opens and cannot be read; the call fails only if it was asked for.
            if not prefix:
                raise
            self.closed[prefix.removesuffix("/")] = error
        self.unnamed += getattr(folder, "unnamed", 0) - before
        return names, kinds

    def _out(self, real: WorkPath, asked_path: WorkPath, some: Names) -> set[str]:
        """The names that are not shown; they are counted."""
        folders = {name for name, kind in some.kinds.items() if kind is EntryKind.FOLDER}
        denied = self._guard.denied(real, some.names, folders)
        if asked_path != real:
            # A rule may concern the requested name or the real one behind it.
            denied |= self._guard.denied(asked_path, some.names, folders)
        self.denied += len(denied)
        if self._ignores is None:
            return denied
        ignored = self._ignores.hidden(real, some.names, folders) - denied
        self.ignored += len(ignored)
        return denied | ignored
