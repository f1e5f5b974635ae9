"""Select what one reply shows of a text: lines, pieces of long lines, and where to continue.

Works alike for a small file decoded as a whole and for a large one read in chunks through its index.  The
continuation is computed from what is really shown, after every cut.  Cuts fall between lines, or between
characters of a line that is too long, or too large for the reply by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.text.encodings import decode, prefix
from readroom.core.text.line_index import Columns, LineIndex, Shrunk, last_newline
from readroom.core.values import Bytes, Cut, LineEnds

_CHUNK_BYTES = 64 * 1024
"""Bytes read at once for a page: twice a default reply."""

MAX_CHAR_BYTES = 4
"""The longest character of UTF-8, UTF-16, UTF-32, GB 18030 and every legacy encoding."""

MARK_BYTES = len(" [+18446744073709551615 chars]")
"""Reserved for the mark of a cut line."""


class LongLine(Struct, frozen=True):
    """A line too long to decode whole: its first characters, and its byte range in the file."""

    number: int
    head: str
    start: int
    end: int


Line = str | LongLine


class Text(Protocol):
    """A text by line numbers."""

    @property
    def total_lines(self) -> int:
        """Of the whole text."""

    @property
    def ends(self) -> LineEnds:
        """Over the whole text."""

    def lines(self, first: int, last: int) -> Iterable[Line]:
        """The lines `first` to `last`, both within the text."""

    def length(self, line: LongLine) -> int:
        """Characters of a long line."""

    def piece(self, line: LongLine, column: int, maximum: int) -> str:
        """At most `maximum` characters of a long line from `column`, fewer only at its end."""


class WholeText:
    """A small file, decoded as a whole."""

    def __init__(self, text: str, *, keep_cr: bool = False) -> None:
        """`keep_cr` leaves the CR of a line end in its line."""
        ended = text.endswith("\n")
        self._keep_cr = keep_cr
        self._text = text
        self._lines = (text[:-1] if ended else text).split("\n") if text else []
        self.total_lines = len(self._lines)
        crlf = 0
        # Searching for one character is a hundred times faster than for two, and most files have none.
        if "\r" in text and "\r\n" in text:
            crlf = text.count("\r\n")
            if not keep_cr:
                self._lines = without_cr(self._lines, ended)
        total = self.total_lines - (bool(text) and not ended)
        self.ends = LineEnds(total, crlf, ended if text else None)

    @property
    def whole(self) -> str:
        """The whole text, as decoded."""
        return self._text

    def up_to(self, last: int) -> WholeText:
        """The text up to line `last`."""
        if last >= self.total_lines:
            return self
        return WholeText("\n".join([*self._text.split("\n", last)[:last], ""]), keep_cr=self._keep_cr)

    def lines(self, first: int, last: int) -> Sequence[str]:
        """The lines `first` to `last`."""
        if first == 1 and last == self.total_lines:
            return self._lines
        return self._lines[first - 1 : last]

    def fits(self, frame: Frame) -> bool:
        """Whether all lines can be shown as they are, found with a few look-ups instead of one per line."""
        numbers = self.total_lines * frame.numbered(self.total_lines)
        if byte_size(self._text) + numbers > frame.room:
            return False
        at, end = 0, len(self._text)
        while end - at > frame.line_chars:
            newline = self._text.rfind("\n", at, at + frame.line_chars + 1)
            if newline < 0:
                return False
            at = newline + 1
        return True

    def length(self, line: LongLine) -> int:
        """Never called: a small text has no long lines."""
        raise AssertionError(line)

    def piece(self, line: LongLine, column: int, maximum: int) -> str:
        """Never called: a small text has no long lines."""
        raise AssertionError(line)


class IndexedText:
    """A file of any size, read in chunks around the requested lines."""

    def __init__(
        self,
        data: Bytes,
        index: LineIndex,
        head_chars: int,
        deadline: Deadline,
        chunk_bytes: int = _CHUNK_BYTES,
        keep_cr: bool = False,
    ) -> None:
        """`head_chars` is how much of a long line is wanted when it is met among others."""
        self._keep_cr = keep_cr
        self._data = data
        self._index = index
        self._encoding = index.encoding
        self._head_chars = head_chars
        self._deadline = deadline
        # A chunk holds the wanted head and a line end, however wide its characters: a line whose end
        # is not in it is then longer than the head.
        self._chunk_bytes = max(chunk_bytes, MAX_CHAR_BYTES * (head_chars + 2)) & -index.encoding.unit
        self.total_lines = index.total_lines
        self.ends = index.ends

    def up_to(self, last: int) -> IndexedText:
        """The text up to line `last`."""
        from copy import copy

        text = copy(self)
        text.total_lines = min(last, self.total_lines)
        return text

    def lines(self, first: int, last: int) -> Iterable[Line]:
        """The lines `first` to `last`, read as they are consumed."""
        if first > last:
            return
        at, number = self._index.line_start(self._data, first), first
        while number <= last:
            self._deadline.check()
            chunk = self._read(at, min(self._chunk_bytes, self._index.size - at))
            at_end = at + len(chunk) == self._index.size
            cut = last_newline(chunk, self._encoding)
            if cut < 0 and not at_end:
                line, at = self._long_line(number, at, chunk)
                yield line
                number += 1
                continue
            size = len(chunk) if at_end else cut
            texts = self._decode(chunk[:size]).split("\n")
            if at_end and not texts[-1]:
                texts.pop()  # nothing after the final newline
                ended = True
            else:
                ended = not at_end
            if self.ends.crlf and not self._keep_cr:
                texts = without_cr(texts, ended)
            yield from texts[: last + 1 - number]
            number += len(texts)
            at += size + (0 if at_end else self._encoding.unit)

    def _long_line(self, number: int, start: int, chunk: bytes) -> tuple[LongLine, int]:
        end, following = self._index.line_end(self._data, start)
        whole = chunk[: prefix(chunk, self._encoding) or len(chunk)]
        head = self._decode(whole)[: self._head_chars]
        return LongLine(number, head, start, end), following

    def length(self, line: LongLine) -> int:
        """The number of characters of a long line, found in one pass over it."""
        return self._columns(line).chars[-1]

    def piece(self, line: LongLine, column: int, maximum: int) -> str:
        """At most `maximum` characters from `column`; the blocks before them are not read."""
        columns = self._columns(line)
        block = max(0, bisect_right(columns.chars, column - 1) - 1)
        at, skip = columns.starts[block], column - 1 - columns.chars[block]
        text, pending = "", b""
        while len(text) < skip + maximum and at < line.end:
            self._deadline.check()
            piece = pending + self._read(at, min(self._chunk_bytes, line.end - at))
            at += len(piece) - len(pending)
            size = len(piece) if at == line.end else prefix(piece, self._encoding) or len(piece)
            text += self._decode(piece[:size])
            pending = piece[size:]
        return text[skip : skip + maximum]

    def _columns(self, line: LongLine) -> Columns:
        return self._index.columns_of(self._data, line.start, line.end, self._deadline)

    def _decode(self, data: bytes) -> str:
        return decode(data, self._encoding)

    def _read(self, at: int, size: int) -> bytes:
        piece = self._data.read_at(at, size)
        if len(piece) < size:
            raise Shrunk
        return piece


def without_cr(lines: list[str], last_is_ended: bool) -> list[str]:
    """The lines without the CR of their line ends; an unfinished last line keeps its own."""
    last = lines[-1] if lines else ""
    stripped = [line[:-1] if line.endswith("\r") else line for line in lines]
    if lines and not last_is_ended:
        stripped[-1] = last
    return stripped


Reason = Literal["limit", "reply_cap"]


class Page(Struct, frozen=True):
    """The lines shown, from line `start`; those in `cuts` are partial.

    `next_line` and `next_column` are where it continues, None at the end of the text,
    `reason` why it stopped there.  A page that goes `up` continues with the lines above it.
    For rests of lines, `numbers` are theirs, as they need not follow each other, `until` is
    where the span that they belong to ends, and `uncut` counts its lines that have no rest.
    """

    start: int
    lines: Sequence[str]
    cuts: dict[int, Cut] = field(default_factory=dict)
    next_line: int | None = None
    next_column: int = 1
    reason: Reason = "limit"
    numbers: Sequence[int] = ()
    until: int | None = None
    uncut: int = 0
    up: bool = False

    @property
    def last(self) -> int:
        """The last line of the page in its direction."""
        if self.until is not None:
            return self.until
        return self.start if self.up else self.start + len(self.lines) - 1

    @property
    def first_cut(self) -> tuple[int, Cut] | None:
        """The first line in the page's direction whose end is not shown, not counting a header above it."""
        left = [item for item in self.cuts.items() if item[0] >= self.start and item[1].last < item[1].total]
        return (max if self.up else min)(left, default=None, key=lambda item: item[0])


