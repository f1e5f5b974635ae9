"""Merge the candidates of two finders in path order: those of rg with documents or archive members."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import final

from readroom.engine.cursors import Cursor, path_key
from readroom.engine.grep.candidates import Finder
from readroom.engine.grep.watch import LeftFile
from readroom.errors import TimedOut


@final
class Beside:
    """Candidates of two finders. Attributes as of `ripgrep.Tree`.

    One finder is always ahead, and its candidate waits for the other one.  When time runs out, the search
    has come no further than the waiting candidate, so files left unfinished after it do not count yet.
    """

    def __init__(self, finder: Finder, other: Finder) -> None:
        """`finder` is that of rg."""
        self._finder = finder
        self._other = other
        self._waiting: str | None = None
        self.stopped_at: str | None = None

    @property
    def unreadable(self) -> list[str]:
        """Names that either of them could not read."""
        return [*self._finder.unreadable, *self._other.unreadable]

    @property
    def left(self) -> Sequence[LeftFile]:
        """Files that were left before their end, and that the search has passed."""
        waiting = self._waiting
        if waiting is None:
            return self._finder.left
        return [file for file in self._finder.left if path_key(file[0]) < path_key(waiting)]

    def files(self, after: Cursor | None, *, at_once: bool = True) -> Generator[str]:
        """Candidates in path order; from a cursor on, its own file included."""
        with (
            closing(self._finder.files(after, at_once=at_once)) as files,
            closing(self._other.files(after)) as others,
        ):
            candidate = next(files, None)  # if time runs out here, the other finder has not started
            self._waiting = self._next(others, self._other, candidate)
            while heads := [path for path in (candidate, self._waiting) if path is not None]:
                path = min(heads, key=path_key)
                yield path
                if path == candidate:
                    waiting = None if path == self._waiting else self._waiting
                    candidate = self._next(files, self._finder, waiting)
                if path == self._waiting:
                    self._waiting = self._next(others, self._other, candidate)

    def _next(self, files: Generator[str], finder: Finder, waiting: str | None) -> str | None:
        """The next of one of them; None behind its last. Raises TimedOut, and says where that was."""
        try:
            return next(files, None)
        except TimedOut:
            stopped = finder.stopped_at
            if stopped is not None:
                self.stopped_at = stopped if waiting is None else min(stopped, waiting, key=path_key)
            raise
