"""Outline a large text in the process that reads documents, and send it in pieces as a document's parts.

The caller joins the pieces, and trusts them only after `received` has checked them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import BinaryIO, final

import msgspec

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.limits import outline
from readroom.core.outline import TooMuchMemory, Unparsable, build
from readroom.core.outline.grammars import GRAMMARS
from readroom.core.outline.pieces import outline_in_pieces
from readroom.core.text.encodings import Encoding, decode
from readroom.core.values.files import Item, Outline
from readroom.documents.formats import Area, Heading, Part, Unit, Unreadable

_WHOLE_S, _PIECES_S = outline.LARGE_OUTLINE_S / 2, outline.LARGE_OUTLINE_S * 5 / 6
"""Processor time after which the process stops parsing a text as a whole, and stops parsing it in pieces."""


class OutlineJob(msgspec.Struct, frozen=True):
    """A text to outline, in this language and encoding, after `bom` bytes."""

    language: str
    encoding: str
    bom: int


@final
class _OutlinePieces:
    """An outline as a document whose parts are pieces of its JSON."""

    unit = Unit.SECTION
    contents: Sequence[Heading] = ()

    def __init__(self, text: str) -> None:
        size = outline.OUTLINE_PIECE_CHARS
        self._pieces = [text[at : at + size] for at in range(0, len(text), size)]
        self.titles = [""] * len(self._pieces)

    def part(self, number: int, area: Area | None = None) -> Part:
        return Part(number, "", [self._pieces[number - 1]])


def open_document(file: BinaryIO, argument: str) -> _OutlinePieces:
    """The outline that `argument`, an `OutlineAsked`, asks for. Raises Unreadable."""
    asked = msgspec.json.decode(argument, type=OutlineJob)
    file.seek(asked.bom)
    data = file.read(os.fstat(file.fileno()).st_size)
    text = decode(data, Encoding(asked.encoding))
    del data
    try:
        outline = _whole(text, asked.language) or outline_in_pieces(text, asked.language, _within(_PIECES_S))
    except Unparsable as problem:
        raise Unreadable(str(problem), "") from None
    except TimedOut:
        raise Unreadable("it takes too long to parse", "") from None
    return _OutlinePieces(msgspec.json.encode(outline).decode())


def _whole(text: str, language: str) -> Outline | None:
    """The outline of the whole text; None if that takes too much time or memory."""
    try:
        return build(text, language, _within(_WHOLE_S), isolated=True)
    except (TimedOut, TooMuchMemory):
        if language not in GRAMMARS:
            raise
    return None


def _within(seconds: float) -> Deadline:
    """A deadline in processor time, like the caller's: other processes may keep the processor longer."""
    return Deadline(seconds - time.process_time(), clock=time.process_time)


class UnsoundOutline(Exception):
    """The received data is not a valid outline of that text."""


def received(pieces: Sequence[str], language: str, total_lines: int) -> Outline:
    """Decode and check the outline that a process has sent in pieces. Raises UnsoundOutline."""
    try:
        found = msgspec.json.decode("".join(pieces), type=Outline)
    except (msgspec.DecodeError, RecursionError):
        raise UnsoundOutline from None
    if found.language != language or not _is_sound(found.items, 1, max(total_lines, 1), 0):
        raise UnsoundOutline
    return found


def _is_sound(items: Sequence[Item], first: int, last: int, depth: int) -> bool:
    return depth <= 2 * outline.OUTLINE_DEPTH and all(
        first <= item.start <= item.line <= item.end <= last
        and len(item.name) <= outline.OUTLINE_NAME_CHARS
        and len(item.signature) <= outline.OUTLINE_SIGNATURE_CHARS + outline.OUTLINE_NAME_CHARS + 1
        and "\n" not in item.signature + item.name
        and _is_sound(item.members, item.start, item.end, depth + 1)
        for item in items
    )
