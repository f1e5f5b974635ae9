"""The lines of one text: by byte offset, as previews, and those in which rg finds a match."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, final

import stringzilla
from msgspec import Struct
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.engine.grep.process import Child, failed
from readroom.core.errors import StoreFailed, store_failure
from readroom.core.formats.kinds import searched_as
from readroom.core.limits import BLOCK_BYTES, GREP_LINE_BYTES, HEAD_BYTES
from readroom.core.search.pattern import Hit
from readroom.core.search.refusals import refusal
from readroom.core.search.ripgrep import pattern_flags
from readroom.core.session.expansions import TempSpool
from readroom.core.stores.base import Source
from readroom.core.text.encodings import UTF8, Encoding, chars, decode, prefix, visible
from readroom.core.text.line_index import nth_newline
from readroom.core.text.select import MAX_CHAR_BYTES
from readroom.core.values import Bytes, GrepLine, GrepRequest

# -----------------------------------------------------------------------------
# Lines of a file by byte offset, and previews of them: for files in memory, and for huge ones.
#
# Offsets are those of the searched text.  A line of any length is read only around its match; its
# length is reported if it can be found quickly.
# -----------------------------------------------------------------------------


@final
class Text:
    """A searched text, in memory or in its file."""

    def __init__(
        self, data: bytes | Bytes, encoding: Encoding = UTF8, deadline: Deadline | None = None
    ) -> None:
        """`deadline` ends the scans of a text in its file."""
        self._data = data
        self._deadline = deadline or Deadline()
        self.encoding = encoding

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self._data) if isinstance(self._data, bytes) else self._data.size

    def slice(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`."""
        if isinstance(self._data, bytes):
            return self._data[start:end]
        return self._data.read_at(start, max(0, end - start))

    def feed_after(self, start: int, end: int) -> int:
        """The first line feed at or after `start` and before `end`; -1 without one."""
        if isinstance(self._data, bytes):
            return self._data.find(b"\n", start, end)
        for at in range(start, min(end, self.size), BLOCK_BYTES):
            self._deadline.check()
            offset = self.slice(at, min(at + BLOCK_BYTES, end)).find(b"\n")
            if offset >= 0:
                return at + offset
        return -1

    def feed_before(self, end: int) -> int:
        """The last line feed before `end`; -1 without one."""
        if isinstance(self._data, bytes):
            return self._data.rfind(b"\n", 0, end)
        while end > 0:
            self._deadline.check()
            start = max(0, end - BLOCK_BYTES)
            offset = self.slice(start, end).rfind(b"\n")
            if offset >= 0:
                return start + offset
            end = start
        return -1


def starts_before(text: Text, start: int, count: int) -> list[int]:
    """The offsets of up to `count` lines before the line at `start`, in order."""
    starts: list[int] = []
    while start > 0 and len(starts) < count:
        start = text.feed_before(start - 1) + 1
        starts.append(start)
    return starts[::-1]


def starts_after(text: Text, start: int, count: int) -> Iterator[int]:
    """The offsets of up to `count` lines after the line at `start`."""
    for _ in range(count):
        feed = text.feed_after(start, text.size)
        if feed < 0 or feed + 1 >= text.size:
            return
        start = feed + 1
        yield start


def context_line(text: Text, number: int, start: int, room: int) -> GrepLine:
    """A context line of a match: its beginning."""
    return preview(text, Hit(number, start), room, is_match=False)


def preview(text: Text, hit: Hit, room: int, *, is_match: bool = True) -> GrepLine:
    """At most `room` characters of a line, centred on the match."""
    feed = text.feed_after(hit.start, hit.start + GREP_LINE_BYTES)
    if feed < 0 and text.size - hit.start > GREP_LINE_BYTES:
        return _part_of_long(text, hit, room, is_match)
    line = text.slice(hit.start, text.size if feed < 0 else feed)
    line = line if feed < 0 else line.removesuffix(b"\r")
    decoded = _decoded(line, text)
    if len(decoded) <= room:
        return GrepLine(hit.number, decoded, is_match, chars=len(decoded))
    column = hit.column or 0
    before = len(_decoded(line[:column], text))
    first = _window(before, len(_decoded(line[column : column + hit.length], text)), len(decoded), room)
    return GrepLine(hit.number, decoded[first : first + room], is_match, first + 1, len(decoded))


