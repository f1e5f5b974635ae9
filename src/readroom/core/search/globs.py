"""The globs of a call, matched like those of `rg --glob`.

The syntax is that of .gitignore, plus `{a,b}`. A glob selects files, one with "!" excludes files or whole
folders; the last match decides. A glob without a slash matches a name at any depth, one with a slash a path
from the folder of the call. Folders that no glob excludes are entered, and are selected themselves only if a
glob matches them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import final

from readroom.core.errors import BadPattern
from readroom.core.policy.rules import gitignore

_MAX_ALTERNATIVES = 64
"""Maximum globs that braces in one may expand to; two pairs of eight."""

_DEEPEST = 8
"""The deepest nesting of braces."""

_SHOWN_CHARS = 200
"""Characters of a glob that can match nothing in its error; it may be a document sent by mistake."""

_MAGIC = frozenset("*?[\\")

_RANGE = re.compile(r"(\\?.)-(\\?.)", re.DOTALL)
"""Two characters of a set and the range between them, either one escaped by a backslash."""

_ADVICE = "Globs are like *.py, src/**, *.{ts,tsx} or !test_*; a backslash makes a special character plain."


@final
class Globs:
    """The globs of one call, in order; without any, all files are selected."""

    def __init__(self, globs: Sequence[str]) -> None:
        """Raises BadPattern if one of the globs can match nothing."""
        parsed = [pattern for number, glob in enumerate(globs, 1) for pattern in _patterns(glob, number)]
        self._list = gitignore.PatternList(parsed)
        self._positive = [pattern for pattern in parsed if not pattern.negated]
        self._takes_rest = all(pattern.negated for pattern in parsed)
        self.takes_all = not parsed
        self.texts = tuple(pattern.text for pattern in parsed)

    def decides(self, path: str, *, folder: bool) -> bool | None:
        """Whether a glob selects or excludes exactly this path; None if no glob matches it."""
        pattern = self._list.deciding(gitignore.byte_text(path), folder=folder)
        return None if pattern is None else not pattern.negated

    def takes(self, path: str, *, folder: bool) -> bool:
        """Whether a path, relative to the folder of the call, is selected."""
        pattern = self._list.deciding(gitignore.byte_text(path), folder=folder)
        return self._takes_rest if pattern is None else not pattern.negated

    def enters(self, path: str) -> bool:
        """Whether anything below a folder may be selected."""
        pattern = self._list.deciding(gitignore.byte_text(path), folder=True)
        return pattern is None or not pattern.negated

    @property
    def names_hidden(self) -> bool:
        """Whether a glob names something hidden."""
        return any(_names_hidden(pattern) for pattern in self._positive)

    def hidden_name(self, path: str) -> bool:
        """Whether the glob that selects a path names something hidden."""
        pattern = self._list.deciding(gitignore.byte_text(path), folder=False)
        return pattern is not None and not pattern.negated and _names_hidden(pattern)

    @property
    def any_depth(self) -> bool:
        """Whether a glob selects some names in whatever folder they are."""
        return any(pattern.last_part_only and pattern.glob != "*" for pattern in self._positive)

    @property
    def levels(self) -> int | None:
        """How many levels of folders the globs name at most; 0 for names only, None for any number."""
        named = [each.glob for each in self._positive if not each.last_part_only or each.glob == "**"]
        return (
            None if any("**" in glob for glob in named) else max((g.count("/") + 1 for g in named), default=0)
        )

    def may_hold(self, folder: str) -> bool:
        """Whether a path below a folder may be selected, as far as the literal beginnings of globs tell."""
        parts = gitignore.byte_text(folder).split("/")
        return not self._positive or any(
            pattern.last_part_only or _agrees(pattern.glob.split("/")[:-1], parts)
            for pattern in self._positive
        )


def _names_hidden(pattern: gitignore.IgnorePattern) -> bool:
    return any(part.removeprefix("\\").startswith((".", "[.]")) for part in pattern.glob.split("/"))


def _agrees(named: Sequence[str], parts: Sequence[str]) -> bool:
    for wanted, part in zip(named, parts, strict=False):
        if _MAGIC & set(wanted):
            return True
        if wanted != part:
            return False
    return True


def _patterns(glob: str, number: int) -> Iterator[gitignore.IgnorePattern]:
    sign, glob_text = ("!", glob[1:]) if glob.startswith("!") else ("", glob)
    backward = _backward_range(glob_text)
    if backward is not None:
        problem = f"the range {backward!r} ends before it begins"
        raise BadPattern("glob", _brief(glob), problem, _ADVICE)
    for alternative in alternatives(glob, glob_text):
        parsed = gitignore.patterns([sign + alternative.removeprefix("./")], first=number)
        try:
            if not parsed:
                raise gitignore.UnusablePattern(alternative)
            parsed[0].compiled()
        except gitignore.UnusablePattern:
            raise BadPattern("glob", _brief(glob), f"{_brief(glob)!r} can match no name", _ADVICE) from None
        yield parsed[0]


def _brief(glob: str) -> str:
    return glob if len(glob) <= _SHOWN_CHARS else f"{glob[:_SHOWN_CHARS]}..."


def alternatives(glob: str, text: str | None = None, depth: int = 0) -> list[str]:
    """The expansions of the braces in a glob, or in a text of it, which are nested `depth` deep.

    Raises BadPattern.
    """
    text = glob if text is None else text
    if depth > _DEEPEST:
        problem = f"it has braces in braces, more than {_DEEPEST} deep"
        raise BadPattern("glob", _brief(glob), problem, _ADVICE)
    expanded = [""]
    at = 0
    while at < len(text):
        char = text[at]
        if char == "{":
            inner, at = _braces(glob, text, at)
            expanded = [
                begin + choice
                for begin in expanded
                for part in inner
                for choice in alternatives(glob, part, depth + 1)
            ]
        else:
            width = 2 if char == "\\" else _set_length(text, at)
            expanded = [begin + text[at : at + width] for begin in expanded]
            at += width
        if len(expanded) > _MAX_ALTERNATIVES:
            raise BadPattern(
                "glob", _brief(glob), f"its braces expand to more than {_MAX_ALTERNATIVES} globs", _ADVICE
            )
    return expanded


def _braces(glob: str, text: str, at: int) -> tuple[list[str], int]:
    """The alternatives of the braces that open at `at`, and the index after them."""
    parts, depth, at = [""], 1, at + 1
    while at < len(text):
        char = text[at]
        width = 2 if char == "\\" else _set_length(text, at)
        if char == "}":
            depth -= 1
            if depth == 0:
                return parts, at + 1
        depth += char == "{"
        if char == "," and depth == 1:
            parts.append("")
        else:
            parts[-1] += text[at : at + width]
        at += width
    raise BadPattern("glob", _brief(glob), "a brace is never closed", _ADVICE)


def _backward_range(text: str) -> str | None:
    """A range of a set, like z-a, that contains no character; rg reports an error too."""
    at = 0
    while at < len(text):
        width = 2 if text[at] == "\\" else _set_length(text, at)
        inside = at + (2 if text[at + 1 : at + 2] in ("!", "^") else 1)
        for bounds in _RANGE.finditer(text, inside, at + width - 1):
            if bounds[1][-1] > bounds[2][-1]:
                return bounds[0]
        at += width
    return None


def _set_length(text: str, at: int) -> int:
    """The length of the set, like [{,], that starts at `at`; 1 for anything else."""
    if text[at] != "[":
        return 1
    start = at + 2 if text[at + 1 : at + 2] in ("!", "^") else at + 1
    end = text.find("]", start + 1)
    return 1 if end < 0 else end + 1 - at
