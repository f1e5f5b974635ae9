"""A file of any size as overlapping decoded windows that map characters back to bytes exactly.

Searching a text means decoding it; changing a file means knowing bytes.  A window holds one stretch
decoded as `encodings.decode` does, with its own line ends, and once more as `plain`, with CR LF as LF.  A
position in `plain` is mapped back by measuring how many bytes the characters before it took, never by
encoding text and hoping for the same bytes: several byte sequences may stand for one character, and some
bytes for none.

Windows overlap, so that a searched text lies completely in one of them, with some characters around it.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

from readroom.core.deadline import Deadline
from readroom.core.limits import SMALL_FILE_BYTES
from readroom.core.text.encodings import MULTIBYTE, Encoding, chars, decode, prefix
from readroom.core.text.hashes import Hashing
from readroom.core.text.line_index import Shrunk
from readroom.core.values import Bytes

MARGIN = 8
"""Characters around a place that a window also has: no character takes more bytes than that, so that the
meaning of the bytes on both sides of a change is decided within it."""

_STRIDE = 2048
"""Bytes of a legacy multi-byte text that are measured at once before going byte by byte."""


class Window:
    """A decoded stretch of a file.

    Matches that end in `plain[seen:done]` belong to this window; those that end
    earlier belonged to the one before, later ones to the next, which begins at
    `next_start` of `plain`.
    """

    __slots__ = (
        "_breaks",
        "_ruler",
        "done",
        "last",
        "lines_before",
        "next_start",
        "plain",
        "seen",
        "start",
        "text",
    )

    def __init__(
        self, data: bytes, start: int, encoding: Encoding, *, seen: int, lines_before: int, last: bool
    ) -> None:
        """`start` is the byte of the file where `data` begins, `lines_before` the line feeds before it."""
        self.start = start
        self.last = last
        self.seen = seen
        self.lines_before = lines_before
        text = decode(data, encoding)
        self._ruler = _ruler(data, text, encoding)
        if not last and text.endswith("\r"):
            text = text[:-1]  # the line feed of this line end may be the next byte
        self.text = text
        self.plain = text.replace("\r\n", "\n") if "\r" in text else text
        self.done = len(self.plain) if last else len(self.plain) - MARGIN
        self.next_start = 0
        self._breaks: list[int] | None = None

    def byte(self, position: int) -> int | None:
        """The byte of the file where the character at `position` of `plain` begins.

        None when it begins inside what the encoding has as one unit: no byte lies there.
        Asking in rising order is fast; `anchor` first for a position before the last one.
        """
        at = self._ruler.byte(self.raw(position))
        return None if at is None else self.start + at

    def anchor(self, position: int) -> None:
        """Promise that later positions are not before this one."""
        self._ruler.anchor(self.raw(max(0, position)))

    def raw(self, position: int) -> int:
        """The index in `text` for a position of `plain`."""
        if self.plain is self.text:
            return position
        if self._breaks is None:
            # The offsets in `plain` at which the text after each CR LF begins.
            pieces = self.text.split("\r\n")
            self._breaks = list(accumulate((len(piece) + 1 for piece in pieces[:-1]), initial=0))
        return position + bisect_right(self._breaks, position) - 1

    def between(self, start: int, end: int) -> str:
        """The characters from `start` to `end` of `plain` with their own line ends."""
        return self.text[self.raw(start) : self.raw(end)]


def windows(
    data: Bytes,
    encoding: Encoding,
    overlap: int,
    deadline: Deadline,
    hashing: Hashing | None = None,
    *,
    step: int = SMALL_FILE_BYTES,
) -> Iterator[Window]:
    """The whole file after its byte order mark, in windows that overlap by `overlap` and a margin.

    Args:
        data: The file.
        encoding: The encoding of the file.
        overlap: The length of the longest text to search for, in characters.
        deadline: When the work must end.
        hashing: Takes every byte of the file once, mark included.
        step: New bytes per window.

    Raises:
        Shrunk: The file is shorter than it was when it was opened.
        TimedOut, Cancelled: From the deadline.
    """
    start = stop = len(encoding.bom)
    if hashing is not None:
        hashing.add(encoding.bom)
    unread, seen, lines = b"", 0, 0
    while True:
        deadline.check()
        size = min(step, data.size - stop)
        fresh = data.read_at(stop, size)
        if len(fresh) < size:
            raise Shrunk
        if hashing is not None:
            hashing.add(fresh)
        stop += size
        deadline.report(stop, data.size, "bytes")
        last = stop == data.size
        unread += fresh
        whole = len(unread) if last else prefix(unread, encoding)
        window = Window(unread[:whole], start, encoding, seen=seen, lines_before=lines, last=last)
        cut, at = (0, 0) if last else _cut(window, overlap)
        window.next_start = cut
        yield window
        if last:
            return
        seen = max(0, window.done) - cut
        lines += window.plain.count("\n", 0, cut)
        unread = unread[at - start :]
        start = at


def _cut(window: Window, overlap: int) -> tuple[int, int]:
    """Where the next window begins, as a position and as a byte."""
    cut = max(0, window.done - overlap - MARGIN)
    window.anchor(0)
    while (at := window.byte(cut)) is None:
        cut -= 1
        window.anchor(0)
    return cut, at


class _Ruler:
    """Maps characters to bytes if every character takes the same number of bytes."""

    __slots__ = ("_size", "_width")

    def __init__(self, width: int, size: int) -> None:
        self._width = width
        self._size = size

    def byte(self, index: int) -> int | None:
        # The last character may stand for a unit that the end of the file cuts off.
        return min(index * self._width, self._size)

    def anchor(self, index: int) -> None: ...


class _EncodingRuler:
    """Maps characters to bytes by encoding them, which is exact for UTF-8 and UTF-16."""

    __slots__ = ("_anchor", "_at", "_codec", "_errors", "_size", "_text")

    def __init__(self, text: str, size: int, codec: str, errors: str) -> None:
        self._text = text
        self._size = size
        self._codec = codec
        self._errors = errors
        self._at = self._anchor = (0, 0)

    def byte(self, index: int) -> int | None:
        before, size = self._at if index >= self._at[0] else self._anchor
        size += len(self._text[before:index].encode(self._codec, self._errors))
        self._at = (index, size)
        return min(size, self._size)

    def anchor(self, index: int) -> None:
        if index < self._at[0]:
            self._at = self._anchor if index >= self._anchor[0] else (0, 0)
        self.byte(index)
        self._anchor = self._at


class _DecodingRuler:
    """Maps characters to bytes by decoding as far as needed, for legacy multi-byte encodings."""

    __slots__ = ("_anchor", "_at", "_data", "_encoding")

    def __init__(self, data: bytes, encoding: Encoding) -> None:
        self._data = data
        self._encoding = encoding
        self._at = self._anchor = (0, 0)

    def byte(self, index: int) -> int | None:
        count, at = self._at if index >= self._at[0] else self._anchor
        while count < index and at < len(self._data):
            piece = self._data[at : at + _STRIDE]
            size = len(piece) if at + len(piece) == len(self._data) else prefix(piece, self._encoding)
            passed = chars(piece[:size], self._encoding)
            if count + passed > index or not size:
                offset = self._within(piece, index - count)
                if offset is None:
                    return None
                at += offset
                count = index
            else:
                at += size
                count += passed
        self._at = (index, at)
        return at

    def anchor(self, index: int) -> None:
        if index < self._at[0]:
            self._at = self._anchor if index >= self._anchor[0] else (0, 0)
        while index and self.byte(index) is None:
            index -= 1
        self._anchor = self._at

    def _within(self, piece: bytes, wanted: int) -> int | None:
        """The bytes of the first `wanted` characters of `piece`; None if that is inside a unit."""
        decoder = codecs.getincrementaldecoder(self._encoding.name)("readroom.carry")
        count = done = 0
        for fed, byte in enumerate(piece, 1):
            fresh = len(decoder.decode(bytes((byte,))))
            if not fresh:
                continue
            if count + fresh > wanted:
                return _split(piece[:fed], done, wanted - count, self._encoding)
            count += fresh
            done = fed - len(decoder.getstate()[0])
            if count == wanted:
                return done
        # The rest is a unit that the end of the file truncates.
        return _split(piece, done, wanted - count, self._encoding)


def _split(piece: bytes, start: int, wanted: int, encoding: Encoding) -> int | None:
    """The byte after the first `wanted` of several characters that were decoded at once."""
    whole = decode(piece[start:], encoding)
    for at in range(start, len(piece) + 1):
        left = decode(piece[start:at], encoding)
        if len(left) == wanted and left + decode(piece[at:], encoding) == whole:
            return at
    return None


def _ruler(data: bytes, text: str, encoding: Encoding) -> _Ruler | _EncodingRuler | _DecodingRuler:
    # In some encodings an ASCII character takes two bytes, or two bytes decode to two characters.
    if encoding.name in MULTIBYTE and not (text.isascii() and len(text) == len(data)):
        return _DecodingRuler(data, encoding)
    if encoding.name == "utf-8" and not text.isascii():
        return _EncodingRuler(text, len(data), "utf-8", "surrogateescape")
    if encoding.unit == 2:
        return _EncodingRuler(text, len(data), encoding.name, "surrogatepass")
    return _Ruler(encoding.unit, len(data))