def beginning(text: Text, hit: Hit, room: int) -> GrepLine:
    """At most `room` characters of a line from its first on, with its line end."""
    end = min(text.size, hit.start + room * MAX_CHAR_BYTES)
    feed = text.feed_after(hit.start, end)
    piece = text.slice(hit.start, end if feed < 0 else feed + 1)
    whole = feed >= 0 or end == text.size
    decoded = _decoded(piece if whole else piece[: prefix(piece, text.encoding)], text)
    shown = decoded[:room]
    return GrepLine(hit.number, shown, is_match=True, chars=len(decoded) if whole else None)


def _window(before: int, length: int, total: int, room: int) -> int:
    """The first of `room` characters around a match of `length` characters that follows `before` others."""
    first = before - max(0, room - length) // 2
    return max(0, min(first, total - room))


def _part_of_long(text: Text, hit: Hit, room: int, is_match: bool) -> GrepLine:
    """The part of a long line around its match; only that part and its position are read."""
    match = hit.start + (hit.column or 0)
    length = min(hit.length, room)
    end = _line_end(text, match)
    margin = (room - length) // 2 * MAX_CHAR_BYTES
    begin = _border(text, max(hit.start, match - margin), hit.start)
    stop = match + (room + length) * MAX_CHAR_BYTES
    piece = text.slice(begin, stop if end is None else min(stop, end))
    if end is None or stop < end:
        piece = piece[: prefix(piece, text.encoding)]
    decoded = _decoded(piece, text)
    first = _window(_chars(text, begin, match), length, len(decoded), room)
    column = _chars(text, hit.start, begin) + first + 1
    total = None if end is None else _chars(text, hit.start, end)
    return GrepLine(hit.number, decoded[first : first + room], is_match, column, total)


GREP_SCAN_BYTES = 16 * 1024 * 1024
"""How far the end of a very long line is searched for to state its length: 5 ms; else it is unknown."""


def _line_end(text: Text, at: int) -> int | None:
    """The end of the line at `at`, without its line terminator; None if it is far away."""
    feed = text.feed_after(at, at + GREP_SCAN_BYTES)
    if feed < 0:
        return text.size if text.size <= at + GREP_SCAN_BYTES else None
    return feed - 1 if feed > at and text.slice(feed - 1, feed) == b"\r" else feed


def _border(text: Text, at: int, start: int) -> int:
    """The beginning of a UTF-8 character at or after `at`; `at` in other encodings, where it is unknown."""
    if at == start or text.encoding.name != "utf-8":
        return at
    some = text.slice(at, at + MAX_CHAR_BYTES)
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


def shown(line: GrepLine) -> GrepLine:
    """A line as replies show it: with a sign for each NUL."""
    return replace(line, text=visible(line.text)) if "\0" in line.text else line


def _decoded(data: bytes, text: Text) -> str:
    """Decode a line; UTF-8 is tried first, since nearly all files are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return visible(decode(data, text.encoding))


def form_of(source: Source) -> str | None:
    """The format in which a file is searched as a document; None if it is not. HTML is searched as text."""
    return searched_as(source.real, source.read_at(0, HEAD_BYTES))


class Searched(Struct, frozen=True):
    """A file's text and its matching lines, found lazily; `binary` if reads do not show the file."""

    text: Text
    hits: Iterator[Hit]
    binary: bool = False


# -----------------------------------------------------------------------------
# Searching one opened file with rg, through the descriptor that the guard opened.
#
# The path of the file no longer matters: rg gets no name.
# -----------------------------------------------------------------------------

_HIT = re.compile(rb"(\d+):(\d+):")


def lines_of_bytes(data: bytes, request: GrepRequest, deadline: Deadline) -> Iterator[Hit]:
    """The matching lines of a text in memory."""
    fd = _file_of(data)
    try:
        yield from _lines(fd, request, deadline)
    finally:
        os.close(fd)


def _file_of(data: bytes) -> int:
    """A descriptor of an unnamed file, in memory if the system supports that."""
    if sys.platform == "linux":
        fd = os.memfd_create("readroom")
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(data)
        return fd
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        return os.dup(file.fileno())


@contextmanager
def _descriptor(source: Source, deadline: Deadline) -> Iterator[int]:
    """A descriptor for rg to read an opened file: of a copy if it is part of another, as in a tar."""
    fd = source.fileno()
    if fd is not None:
        yield fd  # of the source, which closes it
        return
    try:
        copy = TempSpool()
        for at in range(0, source.size, BLOCK_BYTES):
            deadline.check()
            copy.append(source.read_at(at, BLOCK_BYTES))
        fd = copy.descriptor()
    except OSError as error:
        raise store_failure(error, source.real) from None
    try:
        yield fd
    finally:
        os.close(fd)


