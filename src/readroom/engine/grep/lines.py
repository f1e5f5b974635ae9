"""Find the matching lines of one opened file, in any store: all shown lines come from here.

small      read as a whole and searched by RE2, if RE2 and rg agree on the pattern; otherwise rg gets
           the same text
large      rg reads the descriptor that the guard opened; its lines are looked up again
foreign    not UTF-8: its characters are searched, as above; if it is too large for that, its bytes
           are, and the file is recorded
no rg      a store without files: RE2, despite its differences (search.pattern.DIFFERENCES)
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Protocol, final

from msgspec import Struct
from msgspec.structs import replace

from readroom.deadline import Deadline
from readroom.engine.grep.process import count_of_source, lines_of_bytes, lines_of_source
from readroom.formats.compressed import by_magic
from readroom.formats.kinds import PDF_MARK
from readroom.limits import (
    BLOCK_BYTES,
    GREP_LINE_BYTES,
    GREP_SCAN_BYTES,
    GREP_WIDE_BYTES,
    HEAD_BYTES,
    SMALL_FILE_BYTES,
)
from readroom.paths import WorkPath
from readroom.search.pattern import Hit, Pattern, held, is_binary, is_mixed
from readroom.search.prefilter import superset
from readroom.stores.base import Source
from readroom.text.encodings import (
    UTF8,
    Encoding,
    by_bom,
    chars,
    decode,
    detect,
    is_wide_unmarked,
    prefix,
    to_utf8,
    visible,
)
from readroom.text.encodings.detect import is_journal
from readroom.text.select import MAX_CHAR_BYTES
from readroom.values import Bytes, GrepLine, GrepRequest

# -----------------------------------------------------------------------------
# Lines of a file by byte offset, and previews of them: for files in memory, and for huge ones.
#
# Offsets are those of the searched text.  A line of any length is read only around its match; its
# length is reported if it can be found quickly.
# -----------------------------------------------------------------------------


class Text(Protocol):
    """A searched text."""

    @property
    def size(self) -> int:
        """Its length in bytes."""

    @property
    def encoding(self) -> Encoding:
        """How its lines are decoded."""

    def slice(self, start: int, end: int) -> bytes:
        """The bytes from `start` to `end`."""

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
        """The bytes from `start` to `end`."""
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
        """The bytes from `start` to `end`."""
        return self._data.read_at(start, max(0, end - start))

    def feed_after(self, start: int, end: int) -> int:
        """The first line feed at or after `start` and before `end`; -1 without one."""
        for at in range(start, min(end, self.size), BLOCK_BYTES):
            self._deadline.check()
            offset = self._data.read_at(at, min(BLOCK_BYTES, end - at)).find(b"\n")
            if offset >= 0:
                return at + offset
        return -1

    def feed_before(self, end: int) -> int:
        """The last line feed before `end`; -1 without one."""
        while end > 0:
            self._deadline.check()
            start = max(0, end - BLOCK_BYTES)
            offset = self._data.read_at(start, end - start).rfind(b"\n")
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


def _decoded(data: bytes, text: Text) -> str:
    """Decode a line; UTF-8 is tried first, since nearly all files are."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return visible(decode(data, text.encoding))


class Searched(Struct, frozen=True):
    """A file's text and its matching lines, found lazily; `binary` if reads do not show the file."""

    text: Text
    hits: Iterator[Hit]
    binary: bool = False


def _looks_binary(text: bytes) -> bool:
    # A PDF of nothing but ASCII is not readable text either.
    nul = is_binary(text) and not is_journal(text) and not is_mixed(text)
    return nul or text.startswith(PDF_MARK)


@final
class Opened:
    """A file that is about to be searched: its beginning and its encoding.

    Attributes:
        deadline: Ends the search of this file.
        encoding: Also UTF-8 if the file is not text: then its bytes are searched.
        foreign: Whether the encoding is not UTF-8.
        wide_unmarked: Whether rg misreads it: UTF-16 without a byte order mark, an export of journald.
        compression: The format it is compressed with; None if it is not.
        is_text: Whether a read shows it as text.
    """

    def __init__(self, source: Source, deadline: Deadline) -> None:
        self.source = source
        self.deadline = deadline
        self.head = source.read_at(0, HEAD_BYTES)
        detected = by_bom(self.head) or detect(self.head, complete=source.size <= len(self.head))
        self.encoding = detected or UTF8
        self.foreign = self.encoding.name != "utf-8"
        self.wide_unmarked = is_wide_unmarked(self.head, detected)
        self.compression = by_magic(self.head)
        self.is_text = detected is not None

    @property
    def too_large(self) -> bool:
        """Whether decoding it would take too much memory, if it is foreign."""
        return self.source.size > GREP_WIDE_BYTES

    def text(self, *, keep_cr: bool) -> bytes:
        """The whole file as text to search."""
        source = self.source
        if self.foreign and not self.too_large:
            return to_utf8(source, self.encoding, keep_cr=keep_cr)
        whole = self.head if source.size <= len(self.head) else source.read_at(0, source.size)
        return held(whole, keep_cr=keep_cr)


