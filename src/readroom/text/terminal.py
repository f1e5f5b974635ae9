r"""What a terminal would have shown of a program's output: escapes taken out, redrawn progress folded.

A line that a carriage return or a backspace takes back is shown in its last
state, as a person would see it.  Sequences that drive a terminal are dropped; one
that is not finished loses its first characters only, so that no text can be hidden
behind it.  Afterwards a line holds no control characters but tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CONTROL = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f]")
"""C0 without tab and line feed, DEL, C1. Nearly all lines have none: one look and they are done."""

_ESCAPE = re.compile(
    "\x1b\\][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)"  # operating system command: titles, hyperlinks
    "|\x1b[PX^_][^\x1b\x9c]*(?:\x1b\\\\|\x9c)"  # device control, privacy message: pictures, settings
    "|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequence: colours, cursor
    "|\x1b[ -/]*[0-Z\\\\^-~]"  # two or three characters: character sets, save and restore
)

_ERASE = re.compile("(?:\x1b\\[|\x9b)[0-2]?K")
"""Erase in line: what a redraw does not cover is gone."""

_UP = re.compile("(?:\x1b\\[|\x9b)([0-9]*)[AF]")
"""Cursor up, and to the beginning of a line above."""

_MOST_UP = 200
"""Lines that a redraw can reach: the height of a terminal."""


def plain(line: str) -> str:
    """One line, without its line feed, as it finally looked."""
    if not _CONTROL.search(line):
        return line
    line = _redrawn(line) if "\r" in line else _ESCAPE.sub("", line)
    if "\b" in line:
        line = _taken_back(line)
    return _CONTROL.sub("", line)


def folded(rows: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Consecutive numbered lines as they finally looked, without those that a later one was drawn over."""
    found: list[tuple[int, str]] = []
    for number, line in rows:
        up = _lines_up(line)
        if up:
            del found[-up:]
        found.append((number, plain(line)))
    return found


def _lines_up(line: str) -> int:
    if "\x1b" not in line and "\x9b" not in line:
        return 0
    # A number of a thousand digits would be a slow joke.
    return min(_MOST_UP, sum(int(match[1][:4] or 1) for match in _UP.finditer(line)))


def _redrawn(line: str) -> str:
    """Each part behind a carriage return is written over the one before."""
    shown = ""
    for part in line.split("\r"):
        erased = _ERASE.search(part) is not None
        text = _ESCAPE.sub("", part)
        if "\b" in text:
            text = _taken_back(text)
        shown = text if erased else text + shown[len(text) :]
    return shown.rstrip(" ")


def _taken_back(line: str) -> str:
    kept: list[str] = []
    for char in line:
        if char != "\b":
            kept.append(char)
        elif kept:
            kept.pop()
    return "".join(kept)
