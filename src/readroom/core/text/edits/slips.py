"""Find why an old text does not occur in a file, not even leniently, where that is certain.

    miscounts   the lines are there, but one character of a line is there more or less often: a rule of
                dashes, closing brackets, blanks between words
    swapped     the new text is there instead of the old one

A miscount counts only where the lines around it are those of the old text, so that a rule somewhere else
in the file is not taken for the one that is meant.  It comes first: a text that is nearly there is not
swapped with the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from readroom.core.text.edits.lenient import KEYS, Line, parted
from readroom.core.values.changes import Miscount, Slip

_CHARS = 1024 * 1024
"""Length of a text in which slips are looked for: some 20 ms, at most half a second."""

_COMPARED = 2 * 1024 * 1024
"""Characters that are compared at most. Only a file of many equal lines needs more; nothing is said then."""


def slip_in(text: str, old: str, new: str) -> Slip:
    """The slip in `old`, which does not occur in `text`; an empty one if none is certain."""
    if len(text) > _CHARS:
        return Slip()
    lines = parted(text)
    miscounts = _miscounts([line.body for line in lines], [line.body for line in parted(old)])
    if miscounts or not new.strip():
        return Slip(miscounts=miscounts)
    return Slip(swapped=_begins(text, new) or _leniently(lines, parted(new)))


def _miscounts(lines: Sequence[str], wanted: Sequence[str]) -> list[Miscount]:
    """The miscounts at every place that otherwise equals the wanted lines."""
    found: dict[tuple[int, str], list[tuple[int, int]]] = {}
    left = _COMPARED
    for at in range(len(lines) - len(wanted) + 1):
        place, compared = _place(lines, wanted, at)
        left -= compared
        if left < 0:
            return []
        for number, char in place.items():
            there = lines[at + number].count(char)
            found.setdefault((number, char), []).append((there, at + number + 1))
    return [
        Miscount(char, wanted[number].count(char), there) for (number, char), there in sorted(found.items())
    ]


def _place(lines: Sequence[str], wanted: Sequence[str], at: int) -> tuple[dict[int, str], int]:
    """The characters that are miscounted, by line of the old text, and how many were compared.

    None are if anything else differs.
    """
    miscounted: dict[int, str] = {}
    compared = 0
    for number, line in enumerate(wanted):
        there = lines[at + number]
        compared += len(there) + 1
        if line == there:
            continue
        char = _miscounted(line, there)
        if char is None:
            return {}, compared
        miscounted[number] = char
    return miscounted, compared


def _miscounted(line: str, there: str) -> str | None:
    """The one character in whose number two different lines differ; None if that is not all."""
    if not line or not there:
        return None
    only_one = set(line) ^ set(there)
    if len(only_one) > 1:
        return None
    for char in only_one or _first_difference(line, there):
        counts = line.count(char), there.count(char)
        # A character that is in one of them once is another word, not a miscount.
        if counts[0] != counts[1] and max(counts) > 1 and line.replace(char, "") == there.replace(char, ""):
            return char
    return None


def _first_difference(line: str, there: str) -> str:
    """The characters at which two different lines begin to differ."""
    at = next((at for at, (one, other) in enumerate(zip(line, there, strict=False)) if one != other), None)
    if at is None:
        at = min(len(line), len(there))
    return line[at : at + 1] + there[at : at + 1]


def _begins(text: str, new: str) -> list[int]:
    """The lines in which the new text begins."""
    numbers: list[int] = []
    at, counted, line = text.find(new), 0, 1
    while at >= 0:
        line += text.count("\n", counted, at)
        numbers.append(line)
        counted = at
        end = text.find("\n", at)
        at = text.find(new, end + 1) if end >= 0 else -1
    return numbers


def _leniently(lines: Sequence[Line], wanted: Sequence[Line]) -> list[int]:
    """The lines at which the new text begins, white space at the ends of lines ignored."""
    for key in KEYS:
        there, new = [key(line) for line in lines], [key(line) for line in wanted]
        numbers = [
            at + 1
            for at in range(len(there) - len(new) + 1)
            if there[at] == new[0] and there[at : at + len(new)] == new
        ]
        if numbers:
            return numbers
    return []
