"""Candidates of a search beside those of rg, in path order with them: documents, members of archives."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import final

from readroom.engine.cursors import Cursor, path_key
from readroom.engine.grep.candidates import Finder
from readroom.engine.grep.process import LeftFile
from readroom.errors import TimedOut


@final
class Beside:
    """Candidates of two finders. Attributes as of `ripgrep.Tree`.

    One of them is always ahead: what it gave waits until the other has come there.  So where time ends
    the search is no further than what waits, and a file that was left behind that was not passed yet.
    """

    def __init__(self, finder: Finder, other: Finder) -> None:
        """`finder` is that of rg."""
        self._finder = finder
        self._other = other
        self._waiting: str | None = None
        self.stopped_at: str | None = None

    @property
    def unreadable(self) -> list[str]:
        """What either could not read."""
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
            found = next(files, None)  # where time ends meanwhile, nobody has looked for the others
            self._waiting = self._next(others, self._other, found)
            while heads := [path for path in (found, self._waiting) if path is not None]:
                path = min(heads, key=path_key)
                yield path
                if path == found:
                    found = self._next(files, self._finder, None if path == self._waiting else self._waiting)
                if path == self._waiting:
                    self._waiting = self._next(others, self._other, found)

    def _next(self, files: Generator[str], finder: Finder, waiting: str | None) -> str | None:
        """The next of one of them; None behind its last. Raises TimedOut, and says where that was."""
        try:
            return next(files, None)
        except TimedOut:
            stopped = finder.stopped_at
            if stopped is not None:
                self.stopped_at = stopped if waiting is None else min(stopped, waiting, key=path_key)
            raise
