"""Patterns in the syntax of .gitignore, with git's answers.

pathspec translates a pattern into a regular expression; what a list of patterns
says of one name is decided here, because its own `check_file` also lets a
pattern for a folder speak for everything below, and then loses to git where a
negation follows.  Here a pattern speaks for exactly one name; who asks goes down
from the root and stops at the first folder that is out.

Patterns are sorted by what their last part can match, so that a name that no
pattern can match, the usual one, costs three look-ups whatever their number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pathspec.patterns.gitignore.base import GitIgnorePatternError
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

_MAGIC = re.compile(r"[*?\[\\]")


class UnusablePattern(ValueError):
    """A line that git would never match anything with."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line, compiled.

    Attributes:
        text: The line as written.
        negated: It brings back what an earlier one took out.
        folder_only: It ended with a slash.
        regex: Matches at the names it means, and maybe only at their beginnings.
        whole: Whether a match has to reach the end of the name.
        last: The last part as a glob, by which patterns are sorted.
    """

    text: str
    negated: bool
    folder_only: bool
    regex: re.Pattern[str]
    whole: bool
    last: str

    def matches(self, path: str, folder: bool) -> bool:
        """Whether it means exactly this name; `path` as `matchable` gives it."""
        if self.folder_only and not folder:
            return False
        match = self.regex.search(path)
        return match is not None and (not self.whole or match.end() == len(path))


def compile_line(line: str) -> Pattern | None:
    """The pattern of a line; None for a comment or a blank line.

    Raises:
        UnusablePattern: It is no valid pattern.
    """
    text = _trimmed(line)
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    glob = text[1:] if negated else text
    folder_only = glob.endswith("/")
    glob = glob[:-1] if folder_only else glob
    if not glob or glob.endswith("/"):
        raise UnusablePattern(text)
    try:
        regex = GitIgnoreSpecPattern(_literal_edges(glob)).regex if _closed(glob) else None
    except GitIgnorePatternError:
        regex = None
    if regex is None:
        raise UnusablePattern(text)
    last = glob.rpartition("/")[2]
    every = last == "**" or (last == "*" and "/" not in glob)
    return Pattern(text, negated, folder_only, regex, not every, last)


class PatternList:
    """Patterns in order; the last one that matches a name decides about it."""

    __slots__ = ("_literals", "_others", "_prefixes", "_suffixes", "patterns")

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self.patterns: Sequence[Pattern] = tuple(patterns)
        literals, prefixes, suffixes = set(), set(), set()
        self._others = False
        for pattern in self.patterns:
            last = pattern.last
            if not _MAGIC.search(last):
                literals.add(last)
            elif last[0] == "*" and len(last) > 1 and not _MAGIC.search(last[1:]):
                suffixes.add(last[1:])
            elif last[-1] == "*" and len(last) > 1 and not _MAGIC.search(last[:-1]):
                prefixes.add(last[:-1])
            else:
                self._others = True
        self._literals = frozenset(literals)
        self._prefixes = tuple(prefixes)
        self._suffixes = tuple(suffixes)

    def deciding(self, path: str, folder: bool) -> Pattern | None:
        """The pattern that decides about exactly this name, if any; `path` as `matchable` gives it."""
        name = path[path.rfind("/") + 1 :]
        if not (
            name in self._literals
            or self._others
            or name.endswith(self._suffixes)
            or name.startswith(self._prefixes)
        ):
            return None
        for pattern in reversed(self.patterns):
            if pattern.matches(path, folder):
                return pattern
        return None


def matchable(path: str) -> str:
    """A path as patterns are matched against it.

    "." of a regular expression stops at a line feed, and names may hold one; no
    pattern can, so any other control character serves.
    """
    return path.replace("\n", "\r") if "\n" in path else path


def decode_lines(data: bytes) -> list[str]:
    """The lines of an ignore file as git splits them; names in it are bytes, as everywhere."""
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return [os.fsdecode(line.removesuffix(b"\r")) for line in data.split(b"\n")]


def _trimmed(line: str) -> str:
    """Without trailing spaces, except one that a backslash protects."""
    text = line.rstrip(" ")
    if len(text) < len(line) and (len(text) - len(text.rstrip("\\"))) % 2:
        text += " "
    return text


def _closed(glob: str) -> bool:
    """Whether no backslash is left without a character to escape."""
    return (len(glob) - len(glob.rstrip("\\"))) % 2 == 0


def _literal_edges(glob: str) -> str:
    """What pathspec would take for syntax at either end, and git does not."""
    if glob[0] in "#!":
        glob = "\\" + glob
    if glob[-1].isspace() and not glob.endswith("\\ "):
        glob = f"{glob[:-1]}[{glob[-1]}]"
    return glob
