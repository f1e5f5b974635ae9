"""The protocol between the engine and the process that extracts a document.

An answer is two lengths, a JSON object and the bytes of pictures. The process may have been taken over by a
hostile file: lengths are bounded before anything is read, and an object of any other form is not an answer.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

import msgspec

from readroom.documents.formats import Unit

LENGTHS = struct.Struct("!II")
"""Lengths of the object and of the pictures after it."""


class Opened(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The document is open. `titles` are empty when no part has one, `names` when no part is a file."""

    unit: Unit
    total: int
    titles: list[str]
    contents: list[tuple[int, str, int]]
    names: list[str] = []


class Extracted(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """One part. `pictures` are MIME types and sizes; `left_out` counts lines that were too many."""

    title: str
    lines: list[str]
    pictures: list[tuple[str, int]]
    header: str | None
    first_row: int
    total_rows: int | None
    notes: list[str]
    brief: int | None
    total_known: bool
    left_out: int
    naming: list[tuple[str, str]] = []
    rows: list[int] = []
    figures: int = 0
    counted: list[str] = []
    is_bare: bool = False
    formulas: int = 0
    drawn: tuple[int, int] = (0, 0)


class Refused(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """It cannot be read, or this part of it cannot."""

    problem: str
    advice: str
    encrypted: bool
    no_column: bool = False


class Wanted(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Bytes of the document that it needs before it can answer; exactly these are sent to it."""

    offset: int
    size: int


RANGE_BYTES = 256 * 1024
"""The most that is wanted at once."""

Answer: TypeAlias = Opened | Extracted | Refused | Wanted

DECODER: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)
