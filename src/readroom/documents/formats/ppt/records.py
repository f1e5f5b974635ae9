"""Records of a PowerPoint file from before 2007: a type, an instance, and bytes or further records."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from msgspec import Struct

MAX_DEPTH = 40
"""Records in records; shapes in groups in groups have some 20."""

DOCUMENT, SLIDE, NOTES, MASTER = 1000, 1006, 1008, 1016
LIST, PERSIST, DRAWING = 4080, 1011, 1036
TEXT_KIND, TEXT_WIDE, TEXT_NARROW, TEXT_STRING, TEXT_OUTLINE = 3999, 4000, 4008, 4026, 3998
EDIT, PLACES, HEADERS, COMMENT, SLIDE_SHOW, OLE_TEXT = 4085, 6002, 4057, 12000, 1017, 3035
ENCRYPTED, MACROS, FILM, LINK = 12052, 1023, 4102, 4055
GROUP, SHAPE, TEXT_BOX, PLACE, CLIENT, PICTURE, OPTIONS = (
    0xF003, 0xF004, 0xF00D, 0xF00F, 0xF011, 0xF01E, 0xF00B,
)  # fmt: skip
PLACEHOLDER = 3011


class Record(Struct, frozen=True):
    """A record with its content and where it begins in the stream."""

    kind: int
    instance: int
    holds: bool
    data: memoryview
    start: int

    def __iter__(self) -> Iterator[Record]:
        return records(self.data) if self.holds else iter(())

    def walk(self, depth: int = 0) -> Iterator[Record]:
        """All records inside, in order, a container before its content."""
        for record in self:
            yield record
            if depth < MAX_DEPTH:
                yield from record.walk(depth + 1)

    def first(self, kind: int) -> Record | None:
        """The first record of a kind directly inside."""
        return next((record for record in self if record.kind == kind), None)


def records(data: memoryview, start: int = 0) -> Iterator[Record]:
    """The records that follow one another from a place on; a damaged one ends them."""
    while start + 8 <= len(data):
        head, kind, size = struct.unpack_from("<HHI", data, start)
        if start + 8 + size > len(data) and start:
            size = len(data) - start - 8  # cut short: the rest of the last one
        yield Record(kind, head >> 4, head & 0xF == 0xF, data[start + 8 : start + 8 + size], start)
        start += 8 + size


def text(record: Record) -> str:
    """The text of a record that is one; line ends inside a paragraph are vertical tabs."""
    data = bytes(record.data)
    if record.kind == TEXT_NARROW:
        return data.decode("latin-1")
    return data[: len(data) // 2 * 2].decode("utf-16-le", "replace")
