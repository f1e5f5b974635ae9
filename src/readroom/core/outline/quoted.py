"""Find the code in a line, for outlines by lines: without strings, comments and text in several lines.

A text in several lines begins with a mark and ends with another, or, for a heredoc, with a line of its own.
"""

from __future__ import annotations

import re
from typing import final

from msgspec import Struct

_TAG = "tag"
_OPEN = "open"


class Marks(Struct, frozen=True):
    """How a language writes what is not code.

    `pattern` matches that, where it ends in its line, as a whole; else its beginning as the group "open", or
    the last line of a heredoc as the group "tag", which `indent` may precede if the group "dash" has
    text.  `ends` are by their beginnings; others end as they begin.
    """

    pattern: re.Pattern[str]
    indent: str = " \t"
    ends: tuple[tuple[str, str], ...] = (("/*", "*/"),)

    def end_of(self, begin: str) -> str:
        """The mark that ends what this mark begins."""
        return next((end for start, end in self.ends if start == begin), begin)


def marks(*parts: str, indent: str = " \t") -> Marks:
    """From parts of the pattern, the first that matches counts."""
    return Marks(re.compile("|".join(parts)), indent)


STRING = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"?'
BLOCK_COMMENT = r"(?P<open>/\*)"


@final
class Quoted:
    """Goes through lines in order."""

    __slots__ = ("_close", "_marks", "_tags")

    def __init__(self, marks: Marks) -> None:
        self._marks = marks
        self._close = ""
        self._tags: list[tuple[str, bool]] = []

    @property
    def is_open(self) -> bool:
        """Whether the next line begins in a text that is not code."""
        return bool(self._close or self._tags)

    def code(self, line: str) -> str:
        """The next line without what is not code."""
        if self._tags and not self._close:
            tag, is_indented = self._tags[0]
            if (line.strip(self._marks.indent) if is_indented else line).rstrip() == tag:
                del self._tags[0]
            return ""
        at, kept = 0, list[str]()
        while True:
            if self._close:
                end = line.find(self._close, at)
                if end < 0:
                    return "".join(kept)
                at, self._close = end + len(self._close), ""
            found = self._marks.pattern.search(line, at)
            kept.append(line[at : found.start() if found else len(line)])
            if found is None:
                return "".join(kept)
            at = found.end()
            groups = found.groupdict()
            if groups.get(_OPEN):
                self._close = self._marks.end_of(found[_OPEN])
            elif groups.get(_TAG):
                self._tags.append((found[_TAG], bool(found["dash"])))
