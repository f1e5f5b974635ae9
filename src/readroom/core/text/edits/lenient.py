"""Replace a text where it occurs exactly, or else where its lines match except for white space.

    exactly      character for character
    trailing     line by line, ignoring white space at the ends of lines
    surrounding  line by line, ignoring white space at both ends

The first way that finds a match is used.  White space that old and new text share (an indent, a line end)
reflects the caller's habits, and the file's own is kept there; where the two differ, the caller means to
change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import gcd
from typing import Final, NamedTuple

from readroom.core.text.edits.diff import split

_BLANKS: Final = " \t"


class NoPlace(Exception):
    """The old text does not occur, not even leniently."""

    def __init__(self, *, line_ends: bool = False) -> None:
        """With `line_ends` the edit would change line ends, and those of the old text are not in the file."""
        super().__init__()
        self.line_ends = line_ends


class ManyPlaces(Exception):
    """The old text occurs several times, where once is required."""

    def __init__(self, count: int, lines: Sequence[int]) -> None:
        """`count` occurrences, and the lines of the first ones, from 1."""
        super().__init__(count)
        self.count = count
        self.lines = lines


class Line(NamedTuple):
    """A line in its parts: indent, content, trailing white space and line end."""

    lead: str
    body: str
    trail: str
    end: str


def replaced(text: str, old: str, new: str, *, every: bool, named: int) -> tuple[str, int]:
    """Replace `old`; the new text, and the number of replacements. Raises NoPlace, ManyPlaces.

    Args:
        text: The text to change.
        old: The text to replace; not empty.
        new: The replacement.
        every: Replace all occurrences that do not overlap; otherwise there must be exactly one.
        named: The number of occurrences whose lines the error names.
    """
    own = _usual_end(text)
    old_end, new_end = _inner_end(old), _inner_end(new)
    changes_ends = bool(old_end and new_end and old_end != new_end)
    count = text.count(old)
    if count:
        if count > 1 and not every:
            raise ManyPlaces(count, _lines_of(text, old, named))
        fitted = new if changes_ends or not new_end else _with_inner_end(new, own)
        return text.replace(old, fitted), count
    if changes_ends:
        raise NoPlace(line_ends=True)
    lines, wanted = parted(text), parted(old)
    for key in KEYS:
        places = _places([key(line) for line in lines], [key(line) for line in wanted])
        if len(places) > 1 and not every:
            raise ManyPlaces(len(places), [at + 1 for at in places[:named]])
        if places:
            rebuild = _Rebuilding(wanted, parted(new), own if new_end else "", _unit(lines))
            return _rebuilt(lines, places, rebuild), len(places)
    raise NoPlace


def parted(text: str) -> list[Line]:
    """The lines of a text in their parts."""
    return [_line(line) for line in split(text)]


def _line(line: str) -> Line:
    body = line.removesuffix("\n")
    end = line[len(body) :]
    if end and body.endswith("\r"):
        body, end = body[:-1], "\r\n"
    inner = body.strip(_BLANKS)
    at = body.find(inner) if inner else len(body)
    return Line(body[:at], inner, body[at + len(inner) :], end)


def _without_trail(line: Line) -> str:
    return line.lead + line.body if line.body else ""


def _words(line: Line) -> str:
    return line.body


KEYS: Final = (_without_trail, _words)
"""The parts of a line that must be equal: first all but its end, then all but both ends."""


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted lines match, the first of overlapping matches."""
    places: list[int] = []
    at, last = 0, len(lines) - len(wanted)
    while at <= last:
        if lines[at] == wanted[0] and list(lines[at : at + len(wanted)]) == list(wanted):
            places.append(at)
            at += len(wanted)
        else:
            at += 1
    return places


def _lines_of(text: str, old: str, named: int) -> list[int]:
    numbers: list[int] = []
    at = text.find(old)
    while at >= 0 and len(numbers) < named:
        numbers.append(text.count("\n", 0, at) + 1)
        at = text.find(old, at + len(old))
    return numbers


# --- line ends --------------------------------------------------------------------------------


def _usual_end(text: str) -> str:
    pairs = text.count("\r\n")
    return "\r\n" if 2 * pairs > text.count("\n") else "\n"


def _inner_end(text: str) -> str:
    """The line end of all lines except an unfinished last one; "" if they differ."""
    lines = split(text)
    ends = {_line(line).end for line in lines} - {""}
    return ends.pop() if len(lines) > 1 and len(ends) == 1 else ""


def _with_inner_end(text: str, end: str) -> str:
    """The text with other line ends; that of the last line stays."""
    *lines, last = split(text)
    return "".join(line.removesuffix("\n").removesuffix("\r") + end for line in lines) + last


# --- the new lines ----------------------------------------------------------------------------