_LEAST_PIECE = 4
"""After other rests, a piece of a rest is shown only if this part of the page is left."""


class Frame(Struct, frozen=True):
    """The space for a page: bytes for numbered lines, characters per line, the cost of a number.

    `line_bytes` caps the UTF-8 bytes of one line beside its characters, None does not.
    `mark_bytes` are kept free after a line that is cut. `lines` is the maximum shown.
    """

    room: int
    line_chars: int
    numbered: Callable[[int], int]
    line_bytes: int | None = None
    mark_bytes: int = MARK_BYTES
    lines: int | None = None


def forward(text: Text, first: int, last: int, frame: Frame) -> Page:
    """The page from line `first` on, with as much as fits, at most to line `last`.

    At least one character is shown, so that following the continuation ends.
    """
    if frame.lines is not None and last - first >= frame.lines:
        page = forward(text, first, first + frame.lines - 1, replace(frame, lines=None))
        return replace(page, reason="reply_cap")
    lines = text.lines(first, last)
    if isinstance(lines, list) and _all_fit(text, lines, last, frame):
        return Page(first, lines, {}, last + 1 if last < text.total_lines else None)
    pieces: list[str] = []
    cuts: dict[int, Cut] = {}
    used = 0
    for number, line in enumerate(lines, first):
        piece, cut = _cut(text, line, frame)
        cost = _cost(piece, cut, number, frame)
        if used + cost > frame.room:
            if pieces:
                return Page(first, pieces, cuts, number, reason="reply_cap")
            room = frame.room - frame.numbered(number) - frame.mark_bytes
            piece, cut = _squeeze(text, line, piece, room)
            # It fills the page alone, so that all lines of a page are truncated at the same width.
            following = number + 1 if number < text.total_lines else None
            return Page(first, [piece], {number: cut} if cut else {}, following, reason="reply_cap")
        pieces.append(piece)
        used += cost
        if cut:
            cuts[number] = cut
    return _ended(text, first, pieces, cuts)


