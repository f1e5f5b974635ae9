"""Where a search goes on: bound to its arguments, and by name instead of by number.

A cursor names the last file that was shown and how far into it, so that files
that come and go between two pages neither repeat nor hide others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2s

from readroom.engine.listing_cursor import path_key
from readroom.errors import BadCursor, BadPath, OutsideRoot
from readroom.model import GrepRequest, GrepSort
from readroom.paths import parse
from readroom.quoting import as_value

_DIGITS = 6
"""Hex digits of the arguments' fingerprint: a mix-up passes once in 16 million times, for 4 tokens."""

_WHOLE = "a"
"""Stands for a line number when all of a file was shown."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A file's place in an order: its rank, smaller ones first, then its path part by part as bytes."""

    rank: tuple[int, ...]
    key: bytes


@dataclass(frozen=True, slots=True)
class Cursor:
    """All files before `place` are done, and that file up to `line`; None: all of it."""

    place: Place
    path: str
    line: int | None


def end_of_folder(key: bytes) -> bytes:
    """What sorts behind everything below the folder with this key, and before all that follows it."""
    return key + b"\1"


def sort_of(request: GrepRequest) -> GrepSort:
    """The order of a search, with the default filled in: a text of several words comes best first."""
    if request.sort is not None:
        return request.sort
    if request.documents:
        return "path"  # to rank them, all would have to be extracted
    return "relevance" if request.fixed and len(request.pattern.split()) > 1 else "path"


def write_cursor(request: GrepRequest, rank: tuple[int, ...], path: str, line: int | None) -> str:
    """The cursor that continues `request` in a file after a line; None: after the file."""
    numbers = [_WHOLE if line is None else str(line), *map(str, rank)]
    return ".".join((_fingerprint(request), "_".join(numbers), as_value(path)))


def read_cursor(request: GrepRequest) -> Cursor | None:
    """Where `request` goes on; None at the beginning.

    Raises:
        BadCursor: It was not given for these arguments.
    """
    if request.cursor is None:
        return None
    again = replace(request, cursor=None)
    made_for, _, rest = request.cursor.partition(".")
    if made_for != _fingerprint(request):
        raise BadCursor("was not given for these arguments", next_request=again)
    numbers, _, shown = rest.partition(".")
    line, *rank = numbers.split("_")
    try:
        path = parse(shown)
        place = Place(tuple(map(int, rank)), path_key(path))
        return Cursor(place, path, None if line == _WHOLE else int(line))
    except (ValueError, BadPath, OutsideRoot):
        raise BadCursor("is not one that a search gave", next_request=again) from None


def _fingerprint(request: GrepRequest) -> str:
    order = (
        *(request.pattern, request.path, request.glob, request.type, request.output),
        *(request.ignore_case, request.multiline, request.fixed, sorted(request.include), sort_of(request)),
        request.documents,
    )
    return blake2s(repr(order).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
