"""Workbooks of Excel before 2007 by xlwt, with what it does not write: comments, other spellings of names."""

from __future__ import annotations

import io
import struct

import xlwt

_END = b"\x0a\x00\x00\x00"


def saved(book: xlwt.Workbook) -> bytes:
    """The bytes of the file."""
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def entry(name: str) -> bytes:
    """A stream's name as the directory of an OLE file has it."""
    return name.encode("utf-16-le").ljust(64, b"\0") + (2 * len(name) + 2).to_bytes(2, "little")


def renamed(data: bytes, name: str) -> bytes:
    """The workbook with another name for its stream."""
    assert entry("Workbook") in data
    return data.replace(entry("Workbook"), entry(name))


def comment(sheet: xlwt.Worksheet, row: int, column: int, author: str, text: str) -> None:
    """Put a comment on a cell."""
    shape = struct.pack("<HHHHH12xHH", 0x15, 0x12, 0x19, 1, 0x4011, 0, 0)
    words = _record(0x1B6, struct.pack("<HH6xHH4x", 0, 0, len(text), 16))
    words += _record(0x3C, b"\0" + text.encode("latin-1")) + _record(0x3C, bytes(16))
    said = struct.pack("<HHHHHB", row, column, 0, 1, len(author), 0) + author.encode("latin-1") + b"\0"
    written, records = sheet.get_biff_data, _record(0x5D, shape) + words + _record(0x1C, said)

    def with_comment() -> bytes:
        data: bytes = written()
        assert data.endswith(_END)
        return data.removesuffix(_END) + records + _END

    sheet.get_biff_data = with_comment


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data
