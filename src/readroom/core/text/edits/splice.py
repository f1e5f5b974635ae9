"""Replace spans of bytes in a file, streamed, and show the change as a diff.

A splice is exact: a scan of the file found it, and it says nothing of the text around it.  This module
checks that the new bytes decode to the intended text, also next to invalid bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.limits import DIFF_HUNK_BYTES
from readroom.core.text.edits.diff import CUT, common_start, hunks, split
from readroom.core.text.encodings import LOWEST_TRAIL, MULTIBYTE, Encoding, decode, decode_strict, prefix
from readroom.core.text.hashes import Hashing, blocks
from readroom.core.values import Bytes
from readroom.core.values.changes import NATIVE_DIFF, DiffStyle, Hunk


class Splice(Struct, frozen=True):
    """Replace bytes `start` to `end` of the file by `data`.

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
    """Text that an encoding cannot represent exactly."""

    def __init__(self, char: str, index: int) -> None:
        """`index` is the position of `char` in the text."""
        super().__init__(char, index)
        self.char = char
        self.index = index


def encode(text: str, encoding: Encoding) -> bytes:
    """Encode a text so that it decodes to exactly the same text.

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
    """A splice, by index, next to invalid bytes; bytes `low` to `high` have to be checked."""

    index: int
    low: int
    high: int


def broken_line(
    data: Bytes, encoding: Encoding, splices: Sequence[Splice], ragged: Sequence[Ragged]
) -> int | None:
    """The line of a change whose new bytes would combine with neighbouring invalid bytes."""
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
    """The bytes of the changed file in order; `original` hashes those of the old file.

    Raises:
        Shrunk, TimedOut, Cancelled: On the way.
    """
    at = 0
    for splice in splices:
        for piece in blocks(data, deadline, at, splice.start):
            original.add(piece)
            yield piece
        for piece in blocks(data, deadline, splice.start, splice.end):
            original.add(piece)
        if splice.data:
            yield splice.data
        at = splice.end
    for piece in blocks(data, deadline, at):
        original.add(piece)
        yield piece


def applied(before: bytes, splices: Sequence[Splice]) -> bytes:
    """All bytes of a small file with its splices made."""
    at, pieces = 0, list[bytes]()
    for splice in splices:
        pieces += [before[at : splice.start], splice.data]
        at = splice.end
    return b"".join((*pieces, before[at:]))


def new_size(size: int, splices: Sequence[Splice]) -> int:
    """The size of the changed file in bytes."""
    return size + sum(len(splice.data) - (splice.end - splice.start) for splice in splices)


def new_lines(data: Bytes, encoding: Encoding, line_feeds: int, splices: Sequence[Splice]) -> int:
    """The number of lines of the changed file; a final line feed adds no line."""
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


# -----------------------------------------------------------------------------
# The hunks of a file that splices change, read only around the splices.
#
# The file and its lines may be of any size: the context of a change is looked for within
# a limited distance, and text that starts or ends inside a line is marked with an
# ellipsis.
# -----------------------------------------------------------------------------

_REACH = 16 * 1024
"""Bytes around a change that are searched for its line and context."""


def touched(
    data: Bytes, encoding: Encoding, splices: Sequence[Splice], style: DiffStyle = NATIVE_DIFF
) -> Iterator[Hunk]:
    """The hunks in order; a hunk that is too large to compare has line numbers only."""
    delta = 0
    for group in _groups(splices, style.context):
        yield from _group_hunks(data, encoding, group, delta, style)
        delta += sum(splice.added - splice.removed for splice in group)


def _groups(splices: Sequence[Splice], context: int) -> Iterator[Sequence[Splice]]:
    """Group splices whose context lines meet."""
    start = 0
    for at in range(1, len(splices) + 1):
        if at < len(splices):
            before = splices[at - 1]
            if splices[at].line - (before.line + before.removed) <= 2 * context:
                continue
        if start < at:
            yield splices[start:at]
        start = at


def _group_hunks(
    data: Bytes, encoding: Encoding, group: Sequence[Splice], delta: int, style: DiffStyle
) -> Iterator[Hunk]:
    first, last = group[0], group[-1]
    inserted = sum(len(splice.data) for splice in group)
    if last.end - first.start > DIFF_HUNK_BYTES or inserted > DIFF_HUNK_BYTES:
        removed = last.line + last.removed - first.line + 1
        added = removed + sum(splice.added - splice.removed for splice in group)
        yield Hunk(first.line, removed, first.line + delta, added, ())
        return
    start, cut_before = _line_start(data, encoding, first.start, style.context)
    end, cut_after = _line_end(data, encoding, last.end, style.context)
    head = decode(data.read_at(start, first.start - start), encoding)
    tail = decode(data.read_at(last.end, end - last.end), encoding)
    old = decode(data.read_at(first.start, last.end - first.start), encoding)
    new = decode(_joined(data, group), encoding)
    before, after = CUT if cut_before else "", CUT if cut_after else ""
    line = first.line - head.count("\n")
    yield from hunks(
        split(f"{before}{head}{old}{tail}{after}"),
        split(f"{before}{head}{new}{tail}{after}"),
        old_first=line,
        new_first=line + delta,
        ended=end == data.size and not cut_after,
        style=style,
    )


def _joined(data: Bytes, group: Sequence[Splice]) -> bytes:
    at, pieces = group[0].start, []
    for splice in group:
        pieces += [data.read_at(at, splice.start - at), splice.data]
        at = splice.end
    return b"".join(pieces)


def _line_start(data: Bytes, encoding: Encoding, at: int, context: int) -> tuple[int, bool]:
    """Where the context before byte `at` begins; True if that is inside a line."""
    low = max(len(encoding.bom), at - _REACH)
    before = data.read_at(low, at - low)
    starts = [0] if low == len(encoding.bom) else []
    starts += [feed + encoding.unit for feed in _line_feeds(before, encoding)]
    if starts:
        return low + starts[max(0, len(starts) - 1 - context)], False
    return low + _first_character(before, encoding), True


def _line_end(data: Bytes, encoding: Encoding, at: int, context: int) -> tuple[int, bool]:
    """Where the context after byte `at` ends; True if that is inside a line."""
    after = data.read_at(at, _REACH)
    complete = at + len(after) >= data.size
    ends = [feed + encoding.unit for feed in _line_feeds(after, encoding)]
    if complete:
        ends.append(len(after))
    if ends:
        return at + ends[min(len(ends) - 1, context)], False
    return at + prefix(after, encoding), True


def _line_feeds(data: bytes, encoding: Encoding) -> Iterator[int]:
    at = data.find(encoding.newline)
    while at >= 0:
        if at % encoding.unit == 0:
            yield at
        at = data.find(encoding.newline, at + 1)


def _first_character(data: bytes, encoding: Encoding) -> int:
    """The first byte that certainly begins a character, in bytes cut anywhere."""
    if encoding.name == "utf-8":
        return next((at for at, byte in enumerate(data[:4]) if byte & 0xC0 != 0x80), 0)
    if encoding.unit == 2:
        high = data[1:2] if encoding.name == "utf-16-le" else data[:1]
        return 2 if b"\xdc" <= high <= b"\xdf" else 0
    if encoding.name in MULTIBYTE:
        # A byte below all trail bytes is a character of its own, so the next one begins a character.
        return next((at + 1 for at, byte in enumerate(data) if byte < LOWEST_TRAIL), len(data))
    return 0
