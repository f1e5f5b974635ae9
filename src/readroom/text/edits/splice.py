"""Bytes of a file replaced by others: which text the bytes may be, and the changed file as a stream.

A splice is exact: it was found by `matching` and says nothing of the text around
it.  What is checked here is that its bytes mean the text they were made from, also
beside bytes that are not characters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from readroom.deadline import Deadline
from readroom.limits import BLOCK_BYTES
from readroom.text.edits.diff import common_start
from readroom.text.encodings import Encoding, decode, decode_strict
from readroom.text.hashes import Hashing
from readroom.text.line_index import Shrunk
from readroom.values import Bytes


class Splice(Struct, frozen=True):
    """Bytes `start` to `end` of the file become `data`.

    `line` is that of the first byte, `removed` and `added` are the line feeds in
    the old and the new bytes.
    """

    start: int
    end: int
    data: bytes
    line: int
    removed: int
    added: int


class NotEncodable(Exception):
    """Text that an encoding cannot hold, or would hold as another text."""

    def __init__(self, char: str, index: int) -> None:
        """`index` is the place of `char` in the text."""
        super().__init__(char, index)
        self.char = char
        self.index = index


def encode(text: str, encoding: Encoding) -> bytes:
    """The bytes that read back as exactly `text`.

    Raises:
        NotEncodable: There are none. Some codecs give other characters instead of an error (Shift-JIS
            makes a backslash of a yen sign).
    """
    try:
        data = text.encode(encoding.name)
    except UnicodeEncodeError as error:
        raise NotEncodable(text[error.start], error.start) from None
    if encoding.name == "utf-8" or encoding.unit > 1:
        return data
    again = decode(data, encoding)
    if again != text:
        at = common_start(again, text)
        raise NotEncodable(text[at], at)
    return data


class Ragged(Struct, frozen=True):
    """A splice, by index, beside bytes that are not characters; `low` to `high` are the bytes that matter."""

    index: int
    low: int
    high: int


def broken_line(
    data: Bytes, encoding: Encoding, splices: Sequence[Splice], ragged: Sequence[Ragged]
) -> int | None:
    """The line of a change whose new bytes would join with broken bytes beside them into other characters."""
    for place in ragged:
        low, high = place.low, place.high
        first = last = place.index
        while first and splices[first - 1].end > low:
            first -= 1
        while last + 1 < len(splices) and splices[last + 1].start < high:
            last += 1
        low, high = min(low, splices[first].start), max(high, splices[last].end)
        if not _reads_as_meant(data, encoding, splices[first : last + 1], low, high):
            return splices[place.index].line
    return None


def _reads_as_meant(data: Bytes, encoding: Encoding, splices: Sequence[Splice], low: int, high: int) -> bool:
    meant, joined, at = "", b"", low
    for splice in splices:
        kept = data.read_at(at, splice.start - at)
        meant += decode(kept, encoding) + decode_strict(splice.data, encoding)
        joined += kept + splice.data
        at = splice.end
    kept = data.read_at(at, high - at)
    return meant + decode(kept, encoding) == decode(joined + kept, encoding)


def spliced(data: Bytes, splices: Sequence[Splice], deadline: Deadline, original: Hashing) -> Iterator[bytes]:
    """The bytes of the changed file in order; `original` sees those of the file as it was.

    Raises:
        Shrunk, TimedOut, Cancelled: On the way.
    """
    at = 0
    for splice in splices:
        yield from _kept(data, at, splice.start, deadline, original)
        for _ in _kept(data, splice.start, splice.end, deadline, original):
            pass
        if splice.data:
            yield splice.data
        at = splice.end
    yield from _kept(data, at, data.size, deadline, original)


def _kept(data: Bytes, start: int, end: int, deadline: Deadline, original: Hashing) -> Iterator[bytes]:
    while start < end:
        deadline.check()
        piece = data.read_at(start, min(BLOCK_BYTES, end - start))
        if not piece:
            raise Shrunk
        original.add(piece)
        yield piece
        start += len(piece)


def new_size(size: int, splices: Sequence[Splice]) -> int:
    """Bytes of the changed file."""
    return size + sum(len(splice.data) - (splice.end - splice.start) for splice in splices)


def new_lines(data: Bytes, encoding: Encoding, line_feeds: int, splices: Sequence[Splice]) -> int:
    """Lines of the changed file, which had `line_feeds`; a final line feed adds no line."""
    feeds = line_feeds + sum(splice.added - splice.removed for splice in splices)
    if new_size(data.size, splices) <= len(encoding.bom):
        return 0
    end = data.size
    for splice in reversed(splices):
        if splice.end != end:
            break
        if splice.data:
            return feeds + (not splice.data.endswith(encoding.newline))
        end = splice.start
    return feeds + (data.read_at(end - encoding.unit, encoding.unit) != encoding.newline)
