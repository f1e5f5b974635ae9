"""One kept output as lines to choose from: counted once, and read only where lines are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from readroom.commands import OutputLine
from readroom.deadline import Deadline
from readroom.limits import HEAD_BYTES, RUN_CLUE_CHARS, RUN_CLUE_LINES, RUN_LINE_CHARS
from readroom.stores.base import Source
from readroom.text import clues, encodings, terminal
from readroom.text.clues import Clue
from readroom.text.lines import build_index
from readroom.text.scanning import lines_with
from readroom.text.select import IndexedText, LongLine

_WINDOW = 64
"""Lines that are read together; a redraw reaches back no further."""

_HEAD_CHARS = 4000
"""Of a line that are decoded; of longer ones the end is looked at where they are redrawn."""


@final
class KeptText:
    """A stream as `salience` takes it. Raises TimedOut and Cancelled from its deadline."""

    def __init__(self, source: Source, deadline: Deadline) -> None:
        self._source = source
        self._deadline = deadline
        head = source.read_at(0, HEAD_BYTES)
        encoding = encodings.detect(head, complete=len(head) == source.size)
        self.binary = encoding is None
        self._index = build_index(source, encoding or encodings.UTF8, deadline)
        self._text = IndexedText(source, self._index, encodings.decode, _HEAD_CHARS, deadline)
        self._windows: dict[int, dict[int, str]] = {}
        self.redrawn: set[int] = set()

    @property
    def total(self) -> int:
        """Its lines, as a read counts them."""
        return 0 if self.binary else self._index.total_lines

    @property
    def total_lines(self) -> int:
        """The same of any content."""
        return self._index.total_lines

    def row(self, number: int) -> OutputLine | None:
        """A line as it is shown; None when a later one was drawn over it."""
        text = self._window(number).get(number)
        if text is None:
            self.redrawn.add(number)
            return None
        return OutputLine(number, encodings.visible(text[:RUN_LINE_CHARS]), total=len(text))

    def clues(self) -> Sequence[tuple[int, Clue]]:
        """Lines that tell why a command failed."""
        found = self._clues(clues.STRONG)
        return found or self._clues(clues.WEAK)

    def _clues(self, pattern: str) -> list[tuple[int, Clue]]:
        found = []
        for number in lines_with(self._source, pattern, RUN_CLUE_LINES, self._deadline):
            if number > self.total:
                break
            text = self._window(number).get(number)
            told = None if text is None else clues.clue(text[:RUN_CLUE_CHARS])
            if told is not None:
                found.append((number, told))
        return found

    def _window(self, number: int) -> dict[int, str]:
        """The cleaned lines around one, by number."""
        first = (number - 1) // _WINDOW * _WINDOW + 1
        found = self._windows.get(first)
        if found is None:
            last = min(first + _WINDOW - 1, self.total)
            lines = self._text.lines(first, last)
            rows = [
                (at, line if isinstance(line, str) else self._last_state(line))
                for at, line in enumerate(lines, first)
            ]
            found = self._windows[first] = dict(terminal.folded(rows))
        return found

    def _last_state(self, line: LongLine) -> str:
        """A line of a thousand redraws is shown as it ended."""
        if "\r" not in line.head:
            return line.head
        length = self._text.length(line)
        return self._text.piece(line, max(1, length - _HEAD_CHARS + 1), _HEAD_CHARS)
