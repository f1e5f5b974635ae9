"""Choose the lines of a command's output that its reply shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import final

from msgspec.structs import replace

from readroom.core.deadline import Deadline
from readroom.core.errors import TimedOut
from readroom.core.limits import HEAD_BYTES, MAX_WARNINGS, RUN_CLUE_CHARS
from readroom.core.stores.base import Source, Store
from readroom.core.stores.outputs import STREAMS, KeptStream
from readroom.core.text import encodings, hidden
from readroom.core.text.line_index import build_index
from readroom.core.text.output import NUL_SIGN, choose, folded, holds, lines_with, patterns, shapes
from readroom.core.text.output.patterns import LogPattern
from readroom.core.text.select import MARK_BYTES, IndexedText, LongLine
from readroom.core.values import Cap, OutputMeasure
from readroom.core.values.commands import Output, OutputLine, RunRequest, StreamName, Tail, shown_bytes
from readroom.core.values.files import Warn

_WINDOW = 64
"""Lines that are read together; a redraw does not reach further back."""

_LABEL_BYTES = len("stderr:\n")

_HEAD_CHARS = 4000
"""Characters of a line that are decoded; where longer lines are redrawn, their end is looked at."""

_OFTEN = 20
"""A line that occurs more often is noise: retries, or warnings of an old code base."""

_WORN = 3
"""How much weight such a line loses, so that a cause comes after a failure that occurs once."""


def chosen(
    mount: Store,
    cap: Cap,
    request: RunRequest,
    kept: tuple[KeptStream, KeptStream],
    failed: bool,
    deadline: Deadline,
) -> tuple[Output, Output]:
    """The lines of both streams of a command that a reply shows. Raises as `KeptText` does."""
    with ExitStack() as opened:
        texts = [KeptText(opened.enter_context(mount.open(output.path)), deadline) for output in kept]
        shown = shown_bytes(request.output, failed=failed)
        room = cap.size - cap.measure.frame(kept[0].path)
        room = room if shown is None else min(shown, room)
        labels = _LABEL_BYTES if texts[1].total else 0
        assert cap.measure.output is not None, "the contract runs commands"
        # If the client limits lines, each line is charged its share of the reply.
        least = 0 if cap.lines is None else -(-cap.size // cap.lines)
        if request.tail is None:
            rows = picked(texts, room - labels, cap.measure.output, failed=failed, least=least)
        else:
            rows = [ending(texts[0], request.tail, room, cap.lines), []]
        out, err = (
            _output(stream, output, text, lines)
            for stream, output, text, lines in zip(STREAMS, kept, texts, rows, strict=True)
        )
        return out, err


def picked(
    texts: Sequence[KeptText],
    room: int,
    measure: OutputMeasure,
    *,
    failed: bool,
    least: int = 0,
) -> list[list[OutputLine]]:
    """The lines of all streams that fit in `room` bytes, including what a reply says about gaps.

    Args:
        texts: The streams.
        room: For all streams together.
        measure: The formatting that is added.
        failed: Whether the reader needs to know why.
        least: The least bytes that a line takes.
    """

    def cost(row: OutputLine) -> int:
        mark = len(f" [+{row.left} chars]") if row.left else 0
        number = 1 if measure.numbered is None else measure.numbered(row.number)
        text = json.dumps(row.text, ensure_ascii=False) if measure.escapes else row.text
        return max(least, number + len(text.encode("utf-8", "replace")) + mark)

    _cut_long_lines(texts, room)
    spare, rows = room, choose(texts, room, cost, failed=failed)
    while measure.gap_bytes and spare > 0:
        gaps = sum(_gaps(row_lines, text.total) for row_lines, text in zip(rows, texts, strict=True))
        over = sum(cost(row) for row_lines in rows for row in row_lines) + gaps * measure.gap_bytes - room
        if over <= 0:
            break
        spare -= over
        rows = choose(texts, max(0, spare), cost, failed=failed)
    return rows


def ending(text: KeptText, tail: Tail, room: int, lines: int | None) -> list[OutputLine]:
    """The last lines of a stream, in order; of a line that is larger than all of it, its beginning.

    Args:
        text: The stream.
        tail: How much of it.
        room: Bytes of the reply.
        lines: Lines of the reply; None without a limit.
    """
    text.cut_lines_at(min(tail.bytes, room))
    rows: list[OutputLine] = []
    # A line end after the last line makes an empty one, as the original counts.
    left = min(tail.bytes, room) + (not text.ended)
    most = min(tail.lines, lines or tail.lines) - text.ended
    for number in range(text.total, 0, -1):
        row = text.row(number)
        if row is None:
            continue
        size = len(row.text.encode("utf-8", "replace")) + 1
        left -= size
        if rows and (left < 0 or len(rows) == most):
            break
        rows.append(row)
    return rows[::-1]


RUN_LINE_CHARS = 400
"""Length of a line when not all fit, unless its share is more: a bundle would fill a message."""


def _cut_long_lines(texts: Sequence[KeptText], room: int) -> None:
    """Cut lines at their share of `room`, unless all of them have room as they are."""
    chars = room
    if sum(text.size for text in texts) > room:
        share = room // max(1, sum(text.total for text in texts))
        chars = max(RUN_LINE_CHARS, share - MARK_BYTES)
    for text in texts:
        text.cut_lines_at(chars)


def _gaps(rows: Sequence[OutputLine], total: int) -> int:
    """How often lines are left out; redrawn lines, which are rare, count as left out."""
    numbers = [0, *(row.number for row in rows), total + 1]
    return sum(after - before > 1 for before, after in pairwise(numbers))


def hidden_in(outputs: Sequence[Output]) -> list[Warn]:
    """Warnings about hidden characters in the lines that are shown."""
    warnings = [*map(_nuls, (output for output in outputs if output.nuls))]
    warnings += [
        replace(warn, detail=f"{warn.detail}, in {output.stream}")
        for output in outputs
        for row in output.lines
        for warn in hidden.scan([row.text], row.number, limit=MAX_WARNINGS, first_column=row.first)
    ]
    return hidden.first_told(warnings, MAX_WARNINGS)


def _nuls(output: Output) -> Warn:
    more = len(output.nuls) - 1
    others = f"; {more:,} more line{'s' if more > 1 else ''}" if more else ""
    detail = f"U+0000 NULL in {output.stream}, shown as {NUL_SIGN}{others}"
    return Warn("control_character", detail, output.nuls[0])


def _output(stream: StreamName, kept: KeptStream, text: KeptText, rows: Sequence[OutputLine]) -> Output:
    return Output(
        stream=stream,
        path=kept.path,
        size_bytes=kept.size_bytes,
        kept_bytes=kept.kept_bytes,
        total_lines=text.total_lines,
        lines=rows,
        redrawn=frozenset(text.redrawn),
        lost=kept.lost,
        nuls=[row.number for row in rows if row.number in text.nuls],
        binary=text.binary,
        ended=text.ended,
    )


RUN_CLUE_SHAPES = 400
"""Possible clues that are examined, lines that differ only in numbers counted once: this many from the
beginning of a stream, and from its end."""

RUN_CLUES_S = 5.0
"""Longest search of one output for clues. 32 MiB take 0.3 s, and 3 to 5 s if every line may be one."""


@final
class KeptText:
    """The text of a stream, as `text.output` needs it. Raises TimedOut and Cancelled from its deadline."""

    def __init__(self, source: Source, deadline: Deadline) -> None:
        self._source = source
        self._deadline = deadline
        head = source.read_at(0, HEAD_BYTES)
        encoding = encodings.detect_printed(head, complete=len(head) == source.size)
        self.binary = encoding is None
        self._index = build_index(source, encoding or encodings.UTF8, deadline)
        self.redrawn: set[int] = set()
        self.nuls: set[int] = set()
        self.cut_lines_at(RUN_LINE_CHARS)

    def cut_lines_at(self, chars: int) -> None:
        """Show at most so many characters of a line from now on."""
        self._chars = chars
        head = max(_HEAD_CHARS, chars)
        self._text = IndexedText(self._source, self._index, head, self._deadline)
        self._windows: dict[int, dict[int, str]] = {}
        self._long: dict[int, LongLine] = {}

    @property
    def size(self) -> int:
        """Its bytes, as far as it is text."""
        return 0 if self.binary else self._source.size

    @property
    def total(self) -> int:
        """Its lines, as a read counts them."""
        return 0 if self.binary else self._index.total_lines

    @property
    def ended(self) -> bool:
        """Whether its last line has a line end."""
        return bool(self._index.ends.final)

    @property
    def total_lines(self) -> int:
        """The same of any content."""
        return self._index.total_lines

    def row(self, number: int) -> OutputLine | None:
        text = self._window(number).get(number)
        if text is None:
            self.redrawn.add(number)
            return None
        long = self._long.get(number)
        rest = 0 if long is None else self._text.length(long) - len(long.head)
        return OutputLine(number, encodings.visible(text[: self._chars]), total=len(text) + rest)

    def clues(self) -> Sequence[tuple[int, LogPattern]]:
        """Lines that tell why a command failed, in order; when time is up, those found so far."""
        if not self.total:
            return ()
        by_line: dict[int, LogPattern] = {}
        limited = self._deadline.within(RUN_CLUES_S)
        try:
            for pattern in patterns.TIERS:
                by_line.update(self._clues(pattern, limited))
            if not by_line:
                by_line.update(self._clues(patterns.WEAK, limited))
        except TimedOut:
            self._deadline.check()
        return sorted(by_line.items(), key=lambda pair: pair[0])

    def _clues(self, pattern: str, deadline: Deadline) -> Iterator[tuple[int, LogPattern]]:
        lines = lines_with(self._source, pattern, deadline)
        for shape in shapes(filter(_telling, lines), RUN_CLUE_SHAPES):
            # Lines that were redrawn later are not seen.
            seen = [at for at in shape.numbers if at <= self.total and at in self._window(at)]
            clue = patterns.clue(self._window(seen[0])[seen[0]][:RUN_CLUE_CHARS]) if seen else None
            if clue is None:
                continue
            if shape.count > _OFTEN:
                clue = replace(clue, weight=clue.weight - _WORN)
            yield from ((number, clue) for number in seen)

    def _window(self, number: int) -> dict[int, str]:
        """The cleaned lines around a line, by number."""
        first = (number - 1) // _WINDOW * _WINDOW + 1
        window = self._windows.get(first)
        if window is None:
            last = min(first + _WINDOW - 1, self.total)
            lines = self._text.lines(first, last)
            rows = [
                (at, line if isinstance(line, str) else self._of_long(line))
                for at, line in enumerate(lines, first)
            ]
            self.nuls.update(at for at, line in rows if "\0" in line)
            window = self._windows[first] = dict(folded(rows))
        return window

    def _of_long(self, line: LongLine) -> str:
        """The beginning of a long line; one of a thousand redraws is shown as it ended."""
        if "\r" not in line.head:
            self._long[line.number] = line
            return line.head
        length = self._text.length(line)
        return self._text.piece(line, max(1, length - _HEAD_CHARS + 1), _HEAD_CHARS)


def _telling(line: tuple[int, bytes]) -> bool:
    """Whether a line may be a clue; warnings are skipped, since thousands of them would hide one error."""
    return not holds(line[1], patterns.INNOCENT) or holds(line[1], patterns.COUNTS)
