"""A whole file as it is searched: UTF-8 whatever its encoding, and whether it is UTF-16 without a mark.

Piece by piece, so that beside the result only a block is held.
"""

from __future__ import annotations

import io
import re

from readroom.limits import BLOCK_BYTES
from readroom.model import Bytes
from readroom.text.encodings import STATEFUL, Encoding, decode, prefix, visible
from readroom.text.guess import SWITCHES, is_journal

WIDE_UNITS = 1023
"""Two-byte units before the first that is ASCII: no line or blank in a thousand characters is no text."""

_LATIN = rb"[\t\n\r\x20-\x7e]"
_LOW = rb"[\t\n\r\x20-\x7e\xa0-\xff]"
_HIGH = rb"[\x01-\x06\x09\x0e\x10\x1e\x20-\x30\x4e-\x9f\xac-\xdf\xff]"
WIDE = (
    rb"(?s)\A(?:(?:%(low)b\x00|[\x00-\xff]%(high)b){0,%(most)d}?%(latin)b\x00"
    rb"|(?:\x00%(low)b|%(high)b[\x00-\xff]){0,%(most)d}?\x00%(latin)b"
    rb"|(?:[\x00-\xff]{2}[\x00\x01]\x00){0,%(most)d}?%(latin)b\x00{3}"
    rb"|(?:\x00[\x00\x01][\x00-\xff]{2}){0,%(most)d}?\x00{3}%(latin)b"
    rb"|\xff\xfe\x00\x00|\x00\x00\xfe\xff)"
) % {b"low": _LOW, b"high": _HIGH, b"latin": _LATIN, b"most": WIDE_UNITS}
"""How files begin that may be UTF-16 or UTF-32 and are not known by a mark to programs that know UTF-16 only:
units of scripts that text is written in up to one that is ASCII, in either order. Few other files do."""

_WIDE = re.compile(WIDE)


def is_wide_unmarked(head: bytes, encoding: Encoding | None) -> bool:
    """Whether a file that starts with `head` and has this encoding can only be found by how it begins."""
    if encoding is not None and encoding.name in STATEFUL:
        return SWITCHES.match(head) is not None
    if encoding is not None and is_journal(head):
        return True
    if encoding is None or encoding.unit == 1 or (encoding.unit == 2 and encoding.bom):
        return False
    return _WIDE.match(head) is not None


def to_utf8(data: Bytes, encoding: Encoding, *, keep_cr: bool) -> bytes:
    """All characters without the mark, in UTF-8; what is no character is U+FFFD.

    Without `keep_cr` lines that CR LF ends end with LF.
    """
    found = io.BytesIO()
    at, left, held_back = len(encoding.bom), b"", ""
    while True:
        block = data.read_at(at, BLOCK_BYTES)
        at += len(block)
        piece = left + block
        size = prefix(piece, encoding) if block else len(piece)
        left = piece[size:]
        text = held_back + visible(decode(piece[:size], encoding))
        held_back = ""
        if not keep_cr:
            if block and text.endswith("\r"):
                text, held_back = text[:-1], "\r"
            text = text.replace("\r\n", "\n")
        found.write(text.encode())
        if not block:
            return found.getvalue()
