"""Which names may be seen: denials in layers, and allow lists.

Each source of rules is one layer.  A name is denied as soon as one layer denies
it, so a later layer can only restrict further, and a negation brings back only
what its own layer took out.  Below a denied folder everything is denied.

Denials do not depend on case, on composed or decomposed characters, or on
characters that some file systems ignore: a name that macOS would take for `.env`
is `.env`.  Rules know nothing of what is on disk.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from readroom.limits import RULE_CACHE_FOLDERS
from readroom.paths import WorkPath, parent
from readroom.policy.patterns import Pattern, PatternList, compile_line, matchable

# Characters that HFS+ drops from names when it compares them (git's list, from CVE-2014-9390).
_DROPPED = re.compile("[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, where it is written, and why."""

    pattern: str
    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a name may be seen, and the rule that says no."""

    allowed: bool
    rule: Rule | None = None


ALLOWED = Verdict(True)


class Denials:
    """One layer of denials."""

    __slots__ = ("_patterns", "_verdicts")

    def __init__(self, rules: Iterable[Rule]) -> None:
        """Compile rules; those whose pattern is a comment or blank say nothing.

        Raises:
            UnusablePattern: One is no valid pattern.
        """
        self._verdicts: dict[int, Verdict] = {}
        patterns: list[Pattern] = []
        for rule in rules:
            pattern = compile_line(folded(rule.pattern))
            if pattern is not None:
                patterns.append(pattern)
                self._verdicts[id(pattern)] = Verdict(False, rule)
        self._patterns = PatternList(patterns)

    def decide(self, name: str, folder: bool) -> Verdict:
        """What the layer says of exactly this name, folded."""
        pattern = self._patterns.deciding(name, folder)
        return ALLOWED if pattern is None or pattern.negated else self._verdicts[id(pattern)]


class Rules:
    """All layers together. Safe to share between threads."""

    __slots__ = ("_folders", "_layers")

    def __init__(self, layers: Sequence[Denials]) -> None:
        self._layers = tuple(layers)
        self._folders: dict[WorkPath, Verdict] = {WorkPath("."): ALLOWED}

    def decide(self, path: WorkPath, *, folder: bool) -> Verdict:
        """Whether the name may be seen; `folder` says what it is."""
        if folder:
            verdict = self._folders.get(path)
            if verdict is not None:
                return verdict
        elif path == ".":
            return ALLOWED
        verdict = self._above(path)
        if verdict.allowed:
            verdict = self._own(path, folder)
        if folder:
            if len(self._folders) >= RULE_CACHE_FOLDERS:
                self._folders = {WorkPath("."): ALLOWED}
            self._folders[path] = verdict
        return verdict

    def _above(self, path: WorkPath) -> Verdict:
        return self.decide(parent(path), folder=True)

    def _own(self, path: WorkPath, folder: bool) -> Verdict:
        name = folded(path)
        for layer in self._layers:
            verdict = layer.decide(name, folder)
            if not verdict.allowed:
                return verdict
        return ALLOWED


def folded(path: str) -> str:
    """A name or pattern without the differences that some file system does not make."""
    if path.isascii():
        return matchable(path.lower())
    path = _DROPPED.sub("", path)
    return matchable(unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold()))
