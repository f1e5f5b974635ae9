"""A document format of a few lines, for the tests: what a new one takes.

A row of the table and a module that opens a file; nothing else knows of it.
"""

from __future__ import annotations

from readroom.core.formats.registry import Format

MAGIC = b"\0TOY\0"
TOY = Format(
    name="toy",
    opener="tests.documents.toy.reader",
    flat="tests.documents.toy.reader",
    suffixes=("toy",),
    magic=(MAGIC,),
)


def sample(*pages: tuple[str, str]) -> bytes:
    """A document of these pages, each a title and a text."""
    return MAGIC + turned("\f".join(f"{title}\n{text}" for title, text in pages).encode())


def turned(data: bytes) -> bytes:
    """Every bit of it turned, so that only its reader sees words."""
    return bytes(byte ^ 0xFF for byte in data)
