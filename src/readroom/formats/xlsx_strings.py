"""The shared strings of a workbook, of which some rows need a few.

Cells refer to texts by number.  The table of texts goes by in pieces, and those
that nobody asked for are left empty, so that a library gets a small one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from readroom.formats.archives import ANOTHER_COPY
from readroom.formats.documents import Unreadable
from readroom.limits_documents import SHARED_STRINGS, STRING_BYTES

_ITEM = re.compile(rb"<(?:\w+:)?si(?=[\s/>])")
_END = re.compile(rb"</(?:\w+:)?sst\s*>")
_SHARED = re.compile(
    rb"""<(?:\w+:)?c(?=[\s>])[^>]*\st\s*=\s*["']s["'][^>]*>\s*<(?:\w+:)?v\s*>\s*(\d{1,9})\s*</"""
)
_EMPTY = b"<si><t></t></si>"


def referred(rows: bytes) -> frozenset[int]:
    """The numbers of the texts that the cells of these rows are."""
    return frozenset(map(int, _SHARED.findall(rows)))


def only(pieces: Iterator[bytes], needed: frozenset[int]) -> bytes:
    """The table of texts, up to the last that is needed, all others empty.

    Raises:
        Unreadable: There are too many, or one is too long.
    """
    last = max(needed)
    if last >= SHARED_STRINGS:
        raise Unreadable(
            f"it has more than {SHARED_STRINGS:,} texts", "Ask for the workbook in smaller pieces, or as CSV."
        )
    items: list[bytes] = []
    rest = b""
    for piece in pieces:
        rest += piece
        starts = [found.start() for found in _ITEM.finditer(rest)]
        for start, end in pairwise(starts):
            items.append(rest[start:end] if len(items) in needed else _EMPTY)
        rest = rest[starts[-1] :] if starts else rest
        if len(items) > last:
            break
        if len(rest) > STRING_BYTES:
            raise Unreadable(f"it has a text of more than {STRING_BYTES:,} bytes", ANOTHER_COPY)
    else:
        found = _END.search(rest)
        items.append(rest[: found.start()] if found else _EMPTY)
    return b"<sst>" + b"".join(items[: last + 1]) + b"</sst>"
