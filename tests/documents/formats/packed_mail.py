"""Messages as Outlook packs them for others of its kind (TNEF), written byte by byte."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

MAGIC = b"\x78\x9f\x3e\x22"
SUBJECT, BODY, BEGIN, TITLE, DATA = 0x18004, 0x2800C, 0x69002, 0x18010, 0x6800F
PROPERTIES, ATTACHED, RECIPIENTS, PAGE = 0x69003, 0x69005, 0x69004, 0x69007


def attribute(name: int, value: bytes, level: int = 1) -> bytes:
    return struct.pack("<BII", level, name, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def packed(*attributes: bytes) -> bytes:
    """A message of these attributes."""
    return MAGIC + b"\1\0" + b"".join(attributes)


def properties(values: Mapping[int, str | bytes | int], *rows: bytes) -> bytes:
    """Properties by their numbers: texts, bytes, numbers; `rows` are others, as they stand."""
    return struct.pack("<I", len(values) + len(rows)) + b"".join(
        [*(_property(key, value) for key, value in values.items()), *rows]
    )


def _property(key: int, value: str | bytes | int) -> bytes:
    if isinstance(value, int):
        return struct.pack("<HHI", 3, key, value)
    kind, data = (0x1F, value.encode("utf-16-le")) if isinstance(value, str) else (0x102, value)
    return struct.pack("<HHII", kind, key, 1, len(data)) + data + b"\0" * (-len(data) % 4)


def object_of(message: bytes) -> bytes:
    """The property of an attachment that is a message itself."""
    data = bytes(16) + message
    return struct.pack("<HHII", 0x0D, 0x3701, 1, len(data)) + data + b"\0" * (-len(data) % 4)


def named(key: int, name: str, value: int) -> bytes:
    """A property that a program gave a name of its own."""
    words = name.encode("utf-16-le")
    head = struct.pack("<HH", 3, key) + bytes(16) + struct.pack("<II", 1, len(words))
    return head + words + b"\0" * (-len(words) % 4) + struct.pack("<I", value)


def attachment(name: str, data: bytes, **more: bytes) -> Sequence[bytes]:
    """The attributes of an attachment; `more` are its properties."""
    rows = [attribute(BEGIN, bytes(14), 2), attribute(DATA, data, 2), attribute(TITLE, name.encode(), 2)]
    return [*rows, *(attribute(ATTACHED, value, 2) for value in more.values())]
