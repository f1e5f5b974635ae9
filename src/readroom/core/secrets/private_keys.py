"""Private keys: text of many lines, or of one with escaped line ends, below a line that says what it is."""

from __future__ import annotations

import re
from collections.abc import Iterator

import stringzilla

from readroom.core.secrets.judge import SecretPlace, merged
from readroom.core.secrets.shapes import BEGINS, BEGINS_WORD, ENDS, LETTERS, PRIVATE_KEY

KEY_BYTES = 32 * 1024
"""The longest text of a private key, from its first line: twice one of 16,384 bits in PEM."""

_PART = re.compile(rb"(\\[nrt]|\s|[\"'`,:]|\A)|([A-Za-z0-9+/=]+)|(.)", re.DOTALL)

_LONG_PART = 16
"""Longer runs of base64 in a private key are its text; shorter ones only if they stand alone."""


_SHORT_PART = 4
"""Base64 comes in fours; what is shorter is the mark of a line in a diff."""


def keys(data: bytes) -> list[SecretPlace]:
    """The text of the private keys that begin in some bytes, and may have their end below."""
    found: list[SecretPlace] = []
    if all(stringzilla.find(data, word) < 0 for word in BEGINS_WORD):
        return found
    for begin in BEGINS.finditer(data):
        stop = ENDS.search(data, begin.end(), begin.end() + KEY_BYTES)
        end = begin.end() + KEY_BYTES if stop is None else stop.start()
        found += _parts(data, begin.end(), min(end, len(data)), ended=stop is not None)
        if stop is not None and stop.group().startswith(b"Private-MAC"):
            mac = re.compile(rb"[0-9a-fA-F]+").match(data, stop.end())
            found += [SecretPlace(*mac.span(), LETTERS[PRIVATE_KEY])] if mac else []
    for last in ENDS.finditer(data):
        found += _lines_before(data, last.start())
    return merged(found)


_KEY_LINE = re.compile(rb"(?:\\[nrt]|\A|[\s\"'`+>|])([A-Za-z0-9+/=]{4,76})(?:\r?\n|\\n)[+>|\s]{0,8}\Z")
"""A line of a private key above a place, with what a quotation or a diff puts before the next one."""

_KEY_LINE_BYTES = 96

_WHOLE_LINE = 40
"""Lines of keys but the last are longer, and no word is."""


def _lines_before(data: bytes, end: int) -> Iterator[SecretPlace]:
    """The lines of base64 above the last line of a private key, whose first one may be missing."""
    found: list[SecretPlace] = []
    at, least = end, max(0, end - KEY_BYTES)
    while at > least:
        low = max(least, at - _KEY_LINE_BYTES)
        line = _KEY_LINE.search(data[low:at])
        if line is None:
            break
        at = low + line.start(1)
        if found and at and len(line[1]) < _WHOLE_LINE:
            break  # a first line may be cut
        found.append(SecretPlace(at, low + line.end(1), LETTERS[PRIVATE_KEY]))
    if any(place.end - place.start >= _WHOLE_LINE for place in found):
        yield from found


_NO_KEY = re.compile(rb"(?!\A)(?:\n|\\n)[^A-Za-z0-9+/=\n]{0,40}\s[a-z]{1,12} [a-z]{1,12} |[{};]\s*\n")
"""Prose and code, of which a key without an end surely has nothing."""


def _parts(data: bytes, start: int, end: int, *, ended: bool) -> Iterator[SecretPlace]:
    if not ended:
        stop = _NO_KEY.search(data, start, end)
        end = end if stop is None else stop.start()
    alone = True
    pending: SecretPlace | None = None
    for part in _PART.finditer(data, start, end):
        if part[1] is not None:
            if pending is not None:
                yield pending
            alone, pending = True, None
        elif part[2] is not None:
            place = SecretPlace(*part.span(), LETTERS[PRIVATE_KEY])
            if part.end() - part.start() >= _LONG_PART:
                yield place
            elif alone and part.end() - part.start() >= _SHORT_PART:
                pending = place
            alone = False
        else:
            alone, pending = False, None
    if pending is not None:
        yield pending
