"""Which codec unmarked bytes are in, or that they are no text at all.

From sure to likely: UTF-16 or UTF-32, where the place of the NULs or the letters
that result prove it; git's rule that a NUL makes a file binary; UTF-8, also with
a few broken bytes, which are then reported rather than the whole file turned into
other letters; the guess of charset-normalizer among encodings that files are
really kept in; Windows-1252; Latin-1.
"""

from __future__ import annotations

import re
import unicodedata

NUL_BYTES = 8000
"""git calls a file binary when a NUL is among its first 8,000 bytes."""

CONTROLS = bytes([*range(7), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])
"""Bytes that text does not use: C0 without the bell, backspace, tab, line, page and escape of logs."""

CONTROL_SHARE = 0.10
"""More control characters than this is binary even where it happens to be valid UTF-8."""

LEGACY_CONTROL_SHARE = 0.02
"""The same for bytes that are not UTF-8: a tenth of random bytes are controls, none of legacy text."""

VALID_TO_BROKEN = 3
"""Broken UTF-8 is UTF-8 with this many multi-byte characters per broken byte; legacy text has below 1."""

WIDE = (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2))


def codec(head: bytes, *, complete: bool) -> str | None:
    """The codec of a file that starts with `head` and has no byte order mark; None when it is not text."""
    controls = len(head) - len(head.translate(None, CONTROLS))
    if controls and (name := _wide(head)):
        return name
    if b"\0" in head[:NUL_BYTES] or controls > CONTROL_SHARE * len(head):
        return None
    if _is_utf8(head, complete=complete):
        return "utf-8"
    if controls > LEGACY_CONTROL_SHARE * len(head):
        return None
    return _legacy(head if complete else _whole_lines(head))


def _is_utf8(head: bytes, *, complete: bool) -> bool:
    if head.isascii():
        return True
    text = head.decode("utf-8", "surrogateescape")
    if not complete:
        text = text.rstrip("".join(map(chr, range(0xDC80, 0xDD00))))
    broken = len(re.findall("[\udc80-\udcff]", text))
    if not broken:
        return True
    valid = len(re.findall("[^\0-\x7f\udc80-\udcff]", text))
    return valid >= VALID_TO_BROKEN * broken


def _whole_lines(head: bytes) -> bytes:
    return head[: head.rfind(b"\n") + 1] or head


def _wide(head: bytes) -> str | None:
    for name, unit in WIDE:
        sample = head[: min(len(head), 4096) // unit * unit]
        try:
            text = sample.decode(name)
        except UnicodeDecodeError as error:
            if error.end < len(sample):
                continue
            text = sample[: error.start].decode(name)
        if text and _reads_as_text(text):
            return name
    return None


def _reads_as_text(text: str) -> bool:
    odd = sum(
        unicodedata.category(char) in {"Cc", "Cn", "Co"} and char not in "\t\n\r\f\x1b" for char in text
    )
    return not odd and sum(map(str.isascii, text)) * 2 > len(text)


def _legacy(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(sample).best()
    for name in [*([best.encoding] if best else []), "cp1252"]:
        try:
            if sample.decode(name).encode(name) == sample:
                return name
        except UnicodeError:
            continue
    return "iso8859-1"
