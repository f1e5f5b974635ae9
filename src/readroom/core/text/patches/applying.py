"""Apply the hunks of a patch to the bytes of a file.

Lines that stay keep their bytes, whatever the encoding makes of them; only new lines are encoded.

Knows: encodings, and hunks with their places.
Does not know: where the file is, and whether it may be changed.
May be touched: with the laws of patches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.text import encodings
from readroom.core.text.edits.splice import NotEncodable, encode
from readroom.core.text.encodings import Encoding, valid
from readroom.core.text.patches.fitting import NoFit, parted, planned
from readroom.core.values.patches import FilePatch, PatchHunk

_MARK: Final = "\ufeff"


class Unjoinable(Exception):
    """The bytes of the file are not lines of its encoding, or would join with a new line."""

    def __init__(self, line: int) -> None:
        """`line` is the first one that is concerned, from 1."""
        super().__init__(line)
        self.line = line


class NotHeld(Exception):
    """A character of a new line that the encoding of the file does not have."""

    def __init__(self, char: str, line: int) -> None:
        """`line` is that of the changed file, from 1."""
        super().__init__(char, line)
        self.char = char
        self.line = line


class Applied(Struct, frozen=True):
    """The file before and after, as text and as bytes; a mark at the beginning is not part of the texts."""

    old: str
    new: str
    data: bytes


def applied(before: bytes, encoding: Encoding, file: FilePatch, deadline: Deadline) -> Applied:
    """The file with the hunks applied.

    Raises:
        NoFit, ManyFits: A hunk has no place, or several.
        Unjoinable, NotHeld: Because of the encoding.
        TimedOut, Cancelled: On the way.
    """
    mark = before[: len(encoding.bom)]
    text = encodings.decode(before[len(mark) :], encoding)
    if mark and _shows_mark(file):
        done = _planned(before, f"{_MARK}{text}", encoding, file, deadline)
        return replace(done, old=text, new=done.new.removeprefix(_MARK))
    done = _planned(before[len(mark) :], text, encoding, file, deadline)
    return replace(done, data=mark + done.data)


def _shows_mark(file: FilePatch) -> bool:
    """Whether the patch has the mark of the file among its characters, as a diff of git has."""
    return any(line.text.startswith(_MARK) for hunk in file.hunks for line in hunk.lines)


def _planned(before: bytes, text: str, encoding: Encoding, file: FilePatch, deadline: Deadline) -> Applied:
    lines, stored = parted(text), _stored(before, encoding)
    if len(stored) != len(lines):
        raise Unjoinable(1)
    try:
        plan = planned(lines, _in_encoding(file, encoding), file.fitting, deadline)
    except NoFit:
        if not file.raw:
            raise
        plan = planned(lines, file.hunks, file.fitting, deadline)
    pieces: list[bytes] = []
    meant: list[str] = []
    for number, line in enumerate(plan, 1):
        if isinstance(line, int):
            pieces.append(stored[line])
            meant.append(lines[line].text + lines[line].end)
        else:
            pieces.append(_encoded(line, number, encoding))
            meant.append(line)
    data, new = b"".join(pieces), "".join(meant)
    if encodings.decode(data, encoding) != new:
        raise Unjoinable(next((number for number, line in enumerate(plan, 1) if isinstance(line, str)), 1))
    return Applied(text, new, data)


def _encoded(line: str, number: int, encoding: Encoding) -> bytes:
    try:
        if encoding.unit == 1 and valid(line) != line:
            # What is no character came as a byte, in a patch that is read from a file.
            return line.encode(encoding.name, "surrogateescape")
        return encode(line, encoding)
    except NotEncodable as problem:
        raise NotHeld(problem.char, number) from None
    except UnicodeEncodeError as error:
        raise NotHeld(line[error.start], number) from None


def _stored(data: bytes, encoding: Encoding) -> list[bytes]:
    """The bytes of each line, line ends included; they begin with a character."""
    lines, start, at, feed = [], 0, 0, encoding.newline
    while (at := data.find(feed, at)) >= 0:
        if at % encoding.unit:
            at += 1
            continue
        at += len(feed)
        lines.append(data[start:at])
        start = at
    if start < len(data):
        lines.append(data[start:])
    return lines


def _in_encoding(file: FilePatch, encoding: Encoding) -> Sequence[PatchHunk]:
    """The hunks, of which the bytes are those of the file if they came as bytes."""
    if not file.raw or encoding.unit > 1 or encoding.name == "utf-8":
        return file.hunks
    return [
        replace(hunk, lines=tuple(replace(line, text=_as_stored(line.text, encoding)) for line in hunk.lines))
        for hunk in file.hunks
    ]


def _as_stored(text: str, encoding: Encoding) -> str:
    return text if text.isascii() else encodings.decode(text.encode("utf-8", "surrogateescape"), encoding)
