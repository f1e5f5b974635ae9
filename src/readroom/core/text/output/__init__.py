"""Choose the lines of a program's output to show when not all of them fit.

For a failed command: the lines that say why, the earliest first, with what explains them; then the end,
where results are summed up; then the beginning.  For a successful command: the beginning and the end,
because a search whose hits contain the word "error" is not a failure.  Two streams share the space by
need.

Lines are fetched one at a time, and only near those that are shown.

Knows: lines of a log, and which of them a reader looks for first.
Does not know: commands and how they run.
May be touched: freely.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, final

import stringzilla
from msgspec import Struct, field

from readroom.core.deadline import Deadline
from readroom.core.limits import BLOCK_BYTES, RUN_CLUE_CHARS
from readroom.core.text.output.patterns import FAILURE, WORD, LogPattern
from readroom.core.values import Bytes
from readroom.core.values.commands import OutputLine

_CLUES_SHARE = 0.7
"""The share of the space for clues and their context; the rest is for the ends."""

_HEAD_SHARE = 0.25
"""The share of the beginning in the space for the ends. Results are at the end; gemini-cli and everruns keep
20%."""

_EXPLAINED = 3
"""Clues that get all of their context; the next ones get half, and from twice as many on none."""


class Stream(Protocol):
    """One cleaned output, by line numbers from 1."""

    @property
    def total(self) -> int:
        """The number of lines."""

    def row(self, number: int) -> OutputLine | None:
        """A line as it would be shown; None if it was redrawn later."""

    def clues(self) -> Sequence[tuple[int, LogPattern]]:
        """The telling lines, in order."""


Cost: TypeAlias = Callable[[OutputLine], int]
"""Returns the bytes that showing a row takes."""


def choose(streams: Sequence[Stream], room: int, cost: Cost, *, failed: bool) -> list[list[OutputLine]]:
    """The rows to show of each stream, in order; together they fit in `room`."""
    picks = _Picks(streams, room, cost)
    if not picks.everything():
        if failed:
            picks.clues(int(room * _CLUES_SHARE))
        picks.ends()
    return picks.rows()


@final
class _Picks:
    """The rows chosen so far."""

    def __init__(self, streams: Sequence[Stream], room: int, cost: Cost) -> None:
        self._streams = streams
        self._room = room
        self._cost = cost
        self._left = room
        self._rows: list[dict[int, OutputLine | None]] = [{} for _ in streams]

    def rows(self) -> list[list[OutputLine]]:
        """In the order of the output."""
        return [
            [row for _, row in sorted(by_number.items(), key=lambda pair: pair[0]) if row is not None]
            for by_number in self._rows
        ]

    def everything(self) -> bool:
        """Take all lines, if they fit; otherwise none."""
        for at, stream in enumerate(self._streams):
            for number in range(1, stream.total + 1):
                if not self._take(at, number):
                    self._left = self._room
                    self._rows = [{} for _ in self._streams]
                    return False
        return True

    def clues(self, room: int) -> None:
        """Take telling lines with their context, the weightiest first."""
        spare = self._left - room
        telling = [
            (at, number, clue) for at, stream in enumerate(self._streams) for number, clue in stream.clues()
        ]
        for rank, (at, number, clue) in enumerate(_in_turn(telling)):
            if self._left <= spare:
                return
            share = 1.0 if rank < _EXPLAINED else 0.5 if rank < 2 * _EXPLAINED else 0.0
            self._take(at, number, spare, squeeze=not rank)
            for near in _around(clue, share):
                if 1 <= number + near <= self._streams[at].total:
                    self._take(at, number + near, spare)

    def ends(self) -> None:
        """Fill the remaining space with the ends of the streams, evenly unless one needs less."""
        needy = [at for at, stream in enumerate(self._streams) if stream.total]
        for turn, at in enumerate(sorted(needy, key=lambda at: self._streams[at].total)):
            share = self._left // (len(needy) - turn)
            spare = self._left - share
            head = int(share * _HEAD_SHARE) if self._streams[at].total > 1 else 0
            self._from(at, reversed(range(1, self._streams[at].total + 1)), spare + head)
            self._from(at, iter(range(1, self._streams[at].total + 1)), spare)
        for at in needy:
            self._from(at, reversed(range(1, self._streams[at].total + 1)), 0)

    def _from(self, at: int, numbers: Iterator[int], spare: int) -> None:
        for number in numbers:
            if not self._take(at, number, spare, squeeze=not self._rows[at]):
                return

    def _take(self, at: int, number: int, spare: int = 0, *, squeeze: bool = False) -> bool:
        """Show a line if `spare` bytes remain after it; a line that must be shown is cut shorter."""
        if number in self._rows[at]:
            return True
        row = self._streams[at].row(number)
        if row is None:
            self._rows[at][number] = None
            return True
        if self._cost(row) > self._left - spare:
            if not squeeze or (cut := _squeezed(row, self._left - spare, self._cost)) is None:
                return False
            row = cut
        self._rows[at][number] = row
        self._left -= self._cost(row)
        return True


def _in_turn(telling: Sequence[tuple[int, int, LogPattern]]) -> Iterator[tuple[int, int, LogPattern]]:
    """The clues by weight; among equals, the first two, then alternately from the end and the beginning."""
    heavy = max((clue.weight for _, _, clue in telling), default=0)
    for weight in sorted({clue.weight for _, _, clue in telling}, reverse=True):
        if weight <= WORD and heavy >= FAILURE:
            return  # next to real findings, single words are noise
        equal = [item for item in telling if item[2].weight == weight]
        low, high, turn = 0, len(equal) - 1, 0
        while low <= high:
            turn += 1
            if turn > 1 and turn % 2:
                yield equal[high]
                high -= 1
            else:
                yield equal[low]
                low += 1


def _around(clue: LogPattern, share: float) -> Iterator[int]:
    """The distances of context lines, the nearest first."""
    before, after = round(clue.before * share), round(clue.after * share)
    for distance in range(1, max(before, after) + 1):
        if distance <= after:
            yield distance
        if distance <= before:
            yield -distance


def _squeezed(row: OutputLine, room: int, cost: Cost) -> OutputLine | None:
    """The beginning of a row that fits; None if not a single character does."""
    low, high = 0, len(row.text)
    while low < high:
        middle = (low + high + 1) // 2
        if cost(_cut(row, middle)) <= room:
            low = middle
        else:
            high = middle - 1
    return _cut(row, low) if low else None


def _cut(row: OutputLine, chars: int) -> OutputLine:
    return OutputLine(row.number, row.text[:chars], row.first, row.total or len(row.text))


# -----------------------------------------------------------------------------
# Finding lines that could matter, in one pass over output of any size.
#
# RE2 searches a block at a time (0.5 GB/s measured, Python's `re` 2 MB/s with the
# same alternatives); lines are counted only around matches.  A program that fails in a
# loop prints the same message a million times with other numbers: lines of the same
# shape are kept together, so memory does not grow with the input.
# -----------------------------------------------------------------------------

_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")

_DRAWN_OVER = re.compile(rb"(?m)^[^\n]*\r(?![\r\n]|\Z)")
"""The part of a line before its last redraw, mostly progress: a message begins after it."""

_NUMBER = re.compile(rb"0x[0-9a-f]+|[1-9][0-9]*")
"""Numbers are taken for one another, except 0, which distinguishes "0 errors" from "3 errors"."""

_FIRST, _LAST = 6, 2
"""Lines of one shape that are kept, from the beginning and from the end."""


class Shape(Struct):
    """Lines that differ only in their numbers."""

    count: int = 0
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        """Add a later line."""
        self.count += 1
        if len(self.first) < _FIRST:
            self.first.append(number)
        else:
            self.last = [*self.last[1 - _LAST :], number]

    @property
    def numbers(self) -> Sequence[int]:
        """The kept line numbers, in order."""
        return [*self.first, *self.last]


def shapes(lines: Iterable[tuple[int, bytes]], maximum: int) -> list[Shape]:
    """Group lines by shape: the first `maximum` shapes, and as many of the latest new ones."""
    first: dict[bytes, Shape] = {}
    later: OrderedDict[bytes, Shape] = OrderedDict()
    for number, line in lines:
        key = _NUMBER.sub(b"1", line)
        shape = first.get(key) or later.get(key)
        if shape is None:
            shape = Shape()
            if len(first) < maximum:
                first[key] = shape
            else:
                later[key] = shape
                if len(later) > maximum:
                    later.popitem(last=False)
        shape.add(number)
    return [*first.values(), *later.values()]


def lines_with(data: Bytes, pattern: str, deadline: Deadline) -> Iterator[tuple[int, bytes]]:
    """The number, from 1, and the beginning of each line that an RE2 pattern matches.

    Colours and redrawn text are removed first: messages are between them.

    Raises:
        TimedOut, Cancelled: From the deadline.
    """
    finder = _compiled(pattern)
    number = 1
    for raw in _blocks(data, deadline):
        block = last_drawn(raw)
        at = 0
        while (match := finder.search(block, at)) is not None:
            begin = block.rfind(b"\n", at, match.end()) + 1 or at
            end = block.find(b"\n", begin)
            number += stringzilla.count(memoryview(block)[at:begin], "\n") if begin > at else 0
            line = block[begin : min(begin + RUN_CLUE_CHARS, len(block) if end < 0 else end)]
            yield number, line
            if end < 0:
                at = begin
                break
            number += 1
            at = end + 1
        number += stringzilla.count(memoryview(block)[at:], "\n") if at < len(block) else 0


def last_drawn(block: bytes) -> bytes:
    """The text without colours, and without what a later text overwrote in the same line."""
    if b"\x1b" in block:
        block = _COLOUR.sub(b"", block)
    if b"\r" in block:
        block = _DRAWN_OVER.sub(b"", block.replace(b"\r\n", b"\n"))
    return block


def _blocks(data: Bytes, deadline: Deadline) -> Iterator[bytes]:
    """Blocks that end at a line end, except in lines longer than a block."""
    at, left = 0, b""
    while at < data.size:
        deadline.check()
        piece = data.read_at(at, min(BLOCK_BYTES, data.size - at))
        if not piece:
            break
        at += len(piece)
        cut = piece.rfind(b"\n") + 1
        if cut or len(left) >= BLOCK_BYTES:
            yield left + piece[: cut or len(piece)]
            left = piece[cut:] if cut else b""
        else:
            left += piece
    if left:
        yield left


def holds(line: bytes, pattern: str) -> bool:
    """Whether an RE2 pattern matches in a line."""
    return _compiled(pattern).search(line) is not None


@functools.cache
def _compiled(pattern: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # raised inside the package
        import re2  # takes 10 ms; needed only for failed commands with long output
    options = re2.Options()
    options.log_errors = False
    # Compiled for bytes: output may hold any bytes, and offsets are counted in bytes.
    return re2.compile(pattern.encode(), options)


# -----------------------------------------------------------------------------
# What a terminal would have shown of a program's output: escapes removed, redrawn progress folded.
#
# A line that is overwritten after a carriage return or backspace is shown in its last
# state, as a person would see it.  Control sequences are dropped; an unfinished one loses
# only its first characters, so that no text can hide behind it.  The resulting lines hold
# no control characters except tabs.
# -----------------------------------------------------------------------------

_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x80-\x9f]|(?<![A-Z])\x7f(?![A-Z])")
"""C0 without tab and line feed, DEL, C1. Nearly all lines have none, which one search shows.

