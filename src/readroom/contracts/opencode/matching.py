"""Find the text that an oldString means although it does not occur: the steps of opencode, in its order.

    lines       line by line, without blanks at both ends of a line
    anchors     the first and the last line, and lines between that are alike
    blanks      any run of blanks as one
    escapes     with \\n, \\t and quotes decoded
    ends        without blanks at both ends of the whole
    context     the first and the last line, and half of the lines between

The first step that fits decides. More than one place that fits under it is refused: the original tries
the next step, or takes the best of them.  Its step for another indentation fits nothing that `lines` does
not, and its last, for every occurrence, nothing that occurs.  Lines end in a line feed, and count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from readroom.core.values.changes import Fit

_BLANKS = "\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
"""White space in JavaScript, as a set of a pattern; in Python there is some more, and not the last."""

_ENDS = "".join(map(chr, range(0x2000, 0x200B))) + _BLANKS.replace("\u2000-\u200a", "")
_RUN = re.compile(f"[{_BLANKS}]+")
_ESCAPE = re.compile(r"""\\([ntr'"`\\\n$])""")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}

_ANCHORED = 3
"""The least lines of a text that is found by its first and last."""

_SIMILAR = 0.65
"""How alike the lines between must be, on average."""

_EQUAL = 0.5
"""How many of them must be equal if nothing else is asked of them."""

_LARGER_LINES, _LARGER_CHARS, _TIMES_LINES, _TIMES_CHARS = 3, 500, 2, 4
"""A match is refused if it has so many lines or characters more than the oldString, and so many times its."""

_COMPARED_CHARS = 4_000
"""Longer lines are alike only if they are equal: their distance would take seconds."""

_MOST_PLACES = 50
"""More places are not looked for: two are too many."""


class Place(NamedTuple):
    """Characters `start` to `end` of the text."""

    start: int
    end: int


class Lines:
    """A text by its lines."""

    def __init__(self, text: str, check: Callable[[], None]) -> None:
        """`check` may raise to end the search."""
        self.text = text
        self.check = check
        self.lines = text.split("\n")
        self.trimmed = [line.strip(_ENDS) for line in self.lines]
        self._distances: dict[tuple[str, str], int] = {}
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def distance(self, own: str, asked: str) -> int:
        """As the function, once for each pair: generated files repeat their lines."""
        known = self._distances.get((own, asked))
        if known is None:
            known = self._distances[own, asked] = distance(own, asked)
        return known

    def block(self, first: int, count: int) -> Place:
        """The place of some lines, by index, without the last line end."""
        return Place(self.starts[first], self.starts[first + count] - 1)

    def blocks(self, count: int) -> Iterator[int]:
        """The index of each line from which so many lines follow."""
        for first in range(len(self.lines) - count + 1):
            if first % 1024 == 0:
                self.check()
            yield first

    def filled(self, place: Place) -> Place:
        """The place without blanks at both ends; two of one filled place are the same."""
        inner = self.text[place.start : place.end]
        size = len(inner.strip(_ENDS))
        start = place.start + len(inner) - len(inner.lstrip(_ENDS))
        return Place(start, start + size) if size else place

    def line_of(self, place: Place) -> int:
        """The number of the line in which a place begins."""
        return self.text.count("\n", 0, place.start) + 1


Step: TypeAlias = Callable[[Lines, str], Iterator[Place]]


def fit(text: str, old: str, check: Callable[[], None]) -> Fit | None:
    """The text that `old` means, by the first step under which a place fits; None without one."""
    lines = Lines(text, check)
    for step, how in STEPS:
        places: dict[Place, Place] = {}
        for place in step(lines, old):
            places.setdefault(lines.filled(place), place)
            if len(places) > _MOST_PLACES:
                break
        if places:
            first, *others = places.values()
            found = text[first.start : first.end]
            numbers = [lines.line_of(place) for place in (first, *others)]
            # An empty text is everywhere.
            return Fit(found, numbers if found else numbers * 2, how, larger=is_larger(found, old))
    return None


def is_larger(found: str, old: str) -> bool:
    """Whether a match is so much larger than what it is a match of that it must be a mistake."""
    lines = old.count("\n") + 1
    if found.count("\n") + 1 >= max(lines + _LARGER_LINES, lines * _TIMES_LINES):
        return True
    if lines == 1:
        return False
    size = len(old.strip(_ENDS))
    return len(found.strip(_ENDS)) > max(size + _LARGER_CHARS, size * _TIMES_CHARS)


def _wanted(old: str) -> list[str]:
    """The lines of an oldString; an empty one at its end is none."""
    lines = old.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def by_lines(lines: Lines, old: str) -> Iterator[Place]:
    """Line by line, without blanks at both ends of a line."""
    wanted = [line.strip(_ENDS) for line in _wanted(old)]
    for first in lines.blocks(len(wanted)):
        if lines.trimmed[first] == wanted[0] and lines.trimmed[first : first + len(wanted)] == wanted:
            yield lines.block(first, len(wanted))


def by_anchors(lines: Lines, old: str) -> Iterator[Place]:
    """From a first to a last line, with lines between that are alike, as many but for a quarter."""
    if old.count("\n") + 1 < _ANCHORED:
        return
    wanted = [line.strip(_ENDS) for line in _wanted(old)]
    slack = max(1, len(wanted) // 4)
    for first, last in _anchored(lines, wanted):
        if abs(last - first + 1 - len(wanted)) <= slack and _is_alike(lines, first, last, wanted):
            yield lines.block(first, last - first + 1)


def by_context(lines: Lines, old: str) -> Iterator[Place]:
    """From a first to a last line, as many lines, half of those between equal."""
    if old.count("\n") + 1 < _ANCHORED:
        return
    wanted = [line.strip(_ENDS) for line in _wanted(old)]
    for first, last in _anchored(lines, wanted):
        if last - first + 1 != len(wanted):
            continue
        pairs = list(zip(lines.trimmed[first + 1 : last], wanted[1:-1], strict=True))
        filled = [own == asked for own, asked in pairs if own or asked]
        if not filled or sum(filled) / len(filled) >= _EQUAL:
            yield lines.block(first, len(wanted))


def _anchored(lines: Lines, wanted: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Each first line and the next last line after it, by index, with at least one line between."""
    if len(wanted) < 2:
        return
    ends = [at for at, line in enumerate(lines.trimmed) if line == wanted[-1]]
    next_end = 0
    for first, line in enumerate(lines.trimmed):
        if line != wanted[0]:
            continue
        while next_end < len(ends) and ends[next_end] < first + 2:
            next_end += 1
        if next_end == len(ends):
            return
        yield first, ends[next_end]


def _is_alike(lines: Lines, first: int, last: int, wanted: Sequence[str]) -> bool:
    """Whether the lines between the anchors are alike on average."""
    count = min(len(wanted) - 2, last - first - 1)
    if count <= 0:
        return True
    similar = 0.0
    for own, asked in zip(lines.trimmed[first + 1 : last], wanted[1:-1], strict=False):
        lines.check()
        longest = max(len(own), len(asked))
        if longest:
            similar += (1 - lines.distance(own, asked) / longest) / count  # rounded as the original does
        if similar >= _SIMILAR:
            return True
    return False


def distance(one: str, other: str) -> int:
    """The least changes of single characters that make one of two lines the other.

    Computed for all characters of a column at once, as bits of an integer (Myers 1999, Hyyrö 2003).
    """
    if one == other:
        return 0
    if not one or not other or max(len(one), len(other)) > _COMPARED_CHARS:
        return max(len(one), len(other))
    last, mask = 1 << (len(one) - 1), (1 << len(one)) - 1
    at: dict[str, int] = {}
    for index, char in enumerate(one):
        at[char] = at.get(char, 0) | 1 << index
    more, less, score = mask, 0, len(one)
    for char in other:
        equal = at.get(char, 0)
        same = (((equal & more) + more) ^ more) | equal | less
        up, down = less | ~(same | more), more & same
        score += bool(up & last) - bool(down & last)
        up, down = up << 1 | 1, down << 1
        vertical = equal | less
        more, less = (down | ~(vertical | up)) & mask, up & vertical & mask
    return score


def by_blanks(lines: Lines, old: str) -> Iterator[Place]:
    """Lines, parts of a line or whole blocks that are equal with each run of blanks as one."""
    wanted = _spaced(old)
    words = wanted.split(" ") if wanted else []
    part = re.compile(f"[{_BLANKS}]+".join(map(re.escape, words))) if words else None
    spaced = [_spaced(line) for line in lines.lines]
    for first in lines.blocks(1):
        line = lines.lines[first]
        if spaced[first] == wanted:
            yield lines.block(first, 1)
        elif part is not None:
            for match in part.finditer(line):
                yield Place(lines.starts[first] + match.start(), lines.starts[first] + match.end())
    count = old.count("\n") + 1
    for first in lines.blocks(count) if count > 1 else ():
        if not wanted.startswith(spaced[first]):
            continue
        if " ".join(filter(None, spaced[first : first + count])) == wanted:
            yield lines.block(first, count)


def _spaced(text: str) -> str:
    return _RUN.sub(" ", text).strip(_ENDS)


def by_escapes(lines: Lines, old: str) -> Iterator[Place]:
    """The text with its escapes decoded, or lines that are it with theirs decoded."""
    wanted = _decoded(old)
    if wanted != old:
        yield from _all(lines.text, wanted)
    count = wanted.count("\n") + 1
    escaped = [at for at, line in enumerate(lines.lines) if "\\" in line]
    for first in sorted({max(0, at - back) for at in escaped for back in range(count)}):
        lines.check()
        block = "\n".join(lines.lines[first : first + count])
        if first + count <= len(lines.lines) and _decoded(block) == wanted:
            yield lines.block(first, count)


def _decoded(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text)


def by_ends(lines: Lines, old: str) -> Iterator[Place]:
    """The text without blanks at both ends."""
    wanted = old.strip(_ENDS)
    if wanted != old:
        yield from _all(lines.text, wanted)


def _all(text: str, wanted: str) -> Iterator[Place]:
    at = text.find(wanted)
    if not wanted:
        yield Place(0, 0)
    while at >= 0 and wanted:
        yield Place(at, at + len(wanted))
        at = text.find(wanted, at + 1)


STEPS: Sequence[tuple[Step, str]] = (
    (by_lines, "blanks at the ends of lines left out"),
    (by_anchors, "first and last line equal, the lines between similar"),
    (by_blanks, "runs of blanks as one"),
    (by_escapes, "escapes decoded"),
    (by_ends, "blanks at both ends left out"),
    (by_context, "first and last line and half of those between equal"),
)
"""Each step, and in what a text and what it is taken for are alike, in words."""
