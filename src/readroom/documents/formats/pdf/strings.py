"""Texts that PDFium writes into a buffer, once it is known how long they are."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from pypdfium2 import raw

PDF_VALUE_BYTES = 2 * 1024 * 1024
"""The value of a field or a note in UTF-16."""


def ascii_text(read: Callable[[Any, int], int]) -> str:
    """A text in bytes; empty if it is missing or too long."""
    size = read(None, 0)
    if not 1 < size <= PDF_VALUE_BYTES:
        return ""
    room = ctypes.create_string_buffer(size)
    read(room, size)
    return room.raw[: size - 1].decode("utf-8", "replace").strip()


def wide_text(read: Callable[[Any, int], int]) -> str:
    """A text in UTF-16."""
    size = read(None, 0)
    if size <= 2 or size > PDF_VALUE_BYTES:
        return "" if size <= 2 else "[a value that is too long]"
    room = (ctypes.c_uint16 * (size // 2 + 1))()
    read(ctypes.cast(room, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return bytes(room)[: size - 2].decode("utf-16-le", "replace").rstrip("\0")
