"""The outline of a large text, made in the process that reads documents: its pieces are the document's parts.

Whoever asks joins the pieces, and believes nothing of them but what `received` has checked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import BinaryIO, final

import msgspec

from readroom.deadline import Deadline
from readroom.formats.documents import Area, Heading, Part, Unit, Unreadable
from readroom.limits.outline import (
    LARGE_OUTLINE_S,
    OUTLINE_DEPTH,
    OUTLINE_NAME_CHARS,
    OUTLINE_PIECE_CHARS,
    OUTLINE_SIGNATURE_CHARS,
)
from readroom.outline import Unparsable, build
from readroom.text.encodings import Encoding, decode
from readroom.values.files import Item, Outline


class OutlineAsked(msgspec.Struct, frozen=True):
    """Which outline: of a text in that language, decoded so."""

    language: str
    encoding: str
    bom: int


@final
class _OutlinePieces:
    """An outline as a document of so many parts."""

    unit = Unit.SECTION
    contents: Sequence[Heading] = ()

    def __init__(self, text: str) -> None:
        size = OUTLINE_PIECE_CHARS
        self._pieces = [text[at : at + size] for at in range(0, len(text), size)]
        self.titles = [""] * len(self._pieces)

    def part(self, number: int, area: Area | None = None) -> Part:
        return Part(number, "", [self._pieces[number - 1]])


def open_document(file: BinaryIO, argument: str) -> _OutlinePieces:
    """The outline that `argument`, an `OutlineAsked`, is about. Raises Unreadable."""
    asked = msgspec.json.decode(argument, type=OutlineAsked)
    file.seek(asked.bom)
    data = file.read(os.fstat(file.fileno()).st_size)
    text = decode(data, Encoding(asked.encoding))
    del data
    # By its own work, as whoever waits for it counts: others may keep the processor for longer.
    within = Deadline(LARGE_OUTLINE_S, clock=time.process_time)
    try:
        outline = build(text, asked.language, within, isolated=True)
    except Unparsable as problem:
        raise Unreadable(str(problem), "") from None
    return _OutlinePieces(msgspec.json.encode(outline).decode())


class UnsoundOutline(Exception):
    """What was received is no outline of that text."""


def received(pieces: Sequence[str], language: str, total_lines: int) -> Outline:
    """The outline that a process has sent in pieces. Raises UnsoundOutline."""
    try:
        found = msgspec.json.decode("".join(pieces), type=Outline)
    except (msgspec.DecodeError, RecursionError):
        raise UnsoundOutline from None
    if found.language != language or not _is_sound(found.items, 1, max(total_lines, 1), 0):
        raise UnsoundOutline
    return found


def _is_sound(items: Sequence[Item], first: int, last: int, depth: int) -> bool:
    return depth <= 2 * OUTLINE_DEPTH and all(
        first <= item.start <= item.line <= item.end <= last
        and len(item.name) <= OUTLINE_NAME_CHARS
        and len(item.signature) <= OUTLINE_SIGNATURE_CHARS + OUTLINE_NAME_CHARS + 1
        and "\n" not in item.signature + item.name
        and _is_sound(item.members, item.start, item.end, depth + 1)
        for item in items
    )
