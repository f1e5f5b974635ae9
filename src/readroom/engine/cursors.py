"""Where a search goes on: bound to its arguments, and by name instead of by number.

A cursor names the last file that was shown and how far into it, so that files
that come and go between two pages neither repeat nor hide others.
"""

from __future__ import annotations

import os
from hashlib import blake2s

from msgspec import Struct
from msgspec.structs import fields, replace

from readroom.errors import BadCursor, BadPath, OutsideRoot
from readroom.limits.find import CURSOR_DIGITS
from readroom.paths import parse
from readroom.quoting import as_value
from readroom.values import GrepRequest, GrepSort, ListRequest

# -----------------------------------------------------------------------------
# Where a listing goes on: bound to its arguments, and by name instead of by number.
#
# A cursor names the last entry that was shown, so that entries that come and go
# between two pages neither repeat nor hide others.
# -----------------------------------------------------------------------------


class ListPlace(Struct, frozen=True, order=True):
    """An entry's place in an order: a value, smaller ones first, then its path part by part as bytes."""

    value: int
    key: bytes


def path_key(path: str) -> bytes:
    """What sorts paths part by part: no name holds a NUL, and every other byte is larger."""
    return os.fsencode(path).replace(b"/", b"\0")


def write_cursor(request: ListRequest, value: int, path: str) -> str:
    """The cursor that continues `request` after the entry."""
    place = as_value(path) if request.sort == "name" else f"{value}.{as_value(path)}"
    return f"{_fingerprint(request)}.{place}"


def read_cursor(request: ListRequest) -> ListPlace | None:
    """The place after which `request` goes on; None at the beginning.

    Raises:
        BadCursor: It was not given for these arguments.
    """
    if request.cursor is None:
        return None
    again = replace(request, cursor=None)
    made_for, _, place = request.cursor.partition(".")
    if made_for != _fingerprint(request):
        raise BadCursor("was not given for these arguments", next_request=again)
    value = "0"
    if request.sort != "name":
        value, _, place = place.partition(".")
    try:
        return ListPlace(int(value), path_key(parse(place)))
    except (ValueError, BadPath, OutsideRoot):
        raise BadCursor("is not one that a listing gave", next_request=again) from None


def _fingerprint(request: ListRequest) -> str:
    order = (request.path, request.glob, request.depth, sorted(request.include), request.sort)
    return blake2s(repr(order).encode("utf-8", "surrogatepass")).hexdigest()[:CURSOR_DIGITS]


_GREP_DIGITS = 6
"""Hex digits of the arguments' fingerprint: a mix-up passes once in 16 million times, for 4 tokens."""

_WHOLE = "a"
"""Stands for a line number when all of a file was shown."""


class GrepPlace(Struct, frozen=True, order=True):
    """A file's place in an order: its rank, smaller ones first, then its path part by part as bytes."""

    rank: tuple[int, ...]
    key: bytes


class Cursor(Struct, frozen=True):
    """All files before `place` are done, and that file up to `line`; None: all of it."""

    place: GrepPlace
    path: str
    line: int | None


def end_of_folder(key: bytes) -> bytes:
    """What sorts behind everything below the folder with this key, and before all that follows it."""
    return key + b"\1"


def sort_of(request: GrepRequest) -> GrepSort:
    """The order of a search, with the default filled in: a text of several words comes best first."""
    if request.sort is not None:
        return request.sort
    if request.documents or "archives" in request.include:
        return "path"  # to rank them, all would have to be extracted
    return "relevance" if request.fixed and len(request.pattern.split()) > 1 else "path"


def write_grep_cursor(request: GrepRequest, rank: tuple[int, ...], path: str, line: int | None) -> str:
    """The cursor that continues `request` in a file after a line; None: after the file."""
    numbers = [_WHOLE if line is None else str(line), *map(str, rank)]
    return ".".join((_grep_fingerprint(request), "_".join(numbers), as_value(path)))


def read_grep_cursor(request: GrepRequest) -> Cursor | None:
    """Where `request` goes on; None at the beginning.

    Raises:
        BadCursor: It was not given for these arguments.
    """
    if request.cursor is None:
        return None
    again = replace(request, cursor=None)
    made_for, _, rest = request.cursor.partition(".")
    if made_for != _grep_fingerprint(request):
        raise BadCursor("was not given for these arguments", next_request=again)
    numbers, _, quoted = rest.partition(".")
    line, *rank = numbers.split("_")
    try:
        path = parse(quoted)
        place = GrepPlace(tuple(map(int, rank)), path_key(path))
        return Cursor(place, path, None if line == _WHOLE else int(line))
    except (ValueError, BadPath, OutsideRoot):
        raise BadCursor("is not one that a search gave", next_request=again) from None


_SPELLED_OUT = ("pattern", "path", "glob", "type", "output", "ignore_case", "multiline", "fixed", "include")
"""Of a search: what stands in its fingerprint, beside the order and whether documents are searched."""

_FREE = ("before", "after", "limit", "cursor", "timeout_s", "symbols", "skip", "options")
"""What may change from page to page."""

_MORE = tuple(
    field.name
    for field in fields(GrepRequest)
    if field.name not in (*_SPELLED_OUT, *_FREE, "sort", "documents")
)


def _default(name: str) -> object:
    return getattr(_PLAIN, name)


_PLAIN = GrepRequest("")


def _grep_fingerprint(request: GrepRequest) -> str:
    order = (
        *(request.pattern, request.path, request.glob, request.type, request.output),
        *(request.ignore_case, request.multiline, request.fixed, sorted(request.include), sort_of(request)),
        request.documents,
        # What else is asked for changes the order of matches, as far as anybody knows.
        *((name, getattr(request, name)) for name in _MORE if getattr(request, name) != _default(name)),
    )
    return blake2s(repr(order).encode("utf-8", "surrogatepass")).hexdigest()[:_GREP_DIGITS]
