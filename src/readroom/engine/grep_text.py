"""Lines of a file by byte offset, and previews of them: for files held in memory, and for huge ones.

Offsets are those of the searched text.  A line of any length is looked at only
around its match; how long it is, is said when that can be found out quickly.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, final

from readroom.deadline import Deadline
from readroom.limits import BLOCK_BYTES, GREP_LINE_BYTES, GREP_SCAN_BYTES
from readroom.model import Bytes, GrepLine
from readroom.search.pattern import Hit
from readroom.text.encodings import UTF8, Encoding, chars, decode, prefix, visible

_CHAR_BYTES = 4
"""The longest character, in UTF-8 and in every legacy encoding."""


class Text(Protocol):
    """A searched text."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    @property
    def encoding(self) -> Encoding:
        """How its lines are decoded."""

    def slice(self, start: int, end: int) -> bytes:
        """Bytes of it."""

    def feed_after(self, start: int, end: int) -> int:
        """The first line feed at or after `start` and before `end`; -1 without one."""

    def feed_before(self, end: int) -> int:
        """The last line feed before `end`; -1 without one."""


@final
class HeldText:
    """A text in memory."""

    def __init__(self, data: bytes, encoding: Encoding = UTF8) -> None:
        self._data = data
        self.encoding = encoding

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self._data)

    def slice(self, start: int, end: int) -> bytes:
        """Bytes of it."""
        return self._data[start:end]

    def feed_after(self, start: int, end: int) -> int:
        """The first line feed at or after `start` and before `end`; -1 without one."""
        return self._data.find(b"\n", start, end)

    def feed_before(self, end: int) -> int:
        """The last line feed before `end`; -1 without one."""
        return self._data.rfind(b"\n", 0, end)


@final
class FileText:
    """A text that stays in its file."""

    def __init__(self, data: Bytes, deadline: Deadline, encoding: Encoding = UTF8) -> None:
        self._data = data
        self._deadline = deadline
        self.encoding = encoding

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return self._data.size

    def slice(self, start: int, end: int) -> bytes:
        """Bytes of it."""
        return self._data.read_at(start, max(0, end - start))

    def feed_after(self, start: int, end: int) -> int:
        """The first line feed at or after `start` and before `end`; -1 without one."""
        for at in range(start, min(end, self.size), BLOCK_BYTES):
            self._deadline.check()
            found = self._data.read_at(at, min(BLOCK_BYTES, end - at)).find(b"\n")
            if found >= 0:
                return at + found
        return -1

    def feed_before(self, end: int) -> int:
        """The last line feed before `end`; -1 without one."""
        while end > 0:
            self._deadline.check()
            start = max(0, end - BLOCK_BYTES)
            found = self._data.read_at(start, end - start).rfind(b"\n")
            if found >= 0:
                return start + found
            end = start
        return -1


def starts_before(text: Text, start: int, count: int) -> list[int]:
    """Where up to `count` lines before the line at `start` begin, in order."""
    found: list[int] = []
    while start > 0 and len(found) < count:
        start = text.feed_before(start - 1) + 1
        found.append(start)
    return found[::-1]


def starts_after(text: Text, start: int, count: int) -> Iterator[int]:
    """Where up to `count` lines after the line at `start` begin."""
    for _ in range(count):
        feed = text.feed_after(start, text.size)
        if feed < 0 or feed + 1 >= text.size:
            return
        start = feed + 1
        yield start


def context_line(text: Text, number: int, start: int, room: int) -> GrepLine:
    """A line around a match: its beginning."""
    return preview(text, Hit(number, start), room, is_match=False)


def preview(text: Text, hit: Hit, room: int, *, is_match: bool = True) -> GrepLine:
    """At most `room` characters of a line, with the match in their middle."""
    feed = text.feed_after(hit.start, hit.start + GREP_LINE_BYTES)
    if feed < 0 and text.size - hit.start > GREP_LINE_BYTES:
        return _part_of_long(text, hit, room, is_match)
    line = text.slice(hit.start, text.size if feed < 0 else feed)
    line = line if feed < 0 else line.removesuffix(b"\r")
    shown = _decoded(line, text)
    if len(shown) <= room:
        return GrepLine(hit.number, shown, is_match, chars=len(shown))
    column = hit.column or 0
    before = len(_decoded(line[:column], text))
    first = _window(before, len(_decoded(line[column : column + hit.length], text)), len(shown), room)
    return GrepLine(hit.number, shown[first : first + room], is_match, first + 1, len(shown))


def _window(before: int, length: int, total: int, room: int) -> int:
    """The first of `room` characters with the match of `length` behind `before` others in their middle."""
    first = before - max(0, room - length) // 2
    return max(0, min(first, total - room))


def _part_of_long(text: Text, hit: Hit, room: int, is_match: bool) -> GrepLine:
    """The part of a line around its match; only that part and its place are looked at."""
    match = hit.start + (hit.column or 0)
    length = min(hit.length, room)
    end = _line_end(text, match)
    margin = (room - length) // 2 * _CHAR_BYTES
    begin = _border(text, max(hit.start, match - margin), hit.start)
    stop = match + (room + length) * _CHAR_BYTES
    piece = text.slice(begin, stop if end is None else min(stop, end))
    if end is None or stop < end:
        piece = piece[: prefix(piece, text.encoding)]
    shown = _decoded(piece, text)
    first = _window(_chars(text, begin, match), length, len(shown), room)
    column = _chars(text, hit.start, begin) + first + 1
    total = None if end is None else _chars(text, hit.start, end)
    return GrepLine(hit.number, shown[first : first + room], is_match, column, total)


def _line_end(text: Text, at: int) -> int | None:
    """The end of the line that `at` lies in, without its line end; None when it is far away."""
    feed = text.feed_after(at, at + GREP_SCAN_BYTES)
    if feed < 0:
        return text.size if text.size <= at + GREP_SCAN_BYTES else None
    return feed - 1 if feed > at and text.slice(feed - 1, feed) == b"\r" else feed


def _border(text: Text, at: int, start: int) -> int:
    """The beginning of a UTF-8 character at or after `at`; other encodings have no sure one."""
    if at == start or text.encoding.name != "utf-8":
        return at
    some = text.slice(at, at + _CHAR_BYTES)
    return at + next((skip for skip, byte in enumerate(some) if byte & 0xC0 != 0x80), 0)


def _chars(text: Text, start: int, end: int) -> int:
    """Characters in a part of a line, block by block."""
    total, at = 0, start
    while at < end:
        piece = text.slice(at, min(at + BLOCK_BYTES, end))
        if not piece:
            break  # the file became shorter
        size = len(piece) if at + len(piece) >= end else prefix(piece, text.encoding) or len(piece)
        total += chars(piece[:size], text.encoding)
        at += size
    return total


def _decoded(data: bytes, text: Text) -> str:
    """Characters; nearly all files are UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return visible(decode(data, text.encoding))
