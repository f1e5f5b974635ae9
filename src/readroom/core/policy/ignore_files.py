"""What ignore files hide from search and listing, as git decides it.

Each folder may have a `.gitignore` for the names below it.  The nearest one with a matching pattern
decides, then `.git/info/exclude` of the repository.  Nothing below a hidden folder can be re-included.  A
folder with its own `.git` is another repository, to which the ignore files above do not apply.

Ignore files save attention and protect nothing: an ignored file can be read by its name, and a folder
that is asked for by name is searched even if it is ignored.  Ignore files outside the root are not
consulted.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Container, Sequence, Set
from typing import Protocol, final

from msgspec import Struct

from readroom.core.errors import BadConfig, DatabaseFailed, ReadroomError, StoreFailed
from readroom.core.limits import RULE_CACHE_NAMES
from readroom.core.paths import ROOT, WorkPath, ancestors, join, parent
from readroom.core.policy.rules import Denials, Rule
from readroom.core.policy.rules.gitignore import (
    PatternList,
    UnusablePattern,
    byte_text,
    decode_lines,
    patterns,
    require_effect,
)
from readroom.core.stores.base import Source, Store
from readroom.core.values import Version

MARKS = frozenset({".git", ".gitignore"})
"""The names that make a folder relevant for what is ignored below it."""

_REASON = "an ignore file hides it from search and listing"


class Guarded(Protocol):
    """The part of a guard that is needed here."""

    store: Store
    tops: Set[WorkPath]


class _File(Struct, frozen=True):
    """The patterns of an ignore file, and the length of its folder's path."""

    name: WorkPath
    patterns: PatternList
    start: int


IGNORE_FILE_BYTES = 256 * 1024
"""Largest ignore file that is read. The longest in GitHub's templates has 8 KB."""

IGNORE_SLOW_PATTERNS = 500
"""Patterns such as `*x*` or `[ab]c` in the ignore files of a folder and those above it: each is tried on
every name, 0.3 us. People write fewer; more are not applied. The usual patterns are looked up instead."""

IGNORE_KEPT_BYTES = 1024 * 1024
"""Ignore files cached during one call, by their size; in memory they take ten times that."""


