"""Rules in the syntax of Python's `fnmatch`, for contracts whose users write such patterns.

Unlike in ignore files, `*` also matches a slash, and a pattern means whole paths.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from typing import final

from readroom.policy.rules import Rule, foldable
from readroom.policy.rules.gitignore import byte_text

IMPLICIT = "<implicit-allow>"
"""The rule that is named when a path is in no allow list."""


@final
class FnmatchDenials:
    """A layer that denies what one of its patterns matches, whatever the case."""

    __slots__ = ("_globs", "_patterns", "_source")

    def __init__(self, globs: Sequence[str], source: str) -> None:
        self._globs, self._source = tuple(globs), source
        self._patterns = [re.compile(fnmatch.translate(byte_text(foldable(glob).lower()))) for glob in globs]

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        """The rule that denies exactly this name, if any."""
        for glob, pattern in zip(self._globs, self._patterns, strict=True):
            if pattern.match(folded):
                return Rule(glob, self._source, "denied by configuration")
        return None

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """All: a pattern may name the folders above."""
        return range(len(folded))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FnmatchDenials) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self._globs, self._source)


@final
class FnmatchAllowList:
    """A layer that denies every file that none of its patterns matches; folders are passed through."""

    __slots__ = ("_globs", "_patterns", "_source")

    def __init__(self, globs: Sequence[str], source: str) -> None:
        self._globs, self._source = tuple(globs), source
        self._patterns = [re.compile(fnmatch.translate(byte_text(glob))) for glob in globs]

    def decide(self, path: str, folded: str, *, folder: bool) -> Rule | None:
        """The rule, for a name that is not listed."""
        if folder or any(pattern.match(path) for pattern in self._patterns):
            return None
        return Rule(IMPLICIT, self._source, "not in the list of allowed names")

    def concerned(self, folded: Sequence[str]) -> Sequence[int]:
        """All: it denies what is not listed."""
        return range(len(folded))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FnmatchAllowList) and other._key() == self._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return (self._globs, self._source)
