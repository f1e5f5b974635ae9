"""Shapes of Word and PowerPoint before 2007 (Escher): their properties and their words."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from readroom.documents.formats.ppt.records import OPTIONS, SHAPE, Record, records

PICTURE = 0x104
"""The property that says which picture a shape shows."""

_WORD_ART, _NAME, _DESCRIPTION = 0xC0, 0x380, 0x381
_ABOUT, _DRAWINGS = 0xF00A, 0xF002
_ALL = 0xF000


def options(record: Record) -> Iterator[tuple[int, int, bytes]]:
    """The properties of a shape: their numbers, values, and the bytes of long ones."""
    data = record.data
    count = min(record.instance, len(data) // 6)
    at = 6 * count
    for number in range(count):
        key, value = struct.unpack_from("<HI", data, 6 * number)
        long = b""
        if key & 0x8000:
            long = bytes(data[at : at + value])
            at += value
        yield key & 0x3FFF, value, long


def word_art(record: Record) -> Iterator[str]:
    """The words that a shape draws."""
    for key, _, long in options(record):
        if key == _WORD_ART and long:
            yield _words(long)


def described(record: Record) -> str:
    """The author's description of a shape."""
    descriptions = (_words(long) for key, _, long in options(record) if key == _DESCRIPTION)
    return " ".join(" ".join(descriptions).split())


def _words(long: bytes) -> str:
    return long[: len(long) // 2 * 2].decode("utf-16-le", "replace").strip("\0")


def of_word(table: bytes) -> Mapping[int, str]:
    """A line about each shape of a Word document, by its number: its words, and whether it is a picture.

    `table` has a list of what all drawings share, then each drawing after a byte that says of which story.
    """
    found: dict[int, str] = {}
    view = memoryview(table)
    first = next(records(view), None)
    at = 0 if first is None or first.kind != _ALL else 8 + len(first.data)
    while at and at + 9 <= len(view):
        drawing = next(records(view, at + 1))
        if drawing.kind != _DRAWINGS:
            break
        for record in drawing.walk():
            if record.kind == SHAPE and record.holds and (about := record.first(_ABOUT)) is not None:
                found[int.from_bytes(about.data[:4], "little")] = _known(record)
        at += 9 + len(drawing.data)
    return found


def _known(shape: Record) -> str:
    held = shape.first(OPTIONS)
    if held is None:
        return ""
    is_picture = any(key == PICTURE for key, _, _ in options(held))
    names = [_words(long) for key, _, long in options(held) if key == _NAME]
    words = "; ".join(filter(None, (*word_art(held), described(held), *names)))
    return ": ".join(filter(None, ("picture" if is_picture else "", " ".join(words.split()))))