A DEL at a capital stays: signs of secrets are made of both (`secrets.view`)."""

NUL_SIGN = "\u2400"
"""The sign for a run of NULs in a line."""

_NULS = re.compile("\0+")

_ESCAPE = re.compile(
    "\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # operating system command: titles, hyperlinks
    "|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\\\|\x9c)"  # device control, privacy message: pictures, settings
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    "|\x1b[ -/]*[0-Z\\\\^-~]"  # two or three characters: character sets, save and restore
)

_ERASE = re.compile("(?:\x1b\\[|\x9b)[0-2]?K")
"""Erase in line: removes what a redraw does not cover."""

_UP = re.compile("(?:\x1b\\[|\x9b)([0-9]*)[AF]")
"""Cursor up, and to the beginning of a line above."""

_MAX_UP = 200
"""Lines that a redraw can reach: the height of a terminal."""


def plain(line: str) -> str:
    """A line as it finally looked, without its line feed."""
    if not _CONTROL.search(line):
        return line
    line = _NULS.sub(NUL_SIGN, line)
    line = _redrawn(line) if "\r" in line else _ESCAPE.sub("", line)
    if "\b" in line:
        line = _taken_back(line)
    return _CONTROL.sub("", line)


def folded(rows: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Consecutive lines as they finally looked, without those that were redrawn later."""
    folded_rows: list[tuple[int, str]] = []
    for number, line in rows:
        up = _lines_up(line)
        if up:
            del folded_rows[-up:]
        folded_rows.append((number, plain(line)))
    return folded_rows


def _lines_up(line: str) -> int:
    if "\x1b" not in line and "\x9b" not in line:
        return 0
    # Converting a number of a thousand digits would be slow.
    return min(_MAX_UP, sum(int(match[1][:4] or 1) for match in _UP.finditer(line)))


def _redrawn(line: str) -> str:
    """The line after each carriage return has overwritten what was before it."""
    drawn = ""
    for part in line.split("\r"):
        erased = _ERASE.search(part) is not None
        text = _ESCAPE.sub("", part)
        if "\b" in text:
            text = _taken_back(text)
        drawn = text if erased else text + drawn[len(text) :]
    return drawn.rstrip(" ")


def _taken_back(line: str) -> str:
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
