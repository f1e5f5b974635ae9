"""The page of a search reply, filled with files and matching lines until it is full.

A page is full at the limit of the call, or at the size limit of the reply, measured as the contract
measures it.  A line that was added stays.  Context lines shared by neighbouring matches are shown once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple, Protocol, TypeAlias, final

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.cursors import path_key
from readroom.core.engine.grep.lines import (
    Searched,
    Text,
    beginning,
    context_line,
    preview,
    shown,
    starts_after,
    starts_before,
)
from readroom.core.errors import TimedOut
from readroom.core.formats.kinds import reads_as_document
from readroom.core.limits import HEAD_BYTES, MAX_OMITTED, Limits
from readroom.core.limits.outline import OUTLINE_BYTES
from readroom.core.outline.languages import language_of
from readroom.core.paths import WorkPath
from readroom.core.quoting import quote
from readroom.core.search.pattern import Hit
from readroom.core.text.encodings import decode
from readroom.core.values import Cap, GrepFile, GrepLine, GrepRequest, GrepResult, Omission, ReadRequest, Warn
from readroom.core.values.files import Row, main_rows

Full: TypeAlias = Literal["limit", "reply_cap"]

Part: TypeAlias = tuple[int | None, Searched, int | None]
"""A part of a document, its matches, and the place at its end; a file is one part without a number."""

SHORTEST = 16
"""Length of a preview below which it is not shortened further."""

CURSOR_BYTES = 48
"""Size of a cursor without its path."""

_COUNT_BYTES = 12
"""Size of a number of matches and the space after it."""


class Last(NamedTuple):
    """A place in a search: a file, and the line up to which it is done; None for all of it."""

    rank: tuple[int, ...]
    path: str
    line: int | None

    def reaches(self, at: Last) -> bool:
        """Whether the file of `at` is done; rg may still have such a file open."""
        return at.rank == self.rank and path_key(at.path) <= path_key(self.path)


_PART_PLACES = 1 << 32
"""More lines than any part has: the factor of a part in a place."""


def place_in(part: int, line: int) -> int:
    """A place in a document as one number, so that a cursor can name it like a line."""
    return part * _PART_PLACES + line


def part_of(place: int) -> int:
    """The part of a `place_in` number."""
    return place // _PART_PLACES


def row_of(place: int) -> int:
    """The line of a `place_in` number."""
    return place % _PART_PLACES


class Reached(Struct):
    """How far a document was searched.

    Attributes:
        unit: The name of its parts; `total` is their number, 0 if it could not be opened.
        part: The part that is being searched; all before it are done.
        place: The place up to which it is done, for a cursor.
        broken: The parts that cannot be read, and why; part 0 is the document itself.
    """

    unit: str = ""
    total: int = 0
    part: int = 0
    place: int = 0
    broken: list[tuple[int, str]] = field(default_factory=list)


def uncounted(result: GrepResult) -> GrepResult:
    """The result with a note that time ran out before all matches were counted."""
    note = Warn("timeout", "the time limit ended the search before all matches were counted")
    return replace(
        result,
        complete=False,
        reason=result.reason or "timeout",
        total_matches=None,
        warnings=[*result.warnings, note],
    )


def room_for(request: GrepRequest, cap: Cap) -> int:
    """The bytes of a reply that its matches may take."""
    assert cap.measure.search is not None, "the contract has a search"
    again = json.dumps([request.pattern, request.glob, request.type], ensure_ascii=False)
    room = cap.size - cap.measure.frame(request.path) - len(again.encode("utf-8", "replace"))
    maximum = cap.measure.search.content_bytes
    return room if maximum is None else min(room, maximum)


class Collects(Protocol):
    """A page of matches, or a collection that sorts them first.

    Attributes:
        files: In the order they were added; at least the last one.
        shown: Matching lines, or files if no lines are asked for.
        full: Why no more fits; None while there is room.
        last: The file and line up to which everything is taken.
        rank: Of the file that is being added, for `last`.
        matches: Matching lines so far, including those that were skipped or not shown.
        omitted: The parts of lines that are not shown.
    """

    files: list[GrepFile]
    shown: int
    full: Full | None
    last: Last | None
    rank: tuple[int, ...]
    matches: int
    omitted: list[Omission]

    @property
    def goes_on(self) -> bool:
        """Whether more is wanted, to be shown or only to be counted."""

    def filled(self) -> float:
        """How much of the page is used, from 0 to 1."""

    def add_file(self, path: WorkPath, relative: str, matches: int) -> bool:
        """Add a file without its lines; False when no more are wanted."""

    def add_lines(self, path: WorkPath, relative: str, parts: Iterable[Part], after: int) -> bool:
        """Add the matching lines of a file after a line; False when no more are wanted."""


PREVIEW_CHARS = 500
"""A matched line is previewed around its first match. claude-code, pi, crush, kilo: 500."""


@final
class Page:
    """The page of a reply, as far as it is filled.

    Attributes:
        files: In the order they were added.
        shown: Matching lines, or files if no lines are asked for.
        full: Why no more fits; None while there is room.
        last: The file and line up to which everything is shown.
        rank: Of the file that is being added, for `last`.
        matches: Matching lines so far, including those that were skipped or not shown.
    """

    def __init__(
        self, request: GrepRequest, limits: Limits, cap: Cap, symbols: Symbols | None = None
    ) -> None:
        self._request = request
        self._symbols = symbols
        assert cap.measure.search is not None, "the contract has a search"
        self._measure = cap.measure.search
        self._limit = request.limit or limits.grep_limit
        self._room = self._whole_room = room_for(request, cap)
        self._preview = request.options.preview_chars or PREVIEW_CHARS
        self.matches = 0
        self.files: list[GrepFile] = []
        self.shown = 0
        self.full: Full | None = None
        self.last: Last | None = None
        self.rank: tuple[int, ...] = ()
        self.omitted: list[Omission] = []

    def filled(self) -> float:
        """How much of the page is used, from 0 to 1."""
        if self.full is not None or self._whole_room <= 0:
            return 1.0
        return max(self.shown / self._limit, 1 - self._room / self._whole_room)

    def add_file(self, path: WorkPath, relative: str, matches: int) -> bool:
        """Add a file without its lines; False when the page is full."""
        file = GrepFile(path, matches)
        if not self._takes(self._measure.file(file) + _COUNT_BYTES, relative):
            if self.shown:
                return False
            self.full, self._room = None, 0  # one file always fits: otherwise no page would get past it
        self.files.append(file)
        self.shown += 1
        self.last = Last(self.rank, relative, None)
        return True

    def add_lines(self, path: WorkPath, relative: str, parts: Iterable[Part], after: int) -> bool:
        """Add the matching lines of a file after a line, or of a document, part by part, after a place.

        What was taken stays if time runs out before the end of the file. Returns False when no more are
        wanted.
        """
        heading = self._measure.file(GrepFile(path))
        lines: list[GrepLine] = []
        matches, readable, number = 0, True, None
        try:
            for number, searched, end in parts:
                whole = None if number is not None else self._symbols
                symbols = None if whole is None else whole.of(path, searched.text)
                part = _FilePart(searched.text, self._request, 0 if matches else heading, number, symbols)
                readable = readable and not searched.binary
                try:
                    self._add_hits(part, searched, relative, after)
                finally:
                    matches += part.matches
                    lines += part.in_order()
                if not self.goes_on:
                    break
                if end is not None and self.full is None:
                    self.last = Last(self.rank, relative, end)
        finally:
            if matches:
                self.files.append(GrepFile(path, matches, lines))
                self._note_cuts(path, lines, readable=readable)
        if self.full is None and (matches or number is not None):
            self.last = Last(self.rank, relative, None)
        return self.goes_on

    def _add_hits(self, part: _FilePart, searched: Searched, relative: str, after: int) -> None:
        for hit in searched.hits:
            if part.place(hit) <= after:
                continue
            self.matches += 1
            if self.matches <= self._request.skip:
                continue
            if self.shown and self.shown >= self._limit:
                self.full = self.full or "limit"
            elif self.full is None:
                self._take_hit(part, hit, relative)
            if not self.goes_on:
                break

    @property
    def goes_on(self) -> bool:
        """Whether more is wanted, to be shown or only to be counted."""
        return self.full is None or self._request.options.count_s is not None

    def _take_hit(self, part: _FilePart, hit: Hit, relative: str) -> None:
        room = self._preview
        lines = part.around(hit, room)
        while not self._takes(self._cost(part, lines), relative):
            if self.shown:
                return
            # One match always fits: first without its context, then with less and less of its line.
            self.full = None
            if len(lines) > 1:
                lines = part.around(hit, room, alone=True)
            elif room > SHORTEST:
                room //= 2
                lines = part.around(hit, room, alone=True)
            else:
                break
        part.add(lines)
        self.shown += 1
        self.last = Last(self.rank, relative, part.place(hit))

    def _cost(self, part: _FilePart, lines: Sequence[GrepLine]) -> int:
        known = part.lines
        new = sum(self._measure.line(shown(line)) for line in lines)
        old = sum(self._measure.line(shown(known[line.number])) for line in lines if line.number in known)
        named = part.heading if self._measure.names_each or not part.matches else 0
        return new - old + named + self._request.options.entry_bytes

    def _takes(self, cost: int, relative: str) -> bool:
        """Reserve space for so many bytes, and for a cursor that names the file; False if it does not fit."""
        if self.shown and self.shown >= self._limit:
            self.full = "limit"
            return False
        counted = self._request.options.count_s is not None
        cursor = 0 if counted else CURSOR_BYTES + 2 * len(quote(relative).encode("utf-8", "replace"))
        if cost + cursor > self._room:
            self.full = "reply_cap"
            return False
        self._room -= cost
        return True

    def _note_cuts(self, path: WorkPath, lines: Sequence[GrepLine], *, readable: bool = True) -> None:
        room = MAX_OMITTED - len(self.omitted)
        self.omitted += islice(cut_columns(path, lines, readable=readable), max(0, room))


def cut_columns(path: WorkPath, lines: Sequence[GrepLine], *, readable: bool = True) -> Iterator[Omission]:
    """The parts of shown lines that their previews leave out."""
    for line in lines:
        last = line.column + len(line.text) - 1
        parts = [(1, line.column - 1)] if line.column > 1 else []
        if line.chars is None or last < line.chars:
            parts.append((last + 1, line.chars or last + 1))
        for first, end in parts:
            pages = None if line.part is None else str(line.part)
            plain = "utf-8" if pages is None and reads_as_document(path) else None
            rest = ReadRequest(path, offset=line.number, limit=1, column=first, pages=pages, encoding=plain)
            shown_by = rest if readable else None
            yield Omission("columns", first, end, "preview", line.number, shown_by)


@final
class _FilePart:
    """The lines of one file, or part of a document, that are shown."""

    def __init__(
        self,
        text: Text,
        request: GrepRequest,
        heading: int,
        number: int | None,
        symbols: Callable[[int], str | None] | None,
    ) -> None:
        """`number` is the part of a document, None for a file."""
        self._text = text
        self.number = number
        self._before = request.before
        self._after = request.after
        self._symbols = symbols
        self._preview = beginning if request.options.whole_lines else preview
        self.heading = heading
        self.lines: dict[int, GrepLine] = {}
        self.matches = 0

    def place(self, hit: Hit) -> int:
        """The place of a match for a cursor: its line, or its part and line."""
        return hit.number if self.number is None else place_in(self.number, hit.number)

    def around(self, hit: Hit, room: int, *, alone: bool = False) -> list[GrepLine]:
        """The match and its context lines that are not shown yet."""
        lines = self._around(hit, room, alone)
        return lines if self.number is None else [replace(line, part=self.number) for line in lines]

    def _around(self, hit: Hit, room: int, alone: bool) -> list[GrepLine]:
        text, number = self._text, hit.number
        match = self._preview(text, hit, room)
        if self._symbols is not None:
            match = replace(match, symbol=self._symbols(number))
        if alone:
            return [match]
        before = []
        missing = [n for n in range(max(1, number - self._before), number) if n not in self.lines]
        if missing:
            starts = starts_before(text, hit.start, number - missing[0])
            numbers = range(number - len(starts), number)
            pairs = zip(numbers, starts, strict=True)
            before = [context_line(text, n, start, room) for n, start in pairs if n not in self.lines]
        following = enumerate(starts_after(text, hit.start, self._after), number + 1)
        return [
            *before,
            match,
            *(context_line(text, n, s, room) for n, s in following if n not in self.lines),
        ]

    def add(self, lines: Sequence[GrepLine]) -> None:
        for line in lines:
            self.lines[line.number] = line
        self.matches += 1

    def in_order(self) -> list[GrepLine]:
        return [self.lines[number] for number in sorted(self.lines)]


# -----------------------------------------------------------------------------
# The definition that contains a matching line.
#
# The outline is made from the text that was searched.  All outlines together may take a
# small part of the search's time; files after that get none.
# -----------------------------------------------------------------------------


GREP_SYMBOLS_S = 2.0
"""Time in all for the outlines of the files of one search reply: 100 files of 100 kB take 1 s."""


@final
class Symbols:
    """The definitions in the files of one search. `gave_up` says that there was no time for all of them."""

    def __init__(self, deadline: Deadline) -> None:
        left = deadline.remaining
        self._deadline = deadline.within(GREP_SYMBOLS_S if left is None else min(GREP_SYMBOLS_S, left / 2))
        self.gave_up = False

    def of(self, path: str, text: Text) -> Callable[[int], str | None]:
        """A function for the innermost definition around a line; the outline is made on its first call."""
        listed: Sequence[Row] | None = None

        def around(line: int) -> str | None:
            nonlocal listed
            if listed is None:
                listed = self._listed(path, text)
            inside = [row for row in listed if row.item.start <= line <= row.item.end]
            return max(inside, key=lambda row: row.depth).name if inside else None

        return around

    def _listed(self, path: str, text: Text) -> Sequence[Row]:
        from readroom.core.outline import Unparsable, build, can_outline

        if text.size > OUTLINE_BYTES or self.gave_up:
            return ()
        data = decode(text.slice(0, text.size), text.encoding)
        language = language_of(path, data[:HEAD_BYTES])
        if language is None or not can_outline(language):
            return ()
        try:
            return list(main_rows(build(data, language, self._deadline).items))
        except TimedOut:
            self.gave_up = True
            return ()
        except Unparsable:
            return ()