@final
class IgnoreTree:
    """The ignore files of a tree, each read when a name below its folder is looked up.

    For one call: what was read is not looked at again.
    """

    def __init__(self, guard: Guarded, top: WorkPath = ROOT) -> None:
        """Ignore files are read even when policy denies them, and never shown.

        Args:
            guard: The guard of the workspace.
            top: The requested folder; it and those above it count as not hidden.
        """
        self._store = guard.store
        self._tops = guard.tops
        self._shown = frozenset((*guard.tops, top, *ancestors(top)))
        self._files: dict[WorkPath, tuple[_File, ...]] = {}
        self._hidden: dict[WorkPath, Rule | None] = {}
        self._kept_bytes = 0

    def ignored(self, path: WorkPath, *, folder: bool) -> bool:
        """Whether a name, or a folder above it, is ignored. A link is not a folder."""
        return self.rule(path, folder=folder) is not None

    def hidden(self, folder: WorkPath, names: Sequence[str], folders: Container[str]) -> set[str]:
        """The ignored names in a folder, fast for many; `folders` are the names that are folders."""
        if self.rule(folder, folder=True) is not None:
            return set(names)
        files = self._consulted(folder)
        if not files:
            return set()
        last_parts = names if "".join(names).isascii() else list(map(byte_text, names))
        positions = {at for file in files for at in file.patterns.concerned(last_parts)}
        concerned = (names[at] for at in positions)
        return {name for name in concerned if self.ignored(join(folder, name), folder=name in folders)}

    def rule(self, path: WorkPath, *, folder: bool) -> Rule | None:
        """The pattern by which a name is ignored."""
        if path in self._shown:
            return None
        if path in self._hidden:
            return self._hidden[path]
        above = parent(path)
        rule = self.rule(above, folder=True)
        if rule is None:
            rule = self._own(path, above, folder)
        if folder:
            if len(self._hidden) >= RULE_CACHE_NAMES:
                self._forget()
            self._hidden[path] = rule
        return rule

    def _own(self, path: WorkPath, above: WorkPath, folder: bool) -> Rule | None:
        name = byte_text(path)
        for file in self._consulted(above):
            pattern = file.patterns.deciding(name[file.start :], folder=folder)
            if pattern is not None:
                if pattern.negated:
                    return None
                return Rule(pattern.text, f"{file.name}:{pattern.number}", _REASON)
        return None

    def enter(self, folder: WorkPath, names: Container[str]) -> None:
        """Read the ignore files of a folder whose names, at least those in `MARKS`, are known.

        What is above it was entered before.
        """
        self._consulted(folder, names)

    def _consulted(self, folder: WorkPath, names: Container[str] = MARKS) -> tuple[_File, ...]:
        """The ignore files that apply to names in a folder, in order of precedence."""
        known = self._files.get(folder)
        if known is None:
            if ".git" in names and self._is_repository(folder):
                above = self._read(join(folder, ".git/info/exclude"), folder)
            else:
                above = () if folder in self._tops else self._consulted(parent(folder))
            own = self._read(join(folder, ".gitignore"), folder) if ".gitignore" in names else ()
            slow = sum(file.patterns.slow for file in (*own, *above))
            known = above if slow > IGNORE_SLOW_PATTERNS else (*own, *above)
            if self._kept_bytes > IGNORE_KEPT_BYTES or len(self._files) >= RULE_CACHE_NAMES:
                self._forget()
            self._files[folder] = known
        return known

    def _forget(self) -> None:
        """Start over, to bound the memory for trees of any size."""
        self._files.clear()
        self._hidden.clear()
        self._kept_bytes = 0

    def _is_repository(self, folder: WorkPath) -> bool:
        try:
            self._store.stat(join(folder, ".git"))
        except ReadroomError:
            return False
        return True

    def _read(self, name: WorkPath, folder: WorkPath) -> tuple[_File, ...]:
        try:
            with self._store.open(name) as source:
                # Like git, which does not follow a link here. Real ignore files are never that large.
                if source.real != name or source.size > IGNORE_FILE_BYTES:
                    return ()
                data = source.read_at(0, IGNORE_FILE_BYTES)
        except ReadroomError:
            return ()
        self._kept_bytes += len(data)
        start = 0 if folder == ROOT else len(byte_text(folder)) + 1
        return (_File(name, PatternList(patterns(decode_lines(data))), start),)


# -----------------------------------------------------------------------------
# `.readroomignore` and `.kilocodeignore` of the root: names that the owner hides from agents.
#
# Their syntax is that of .gitignore.  They are read through the store, so a link out of
# the root is not a way to put other rules in place, and looked at again with every
# call: a line that is added takes effect at once.  A file that cannot be used
# closes the workspace rather than opening what it was meant to close.
# -----------------------------------------------------------------------------

KILO = WorkPath(".kilocodeignore")
"""The file of Kilo Code, which also ignores itself."""

NAMES = (KILO, WorkPath(".readroomignore"))
"""Each only restricts, so that their order matters only for the rule that is named."""

_FILE_REASON = "the owner of this folder keeps it from agents"
_ITSELF = "it says what is kept from agents"
_ADVICE = "Ask the user to correct the file or to remove it; until then nothing can be read."


@final
class IgnoreFile:
    """The layer of one ignore file in the root, cached while the file is unchanged."""

    __slots__ = ("_kept", "_name", "_store")

    def __init__(self, store: Store, name: WorkPath) -> None:
        self._store = store
        self._name = name
        self._kept: tuple[Version | None, Denials | None] = (None, None)

    def layer(self) -> Denials | None:
        """What the file denies; None without a file. The same object while the file is unchanged.

        Raises:
            BadConfig: It is there and cannot be used.
        """
        try:
            seen = self._store.version(self._name)
        except (StoreFailed, DatabaseFailed):
            raise  # an error of the store, not of this file
        except ReadroomError as error:
            raise BadConfig(self._name, "", error.message, _ADVICE) from None
        if seen is None:
            return None
        # A single reference, replaced as a whole: threads see the old pair or the new one.
        known, layer = self._kept
        if known != seen or layer is None:
            layer = _parsed(self._read(), self._name)
            self._kept = (seen, layer)
        return layer

    def _read(self) -> bytes:
        try:
            with self._store.open(self._name) as source:
                if source.size > IGNORE_FILE_BYTES:
                    problem = f"it has {source.size:,} bytes, more than {IGNORE_FILE_BYTES:,}"
                    raise BadConfig(self._name, "", problem, _ADVICE)
                require_one_name(source, self._name)
                return source.read_at(0, IGNORE_FILE_BYTES)
        except (BadConfig, StoreFailed, DatabaseFailed):
            raise
        except ReadroomError as error:
            raise BadConfig(self._name, "", error.message, _ADVICE) from None


