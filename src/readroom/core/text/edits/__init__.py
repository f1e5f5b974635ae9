"""Find the texts that edits replace, and the smallest spans of bytes to change.

The file is searched in windows of characters, with CR LF treated as LF on both sides.  A replacement is
then narrowed to the characters that differ, and these to their bytes.  So line ends, characters with two
spellings in bytes, and invalid bytes stay as they are, even inside the matched text.  New line ends are
like those around them.

Knows: texts before and after a change, window by window.
Does not know: files, and who may change them.
May be touched: with a review of this module and `splice`: what they preserve is a user's file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from heapq import merge

from msgspec import Struct, field
from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.limits import MATCHES, MATCHES_NAMED, SMALL_FILE_BYTES
from readroom.core.text.edits.diff import blocks, common_end, common_start, split
from readroom.core.text.edits.splice import Ragged, Splice, encode
from readroom.core.text.edits.windows import MARGIN, Window, windows
from readroom.core.text.encodings import Encoding
from readroom.core.text.hashes import Hashing
from readroom.core.values import Bytes
from readroom.core.values.changes import Edit

_AROUND = 4
"""Characters on each side of a change that must be valid; no character takes more bytes."""

_LINE_END_BYTES = (512, 64 * 1024)
"""How far from a place its line end is searched for: a normal line, then a long one."""

_BROKEN = re.compile("[\ud800-\udfff]")
_LINE_END = re.compile("\r?\n")


class TooManyMatches(Exception):
    """More places than one call may change."""


class Piece(Struct, frozen=True):
    """Characters `start` to `end` of the old text become `text`, which starts at `at` in the new text."""

    start: int
    end: int
    text: str
    at: int


class ByteSpan(Struct, frozen=True):
    """Bytes `start` to `end` of a file, and the line of the first."""

    start: int
    end: int
    line: int


class Change(Struct, frozen=True):
    """An edit with its line ends as LF, and the parts of it that differ.

    One with a `span` is made there; any other where its old text is found.
    """

    old: str
    new: str
    every: bool
    pieces: tuple[Piece, ...]
    span: ByteSpan | None = None

    @property
    def whole(self) -> Piece:
        """The whole edit as one piece."""
        return Piece(0, len(self.old), self.new, 0)


class Occurrences(Struct):
    """How often the old text of an edit occurs, and the lines of the first occurrences.

    `more` says that counting was given up.
    """

    count: int = 0
    lines: list[int] = field(default_factory=list)
    more: bool = False


class Crossing(Struct, frozen=True):
    """Two edits, by index, whose old texts overlap, and the line where the second begins."""

    first: int
    second: int
    line: int


class Scan(Struct):
    """The result of one pass over a file."""

    found: list[Occurrences]
    splices: list[Splice] = field(default_factory=list)
    crossing: Crossing | None = None
    line_feeds: int = 0
    ragged: list[Ragged] = field(default_factory=list)


def prepare(edit: Edit, *, bom: bool, literal: bool = False) -> Change:
    """Reduce an edit to the parts that differ; without pieces if it changes nothing.

    Args:
        edit: As it was sent.
        bom: Whether the file has a mark: one at the start of the texts then stands for it, and is not text.
        literal: Take a CR before a LF as a character: some files have lines that end in CR CR LF.
    """
    old, new = edit.old_text, edit.new_text
    if not literal:
        old, new = _plain(old), _plain(new)
    if bom and old.startswith("\ufeff"):
        old, new = old[1:], new.removeprefix("\ufeff")
    return Change(old, new, edit.replace_all, tuple(_pieces(old, new)))


def at_span(old: str, new: str, span: ByteSpan) -> Change:
    """The change of the text at a span into another; without pieces if they are the same."""
    old, new = _plain(old), _plain(new)
    return Change(old, new, every=False, pieces=tuple(_pieces(old, new)), span=span)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n") if "\r" in text else text


def with_lone_cr(text: str) -> str:
    """The text with every line end as a single CR."""
    return _plain(text).replace("\n", "\r")


def _pieces(old: str, new: str) -> Iterator[Piece]:
    if old == new:
        return
    before, after = split(old), split(new)
    starts_old, starts_new = _starts(before), _starts(after)
    for block in blocks(before, after):
        piece = _narrowed(old, new, starts_old[block.old_start], starts_old[block.old_end],
                          starts_new[block.new_start], starts_new[block.new_end])  # fmt: skip
        yield piece


def _starts(lines: Sequence[str]) -> list[int]:
    at, starts = 0, [0]
    for line in lines:
        at += len(line)
        starts.append(at)
    return starts


def _narrowed(old: str, new: str, start: int, end: int, at: int, new_end: int) -> Piece:
    a, b = old[start:end], new[at:new_end]
    head = common_start(a, b)
    tail = common_end(a, b, head)
    return Piece(start + head, end - tail, b[head : len(b) - tail], at + head)


def scan(
    data: Bytes,
    encoding: Encoding,
    changes: Sequence[Change],
    deadline: Deadline,
    hashing: Hashing,
    *,
    step: int = SMALL_FILE_BYTES,
) -> Scan:
    """Find all edits in one pass over the file, hashing it along the way.

    Raises:
        TooManyMatches: For an edit that changes every place.
        NotEncodable: Never, when the new texts were encoded before.
        Shrunk, TimedOut, Cancelled: As `windows`.
    """
    search = _Search(data, encoding, changes)
    overlap = max((len(change.old) for change in changes if change.span is None), default=0)
    for window in windows(data, encoding, overlap, deadline, hashing, step=step):
        search.look(window)
    search.place()
    return search.sorted()


MATCHES_COUNTED = 1000
"""Occurrences that are counted for a text that should occur once; more are "more than"."""


class _Search:
    """One pass over the windows of a file."""

    def __init__(self, data: Bytes, encoding: Encoding, changes: Sequence[Change]) -> None:
        self.result = Scan([Occurrences() for _ in changes])
        self._data = data
        self._encoding = encoding
        self._changes = changes
        self._free = [0] * len(changes)
        """The position where the next match of an edit may begin, in the current window."""
        self._taken: list[tuple[int, int, int, int]] = []
        """The bytes of each match, its edit and its line."""
        self._encoded: dict[str, bytes] = {}

    def look(self, window: Window) -> None:
        line, counted = window.lines_before + 1, 0
        searched = [number for number, change in enumerate(self._changes) if change.span is None]
        places = merge(*(self._places(window, number) for number in searched))
        for position, number in places:
            line += window.plain.count("\n", counted, position)
            counted = position
            self._meet(window, position, number, line)
        if window.last:
            self.result.line_feeds = line - 1 + window.plain.count("\n", counted)
        self._free = [free - window.next_start for free in self._free]

    def _places(self, window: Window, number: int) -> Iterator[tuple[int, int]]:
        """The places where the old text of an edit occurs: all places, or the first of overlapping ones."""
        change, places = self._changes[number], self.result.found[number]
        at = max(0, window.seen - len(change.old) + 1, self._free[number])
        while not places.more and (at := window.plain.find(change.old, at, max(0, window.done))) >= 0:
            yield at, number
            at += len(change.old) if change.every else 1
            self._free[number] = at

    def _meet(self, window: Window, position: int, number: int, line: int) -> None:
        change, places = self._changes[number], self.result.found[number]
        end_position = position + len(change.old)
        window.anchor(position - MARGIN)
        start, end = window.byte(position), window.byte(end_position)
        if start is None or end is None:
            return  # starts or ends inside a unit of the encoding
        places.count += 1
        if len(places.lines) < MATCHES_NAMED:
            places.lines.append(line)
        if change.every and places.count > MATCHES:
            raise TooManyMatches
        if not change.every and places.count > 1:
            places.more = places.count > MATCHES_COUNTED
            return
        self._taken.append((start, end, number, line))
        if not self._replace(window, position, number, line, change.pieces):
            self._replace(window, position, number, line, (change.whole,))

    def place(self) -> None:
        """Meet the changes whose place is known."""
        for number, change in enumerate(self._changes):
            span = change.span
            if span is not None:
                data = self._data.read_at(span.start, span.end - span.start)
                window = Window(
                    data, span.start, self._encoding, seen=0, lines_before=span.line - 1, last=True
                )
                self._meet(window, 0, number, span.line)

    def sorted(self) -> Scan:
        """The places found, in the order of the file."""
        found, end, last = self.result, -1, -1
        for start, stop, number, line in sorted(self._taken):
            if start < end and found.crossing is None:
                found.crossing = Crossing(last, number, line)
            if stop > end:
                end, last = stop, number
        if any(change.span is not None for change in self._changes):
            splices = found.splices
            order = sorted(range(len(splices)), key=lambda at: (splices[at].start, splices[at].end))
            found.splices = [splices[at] for at in order]
            places = {old: new for new, old in enumerate(order)}
            found.ragged = sorted(
                (replace(ragged, index=places[ragged.index]) for ragged in found.ragged),
                key=lambda ragged: ragged.index,
            )
        return found

    def _replace(
        self, window: Window, position: int, number: int, line: int, pieces: Sequence[Piece]
    ) -> bool:
        """Add the splices of a match; False if a piece begins or ends inside a unit of the encoding."""
        made: list[tuple[Splice, int, int]] = []
        for piece in pieces:
            first, last = position + piece.start, position + piece.end
            start, end = window.byte(first), window.byte(last)
            if start is None or end is None:
                return False
            ends = _LINE_END.findall(window.between(first, last)) if "\n" in piece.text else []
            if "\n" in piece.text and not ends:
                before = window.between(position, first)
                after = window.between(last, position + len(self._changes[number].old))
                ends = [
                    _line_end_at(before, before.rfind("\n"))
                    or _line_end_at(after, after.find("\n"))
                    or _line_end(self._data, start, end, self._encoding)
                ]
            made.append(
                (
                    Splice(
                        start,
                        end,
                        self._bytes(piece.text, ends),
                        line + window.plain.count("\n", position, first),
                        window.plain.count("\n", first, last),
                        piece.text.count("\n"),
                    ),
                    first,
                    last,
                )
            )
        for splice, first, last in made:
            self._note_ragged(window, splice, first, last)
            self.result.splices.append(splice)
        return True

    def _note_ragged(self, window: Window, splice: Splice, first: int, last: int) -> None:
        around = window.plain[max(0, first - _AROUND) : first] + window.plain[last : last + _AROUND]
        if around.isascii() or not _BROKEN.search(around):
            return
        low = high = None
        for far in range(_AROUND, MARGIN):
            low = window.byte(max(0, first - far)) if low is None else low
        for far in range(_AROUND, MARGIN):
            high = window.byte(min(len(window.plain), last + far)) if high is None else high
        self.result.ragged.append(
            Ragged(
                len(self.result.splices),
                splice.start if low is None else low,
                splice.end if high is None else high,
            )
        )

    def _bytes(self, text: str, ends: Sequence[str]) -> bytes:
        fitted = _with_ends(text, ends)
        data = self._encoded.get(fitted)
        if data is None:
            data = self._encoded[fitted] = encode(fitted, self._encoding)
        return data


def _with_ends(text: str, ends: Sequence[str]) -> str:
    """`text` with its line feeds replaced by `ends` in order; the last one is used for all that follow."""
    if not ends or set(ends) == {"\n"}:
        return text
    if len(set(ends)) == 1:
        return text.replace("\n", ends[0])
    lines = text.split("\n")
    fitted = [line + ends[min(at, len(ends) - 1)] for at, line in enumerate(lines[:-1])]
    return "".join(fitted) + lines[-1]


def _line_end_at(text: str, at: int) -> str:
    """The line end whose line feed is at `at`; "" if there is none."""
    if at < 0:
        return ""
    return "\r\n" if at and text[at - 1] == "\r" else "\n"


def _line_end(data: Bytes, start: int, end: int, encoding: Encoding) -> str:
    """The next line end after byte `end`; in the last line, the one before byte `start`."""
    for reach in _LINE_END_BYTES:
        after = data.read_at(end, reach)
        at = _find(after, encoding)
        if at is not None:
            return "\r\n" if at and after[:at].endswith(encoding.carriage_return) else "\n"
    for reach in _LINE_END_BYTES:
        low = max(len(encoding.bom), start - reach // encoding.unit * encoding.unit)
        before = data.read_at(low, start - low)
        at = _find(before, encoding, last=True)
        if at is not None:
            return "\r\n" if before[:at].endswith(encoding.carriage_return) else "\n"
    return "\n"


def _find(data: bytes, encoding: Encoding, *, last: bool = False) -> int | None:
    """The first or last line feed in bytes that begin at a character."""
    mark, at = encoding.newline, len(data) if last else -1
    while True:
        at = data.rfind(mark, 0, at + len(mark) - 1) if last else data.find(mark, at + 1)
        if at < 0:
            return None
        if at % encoding.unit == 0:
            return at
