"""Which lines of a program's output are shown when not all can be.

Of a command that failed: the lines that say why, the earliest first, with what
explains them; then the end, where results are summed up; then the beginning.  Of
one that succeeded: the beginning and the end, because a search whose hits contain
the word "error" is no failure.  Two streams share one room by what they need.

Lines are asked for one by one, and only those near what is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias, final

from readroom.commands import OutputLine
from readroom.text.clues import FAILURE, WORD, Clue

_CLUES_SHARE = 0.7
"""Of the room, for clues and their context; the rest is kept for the ends."""

_HEAD_SHARE = 0.25
"""Of what the two ends get, for the beginning. Results stand at the end; gemini-cli and everruns keep 20%."""

_EXPLAINED = 3
"""Clues that get all of their context; the next ones get half, and from twice as many on none."""


class Stream(Protocol):
    """One output, cleaned, by line numbers from 1."""

    @property
    def total(self) -> int:
        """Its lines."""

    def row(self, number: int) -> OutputLine | None:
        """A line as it would be shown; None when a later one was drawn over it."""

    def clues(self) -> Sequence[tuple[int, Clue]]:
        """Lines that tell something, in their order."""


Cost: TypeAlias = Callable[[OutputLine], int]
"""What showing a row takes, in bytes."""


def choose(streams: Sequence[Stream], room: int, cost: Cost, *, failed: bool) -> list[list[OutputLine]]:
    """The rows to show of each stream, in order, together within `room`."""
    picks = _Picks(streams, room, cost)
    if not picks.everything():
        if failed:
            picks.clues(int(room * _CLUES_SHARE))
        picks.ends()
    return picks.rows()


@final
class _Picks:
    """What has been chosen so far."""

    def __init__(self, streams: Sequence[Stream], room: int, cost: Cost) -> None:
        self._streams = streams
        self._room = room
        self._cost = cost
        self._left = room
        self._rows: list[dict[int, OutputLine | None]] = [{} for _ in streams]

    def rows(self) -> list[list[OutputLine]]:
        """In the order of the output."""
        return [
            [row for _, row in sorted(found.items(), key=lambda pair: pair[0]) if row is not None]
            for found in self._rows
        ]

    def everything(self) -> bool:
        """Take all lines, if they fit; none otherwise."""
        for at, stream in enumerate(self._streams):
            for number in range(1, stream.total + 1):
                if not self._take(at, number):
                    self._left = self._room
                    self._rows = [{} for _ in self._streams]
                    return False
        return True

    def clues(self, room: int) -> None:
        """Take lines that tell something, the weightiest first, with their context."""
        spare = self._left - room
        told = [
            (at, number, clue) for at, stream in enumerate(self._streams) for number, clue in stream.clues()
        ]
        for rank, (at, number, clue) in enumerate(_in_turn(told)):
            if self._left <= spare:
                return
            share = 1.0 if rank < _EXPLAINED else 0.5 if rank < 2 * _EXPLAINED else 0.0
            self._take(at, number, spare, squeeze=not rank)
            for near in _around(clue, share):
                if 1 <= number + near <= self._streams[at].total:
                    self._take(at, number + near, spare)

    def ends(self) -> None:
        """Fill what is left with the ends of the streams: the same for each, unless one needs less."""
        needy = [at for at, stream in enumerate(self._streams) if stream.total]
        for turn, at in enumerate(sorted(needy, key=lambda at: self._streams[at].total)):
            share = self._left // (len(needy) - turn)
            spare = self._left - share
            self._from(at, reversed(range(1, self._streams[at].total + 1)), spare + int(share * _HEAD_SHARE))
            self._from(at, iter(range(1, self._streams[at].total + 1)), spare)
        for at in needy:
            self._from(at, reversed(range(1, self._streams[at].total + 1)), 0)

    def _from(self, at: int, numbers: Iterator[int], spare: int) -> None:
        for number in numbers:
            if not self._take(at, number, spare, squeeze=not self._rows[at]):
                return

    def _take(self, at: int, number: int, spare: int = 0, *, squeeze: bool = False) -> bool:
        """Show a line if that leaves `spare` bytes; cut it shorter when it must be shown at all."""
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


def _in_turn(told: Sequence[tuple[int, int, Clue]]) -> Iterator[tuple[int, int, Clue]]:
    """By weight; of equals the first two, then one from the end, one from the beginning, and so on."""
    heavy = max((clue.weight for _, _, clue in told), default=0)
    for weight in sorted({clue.weight for _, _, clue in told}, reverse=True):
        if weight <= WORD and heavy >= FAILURE:
            return  # beside real findings, mere words are noise
        equal = [item for item in told if item[2].weight == weight]
        low, high, turn = 0, len(equal) - 1, 0
        while low <= high:
            turn += 1
            if turn > 1 and turn % 2:
                yield equal[high]
                high -= 1
            else:
                yield equal[low]
                low += 1


def _around(clue: Clue, share: float) -> Iterator[int]:
    """The distances of its context, the nearest first."""
    before, after = round(clue.before * share), round(clue.after * share)
    for distance in range(1, max(before, after) + 1):
        if distance <= after:
            yield distance
        if distance <= before:
            yield -distance


def _squeezed(row: OutputLine, room: int, cost: Cost) -> OutputLine | None:
    """The beginning of a row that fits; None when not one character does."""
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
