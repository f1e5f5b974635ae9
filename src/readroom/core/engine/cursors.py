"""Cursors of searches and listings: opaque strings that say where the next page starts.

A cursor begins with a fingerprint of the arguments it was issued for, and names the last item that was
shown instead of counting items.  So files that appear or disappear between two pages neither repeat nor
hide others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from hashlib import blake2s
from types import MappingProxyType
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import fields, replace

from readroom.core.errors import BadCursor, BadPath, OutsideRoot
from readroom.core.paths import parse
from readroom.core.quoting import as_value
from readroom.core.values import FindRequest, GrepRequest, GrepSort, ListRequest
from readroom.core.values.find import millionths

_Paged: TypeAlias = "GrepRequest | FindRequest | ListRequest"

_UNREADABLE = (ValueError, BadPath, OutsideRoot)
"""Raised when the rest of a cursor is malformed."""


def path_key(path: str) -> bytes:
    """A sort key that compares paths part by part: no name has a NUL, and all other bytes are larger."""
    return os.fsencode(path).replace(b"/", b"\0")


def end_of_folder(key: bytes) -> bytes:
    """A key after everything below the folder with this key, and before what follows the folder."""
    return key + b"\1"


def _rest(request: _Paged, cursor: str, made_for: str) -> str:
    """The part after the fingerprint. Raises BadCursor if the fingerprint is not `made_for`."""
    begins, _, rest = cursor.partition(".")
    if begins != made_for:
        raise BadCursor("was not given for these arguments", next_request=replace(request, cursor=None))
    return rest


def _not_given(request: _Paged, by: str) -> BadCursor:
    """The error for a text that begins like a cursor and is not one."""
    return BadCursor(f"is not one that {by} gave", next_request=replace(request, cursor=None))


def _digest(arguments: tuple[object, ...], digits: int) -> str:
    return blake2s(repr(arguments).encode("utf-8", "surrogatepass")).hexdigest()[:digits]


# -----------------------------------------------------------------------------
# Listings: the last entry that was shown.
# -----------------------------------------------------------------------------


class ListPlace(Struct, frozen=True, order=True):
    """The sort key of an entry: its value, smaller ones first, then its path part by part as bytes."""

    value: int
    key: bytes


def write_cursor(request: ListRequest, value: int, path: str) -> str:
    """The cursor that continues `request` after the entry: its value, or how many come before it."""
    if request.sort == "name":
        before = f"{_BEFORE}{value}" if value else ""
        return f"{_fingerprint(request)}{before}.{as_value(path)}"
    return f"{_fingerprint(request)}.{value}.{as_value(path)}"


_BEFORE = "+"
"""Before the number of entries that come before a place in the order of names, where they are not counted
again."""


def read_cursor(request: ListRequest) -> ListPlace | None:
    """The place after which `request` continues; None at the beginning. Raises BadCursor."""
    if request.cursor is None:
        return None
    begins, _, place = request.cursor.partition(".")
    value = "0"
    if request.sort == "name":
        begins, plus, value = begins.partition(_BEFORE)
        value = value if plus else "0"
    place = _rest(request, f"{begins}.{place}", _fingerprint(request))
    if request.sort != "name":
        value, _, place = place.partition(".")
    try:
        return ListPlace(int(value), path_key(parse(place)))
    except _UNREADABLE:
        raise _not_given(request, "a listing") from None


CURSOR_DIGITS = 6
"""Hex digits of the arguments' fingerprint in a cursor: a mix-up goes unnoticed once in 16 million times, for
4 tokens."""


def _fingerprint(request: ListRequest) -> str:
    order = (request.path, request.glob, request.depth, sorted(request.include), request.sort)
    return _digest(order, CURSOR_DIGITS)


# -----------------------------------------------------------------------------
# Searches: the last file that was shown, and how far into it.
# -----------------------------------------------------------------------------

_GREP_DIGITS = 6
"""Hex digits of the arguments' fingerprint: a mix-up passes once in 16 million times, for 4 tokens."""

