"""Values of cells as text on one line, and rows as aligned text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import date, datetime, time
from typing import Any

from msgspec import Struct

from readroom.limits.documents import BLOB_BYTES, PADDED_CHARS

SEPARATOR = " | "
NULL = "NULL"

_BREAKS = re.compile("\r\n|[\0\t\r\n\v\f\x1c-\x1e\x85\u2028\u2029]")


class Clipped(Struct, frozen=True):
    """The beginning of a longer value: characters of a text or bytes of a binary one, `size` in all."""

    value: str | bytes
    size: int


def cell(value: object, chars: int) -> tuple[str, bool]:
    """The value on one line, cut behind so many characters, and whether it was.

    An absent value is NULL, a text that could be taken for that, or that is empty, stands in quotes.
    """
    size = value.size if isinstance(value, Clipped) else None
    if isinstance(value, Clipped):
        value = value.value
    if isinstance(value, bytes | bytearray | memoryview):
        return _binary(bytes(value), len(value) if size is None else size), False
    if isinstance(value, str):
        quoted = value in ("", NULL) and size is None
        text = f"'{value}'" if quoted else value
    else:
        text = _plain(value)
    total = len(text) if size is None else max(size, len(text))
    escaped = _BREAKS.sub(_escaped, text[:chars])
    return (f"{escaped} [+{total - chars:,} chars]", True) if total > chars else (escaped, False)


def _escaped(match: re.Match[str]) -> str:
    mark = match[0]
    return {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\r\n": "\\n"}.get(mark, f"\\u{ord(mark[-1]):04x}")


def _binary(value: bytes, size: int) -> str:
    if size == len(value) <= 4 * BLOB_BYTES and value and value.isascii() and value.decode().isprintable():
        return f"b'{value.decode()}'"
    digits = value[:BLOB_BYTES].hex()
    more = "…" if size > BLOB_BYTES else ""
    return f"x'{digits}{more}' ({size:,} bytes)"


def _plain(value: object) -> str:
    if value is None:
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=_nested, skipkeys=True)
    return str(value)


def _nested(value: Any) -> str:
    return cell(value, 1_000)[0]


def aligned(
    names: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[bool]
) -> tuple[str, list[str]]:
    """The line above rows, and the rows, columns below each other; numbers stand at the right.

    A cell longer than PADDED_CHARS moves what follows in its row, not in all others.
    """
    widths = [
        min(PADDED_CHARS, max([len(name), *(len(row[at]) for row in rows)])) for at, name in enumerate(names)
    ]
    header = _line(names, widths, numbers)
    return header, [_line(row, widths, numbers) for row in rows]


def _line(cells: Sequence[str], widths: Sequence[int], numbers: Sequence[bool]) -> str:
    padded = [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(cells, widths, numbers, strict=True)
    ]
    return SEPARATOR.join(padded).rstrip()
