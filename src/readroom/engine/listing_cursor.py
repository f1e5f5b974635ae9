"""Where a listing goes on: bound to its arguments, and by name instead of by number.

A cursor names the last entry that was shown, so that entries that come and go
between two pages neither repeat nor hide others.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from hashlib import blake2s

from readroom.errors import BadCursor, BadPath, OutsideRoot
from readroom.model import ListRequest
from readroom.paths import parse
from readroom.quoting import as_value

_DIGITS = 6
"""Hex digits of the arguments' fingerprint: a mix-up passes once in 16 million times, for 4 tokens."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
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


def read_cursor(request: ListRequest) -> Place | None:
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
        return Place(int(value), path_key(parse(place)))
    except (ValueError, BadPath, OutsideRoot):
        raise BadCursor("is not one that a listing gave", next_request=again) from None


def _fingerprint(request: ListRequest) -> str:
    order = (request.path, request.glob, request.depth, sorted(request.include), request.sort)
    return blake2s(repr(order).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