_WHOLE = "a"
"""Used in place of a line number when all of a file was shown."""


class GrepPlace(Struct, frozen=True, order=True):
    """The sort key of a file: its rank, smaller ones first, then its path part by part as bytes."""

    rank: tuple[int, ...]
    key: bytes


class Cursor(Struct, frozen=True):
    """The place where a search continues: files before `place` are done, this one to `line` (None: all)."""

    place: GrepPlace
    path: str
    line: int | None


def sort_of(request: GrepRequest) -> GrepSort:
    """The order of a search; by default a fixed text of several words is sorted by relevance."""
    if request.sort is not None:
        return request.sort
    if request.documents or "archives" in request.include:
        return "path"  # ranking would have to extract all of them
    return "relevance" if request.fixed and len(request.pattern.split()) > 1 else "path"


def write_grep_cursor(request: GrepRequest, rank: tuple[int, ...], path: str, line: int | None) -> str:
    """The cursor that continues `request` in a file after a line; None: after the file."""
    numbers = [_WHOLE if line is None else str(line), *map(str, rank)]
    return ".".join((_grep_fingerprint(request), "_".join(numbers), as_value(path)))


def read_grep_cursor(request: GrepRequest) -> Cursor | None:
    """Where `request` continues; None at the beginning. Raises BadCursor."""
    if request.cursor is None:
        return None
    rest = _rest(request, request.cursor, _grep_fingerprint(request))
    numbers, _, quoted = rest.partition(".")
    line, *rank = numbers.split("_")
    try:
        path = parse(quoted)
        place = GrepPlace(tuple(map(int, rank)), path_key(path))
        return Cursor(place, path, None if line == _WHOLE else int(line))
    except _UNREADABLE:
        raise _not_given(request, "a search") from None


_SPELLED_OUT = ("pattern", "path", "glob", "type", "output", "ignore_case", "multiline", "fixed", "include")
"""The fields of a search in its fingerprint, besides the order and whether documents are searched."""

_FREE = ("before", "after", "limit", "cursor", "timeout_s", "symbols", "skip", "options")
"""The fields that may change from page to page."""

_MORE = tuple(
    field.name
    for field in fields(GrepRequest)
    if field.name not in (*_SPELLED_OUT, *_FREE, "sort", "documents")
)


_PLAIN = GrepRequest("")


def _grep_fingerprint(request: GrepRequest) -> str:
    order = (
        *(request.pattern, request.path, request.glob, request.type, request.output),
        *(request.ignore_case, request.multiline, request.fixed, sorted(request.include), sort_of(request)),
        request.documents,
        # Any other argument may change the order of matches.
        *(
            (name, getattr(request, name))
            for name in _MORE
            if getattr(request, name) != getattr(_PLAIN, name)
        ),
    )
    return _digest(order, _GREP_DIGITS)


# -----------------------------------------------------------------------------
# Places of a name: where their search began, and the last row that was shown.
# -----------------------------------------------------------------------------


class UsesPlace(Struct, frozen=True):
    """The place of a row: its kind by number, and its line in a file of a rank."""

    kind: int
    rank: tuple[int, ...]
    path: str
    line: int

    def key(self, *, by_path: bool) -> tuple[object, ...]:
        """The sort key by kind, or by path."""
        line = (self.rank, path_key(self.path), self.line)
        return (*line, self.kind) if by_path else (self.kind, *line)

    def is_beside(self, other: UsesPlace) -> bool:
        """Whether both are in one line."""
        return self.key(by_path=True)[:-1] == other.key(by_path=True)[:-1]


class UsesCursor(Struct, frozen=True):
    """The place where the rows of a batch of lines continue.

    Attributes:
        start: The cursor of the search where the batch begins, without its fingerprint; None: its beginning.
        lines: How many lines the batch has; 0 if it is a new one.
        place: The last row that was shown; None for none.
        slow: Files, counted from the beginning of the batch, that took too long to parse, with the line from
            which they have no labels: later pages neither label nor leave out what this one did not.
    """

    start: str | None = None
    lines: int = 0
    place: UsesPlace | None = None
    slow: Mapping[int, int] = MappingProxyType({})