def backward(text: Text, first: int, last: int, frame: Frame) -> Page:
    """The page that ends at line `last`, with as many lines from `first` on as fit."""
    low, first = first, max(first, last - _most_lines(first, frame) + 1)
    lines = text.lines(first, last)
    if isinstance(lines, list) and _all_fit(text, lines, last, frame):
        return _started(first, lines, {}, "reply_cap" if first > low else "limit")
    pieces = [_cut(text, line, frame) for line in lines]
    used, start = 0, last + 1
    while start > first:
        piece, cut = pieces[start - 1 - first]
        used += _cost(piece, cut, start - 1, frame)
        if used > frame.room:
            break
        start -= 1
    if start > last:
        # Not even the last line fits: show its beginning.
        alone = forward(text, last, last, frame)
        return _started(last, alone.lines, alone.cuts, "reply_cap")
    kept = pieces[start - first :]
    cuts = {number: cut for number, (_, cut) in enumerate(kept, start) if cut}
    return _started(start, [piece for piece, _ in kept], cuts, "reply_cap" if start > first else "limit")


def _most_lines(first: int, frame: Frame) -> int:
    """An upper bound of the lines of a page from line `first` on."""
    maximum = max(1, frame.room // frame.numbered(first))
    return maximum if frame.lines is None else min(maximum, frame.lines)


def _started(start: int, lines: Sequence[str], cuts: dict[int, Cut], reason: Reason) -> Page:
    above = start - 1 if start > 1 else None
    return Page(start, lines, cuts, above, reason=reason, up=True)


def along(
    text: Text, first: int, last: int, column: int | None, frame: Frame, *, up: bool = False
) -> tuple[Page, int]:
    """The page of what a page of lines `first` to `last` cuts off, as far as it fits.

    Args:
        text: The text that has the lines.
        first: The first line.
        last: The last line.
        column: Where the first shown line starts; None to cut it like all others.
        frame: How much may be shown, and where lines are cut.
        up: Begin with line `last`, and go up from there.

    Returns:
        The page, and the length of the line to begin with: a `column` past it shows nothing.
    """
    maximum = _most_lines(first, frame)
    first, last = (max(first, last - maximum + 1), last) if up else (first, min(last, first + maximum - 1))
    rests = _Rests(text, frame, left=frame.room)
    lines: Iterable[tuple[int, Line]] = enumerate(text.lines(first, last), first)
    length, stopped, passed = 0, None, 0
    for count, (number, line) in enumerate(reversed(list(lines)) if up else lines):
        begin = column if count == 0 else None
        if begin is not None:
            length = len(line) if isinstance(line, str) else text.length(line)
            if begin > length:
                break
        stopped = rests.take(number, line, begin)
        if stopped is not None:
            break
        passed += number not in rests.shown
    numbers = sorted(rests.shown)
    page = Page(
        numbers[0] if numbers else first,
        [rests.shown[number] for number in numbers],
        rests.cuts,
        numbers=numbers,
        until=first if up else last,
        uncut=passed,
        up=up,
    )
    if stopped is not None:
        return replace(page, next_line=stopped[0], next_column=stopped[1], reason="reply_cap"), length
    following = first - 1 if up else last + 1
    return replace(page, next_line=following if 1 <= following <= text.total_lines else None), length


class _Rests(Struct):
    """The ends of cut lines that are shown so far."""

    text: Text
    frame: Frame
    left: int
    shown: dict[int, str] = field(default_factory=dict)
    cuts: dict[int, Cut] = field(default_factory=dict)

    def take(self, number: int, line: Line, column: int | None) -> tuple[int, int] | None:
        """Show the rest of a line from `column`, or from its usual cut; where that stops."""
        at, total = column or 1, len(line) if isinstance(line, str) else self.text.length(line)
        if column is None:
            _, cut = _cut(self.text, line, self.frame)
            if cut is None:
                return None
            at = cut.last + 1
        around = self.frame.numbered(number) + len(f":{at}") + self.frame.mark_bytes
        room = max(1, self.left - around)
        piece = _within(_piece(self.text, line, at, room), room)
        end = at + len(piece) - 1
        if self.shown and end < total and room < self.frame.room // _LEAST_PIECE:
            self.cuts[number] = Cut(at, at - 1, total)
            return number, at
        self.shown[number] = piece
        self.cuts[number] = Cut(at, end, total)
        self.left -= byte_size(piece) + around
        return (number, end + 1) if end < total else None


def _all_fit(text: Text, lines: list[str], last: int, frame: Frame) -> bool:
    """Whether lines of a small file can be shown as they are: the common case, without a loop."""
    if not lines:
        return True
    if frame.line_bytes is not None and max(map(byte_size, lines)) > frame.line_bytes:
        return False
    if isinstance(text, WholeText) and len(lines) == text.total_lines:
        return text.fits(frame)
    if max(map(len, lines)) > frame.line_chars:
        return False
    return byte_size("".join(lines)) + len(lines) * frame.numbered(last) <= frame.room


def _ended(text: Text, first: int, pieces: Sequence[str], cuts: dict[int, Cut]) -> Page:
    following = first + len(pieces)
    return Page(first, pieces, cuts, following if following <= text.total_lines else None)


def _cut(text: Text, line: Line, frame: Frame) -> tuple[str, Cut | None]:
    head = (line if isinstance(line, str) else line.head)[: frame.line_chars]
    if frame.line_bytes is not None:
        head = _within(head, frame.line_bytes)
    if isinstance(line, LongLine):
        return head, Cut(1, len(head), text.length(line))
    return head, Cut(1, len(head), len(line)) if len(head) < len(line) else None


def _squeeze(text: Text, line: Line, piece: str, room: int) -> tuple[str, Cut | None]:
    """The beginning of a line that is too large for the reply by itself; at least one character."""
    total = len(line) if isinstance(line, str) else text.length(line)
    piece = _within(piece, room)
    return piece, Cut(1, len(piece), total) if len(piece) < total else None


def _piece(text: Text, line: Line, column: int, maximum: int) -> str:
    if isinstance(line, str):
        return line[column - 1 : column - 1 + maximum]
    return text.piece(line, column, maximum)


def _within(text: str, room: int) -> str:
    """The longest beginning of `text` of at most `room` bytes, at least one character."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= room:
        return text
    # Drop continuation bytes from the end, so that the cut is between characters.
    end = max(room, 0)
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass") or text[:1]


def _cost(piece: str, cut: Cut | None, number: int, frame: Frame) -> int:
    return byte_size(piece) + frame.numbered(number) + (frame.mark_bytes if cut else 0)


def weight(page: Page, frame: Frame) -> int:
    """The bytes of the page in a reply."""
    rows = zip(page.numbers, page.lines, strict=True) if page.numbers else enumerate(page.lines, page.start)
    columns = sum(len(f":{page.cuts[number].first}") for number in page.numbers)
    return columns + sum(_cost(line, page.cuts.get(number), number, frame) for number, line in rows)


def byte_size(text: str) -> int:
    """The UTF-8 bytes of a text; a lone surrogate counts three, like the mark shown for it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
