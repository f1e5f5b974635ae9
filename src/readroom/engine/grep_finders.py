"""Where the files come from that a search opens: one round for nearly all, one for the rest.

rg takes a file with a NUL for binary, and UTF-16 without a mark is full of them; into
compressed files it is not to look.  Both are looked for by a second process, which
reads only how files begin and runs while the first one searches.  What it finds
comes behind all others, or else nothing could be shown before it has come to its
end.  Stores without rg keep the same order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Protocol, final

from readroom.deadline import Deadline
from readroom.engine.grep_cursor import Cursor
from readroom.engine.grep_memory import Walked
from readroom.engine.grep_ripgrep import Tree
from readroom.engine.grep_scope import Scope
from readroom.engine.grep_watch import LeftFile
from readroom.limits import GREP_FILE_LEAST_S
from readroom.model import GrepRequest
from readroom.paths import ROOT
from readroom.policy.guard import Guard
from readroom.search.pattern import Pattern
from readroom.search.ripgrep import late_flags, pattern_flags
from readroom.search.superset import anywhere, escaped, superset
from readroom.stores.base import Folder

PLAIN: tuple[int, ...] = ()
WIDE: tuple[int, ...] = (1,)
"""The rounds, as ranks of places in a cursor: one sorts behind the other."""


class Finder(Protocol):
    """What gives candidates; see `grep_ripgrep.Tree`."""

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


@dataclass(frozen=True, slots=True)
class Rounds:
    """The two finders of one search, for `PLAIN` and `WIDE`; they may be one.

    `tree` is the first one where rg searches.
    """

    plain: Finder
    wide: Finder
    tree: Tree | None = None

    def begin(self) -> None:
        """Start to look for the second round beside the first."""
        if isinstance(self.wide, Tree):
            self.wide.begin()

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
        *,
        confined: bool,
    ) -> None:
        """`share` is how many seconds one file may take."""
        self._guard = guard
        self._request = request
        self._pattern = pattern
        self._deadline = deadline
        self._share = share
        self._confined = confined

    def rounds(self, top: Folder, scope: Scope, held: ExitStack) -> Rounds:
        """The rounds; `held` closes what they hold."""
        if self._guard.folder is None:
            walked = Walked(self._guard, top, scope, self._deadline)
            return Rounds(walked, walked)
        root = held.enter_context(self._guard.open_folder(ROOT)).fileno() if self._confined else None
        given = (self._guard, top, scope, self._request, self._deadline)
        sought, spare = self._sought()
        tree = Tree(*given, self._share, root, sought, spare)
        wide = Tree(*given, GREP_FILE_LEAST_S, root, late_flags(), heads=True)
        held.callback(wide.close)
        return Rounds(tree, wide, tree)

    def _sought(self) -> tuple[list[str], list[str] | None]:
        """What rg looks for, and what instead when that is too much for it."""
        request = self._request
        plain = pattern_flags(request)
        unknown = pattern_flags(request, [_as_regex(request), *anywhere(multiline=request.multiline)])
        if self._pattern.problem is not None:
            return unknown, None
        found = superset(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            multiline=request.multiline,
        )
        return (plain, None) if found is None else (pattern_flags(request, [found]), unknown)


def _as_regex(request: GrepRequest) -> str:
    return escaped(request.pattern) if request.fixed else request.pattern