def _rebuilt(lines: Sequence[Line], places: Sequence[int], rebuild: _Rebuilding) -> str:
    parts: list[str] = []
    done = 0
    for at in places:
        end = at + rebuild.height
        parts += ["".join(line) for line in lines[done:at]]
        # Only the last line of a file may have no end.
        parts += rebuild.over(lines[at:end], ends_file=end == len(lines) and not lines[-1].end)
        done = end
    return "".join((*parts, *("".join(line) for line in lines[done:])))


class _Rebuilding:
    """Builds new lines in place of lines that matched leniently."""

    def __init__(self, old: Sequence[Line], new: Sequence[Line], inner_end: str, file_unit: str) -> None:
        """`inner_end` is the file's usual line end if the new lines agree on one, else "".

        `file_unit` is one level of indentation of the whole file, "" if there is no such.
        """
        self.height = len(old)
        self._old = old
        self._new = new
        self._inner_end = inner_end
        shorter = min(len(old), len(new))
        self._head = _alike(old, new, shorter)
        self._tail = _alike(old[::-1], new[::-1], shorter - self._head)
        self._unit = _unit([*old, *new])
        self._file_unit = file_unit

    def over(self, there: Sequence[Line], *, ends_file: bool) -> list[str]:
        """The new lines, with the white space of the lines that they replace."""
        unit = self._unit_of(there)
        last = len(self._new) - 1
        rebuilt = []
        for number, line in enumerate(self._new):
            at = self._pair(number)
            lead, trail = line.lead, line.trail
            if at is None:
                neighbour = self._neighbour(number)
                if line.body:
                    lead = self._lead_at_level(line, self._old[neighbour], there[neighbour], unit)
                end = "" if number == last and ends_file else line.end
            else:
                old, own = self._old[at], there[at]
                if line.body or old == line:
                    lead = own.lead if old.lead == line.lead else line.lead
                    trail = own.trail if old.trail == line.trail else line.trail
                same = bool(old.end) == bool(line.end)
                end = own.end if same and (own.end or number == last) else line.end
            rebuilt.append(lead + line.body + trail + self._end(end, number == last, ends_file=ends_file))
        return rebuilt

    def _unit_of(self, there: Sequence[Line]) -> str:
        """One level of the lines that are replaced; if all have the same indent, the file says how deep."""
        own = _unit(there)
        same = len({line.lead for line in there if line.lead and line.body}) == 1
        # One blank is the unit of a file that only aligns.
        return self._file_unit if same and len(own) > len(self._file_unit) > 1 else own

    def _end(self, end: str, is_last: bool, *, ends_file: bool) -> str:
        if is_last and ends_file:
            return end
        # The following text of the file must not be joined to a last line without an end.
        return self._inner_end or end or "\n"

    def _pair(self, number: int) -> int | None:
        """The old line that a new one replaces, by index; None for an inserted line."""
        if number < self._head:
            return number
        if number >= len(self._new) - self._tail:
            return number - len(self._new) + len(self._old)
        return number if number < len(self._old) - self._tail else None

    def _neighbour(self, number: int) -> int:
        """The old neighbour of an inserted line: of the two, the one with the same indent."""
        below = len(self._old) - self._tail
        above = below - 1
        if above < 0 or not self._tail:
            return below if above < 0 else above
        lead = self._new[number].lead
        as_below = lead == self._new[len(self._new) - self._tail].lead
        return above if lead == self._new[above].lead and not as_below else below

    def _lead_at_level(self, line: Line, old: Line, own: Line, unit: str) -> str:
        """The indent of an inserted line in the file's style; by default that of its neighbour."""
        levels = (_level(line.lead, self._unit), _level(old.lead, self._unit), _level(own.lead, unit))
        wanted, base, there = levels
        if wanted is None or base is None or there is None or there + wanted - base < 0:
            return own.lead
        return unit * (there + wanted - base)


def _alike(old: Sequence[Line], new: Sequence[Line], maximum: int) -> int:
    same: Callable[[int], bool] = lambda at: old[at].body == new[at].body  # noqa: E731 - read once
    return next((at for at in range(maximum) if not same(at)), maximum)


def _unit(lines: Sequence[Line]) -> str:
    """One level of indentation: a tab or some spaces; "" if lines use both, or none."""
    leads = Counter(line.lead for line in lines if line.lead and line.body)
    if leads and all(set(lead) == {"\t"} for lead in leads):
        return "\t"
    if leads and all(set(lead) == {" "} for lead in leads):
        return " " * gcd(*map(len, leads))
    return ""


def _level(lead: str, unit: str) -> int | None:
    if not unit:
        return None
    level, rest = divmod(len(lead), len(unit))
    return level if not rest and unit * level == lead else None