def require_one_name(source: Source, name: WorkPath) -> None:
    """Raise BadConfig for a file of policy with hard links: a change of another name changes the policy."""
    if source.stat.links > 1:
        problem = f"it has {source.stat.links} names (hard links), and it can be changed under each of them"
        advice = f"Ask the user to replace it by a copy: `cp {name} x && mv x {name}`."
        raise BadConfig(name, "", problem, advice)


IGNORE_FILE_LINES = 2_000
"""Patterns of `.readroomignore` or `.kilocodeignore`; all are compiled on reading, 30 us each."""


def _parsed(data: bytes, name: WorkPath) -> Denials:
    rules: list[Rule] = []
    lines = _lines(data, name)
    parsed = [pattern for pattern in patterns(lines) if pattern.text.strip()]
    if len(parsed) > IGNORE_FILE_LINES:
        raise BadConfig(name, "", f"it has more than {IGNORE_FILE_LINES} patterns", _ADVICE)
    for pattern in parsed:
        try:
            require_effect(pattern)
        except UnusablePattern:
            problem = f"{pattern.text!r} is not a pattern that can match a name"
            raise BadConfig(name, f"line {pattern.number}", problem, _ADVICE) from None
        texts = dict.fromkeys((pattern.text, _without_edges(pattern.text)))
        rules += [Rule(text, f"{name}:{pattern.number}", _FILE_REASON) for text in texts if text]
    if name == KILO:
        # After the others, so that none of them can undo it.
        rules.append(Rule(f"/{name}", name, _ITSELF))
    return Denials(rules)


_EDGES = re.compile(
    r"(?:^|(?<=/))[\s\u200b-\u200f\u2060\u00ad\ufeff]+|(?<!\\)[\s\u200b-\u200f\u2060\u00ad\ufeff]+(?=/|$)"
)


def _without_edges(text: str) -> str:
    """A pattern without what cannot be seen at the ends of its names; empty if it then denies nothing.

    An indent, or a blank that an editor or a web page put after a name, is a part of the name to git.
    Denying both readings cannot open what the line was meant to close.
    """
    if text.startswith("!"):
        return ""
    plain = _EDGES.sub("", text)
    return "" if plain.startswith(("#", "!")) or not plain.strip("/") else plain


_MARKED = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32", codecs.BOM_UTF16_LE: "utf-16",
           codecs.BOM_UTF16_BE: "utf-16"}  # fmt: skip
"""Encodings by the mark that a file begins with, the longer marks first."""


def _lines(data: bytes, name: WorkPath) -> Sequence[str]:
    """The lines of a file that Windows may have written. git finds no pattern in one in UTF-16."""
    encoding = next((encoding for mark, encoding in _MARKED.items() if data.startswith(mark)), None)
    if encoding is not None:
        try:
            data = data.decode(encoding).encode()
        except UnicodeError:
            raise BadConfig(name, "", f"it begins as {encoding.upper()} and is not", _ADVICE) from None
    lines = decode_lines(data)
    for number, line in enumerate(lines, 1):
        found = next((word for char, word in _NO_LINES.items() if char in line), None)
        if found is not None:  # even in a comment: an apparent next line may be hidden in it
            raise BadConfig(name, f"line {number}", f"it holds {found}", f"{_ADVICE} UTF-8 is right for it.")
    return lines


_NO_LINES = {
    "\0": "a NUL, as UTF-16 without a byte order mark does",
    "\r": "a carriage return that ends no line",
    "\x85": "a line end of another kind (U+0085)",
    "\u2028": "a line end of another kind (U+2028)",
    "\u2029": "a line end of another kind (U+2029)",
}
"""Characters that some programs read as the end of a line, or of the text."""
