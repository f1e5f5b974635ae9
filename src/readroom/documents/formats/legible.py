"""A reader of bytes that have no reader of their own: their size, and the texts among them.

It stands where a note counts something that only its own program opens: a binary attachment, an embedded
object, a stream of a macro project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from readroom.core.limits import HEAD_BYTES
from readroom.core.text import encodings

LEGIBLE_BYTES = 1024 * 1024
"""Bytes in which texts are looked for; headers, names and paths of most forms are at their beginning."""

LEGIBLE_LINES = 200
"""Texts that are shown; more are counted."""

_LINE_CHARS = 400
_FIRST = 32
"""Bytes shown in hexadecimal where there is no text at all: the magic number of a form, and what follows."""

_RUNS = re.compile(rb"[\x20-\x7e]{5,}|(?:[\x20-\x7e]\0){5,}|(?:\0[\x20-\x7e]){5,}")


def legible(data: bytes) -> list[str]:
    """Lines about these bytes: all of them where they are text, else the texts of five letters or more."""
    head = data[:HEAD_BYTES]
    found = encodings.detect(head, complete=len(data) <= HEAD_BYTES) if b"\0" not in head else None
    if data and found is not None:
        text = encodings.decode(data[:LEGIBLE_BYTES], found).replace("\r\n", "\n").replace("\r", "\n")
        return [f"{_size(data)} of text:", *text.rstrip("\n").split("\n")]
    texts = list(_texts(data[:LEGIBLE_BYTES]))
    if not texts:
        first = data[:_FIRST].hex(" ")
        return [f"{_size(data)} without text" + (f", the first: {first}" if first else "")]
    left = len(texts) - LEGIBLE_LINES
    more = [f"({left:,} more texts are not shown)"] if left > 0 else []
    return [f"{_size(data)}, with these texts:", *texts[:LEGIBLE_LINES], *more]


def _size(data: bytes) -> str:
    return f"{len(data):,} byte{'' if len(data) == 1 else 's'}"


def _texts(data: bytes) -> Iterator[str]:
    for run in _RUNS.finditer(data):
        words = run[0].replace(b"\0", b"").decode("ascii").strip()
        if words:
            yield words if len(words) <= _LINE_CHARS else f"{words[:_LINE_CHARS]}…"