def write_uses_cursor(request: GrepRequest, cursor: UsesCursor) -> str:
    """The cursor that continues `request` there."""
    place, path, numbers = cursor.place, "", [str(cursor.lines)]
    if place is not None:
        path = as_value(place.path)
        numbers += [str(len(path)), str(place.kind), str(place.line), *map(str, place.rank)]
    slow = "_".join(f"{file}_{line}" for file, line in cursor.slow.items())
    start = "" if cursor.start is None else cursor.start
    where = "_".join(numbers) + (f"-{slow}" if slow else "")
    return ".".join((_uses_fingerprint(request), where, path + start))


def read_uses_cursor(request: GrepRequest) -> UsesCursor:
    """Where `request` continues. Raises BadCursor."""
    if request.cursor is None:
        return UsesCursor()
    rest = _rest(request, request.cursor, _uses_fingerprint(request))
    numbers, _, text = rest.partition(".")
    try:
        numbers, _, named = numbers.partition("-")
        lines, *more = map(_natural, numbers.split("_"))
        pairs = [_natural(number) for number in named.split("_")] if named else []
        slow = dict(zip(pairs[::2], pairs[1::2], strict=True))
        if not more:
            return UsesCursor(text or None, lines, slow=slow)
        size, kind, line, *rank = more
        place = UsesPlace(kind, tuple(rank), parse(text[:size]), line)
    except _UNREADABLE:
        raise _not_given(request, "a search") from None
    return UsesCursor(text[size:] or None, lines, place, slow)


def _uses_fingerprint(request: GrepRequest) -> str:
    # Without an order, rows come by kind.
    return _digest((_grep_fingerprint(request), request.sort), _GREP_DIGITS)


def within_uses(search: GrepRequest, start: str) -> str:
    """The cursor of the search that finds the lines, from that of its places."""
    return f"{_grep_fingerprint(search)}.{start}"


# -----------------------------------------------------------------------------
# Ranked searches: what was shown of the files of a round, in a part of the tree.
# -----------------------------------------------------------------------------


class FindPlace(Struct, frozen=True, order=True):
    """The sort key of a file in a list of names: smaller comes first."""

    score: int
    path: str


class FindRest(Struct, frozen=True):
    """The rest of a passage that was cut: its lines from `line` on, then those before `best`.

    `best` is the first line that was shown of it. Once the last line was, `line` is before `best`.  `file` is
    the position of its file in the round.
    """

    file: int = 0
    best: int = 0
    line: int = 0

    def spans(self, first: int, last: int) -> list[tuple[int, int]]:
        """The spans of lines that are left of a passage with these lines, in the order in which they come."""
        if not self.line:
            return [(first, last)]
        if self.line < self.best:
            spans = [(self.line, self.best - 1)]
        else:
            spans = [(self.line, last), (first, self.best - 1)]
        spans = [(max(begin, first), min(end, last)) for begin, end in spans]
        return [(begin, end) for begin, end in spans if begin <= end]

    def behind(self, shown: tuple[int, int], first: int, last: int) -> FindRest | None:
        """The rest after these lines of it were shown as well; None if nothing is."""
        best = self.best or shown[0]
        line = shown[1] + 1 if shown[1] < last else first
        return None if line == best else FindRest(self.file, best, line)


