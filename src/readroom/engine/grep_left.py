"""What a search left out, or left before its end: named, with the calls that search it.

A file gets a part of the time of a search, so that none keeps it from those behind.
The cursor passes a file that was left, and the search of it alone goes on where it
was left as far as that can be named: behind a line, or behind a part of a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from readroom.engine.grep_cursor import write_cursor
from readroom.engine.grep_page import Reached, part_of, row_of
from readroom.engine.grep_scope import join_below
from readroom.engine.listing_cursor import path_key
from readroom.limits import GREP_MAX_TIMEOUT_S, MAX_OMITTED, MAX_WARNINGS
from readroom.model import GrepRequest, Omission, Warn
from readroom.paths import WorkPath
from readroom.quoting import joined, quote

NAMED = 3
"""Files that a warning names; more are counted."""

_PATIENCE = 3
"""How much more time is suggested when what there was did not suffice."""

_LEAST_S = 1.0
"""The shortest time that is suggested: a search that is cut off sooner has hardly begun."""

ITSELF = "."
"""What a searched file is called in a cursor."""


def more_time(seconds: float) -> float:
    """What is suggested after so many seconds that did not suffice."""
    return min(max(seconds * _PATIENCE, _LEAST_S), GREP_MAX_TIMEOUT_S)


def patient(request: GrepRequest) -> GrepRequest:
    """The same request, with time to do something."""
    asked = request.timeout_s
    return request if asked is None else replace(request, timeout_s=max(asked, _LEAST_S))


def named(paths: Sequence[str]) -> str:
    """The first of some files, and how many more there are."""
    more = len(paths) - NAMED
    return joined(paths[:NAMED]) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True, slots=True)
class _Unfinished:
    path: WorkPath
    said: str
    omission: Omission


@final
class Left:
    """Of one call.

    Attributes:
        compressed: Compressed files that were not searched.
        unreadable: Files and folders, relative, that could not be opened.
        latest: The file that was left last.
        beside: What is to be said of single files.
    """

    def __init__(self, request: GrepRequest, seconds: float) -> None:
        self._request = request
        self._seconds = seconds
        self._unfinished: dict[str, _Unfinished] = {}
        self._broken: list[str] = []
        self.latest: str | None = None
        self.compressed: list[WorkPath] = []
        self.unreadable: list[str] = []
        self.beside: list[Warn] = []

    # --- taking note --------------------------------------------------------------------------

    def text(self, relative: str, searched: int | None, size: int | None, line: int) -> None:
        """A file was left after so many bytes, as far as that is known, and behind this line shown."""
        if searched is not None and size is not None:
            said = f"{searched:,} of {size:,} bytes searched"
        else:
            said = "not searched to its end"
        self._leave(relative, said, "bytes", (searched or 0) + 1, size or 0, line)

    def compressed_text(self, relative: str, size: int) -> None:
        """A compressed file was not expanded in time."""
        self._leave(relative, "not expanded in time", "bytes", 1, size, 0)

    def document(self, relative: str, reached: Reached, place: int) -> None:
        """A document was left behind a place in it."""
        if not reached.total:
            self._leave(relative, "not opened in time", "parts", 1, 0, 0)
            return
        part, row = part_of(place), row_of(place)
        unit = reached.unit
        if row:
            said = f"{unit} {part} of {reached.total} searched to row {row:,}"
        elif part > 1:
            said = f"{unit}s 1-{part - 1:,} of {reached.total:,} searched"
        else:
            said = f"{unit} 1 of {reached.total:,} not searched in time"
        self._leave(relative, said, "parts", max(part, 1), reached.total, place)

    def broken(self, path: WorkPath, reached: Reached) -> None:
        """Parts of a document, or all of it, cannot be read."""
        for part, problem in reached.broken:
            where = f"{reached.unit} {part} of {quote(path)}" if part else quote(path)
            self._broken.append(f"{where} cannot be read: {problem}")

    def _leave(self, relative: str, said: str, what: str, first: int, last: int, after: int) -> None:
        path = join_below(WorkPath(self._request.path), "" if relative == ITSELF else relative)
        alone = replace(self._request, path=path, glob=(), type=None, sort=None, limit=None, cursor=None)
        alone = replace(alone, timeout_s=more_time(self._seconds))
        if after and self._request.output == "content":
            alone = replace(alone, cursor=write_cursor(alone, (), ITSELF, after))
        omission = Omission(what, first, max(first, last), "timeout", request=alone)
        if relative not in self._unfinished:
            self._unfinished[relative] = _Unfinished(path, said, omission)
            self.latest = relative

    # --- saying it ----------------------------------------------------------------------------

    @property
    def some_unfinished(self) -> bool:
        """Whether a file was left before its end."""
        return bool(self._unfinished)

    def omissions(self) -> Iterator[Omission]:
        """What was left, with the requests that search it."""
        for relative, one in list(self._unfinished.items())[:MAX_OMITTED]:
            if relative != ITSELF:  # what goes on there is the search itself
                yield one.omission
        count = len(self.compressed)
        if count:
            again = replace(self._request, include=self._request.include | {"compressed"}, cursor=None)
            yield Omission("files", 1, count, "compressed", request=again)

    def warnings(self) -> Iterator[Warn]:
        """The same in words, and what cannot be read."""
        items = list(self._unfinished.values())
        if items:
            said = "; ".join(f"{quote(one.path)}: {one.said}" for one in items[:NAMED])
            more = f"; and {len(items) - NAMED} more" if len(items) > NAMED else ""
            yield Warn("unfinished", f"out of time, no error: {said}{more}")
        if self._broken:
            others = len(self._broken) - NAMED
            said = "; ".join(self._broken[:NAMED])
            yield Warn("unreadable", said + (f"; and {others} more" if others > 0 else ""))
        if self.compressed:
            count = len(self.compressed)
            what = "1 compressed file was" if count == 1 else f"{count:,} compressed files were"
            yield Warn("compressed", f"{what} not searched: {named(sorted(self.compressed, key=path_key))}")
        yield from self.beside[:MAX_WARNINGS]
