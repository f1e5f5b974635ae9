"""The lines around the text of a document's parts: what a part is, what of it is not text, the contents.

Everything that comes from the document itself is numbered; a line that is not
numbered is ours, and titles in it are one line long.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom import quoting
from readroom.values.files import PartView

CONTENTS = 0
"""The number of the part that is the table of contents."""

SCHEMA = -1
"""The number of the part that says what tables are made of."""

_OURS = {CONTENTS: "contents", SCHEMA: "schema"}
"""What parts are called that no document has as such."""

_SPAN_BYTES = 80
"""A span of lines and the numbers of images, at their longest."""


def heading_line(heading: tuple[int, str, int], unit: str) -> str:
    """An entry of the table of contents."""
    level, title, part = heading
    return f"{'  ' * min(level - 1, 8)}- {quoting.title(title)} ({unit} {part})"


def head_lines(part: PartView, unit: str, total: int, first_image: int) -> list[str]:
    """What stands above the lines of a part; `first_image` is the number of its first image in the reply."""
    name = _OURS.get(part.number) or f"{unit} {part.number} of {total}"
    title = f": {quoting.title(part.title)}" if part.title else ""
    lines = [f"## {name}{title}{_part_span(part, unit)}"]
    lines += [f"[{note}]" for note in part.notes]
    if part.images:
        last = first_image + len(part.images) - 1
        which = f"image {last}" if last == first_image else f"images {first_image}-{last}"
        lines.append(f"[{which} of this reply]" if part.lines else f"[no text; {which} of this reply]")
    elif not part.lines and not part.notes:
        lines.append("[empty]")
    return lines


def _part_span(part: PartView, unit: str) -> str:
    """Which lines are shown, where those are not all."""
    if not part.lines:
        return ""
    rows = unit in ("sheet", "table") and part.number > CONTENTS
    if part.numbers:
        count, of = len(part.numbers), f"{part.start}-{part.end} of {_total(part)}"
        return f", the rest of {count} long {'row' if rows else 'line'}{'' if count == 1 else 's'} in {of}"
    if not rows and part.start == 1 and part.end == part.total_lines:
        return ""
    return f", {'rows' if rows else 'lines'} {part.start}-{part.end} of {_total(part)}"


def _total(part: PartView) -> str:
    return str(part.total_lines) if part.total_known else f"{part.total_lines} or more"


def heading_bytes(heading: tuple[int, str, int]) -> int:
    """What an entry of the table of contents takes at most."""
    return len(heading_line(heading, "section").encode("utf-8", "replace")) + 1


def part_bytes(part: PartView, unit: str, total: int) -> int:
    """What stands around the lines of a part at most, the first row above a later window included."""
    lines: Sequence[str] = head_lines(part, unit, total, 1)
    header = 0 if part.header is None else len(part.header.encode("utf-8", "replace")) + 3
    return sum(len(line.encode("utf-8", "replace")) + 1 for line in lines) + header + _SPAN_BYTES


def ranges(numbers: Sequence[int]) -> str:
    """Numbers as 1-3, 9."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
