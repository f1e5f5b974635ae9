"""Binary workbooks (.xlsb) written record by record."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence

from tests.formats.documents.packages import zipped

TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"


def record(kind: int, data: bytes = b"") -> bytes:
    """A record: its kind and size in groups of seven bits."""
    head = bytes((kind,)) if kind < 0x80 else bytes((kind & 0x7F | 0x80, kind >> 7))
    size, left = b"", len(data)
    while True:
        size += bytes((left & 0x7F | (0x80 if left > 0x7F else 0),))
        left >>= 7
        if not left:
            return head + size + data


def string(text: str) -> bytes:
    """A text with its length."""
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def row(number: int, *cells: bytes, hidden: bool = False) -> bytes:
    """A row, numbered from 1, and its cells."""
    return record(0, struct.pack("<IIHHBI", number - 1, 0, 300, 0x10 << 8 if hidden else 0, 0, 0)) + b"".join(
        cells
    )


def text(column: int, words: str) -> bytes:
    """A cell with a text, its column from 1."""
    return record(6, struct.pack("<II", column - 1, 0) + string(words))


def number(column: int, value: float) -> bytes:
    """A cell with a number."""
    return record(5, struct.pack("<IId", column - 1, 0, value))


def formula(column: int, value: float) -> bytes:
    """A cell with a formula, and its result."""
    return record(9, struct.pack("<IIdHII", column - 1, 0, value, 0, 0, 0))


def sheet(*rows: bytes, before: bytes = b"", behind: bytes = b"") -> bytes:
    """A sheet with these rows, and records around them."""
    size = record(148, struct.pack("<4I", 0, 1_048_575, 0, 16_383))
    return record(129) + size + before + record(145) + b"".join(rows) + record(146) + behind + record(130)


def relations(*entries: tuple[str, str, str]) -> str:
    """A part that says what another one refers to."""
    inner = "".join(
        f'<Relationship Id="{key}" Type="{TYPES}/{kind}" Target="{target}"/>' for key, kind, target in entries
    )
    return f'<Relationships xmlns="{PACKAGE}">{inner}</Relationships>'


def workbook(
    sheets: Mapping[str, bytes],
    *,
    hidden: Sequence[str] = (),
    beside: bytes = b"",
    members: Mapping[str, str | bytes] | None = None,
    compression: int = zipfile.ZIP_DEFLATED,
) -> bytes:
    """A workbook of these sheets; `beside` are records of the workbook."""
    listed = b"".join(
        record(156, struct.pack("<II", name in hidden, at) + string(f"r{at}") + string(name))
        for at, name in enumerate(sheets, 1)
    )
    related = relations(
        *((f"r{at}", "worksheet", f"worksheets/sheet{at}.bin") for at in range(1, len(sheets) + 1))
    )
    parts = {f"xl/worksheets/sheet{at}.bin": data for at, data in enumerate(sheets.values(), 1)}
    return zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": relations(("r0", "officeDocument", "xl/workbook.bin")),
            "xl/workbook.bin": record(131) + record(143) + listed + record(144) + beside + record(132),
            "xl/_rels/workbook.bin.rels": related,
            **parts,
            **(members or {}),
        },
        compression,
    ).getvalue()
