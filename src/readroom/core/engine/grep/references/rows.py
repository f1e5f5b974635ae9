"""The rows of a page of places: all are counted, and as many kept as a page may show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import UsesCursor, UsesPlace, path_key
from readroom.core.engine.grep.lines import Searched, Text, preview
from readroom.core.engine.grep.page import CURSOR_BYTES, PREVIEW_CHARS, SHORTEST, Full, Last, Part, room_for
from readroom.core.engine.grep.references.places import (
    NEVER,
    NO_GRAMMAR,
    USES_COLUMNS,
    Labels,
    LinePlaces,
)
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.search.pattern import Hit
from readroom.core.values import Cap, GrepFile, GrepLine, GrepRequest, Omission
from readroom.core.values.matches import USE_KINDS, UseCounts, UseKind

USES_LINES = 100_000
"""Lines with a match that are sorted by kind at once: to label one takes some 30 microseconds."""

USES_SLOW_FILES = 8
"""Files of a batch that take too long to parse: the cursor names each, and the batch ends with the last."""

_SLOW_BYTES = 14
"""The longest that a cursor says about one of them."""

_UNPARSED_FILES = 3
"""Files that could not be parsed and are named; more are counted."""


class Row(Struct, frozen=True):
    """One row of a reply: a line, and what the name is in it."""

    kind: UseKind
    path: WorkPath
    line: GrepLine
    place: UsesPlace


@final
class Collector:
    """Takes the matches of a search: counts all of them by kind, and keeps as many rows as a page may have.

    Attributes:
        files: The file of the last match.
        shown: Lines with a match.
        full: Why the search ended before its end: its batch, or by path its page, is full.
        last: The file and line up to which everything was taken.
        unparsed: The first files that were not parsed, and why; `others` counts the rest.
        slow: Those of which that may differ between two calls, as a cursor names them.
    """

    def __init__(
        self, request: GrepRequest, limits: Limits, cap: Cap, cursor: UsesCursor, deadline: Deadline
    ) -> None:
        self._request = request
        self._by_path = request.sort == "path"
        self._cursor = cursor
        self._after = None if cursor.place is None else cursor.place.key(by_path=self._by_path)
        self._deadline = deadline
        self._most = cursor.lines or USES_LINES
        assert cap.measure.search is not None, "the contract has a search"
        self._measure = cap.measure.search
        self._rows = _Rows(request, limits, room_for(request, cap))
        self._kinds: dict[UseKind, int] = dict.fromkeys(USE_KINDS, 0)
        self._unlabelled = self._files = 0
        self.unparsed: dict[WorkPath, str] = {}
        self.others = 0
        self.slow: dict[int, int] = {}
        self.files: list[GrepFile] = []
        self.shown = self.matches = 0
        self.full: Full | None = None
        self.last: Last | None = None
        self.rank: tuple[int, ...] = ()
        self.omitted: list[Omission] = []

    @property
    def goes_on(self) -> bool:
        """Whether more is wanted."""
        return self.full is None

    def filled(self) -> float:
        """How much of the page is used: any line may be one of the first of its kind."""
        return 0.0

    def add_file(self, path: WorkPath, relative: str, matches: int) -> bool:
        """No search for places asks for files."""
        raise AssertionError("a search for places shows lines")

    def add_lines(self, path: WorkPath, relative: str, parts: Iterable[Part], after: int) -> bool:
        """Take the matching lines of a file after a line; False when no more are wanted."""
        for _, searched, _ in parts:
            found = self._take_file(path, relative, searched, after)
            if found and self.full is None:
                self.last = Last(self.rank, relative, None)
        return self.goes_on

    def _take_file(self, path: WorkPath, relative: str, searched: Searched, after: int) -> bool:
        """Take the lines of one file; whether it has any."""
        labels: Labels | None = None
        for hit in searched.hits:
            if hit.number <= after:
                continue
            if self.shown >= self._most or (labels is None and len(self.slow) >= USES_SLOW_FILES):
                self.full = "limit"
                break
            if labels is None:
                known = self._known(relative)
                labels = Labels(self._request, path, searched.text, self._deadline, known)
                self.files = [GrepFile(path)]
                self._files += 1
            if not self._take_line(labels, hit, path, relative, searched.text):
                break
        if labels is not None and labels.why is not None:
            self._note(path, labels.why)
            if labels.slow != NEVER:
                self.slow[self._files] = labels.slow
                self._rows.whole_room = max(0, self._rows.whole_room - _SLOW_BYTES)
        return labels is not None

    def _known(self, relative: str) -> int | None:
        """The line from which the page before had no labels in the next file, if its rows are taken again."""
        if self._by_path:
            is_again = self._after is not None and (self.rank, path_key(relative)) <= self._after[:2]
        else:
            is_again = self._cursor.lines > 0
        return self._cursor.slow.get(self._files + 1, NEVER) if is_again else None

    def _note(self, path: WorkPath, why: str) -> None:
        if why != NO_GRAMMAR and len(self.unparsed) < _UNPARSED_FILES:
            self.unparsed[path] = why
        else:
            self.others += 1

    def _take_line(self, labels: Labels, hit: Hit, path: WorkPath, relative: str, text: Text) -> bool:
        """Take what is in one line; False if by path the page has no room for it."""
        places = sorted(labels.of(hit), key=lambda place: USE_KINDS.index(place.kind))
        rows = []
        for place in places:
            at = UsesPlace(USE_KINDS.index(place.kind), self.rank, relative, hit.number)
            if self._after is None or self._after < at.key(by_path=self._by_path):
                if self._rows.wants(place.kind):
                    rows.append(Row(place.kind, path, self._line(labels, place, hit, text, path), at))
                else:
                    self._rows.leave(place.kind)
        if not self._rows.take(rows, self._cost):
            self.full = self._rows.full
            return False
        for place in places:
            self._kinds[place.kind] += 1
            self._unlabelled += not place.certain
        self.shown += 1
        self.last = Last(self.rank, relative, hit.number)
        return True

    def _line(self, labels: Labels, place: LinePlaces, hit: Hit, text: Text, path: WorkPath) -> GrepLine:
        """The line as it is shown: shorter if it would not fit alone."""
        room, at = PREVIEW_CHARS, replace(hit, column=place.byte, length=place.size)
        while True:
            line = replace(
                preview(text, at, room),
                kind=place.kind,
                certain=place.certain,
                columns=tuple(column + 1 for column in place.columns[:USES_COLUMNS]),
                symbol=labels.symbol(hit.number),
            )
            if room <= SHORTEST or self._cost(path, line, None) <= self._rows.whole_room:
                return line
            room //= 2

    def _cost(self, path: WorkPath, line: GrepLine, before: WorkPath | None) -> int:
        heading = self._measure.file(GrepFile(path, kind=line.kind)) if path != before else 0
        return heading + self._measure.line(line)

    def page(self) -> tuple[Sequence[Row], Full | None]:
        """The rows of the page in their order, and why it ends before the last row."""
        return self._rows.page(self._cost)

    @property
    def counts(self) -> UseCounts:
        """The counts of all rows, shown or not."""
        return UseCounts(dict(self._kinds), self._unlabelled, self._files)


_Cost: TypeAlias = "Callable[[WorkPath, GrepLine, WorkPath | None], int]"
"""The bytes of a row after one of this path."""


@final
class _Rows:
    """The rows that a page may have: by path all, up to what fits; by kind so many of each.

    Attributes:
        full: Why by path no more fit.
        whole_room: Bytes of a page.
    """

    def __init__(self, request: GrepRequest, limits: Limits, room: int) -> None:
        self._by_path = request.sort == "path"
        self._limit = request.limit or limits.grep_limit
        self._wanted = frozenset(request.kinds or USE_KINDS)
        cursor = CURSOR_BYTES + 2 * len(request.path.encode("utf-8", "replace"))
        self.whole_room = max(0, room - cursor)
        self._kept: dict[UseKind | None, list[Row]] = {}
        self._used: dict[UseKind | None, int] = {}
        self._over: set[UseKind | None] = set()
        self._is_within = False
        self.full: Full | None = None

    def wants(self, kind: UseKind) -> bool:
        """Whether a row of a kind may be shown."""
        return kind in self._wanted and kind not in self._over

    def leave(self, kind: UseKind) -> None:
        """Note that a row of a kind is for a later page, unless it is not wanted at all."""
        if kind in self._wanted:
            self._over.add(kind)

    def take(self, rows: Sequence[Row], cost: _Cost) -> bool:
        """Keep the rows of one line; False if by path they do not fit.

        By path a page ends between two lines; if it has no room for all rows of its first one, after those
        that fit.
        """
        for row in rows:
            key = None if self._by_path else row.kind
            kept = self._kept.setdefault(key, [])
            used = self._used.get(key, 0) + cost(row.path, row.line, kept[-1].path if kept else None)
            is_full = len(kept) >= self._limit
            if kept and (is_full or used > self.whole_room):
                if not self._by_path:
                    self._over.add(key)
                    continue
                self.full = "limit" if is_full else "reply_cap"
                whole = [one for one in kept if not one.place.is_beside(row.place)]
                self._is_within = not whole
                self._kept[None] = whole or kept
                return False
            self._used[key] = used
            kept.append(row)
        return True

    def page(self, cost: _Cost) -> tuple[Sequence[Row], Full | None]:
        """The rows in their order, and why they end before the last one of a batch, or within a line."""
        if self._by_path:
            return self._kept.get(None, []), self.full if self._is_within else None
        shown: list[Row] = []
        used = 0
        for kind in USE_KINDS:
            before = None  # each kind names its files anew
            for row in self._kept.get(kind, ()):
                used += cost(row.path, row.line, before)
                before = row.path
                if shown and len(shown) >= self._limit:
                    return shown, "limit"
                if shown and used > self.whole_room:
                    return shown, "reply_cap"
                shown.append(row)
            if kind in self._over:
                return shown, "limit" if len(shown) >= self._limit else "reply_cap"
        return shown, None