@final
class Searcher:
    """Searches opened files for one call.

    Attributes:
        unread: Files that were skipped because they are binary, by their real names, with their beginnings.
        too_wide: Files that were skipped because they are large and UTF-16 or UTF-32.
        as_bytes: Files that were searched as if they were UTF-8, because they are large.
    """

    def __init__(self, request: GrepRequest, pattern: Pattern, *, local: bool) -> None:
        self._request = request
        self._pattern = pattern
        self._local = local
        self.unread: dict[WorkPath, bytes] = {}
        self.too_wide: list[str] = []
        self.as_bytes: list[str] = []

    def search(self, file: Opened, after: int = 0) -> Searched | None:
        """The matching lines of a file, possibly without those up to `after`; None if it is not searched."""
        if file.foreign and file.too_large:
            if file.encoding.unit > 1:
                self.too_wide.append(file.source.real)
                return None
            self.as_bytes.append(file.source.real)
        if self.leaves(file):
            return None
        searched = self._by_program(file, after) if self._stays_in_file(file) else self._small(file)
        binary = file.encoding.unit == 1 and (_looks_binary(file.head) or not file.is_text)
        return replace(searched, binary=True) if binary and searched is not None else searched

    def count(self, file: Opened) -> int:
        """How many lines of a file match."""
        if self._stays_in_file(file) and not self._request.multiline and not file.foreign:
            return (
                0
                if self._is_binary(file, file.head)
                else count_of_source(file.source, self._request, file.deadline)
            )
        searched = self.search(file)
        return 0 if searched is None else sum(1 for _ in searched.hits)

    def _stays_in_file(self, file: Opened) -> bool:
        """Whether rg searches the text in its file, instead of in memory."""
        if not self._local or file.source.size <= SMALL_FILE_BYTES:
            return False
        if file.too_large:
            return True
        ends_matter = self._request.multiline and not self._pattern.keeps_cr and b"\r\n" in file.head
        return not file.foreign and not ends_matter

    @property
    def binary(self) -> bool:
        """Whether a file was skipped because it is binary."""
        return bool(self.unread)

    def leaves(self, file: Opened) -> bool:
        """Whether a file is skipped because it is binary; records it."""
        return file.encoding.unit == 1 and self._is_binary(file, file.head)

    def _is_binary(self, file: Opened, text: bytes) -> bool:
        binary = "binary" not in self._request.include and _looks_binary(text)
        if binary:
            self.unread[file.source.real] = file.head
        return binary

    def _small(self, file: Opened) -> Searched | None:
        text = file.text(keep_cr=self._pattern.keeps_cr)
        if file.encoding.unit > 1 and self._is_binary(file, text):
            return None
        encoding = file.encoding if file.foreign and file.too_large else UTF8
        if self._pattern.decides(text) or not self._local:
            return Searched(HeldText(text, encoding), self._pattern.hits(text, file.deadline.check))
        if not self._request.multiline:
            text = file.text(keep_cr=True)
        kept = HeldText(text, encoding)
        hits = lines_of_bytes(text, self._request, file.deadline)
        return Searched(kept, (self._placed(kept, hit, file.deadline) for hit in hits))

    def _by_program(self, file: Opened, after: int) -> Searched:
        source = file.source
        text = FileText(source, file.deadline, file.encoding)
        mark = len(codecs.BOM_UTF8) if file.head.startswith(codecs.BOM_UTF8) else 0
        hits = lines_of_source(source, self._request, file.deadline, self._across_line_ends(), after)
        moved = (replace(hit, start=hit.start + mark) for hit in hits)
        lines = (hit for hit in moved if _is_start(text, hit.start, mark))
        return Searched(text, (self._placed(text, hit, file.deadline) for hit in lines))

    def _across_line_ends(self) -> list[str]:
        """The pattern with line feeds that match CR LF as well; empty if that makes no difference."""
        request = self._request
        if not request.multiline or self._pattern.keeps_cr or self._pattern.problem is not None:
            return []
        wider = superset(
            request.pattern,
            fixed=request.fixed,
            ignore_case=request.ignore_case,
            multiline=True,
            foreign=False,
        )
        return [] if wider is None else [wider]

    def _placed(self, text: Text, hit: Hit, deadline: Deadline) -> Hit:
        """The hit with the position of its match in the line, which rg does not report here."""
        at = hit.start
        while True:
            end = text.feed_after(at, at + GREP_LINE_BYTES)
            stop = end if end >= 0 else min(at + BLOCK_BYTES, text.size)
            span = self._pattern.first_in(text.slice(at, stop).partition(b"\n")[0].removesuffix(b"\r"))
            if span is not None:
                return replace(hit, column=at - hit.start + span[0], length=span[1] - span[0])
            if end >= 0 or stop >= text.size:
                return hit
            deadline.check()
            # A match may span two blocks.
            at = stop - GREP_LINE_BYTES // 2


def _is_start(text: Text, start: int, mark: int) -> bool:
    """Whether a line begins at `start`: the file may have been rewritten since rg read it."""
    return start == mark or text.slice(start - 1, start) == b"\n"
