"""Texts within texts: quotes and line ends that are escaped, and texts of mails in their codings.

Each is written out with the position that every character has in the bytes, so that a secret that is found in
it is known by its place there.  What is written out depends on the bytes alone that are read for one line, or
for one part of a mail from its head on.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import re2

CODED_BYTES = 32 * 1024
"""How much of a part of a mail is written out, from the line that names its coding."""

_ESCAPE = re.compile(
    r"""\\+(?:["'/]|[nrt]|u00[2-7][0-9a-fA-F])|&(?:quot|apos|amp|#34|#39|#x2[2fF7]|#x3[dD]|#61);"""
)

_NAMED = {"quot": '"', "apos": "'", "amp": "&"}


def unescaped(text: str) -> Iterator[tuple[str, Sequence[int]]]:
    """The lines of a text whose quotes or line ends are escaped, with the position of each character."""
    line: list[str] = []
    places: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(text):
        line += text[at : match.start()]
        places += range(at, match.start())
        char = _char(match.group())
        at = match.end()
        if char == "\n":
            yield "".join(line), places
            line, places = [], []
        else:
            line.append(char)
            places.append(match.end() - 1)
    if at:
        yield "".join([*line, text[at:]]), [*places, *range(at, len(text))]


def _char(escape: str) -> str:
    if escape[0] == "&":
        name = escape[1:-1]
        if name in _NAMED:
            return _NAMED[name]
        return chr(int(name[2:], 16) if name[1] == "x" else int(name[1:]))
    body = escape.lstrip("\\")
    if body[0] == "u" and len(body) > 1:
        return chr(int(body[1:], 16))
    return {"n": "\n", "r": " ", "t": "\t"}.get(body, body)


# -----------------------------------------------------------------------------
# Parts of mails.
# -----------------------------------------------------------------------------

_CODING = re2.compile(rb"(?i)content-transfer-encoding:[ \t]*(base64|quoted-printable)")
_HEAD_END = re.compile(rb"\r?\n[ \t]*\r?\n")
_BASE64 = re.compile(rb"(?:[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|\Z))*")
_BOUNDARY = re.compile(rb"\n--[^\s-]")
_QUOTED = re.compile(rb"=([0-9A-Fa-f]{2})|=[ \t]*\r?\n")


class Coded(NamedTuple):
    """The text of a part, and where in the bytes each byte of it begins and ends."""

    text: bytes
    starts: Sequence[int]
    ends: Sequence[int]


def coded(data: bytes) -> Iterator[Coded]:
    """The texts of the parts of mails that are coded."""
    for match in _CODING.finditer(data):
        end = min(len(data), match.start() + CODED_BYTES)
        head = _HEAD_END.search(data, match.end(), end)
        if head is None:
            continue
        if match.group(1).lower() == b"base64":
            yield _from_base64(data, head.end(), end)
        else:
            stop = _BOUNDARY.search(data, head.end(), end)
            yield _from_quoted(data, head.end(), end if stop is None else stop.start())


def _from_base64(data: bytes, start: int, end: int) -> Coded:
    body = _BASE64.match(data, start, end)
    stop = start if body is None else body.end()
    letters = [at for at in range(start, stop) if data[at] not in b" \t\r\n="]
    if len(letters) % 4 == 1:  # cut
        letters.pop()
    text = bytes(data[at] for at in letters)
    made = base64.b64decode(text + b"=" * (-len(text) % 4))
    first = [at // 3 * 4 + at % 3 for at in range(len(made))]
    return Coded(made, [letters[at] for at in first], [letters[at + 1] + 1 for at in first])


def _from_quoted(data: bytes, start: int, end: int) -> Coded:
    made, starts, ends, at = bytearray(), list[int](), list[int](), start
    for match in _QUOTED.finditer(data, start, end):
        made += data[at : match.start()]
        starts += range(at, match.start())
        ends += range(at + 1, match.start() + 1)
        if match[1] is not None:
            made.append(int(match[1], 16))
            starts.append(match.start())
            ends.append(match.end())
        at = match.end()
    made += data[at:end]
    return Coded(bytes(made), [*starts, *range(at, end)], [*ends, *range(at + 1, end + 1)])


def runs(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines, or parts of lines, between two positions, without the mark of a line that is continued."""
    at = start
    while at < end:
        stop = data.find(b"\n", at, end)
        goes_on = stop >= 0
        kept = data[at : stop if goes_on else end].rstrip(b"\r \t=" if goes_on else b"\r \t")
        if kept:
            yield at, at + len(kept)
        at = stop + 1 if goes_on else end