class FindCursor(Struct, frozen=True):
    """The place where a ranked search continues.

    Attributes:
        since: The first path to read, relative to the searched folder; "" for all.
        until: The first path after them that was not read; "" for none. Scores depend on the files read, so
            the page after one that ran out of time must read the same files.
        round: How many rounds of the best files were split before.
        counts: Of each file of this round, in their order, how many of its passages were shown, best first.
        rest: What is left of a passage that was cut to fill the page before.
        state: A checksum of what was ranked, to tell whether it changed in between: of what was seen of all
            files, and within a round of the content of its files.
        after: In a list of names, the last one that was shown.
    """

    since: str = ""
    round: int = 0
    counts: tuple[int, ...] = ()
    until: str = ""
    rest: FindRest = FindRest()
    state: int = 0
    after: FindPlace | None = None

    @property
    def goes_on(self) -> bool:
        """Whether an earlier page ranked the same files, so that all of them must be looked at again."""
        return bool(self.until or self.round or self.after or self.is_within)

    @property
    def is_within(self) -> bool:
        """Whether some of its round was shown."""
        return bool(any(self.counts) or self.rest.line)


_FIND_BEGINNING = FindCursor()

FIND_STATES = 1 << 16
"""Values of the checksum: a change goes unnoticed once in 65,536 times, for two tokens."""

_FIND_NUMBERS = 7
"""Numbers of a cursor. Those at the end are left out if they are 0."""


def place_of(score: float, path: str) -> FindPlace:
    """The sort key for a score: best first, then by path."""
    return FindPlace(-millionths(score), path)


def read_find_cursor(request: FindRequest) -> FindCursor:
    """Where `request` continues. Raises BadCursor if it was issued for other arguments."""
    if request.cursor is None:
        return _FIND_BEGINNING
    rest = _rest(request, request.cursor, _find_fingerprint(request))
    numbers, _, more = rest.partition(".")
    counts, _, paths = more.partition(".")
    try:
        cursor = _find_cursor([*map(_natural, numbers.split("_"))], counts, paths)
        if cursor.is_within if request.output == "files" else cursor.after:
            raise ValueError  # a part of it is lost
        return cursor
    except _UNREADABLE:
        raise _not_given(request, "a search") from None


def _natural(digits: str) -> int:
    """A number from 0 as cursors have it. Raises ValueError."""
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _NATURAL_DIGITS):
        raise ValueError
    return int(digits)


_NATURAL_DIGITS = 18


def _find_cursor(numbers: Sequence[int], counts: str, paths: str) -> FindCursor:
    """The cursor with these numbers and paths. Raises ValueError, BadPath, OutsideRoot."""
    if len(numbers) > _FIND_NUMBERS:
        raise ValueError
    number, length, other, state, file, best, line = (*numbers, *[0] * (_FIND_NUMBERS - len(numbers)))
    since, until, path = paths[:length], paths[length : length + other], paths[length + other :]
    first, last = (parse(path) if path else "" for path in (since, until))
    if len(since) + len(until) < length + other or state >= FIND_STATES or bool(best) != bool(line):
        raise ValueError
    if path:
        return FindCursor(first, number, (), last, after=FindPlace(-_natural(counts), parse(path)))
    shown = tuple(map(_natural, counts.split("-"))) if counts else ()
    cursor = FindCursor(first, number, shown, last, FindRest(file, best, line), state)
    if state and not number and not cursor.is_within:
        raise ValueError  # a part of it is lost
    return cursor


def write_find_cursor(request: FindRequest, cursor: FindCursor) -> str:
    """The cursor that continues `request` at this place."""
    since, until = (as_value(path) if path else "" for path in (cursor.since, cursor.until))
    rest = cursor.rest
    numbers = [cursor.round, len(since), len(until), cursor.state, rest.file, rest.best, rest.line]
    shown, paths = "-".join(map(str, cursor.counts)), f"{since}{until}"
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    if cursor.after is not None:
        shown, paths = str(-cursor.after.score), paths + as_value(cursor.after.path)
    place = ".".join(("_".join(map(str, numbers)), shown, paths)).rstrip(".")
    return f"{_find_fingerprint(request)}.{place}"


def _find_fingerprint(request: FindRequest) -> str:
    # Outlines have the order of passages, so that one can go on where the other ends.
    order = "files" if request.output == "files" else "parts"
    arguments = (
        *(request.query, request.path, request.glob, request.type, order),
        [*sorted(request.include), *(["documents"] if request.documents else [])],
    )
    return _digest(arguments, CURSOR_DIGITS)