class _Begin(NamedTuple):
    """Where rg starts to read a file: the byte, the lines before it, and what to add to its offsets."""

    byte: int = 0
    lines: int = 0
    offset: int = 0


_WHOLE = _Begin()


def lines_of_source(
    source: Source, request: GrepRequest, deadline: Deadline, patterns: Sequence[str], after: int = 0
) -> Iterator[Hit]:
    """The matching lines of an opened file after line `after`; offsets do not count a byte order mark.

    The file is read through its descriptor.  `patterns`, if there are any, replace that of the request.
    """
    begin = _WHOLE
    if after > 1 and not request.multiline:
        # After a million matches the next page would repeat all of them.  The line `after` itself is read
        # again and dropped: for rg it is the first line of the text, and a pattern may match only there.
        byte = _start_of(source, after, deadline)
        mark = len(BOM_UTF8) if source.read_at(0, len(BOM_UTF8)) == BOM_UTF8 else 0
        begin = _Begin(byte, after - 1, byte - mark)
    with _descriptor(source, deadline) as fd:
        yield from _lines(fd, request, deadline, _ways(source), patterns, after, begin)


def _start_of(source: Source, line: int, deadline: Deadline) -> int:
    """The byte where a line begins; the size of a file that has fewer lines."""
    at, left = 0, line - 1
    while left and at < source.size:
        deadline.check()
        block = source.read_at(at, BLOCK_BYTES)
        feeds = stringzilla.count(block, "\n")
        if feeds >= left:
            return at + nth_newline(block, left, UTF8) + 1
        left -= feeds
        at += BLOCK_BYTES
    return min(at, source.size)


def _ways(source: Source) -> tuple[bool, ...]:
    """Whether to map the file, for each attempt: mapped at once if its beginning has no line feed."""
    return (False, True) if b"\n" in source.read_at(0, HEAD_BYTES) else (True,)


def _lines(
    fd: int,
    request: GrepRequest,
    deadline: Deadline,
    ways: Sequence[bool] = (False,),
    patterns: Sequence[str] = (),
    last: int = 0,
    begin: _Begin = _WHOLE,
) -> Iterator[Hit]:
    # One column: only the position of the line is needed, and a line may have a gigabyte.
    flags = ["--byte-offset", "--max-columns=1", "--no-filename", "--line-buffered"]
    for mapped in ways:
        byte, before, offset = _WHOLE if mapped else begin
        with _on_descriptor(fd, flags, request, deadline, mapped, patterns, byte) as child:
            left = b""
            for data in child.output():
                *whole, left = (left + data).split(b"\n")
                for line in whole:
                    match = _HIT.match(line)
                    if match is not None and (number := int(match[1]) + before) > last:
                        last = number
                        yield Hit(number, int(match[2]) + offset)
            if child.status in (0, 1):
                return
            if not child.starved:
                raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(".", "a line of it is too long to be searched")


def count_of_source(source: Source, request: GrepRequest, deadline: Deadline) -> int:
    """How many lines of an opened file match."""
    flags = ["--count", "--no-filename"]
    with _descriptor(source, deadline) as fd:
        for mapped in _ways(source):
            with _on_descriptor(fd, flags, request, deadline, mapped) as child:
                output = b"".join(child.output())
                if child.status in (0, 1):
                    return int(output or 0)
                if not child.starved:
                    raise refusal(child.messages, request) or failed(child)
    raise StoreFailed(source.real, "a line of it is too long to be searched")


def _on_descriptor(
    fd: int,
    flags: Sequence[str],
    request: GrepRequest,
    deadline: Deadline,
    mapped: bool,
    patterns: Sequence[str] = (),
    begin: int = 0,
) -> Child:
    # The child shares the offset; reads by position do not use it.
    os.lseek(fd, begin, os.SEEK_SET)
    if begin:
        flags = [*flags, "--encoding=none"]  # bytes there are not a byte order mark
    text = [] if "binary" in request.include else ["--text"]
    where = "/dev/fd/0" if mapped else "-"
    flags = [*pattern_flags(request, patterns), *text, *flags, "--", where]
    return Child(flags, deadline, stdin=fd, mapped=mapped)
