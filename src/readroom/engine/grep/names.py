"""Names of files on their way to rg and back: globs that mean one of them, and records that hold one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import final

from readroom.search.ripgrep import literal_glob


def ranges_before(path: str) -> Iterator[str]:
    """Globs for most of what comes before a path, few of them however many names there are.

    A name comes before another that has the same beginning and then a larger character.
    """
    above = ""
    for part in path.split("/"):
        for at, char in enumerate(part):
            if not part[: at + 1].isascii():
                break
            if char > "!":
                yield f"{literal_glob(above + part[:at])}[\x01-{_before(char)}]*"
        above += f"{part}/"


def _before(char: str) -> str:
    """The character before it, or a smaller one, that may end a set of a glob."""
    before = chr(ord(char) - 1)
    return {"-": ",", "[": "Z", "\\": "Z", "]": "Z"}.get(before, before)


UNSPELLED = re.compile(r"[\ud800-\udfff]")


def glob_of(path: str) -> str:
    """A glob for a path; where it cannot be spelled, for those that differ from it only there."""
    if path[-1].isspace():
        return f"{literal_glob(path[:-1])}[{path[-1]}]"
    # Each stands for one byte, and so does the mark for any.
    return UNSPELLED.sub("?", literal_glob(path))


def can_be_glob(path: str) -> bool:
    """Whether rg takes it in a glob as it is: it drops blanks at the end, and knows only UTF-8."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not path[-1].isspace()


@final
class Records:
    """Names from "path NUL number LF" records that arrive in pieces."""

    def __init__(self) -> None:
        self._left = b""

    def add(self, data: bytes) -> Iterator[str]:
        """The names in a piece, and in what was left of those before."""
        data = self._left + data
        at = 0
        while True:
            name_end = data.find(b"\0", at)
            end = data.find(b"\n", name_end)
            if name_end < 0 or end < 0:
                break
            # A name may hold line feeds, and begins with "./" in any case.
            yield os.fsdecode(data[at + 2 : name_end])
            at = end + 1
        self._left = data[at:]
