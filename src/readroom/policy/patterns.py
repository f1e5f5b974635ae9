"""Lists of patterns in the syntax of .gitignore, with git's answers.

A pattern speaks for exactly one name.  Who asks about a name deep in a tree goes
down from the root and stops at the first folder that is out; so does git.

A pattern is compiled when a name comes that it could match, judged by its last
part: most names meet no pattern at all, whatever their number.  Not pathspec:
it takes `[z-a]`, `[[:alpha:]]` and `[\\]]` otherwise than git, and a pattern for a
folder speaks for all below it, which loses to a later negation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import final

from readroom.limits import MAX_PATH_BYTES
from readroom.policy.wildmatch import UnusablePattern, byte_text, translate

_MAGIC = re.compile(r"[*?\[\\]")


@final
class Pattern:
    """One line.

    Attributes:
        text: The line as written, trimmed.
        number: Where it stands in its list, from 1.
        negated: It brings back what an earlier one took out.
        glob: What has to match: a whole path, or only its last part.
    """

    __slots__ = ("_fold", "_regex", "folder_only", "glob", "last_part_only", "negated", "number", "text")

    def __init__(self, text: str, number: int, *, fold: bool = False) -> None:
        """Take a trimmed line apart; `fold` if it is matched against lower-case names."""
        self.text = text
        self.number = number
        self.negated = text.startswith("!")
        glob = byte_text(text[1:] if self.negated else text)
        self.folder_only = glob.endswith("/")
        glob = glob.removesuffix("/")
        self.last_part_only = "/" not in glob
        self.glob = glob.removeprefix("/")
        self._fold = fold
        self._regex: re.Pattern[str] | None = None

    def compiled(self) -> re.Pattern[str]:
        """Its regular expression, made when first needed.

        Raises:
            UnusablePattern: It can match nothing.
        """
        if self._regex is None:
            if not 0 < len(self.glob) <= MAX_PATH_BYTES:
                raise UnusablePattern(self.text)
            self._regex = translate(self.glob, fold=self._fold)
        return self._regex

    def matches(self, path: str, name: str, folder: bool) -> bool:
        """Whether it means exactly this path, whose last part is `name`, both as byte text."""
        if self.folder_only and not folder:
            return False
        try:
            return self.compiled().fullmatch(name if self.last_part_only else path) is not None
        except UnusablePattern:
            return False


@final
class PatternList:
    """Patterns in order; the last one that matches a name decides about it."""

    __slots__ = ("_literals", "_others", "_prefix_tuple", "_prefixes", "_suffix_tuple", "_suffixes")

    def __init__(self, patterns: Iterable[Pattern], *, fold: bool = False) -> None:
        self._literals: dict[str, list[Pattern]] = {}
        self._suffixes: dict[str, list[Pattern]] = {}
        self._prefixes: dict[str, list[Pattern]] = {}
        self._others: list[Pattern] = []
        for pattern in patterns:
            above, _, last = pattern.glob.rpartition("/")
            if fold:
                last = last.encode("latin-1").lower().decode("latin-1")  # of ASCII letters only
            magic = [match.start() for match in _MAGIC.finditer(last)]
            if "[" in above:  # a slash in a set ends no part
                self._others.append(pattern)
            elif not magic:
                self._literals.setdefault(last, []).append(pattern)
            elif magic[0] > 0:
                self._prefixes.setdefault(last[: magic[0]], []).append(pattern)
            elif last[-1] not in "*?" and "[" not in last and "\\" not in last:
                self._suffixes.setdefault(last[magic[-1] + 1 :], []).append(pattern)
            else:
                self._others.append(pattern)
        self._suffix_tuple = tuple(self._suffixes)
        self._prefix_tuple = tuple(self._prefixes)

    @property
    def slow(self) -> int:
        """How many of the patterns are tried on every name."""
        return len(self._others)

    def concerned(self, names: Sequence[str]) -> Sequence[int]:
        """Which of many last parts, as byte text, some pattern may say something about, by position."""
        if self._others:
            return range(len(names))
        literals, ends, starts = self._literals, self._suffix_tuple, self._prefix_tuple
        return [
            at
            for at, name in enumerate(names)
            if name in literals or name.endswith(ends) or name.startswith(starts)
        ]

    def deciding(self, path: str, *, folder: bool) -> Pattern | None:
        """The pattern that decides about exactly this path, if any; `path` is byte text."""
        name = path[path.rfind("/") + 1 :]
        if not (
            name in self._literals
            or name.endswith(self._suffix_tuple)
            or name.startswith(self._prefix_tuple)
            or self._others
        ):
            return None
        found = [*self._others, *self._literals.get(name, ())]
        found += (p for end, some in self._suffixes.items() if name.endswith(end) for p in some)
        found += (p for start, some in self._prefixes.items() if name.startswith(start) for p in some)
        found.sort(key=lambda pattern: pattern.number, reverse=True)
        return next((pattern for pattern in found if pattern.matches(path, name, folder)), None)


def patterns(lines: Iterable[str], *, first: int = 1, fold: bool = False) -> list[Pattern]:
    """The patterns of the lines of an ignore file, without comments and blank lines.

    Args:
        lines: As written; the first one has the number `first`.
        first: See above.
        fold: They are matched against lower-case names.
    """
    return [
        Pattern(text, number, fold=fold)
        for number, line in enumerate(lines, first)
        if (text := _trimmed(line)) and not text.startswith("#")
    ]


def decode_lines(data: bytes) -> Sequence[str]:
    """The lines of an ignore file as git splits them; bytes that are no UTF-8 are kept as in names."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line.removesuffix(b"\r")) for line in text.split(b"\n")]


def _trimmed(line: str) -> str:
    """Without the spaces at its end, except one that a backslash protects."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return text + " " if len(text) < len(line) and backslashes % 2 else text
