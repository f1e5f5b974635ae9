"""Find where the hunks of a patch fit among the lines of a file, and what becomes of the lines.

    at its line   where the heading names a line and the hunk fits there
    alone         otherwise at the only place after the hunk before it; in the part that its anchors name,
                  if there are several
    refused       everything else, with the places

The lines are compared as they are, line ends included; then with any line ends; then, if the patch may be
lenient, without white space and typography.  The first way in which a hunk fits anywhere decides.

Knows: lines of a file and hunks; the result is a list of lines that stay and lines that are new.
Does not know: bytes. Lines that stay are named by index, so that their bytes can be copied.
May be touched: with the corpus and the laws of patches: what is placed wrongly damages a user's file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from readroom.core.deadline import Deadline
from readroom.core.limits import MATCHES_NAMED
from readroom.core.text.edits.diff import split
from readroom.core.values.patches import Fitting, PatchHunk, PatchLine

Planned: TypeAlias = int | str
"""A line of the result: the index of one that stays, or a new one with its line end."""


class NoFit(Exception):
    """A hunk fits nowhere.

    `number` counts hunks from 1.  `anchor` is the line above it that is missing, None if its own lines are;
    `before` is the line where they are, but in front of the hunk before it.
    """

    def __init__(
        self, number: int, hunk: PatchHunk, anchor: str | None = None, before: int | None = None
    ) -> None:
        super().__init__(number)
        self.number = number
        self.hunk = hunk
        self.anchor = anchor
        self.before = before


class ManyFits(Exception):
    """A hunk fits at several lines, of which the first are named."""

    def __init__(self, number: int, lines: Sequence[int], count: int) -> None:
        super().__init__(number)
        self.number = number
        self.lines = lines
        self.count = count


class TextLine(Struct, frozen=True):
    """A line of the file and its line end."""

    text: str
    end: str


def parted(text: str) -> list[TextLine]:
    """The lines of a text; joined, they give the text."""
    return [_parted(line) for line in split(text)]


def _parted(line: str) -> TextLine:
    body = line.removesuffix("\n")
    end = line[len(body) :]
    return TextLine(body[:-1], "\r\n") if end and body.endswith("\r") else TextLine(body, end)


def planned(
    lines: Sequence[TextLine], hunks: Sequence[PatchHunk], fitting: Fitting, deadline: Deadline
) -> list[Planned]:
    """The lines of the changed file. Raises NoFit, ManyFits, TimedOut, Cancelled."""
    places = _Fitting(lines, fitting, deadline).places(hunks)
    return list(_NewLines(lines).rebuilt(hunks, places))


# --- how lines are compared -----------------------------------------------------------------------

_Key: TypeAlias = Callable[[str, str], str]
"""The compared part of a text and its line end."""

_ENDS: tuple[_Key, ...] = (lambda text, end: text + end, lambda text, end: text + "\n" * bool(end))
"""As they are, and with any line end."""

_FOLDED = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " ")
    | {"\u2026": "..."}
)

_STEPS: tuple[_Key, ...] = (
    lambda text, end: text,
    lambda text, end: text.rstrip(),
    lambda text, end: text.strip(),
    lambda text, end: text.translate(_FOLDED).strip(),
)
"""Without line ends; the first of them is exact, the others are for patches that may be lenient."""


def _is_without_ends(hunk: PatchHunk) -> bool:
    return any(line.end is None for line in hunk.lines)


def _keys_of(hunk: PatchHunk, steps: int) -> tuple[_Key, ...]:
    return _STEPS[:steps] if _is_without_ends(hunk) else (*_ENDS, *_STEPS[1:steps])


# --- where hunks fit ------------------------------------------------------------------------------

_CHECKED_EVERY: Final = 10_000
"""Comparisons of lines after which the deadline is looked at."""


class Slot(Struct, frozen=True):
    """The start of a hunk, by index, and whether it fits there with the line ends that it has."""

    at: int
    literally: bool = False


class _Fitting:
    """Finds the places of the hunks of one file."""

    def __init__(self, lines: Sequence[TextLine], fitting: Fitting, deadline: Deadline) -> None:
        self._lines = lines
        self._steps = max(1, fitting.steps)
        self._fitting = fitting
        self._deadline = deadline
        self._keyed: dict[int, list[str]] = {}
        self._shifts: set[int] = set()

    def places(self, hunks: Sequence[PatchHunk]) -> list[Slot]:
        placed: list[Slot] = []
        free = 0
        for number, hunk in enumerate(hunks, 1):
            self._deadline.check()
            place = self._place(number, hunk, free)
            placed.append(place)
            free = place.at + len(hunk.old)
            if hunk.first is not None and place.at != hunk.first - 1 and hunk.old:
                self._shifts.add(place.at - (hunk.first - 1))
        for number, (hunk, place) in enumerate(zip(hunks, placed, strict=True), 1):
            self._require_certain(number, hunk, place)
        return placed

    def _place(self, number: int, hunk: PatchHunk, free: int) -> Slot:
        missing = next((anchor for anchor in hunk.anchors if not self._anchored(anchor)), None)
        if missing is not None:
            raise NoFit(number, hunk, missing)
        old, after = hunk.old, self._after(hunk.anchors)
        if not old:
            return self._of_addition(number, hunk)
        for key in _keys_of(hunk, self._steps):
            fits = list(self._fits(key, old, max(free, after)))
            if fits:
                at = self._chosen(number, hunk, fits)
                return Slot(at, literally=key is _ENDS[0])
        before = next((at for key in _keys_of(hunk, self._steps) for at in self._fits(key, old, after)), None)
        raise NoFit(number, hunk, before=None if before is None else before + 1)

    def _of_addition(self, number: int, hunk: PatchHunk) -> Slot:
        """The place of a hunk without old lines."""
        end = len(self._lines)
        if self._fitting.adds_at_line and hunk.first is not None and 0 <= hunk.first <= end:
            return Slot(hunk.first)
        if not end or hunk.at_end or (self._fitting.adds_at_end and hunk.first is None):
            return Slot(end, literally=True)
        raise NoFit(number, hunk)

    def _chosen(self, number: int, hunk: PatchHunk, fits: Sequence[int]) -> int:
        """The one meant place among those where a hunk fits. Raises ManyFits."""
        if hunk.first is not None and hunk.first - 1 in fits:
            return hunk.first - 1
        last = len(self._lines) - len(hunk.old)
        if hunk.at_end and last in fits:
            return last
        if len(fits) > 1 and hunk.anchors:
            fits = self._within(hunk.anchors, fits) or fits
        if len(fits) > 1:
            raise ManyFits(number, [at + 1 for at in fits[:MATCHES_NAMED]], len(fits))
        return fits[0]

    def _require_certain(self, number: int, hunk: PatchHunk, place: Slot) -> None:
        """Refuse the line of a heading if the hunk fits, too, where others show that lines have moved to."""
        first = hunk.first
        if first is None or not hunk.old or place.at != first - 1:
            return
        key = _keys_of(hunk, self._steps)[0 if place.literally else 1]
        wanted, keyed = _wanted(key, hunk.old), self._keys(key)
        for shift in sorted(self._shifts):
            at = place.at + shift
            if at >= 0 and keyed[at : at + len(wanted)] == wanted:
                raise ManyFits(number, sorted((place.at + 1, at + 1)), 2)

    def _fits(self, key: _Key, old: Sequence[PatchLine], start: int) -> Iterator[int]:
        keyed, wanted = self._keys(key), _wanted(key, old)
        at, looked = start, 0
        last = len(keyed) - len(wanted)
        while at <= last:
            try:
                at = keyed.index(wanted[0], at, last + 1)
            except ValueError:
                return
            if keyed[at : at + len(wanted)] == wanted:
                yield at
            looked += len(wanted)
            if looked > _CHECKED_EVERY:
                self._deadline.check()
                looked = 0
            at += 1

    def _keys(self, key: _Key) -> list[str]:
        """The compared part of each line of the file."""
        keyed = self._keyed.get(id(key))
        if keyed is None:
            keyed = [key(line.text, line.end) for line in self._lines]
            self._keyed[id(key)] = keyed
        return keyed

    # --- anchors ------------------------------------------------------------------------------------

    def _after(self, anchors: Sequence[str]) -> int:
        """After the first line of each anchor, one after the other."""
        at = 0
        for anchor in anchors:
            at = next((found + 1 for found in self._anchored(anchor) if found >= at), at)
        return at

    def _within(self, anchors: Sequence[str], fits: Sequence[int]) -> list[int]:
        """Those of the places that lie in a part that the anchors begin, one within the other."""
        parts = [(0, len(self._lines))]
        for anchor in anchors:
            inner = [(at + 1, self._end_of_part(at)) for at in self._anchored(anchor)]
            parts = [(start, end) for start, end in inner if any(low < start <= high for low, high in parts)]
        return [at for at in fits if any(start <= at < end for start, end in parts)]

    def _anchored(self, anchor: str) -> list[int]:
        """The lines that an anchor means; it may be written without their indent."""
        for key in _STEPS:
            wanted = key(anchor, "")
            found = [at for at, line in enumerate(self._keys(key)) if line == wanted]
            if found:
                return found
        return []

    def _end_of_part(self, at: int) -> int:
        """The end of what a line begins: the next line with no deeper indent that begins something else."""
        depth = _depth(self._lines[at].text)
        for after in range(at + 1, len(self._lines)):
            text = self._lines[after].text.strip()
            if text and _depth(self._lines[after].text) <= depth and text[0] not in _OF_THE_SAME:
                return after
        return len(self._lines)


_OF_THE_SAME: Final = "{}()[]#"
"""How lines begin that belong to the part above, although they are not indented."""


def _depth(text: str) -> int:
    expanded = text.expandtabs()
    return len(expanded) - len(expanded.lstrip())


def _wanted(key: _Key, old: Sequence[PatchLine]) -> list[str]:
    return [key(line.text, line.end or "") for line in old]


# --- the new lines --------------------------------------------------------------------------------


class _NewLines:
    """Builds the lines of the changed file."""

    def __init__(self, lines: Sequence[TextLine]) -> None:
        self._lines = lines
        pairs = sum(line.end == "\r\n" for line in lines)
        self._usual = "\r\n" if 2 * pairs > len(lines) else "\n"

    def rebuilt(self, hunks: Sequence[PatchHunk], places: Sequence[Slot]) -> Iterator[Planned]:
        plan: list[Planned] = []
        done = 0
        for hunk, place in zip(hunks, places, strict=True):
            plan += range(done, place.at)
            plan += self._of_hunk(hunk, place)
            done = place.at + len(hunk.old)
        plan += range(done, len(self._lines))
        return self._ended(plan)

    def _of_hunk(self, hunk: PatchHunk, place: Slot) -> Iterator[Planned]:
        at = place.at
        end = self._end_near(at)
        for line in hunk.lines:
            if line.mark == "+":
                own = line.end if place.literally or not line.end else end
                yield line.text + (end if own is None else own)
                continue
            end = self._lines[at].end or end
            if line.mark == " ":
                yield at
            at += 1

    def _end_near(self, at: int) -> str:
        near = self._lines[max(0, at - 1) : at + 1]
        return next((line.end for line in reversed(near) if line.end), self._usual)

    def _ended(self, plan: Sequence[Planned]) -> Iterator[Planned]:
        """The plan, in which a line without an end that is not the last any more gets one."""
        last = len(plan) - 1
        for number, line in enumerate(plan):
            text = self._text(line)
            yield line if number == last or text.endswith("\n") else text + self._usual

    def _text(self, line: Planned) -> str:
        return line if isinstance(line, str) else self._lines[line].text + self._lines[line].end
