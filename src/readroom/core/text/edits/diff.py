"""Differences of two texts, line by line, in the format of `diff -u`, with bounded cost.

The common beginning and end are set aside first.  difflib compares the middle only if that is small: its
worst case is quadratic, and with its heuristic for large inputs a change of one line once printed 12,006.
A middle that is too large is shown as one block, before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import partial
from typing import NamedTuple

from readroom.core.limits import DIFF_LINE_CHARS
from readroom.core.text.encodings import visible
from readroom.core.values.changes import NATIVE_DIFF, Diff, DiffStyle, Hunk

NO_NEWLINE = "\\ No newline at end of file"
"""The remark of `diff` below a last line without a line end."""


CUT = "…"
"""Marks where a long line is cut."""


class DiffBlock(NamedTuple):
    """Items `old_start` to `old_end` become `new_start` to `new_end`, counted from 0, ends exclusive."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


def split(text: str) -> list[str]:
    """The lines with their line ends; only a line feed ends a line. Joined, they give the text."""
    lines = [f"{line}\n" for line in text.split("\n")]
    if text.endswith("\n") or not text:
        lines.pop()
    else:
        lines[-1] = lines[-1][:-1]
    return lines


DIFF_CELLS = 250_000
"""Product of old and new lines up to which difflib compares; above it, the difference is shown as one block.
The worst case, many equal lines, takes 0.1 s here."""


def blocks(old: Sequence[str], new: Sequence[str]) -> list[DiffBlock]:
    """The blocks in which two lists of lines differ, in order."""
    head = common_start(old, new)
    tail = common_end(old, new, head)
    rows, columns = len(old) - head - tail, len(new) - head - tail
    if not rows and not columns:
        return []
    if not rows or not columns or rows * columns > DIFF_CELLS:
        return [DiffBlock(head, head + rows, head, head + columns)]
    matcher = SequenceMatcher(None, old[head : head + rows], new[head : head + columns], autojunk=False)
    return [
        DiffBlock(head + a, head + b, head + c, head + d)
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


def common_start(old: Sequence[object], new: Sequence[object]) -> int:
    """The length of the common beginning, in items, characters or bytes."""
    low, high = 0, min(len(old), len(new))
    if old[:high] == new[:high]:
        return high
    # Compare halves instead of single items: slices compare at the speed of memory.
    while high - low > 1:
        middle = (low + high) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle
    return low


def common_end(old: Sequence[object], new: Sequence[object], start: int) -> int:
    """The length of the common end, not reaching into the first `start` items."""
    low, high = 0, min(len(old), len(new)) - start
    a, b = len(old), len(new)
    if old[a - high :] == new[b - high :]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if old[a - middle : a - low] == new[b - middle : b - low]:
            low = middle
        else:
            high = middle
    return low


def hunks(
    old: Sequence[str],
    new: Sequence[str],
    *,
    old_first: int = 1,
    new_first: int = 1,
    ended: bool = True,
    style: DiffStyle = NATIVE_DIFF,
    changed: Sequence[DiffBlock] | None = None,
) -> Iterator[Hunk]:
    """The hunks between two lists of lines with line ends.

    Args:
        old: The lines before.
        new: The lines after.
        old_first: The number that the first of `old` has in its file.
        new_first: The same for `new`.
        ended: Whether the lists reach the ends of their files.
        style: How much is shown around changes.
        changed: The blocks, if they are known.
    """
    for group in _grouped(blocks(old, new) if changed is None else changed, style.context):
        first, last = group[0], group[-1]
        before = min(style.context, first.old_start)
        after = min(style.context, len(old) - last.old_end)
        start, end = first.old_start - before, last.old_end + after
        new_start, new_end = first.new_start - before, last.new_end + after
        yield Hunk(
            _number(old_first + start, end - start),
            end - start,
            _number(new_first + new_start, new_end - new_start),
            new_end - new_start,
            list(_marked(old, new, group, start, end, ended=ended, maximum=style.line_chars)),
        )


def _number(first: int, count: int) -> int:
    return first if count else first - 1


def _grouped(changed: Sequence[DiffBlock], context: int) -> Iterator[list[DiffBlock]]:
    """Group blocks whose context lines meet into one hunk."""
    group: list[DiffBlock] = []
    for block in changed:
        if group and block.old_start - group[-1].old_end > 2 * context:
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _marked(
    old: Sequence[str],
    new: Sequence[str],
    group: Sequence[DiffBlock],
    start: int,
    end: int,
    *,
    ended: bool,
    maximum: int,
) -> Iterator[str]:
    show = partial(_shown, ended=ended, maximum=maximum)
    at = start
    for block in group:
        yield from show(" ", old, at, block.old_start)
        removed, added = old[block.old_start : block.old_end], new[block.new_start : block.new_end]
        # If lines are replaced one for one, show a long line only around its change.
        pairs = len(removed) == len(added)
        yield from show("-", old, block.old_start, block.old_end, opposite=added if pairs else ())
        yield from show("+", new, block.new_start, block.new_end, opposite=removed if pairs else ())
        at = block.old_end
    yield from show(" ", old, at, end)


def _shown(
    mark: str,
    lines: Sequence[str],
    start: int,
    end: int,
    *,
    ended: bool,
    maximum: int,
    opposite: Sequence[str] = (),
) -> Iterator[str]:
    for at in range(start, end):
        line = lines[at]
        other = opposite[at - start] if opposite else line
        yield mark + shorten(visible(_bare(line)), visible(_bare(other)), maximum)
        if ended and at == len(lines) - 1 and not line.endswith("\n"):
            yield NO_NEWLINE


def _bare(line: str) -> str:
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line


def shorten(line: str, other: str, maximum: int = DIFF_LINE_CHARS) -> str:
    """A long line cut to the part around its first difference from `other`, with ellipses."""
    if len(line) <= maximum:
        return line
    start = 0 if line == other else max(0, common_start(line, other) - maximum // 4)
    end = min(len(line), start + maximum)
    return f"{CUT if start else ''}{line[start:end]}{CUT if end < len(line) else ''}"


def within(every: Iterable[Hunk], room: int) -> Diff:
    """As many whole hunks as fit in `room` UTF-8 bytes, and a count of the others."""
    fitting: list[Hunk] = []
    left_out, first, last = 0, 0, 0
    for hunk in every:
        room -= cost(hunk)
        if room >= 0 and not left_out and hunk.lines:
            fitting.append(hunk)
        else:
            left_out += 1
            first = first or max(1, hunk.new_start)
            last = max(1, hunk.new_start + hunk.new_count - 1)
    return Diff(fitting, left_out, first, last)


def cost(hunk: Hunk) -> int:
    """The UTF-8 bytes of a hunk in a diff."""
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in (hunk.heading, *hunk.lines))


def between(old: str, new: str, room: int, style: DiffStyle = NATIVE_DIFF) -> Diff:
    """The differences of two texts, in at most `room` UTF-8 bytes."""
    return within(hunks(split(old), split(new), style=style), room)
