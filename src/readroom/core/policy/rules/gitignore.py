"""Gitignore patterns, translated into regular expressions.

Follows git's wildmatch.c with WM_PATHNAME, byte by byte: names and globs come as
`byte_text`, in which each character stands for one byte.  `*`, `?` and sets never
match a slash; `**` between slashes matches any number of folders.

A glob may come from a hostile repository.  Naively translated, `*a*a*a*a*b` costs
time to the power of its stars; so what stands between two stars is matched at its
first place and not tried again (an atomic group).  That loses no match: the
second star takes everything that the first could have taken.  The same holds for the
folders between two `**`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import compress, count
from typing import TypeAlias, final

from readroom.core.limits import MAX_PATH_BYTES


class UnusablePattern(ValueError):
    """A pattern that git would never match anything with."""


class _Wild(Enum):
    STAR = "any characters of one name"
    FOLDERS = "any number of whole folders"
    SOME_FOLDERS = "one folder or more"
    REST = "everything below"


_Token: TypeAlias = "str | frozenset[str] | _Wild"
"""A character, a set of characters, or something of any length."""

_BYTES = frozenset(map(chr, range(256)))
_NO_SLASH = _BYTES - {"/"}

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alnum": lambda char: char.isascii() and char.isalnum(),
    "alpha": lambda char: char.isascii() and char.isalpha(),
    "blank": lambda char: char in " \t",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "digit": lambda char: char.isascii() and char.isdigit(),
    "graph": lambda char: "!" <= char <= "~",
    "lower": lambda char: "a" <= char <= "z",
    "print": lambda char: " " <= char <= "~",
    "punct": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "space": lambda char: char in " \t\n\v\f\r",
    "upper": lambda char: "A" <= char <= "Z",
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}
"""Named sets of ASCII characters, as in git."""

_DEEP = {
    _Wild.FOLDERS: "(?:[^/]*/)*",
    _Wild.SOME_FOLDERS: "(?:[^/]*/)+",
    _Wild.REST: ".*",
}


def byte_text(text: str) -> str:
    """A name or glob as text of one character for each byte."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def translate(glob: str, *, fold: bool = False) -> re.Pattern[str]:
    """The regular expression whose full matches are the names that `glob` means, both as `byte_text`.

    Args:
        glob: The pattern, without "!" and without slashes at its ends.
        fold: It is matched against lower-case names.

    Raises:
        UnusablePattern: It can match nothing.
    """
    try:
        tokens = _tokens(glob)
    except IndexError:
        raise UnusablePattern(glob) from None
    if fold:
        tokens = [_lower(token) for token in tokens]
    return re.compile(_regex(tokens), re.DOTALL)


def _lower(token: _Token) -> _Token:
    if isinstance(token, str):
        return token.lower() if token.isascii() else token
    if isinstance(token, frozenset):
        return token | {char.lower() for char in token if char.isascii()}
    return token


def _tokens(glob: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    # git compares what stands before the first special character by itself, and so takes
    # stars that come next as standing at the beginning: `a**/b` means `ax/y/b` too.
    first = re.search(r"[*?\[\\]", glob)
    plain = first.start() if first else 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            wild, at = _stars(glob, at, at in (0, plain) or glob[at - 1] == "/")
            tokens.append(wild)
        elif char == "[":
            chars, at = _set(glob, at + 1)
            tokens.append(chars)
        elif char == "?":
            tokens.append(_NO_SLASH)
            at += 1
        else:
            escaped = char == "\\"
            tokens.append(glob[at + 1] if escaped else char)
            at += 1 + escaped
    return tokens


def _stars(glob: str, at: int, begins: bool) -> tuple[_Wild, int]:
    """What the stars from `at` on mean, and where they end, with the slash that `**/` includes."""
    end = at
    while glob[end : end + 1] == "*":
        end += 1
    if end - at > 1 and begins:
        if end == len(glob):
            return _Wild.REST, end
        if glob[end] == "/":
            return _Wild.FOLDERS, end + 1
        if glob[end : end + 2] == "\\/":
            return _Wild.SOME_FOLDERS, end + 2
    return _Wild.STAR, end


def _set(glob: str, at: int) -> tuple[frozenset[str], int]:
    """The characters of a set whose "[" stands before `at`, and where it ends."""
    negated = glob[at] in "!^"
    at += negated
    chars: set[str] = set()
    before = ""  # what a "-" starts its range from
    start = at
    while glob[at] != "]" or at == start:
        char = glob[at]
        if char == "-" and before and glob[at + 1] != "]":
            last, at = _member(glob, at + 1)
            chars.update(map(chr, range(ord(before), ord(last) + 1)))
            before = ""
        elif (end := _class_end(glob, at)) is not None:
            test = _CLASSES.get(glob[at + 2 : end])
            if test is None:
                raise UnusablePattern(glob)
            chars.update(filter(test, _BYTES))
            before, at = "", end + 2
        else:
            before, at = _member(glob, at)
            chars.add(before)
    return (_NO_SLASH - chars if negated else frozenset(chars & _NO_SLASH)), at + 1


def _member(glob: str, at: int) -> tuple[str, int]:
    return (glob[at + 1], at + 2) if glob[at] == "\\" else (glob[at], at + 1)


def _class_end(glob: str, at: int) -> int | None:
    """Where the ":]" of a "[:name:]" at `at` stands; None when there is none."""
    if not glob.startswith("[:", at):
        return None
    end = glob.index("]", at + 2) if "]" in glob[at + 2 :] else len(glob)
    if end == len(glob):
        raise UnusablePattern(glob)
    return end - 1 if end > at + 2 and glob[end - 1] == ":" else None


def _regex(tokens: list[_Token]) -> str:
    """Runs of names between folders of any number, each run but the last at its first place."""
    runs: list[tuple[str, list[_Token]]] = [("", [])]
    for token in tokens:
        if isinstance(token, _Wild) and token is not _Wild.STAR:
            runs.append((_DEEP[token], []))
        else:
            runs[-1][1].append(token)
    numbers = count()
    pieces = [
        _at_first(numbers, f"{deep}?{_run(run, numbers)}") if deep else _run(run, numbers)
        for deep, run in runs[:-1]
    ]
    deep, run = runs[-1]
    return "".join(pieces) + deep + _run(run, numbers)


def _at_first(numbers: Iterator[int], regex: str) -> str:
    """A part that is only matched at its first place, as an atomic group, which old Pythons get wrong."""
    name = f"_{next(numbers)}"
    return f"(?=(?P<{name}>{regex}))(?P={name})"


def _run(tokens: list[_Token], numbers: Iterator[int]) -> str:
    pieces: list[list[str]] = [[""]]  # of names, split at the stars in them
    for token in tokens:
        if token is _Wild.STAR:
            pieces[-1].append("")
        elif token == "/":
            pieces.append([""])
        else:
            pieces[-1][-1] += _single(token)
    return "/".join(_name(parts, numbers) for parts in pieces)


def _name(pieces: list[str], numbers: Iterator[int]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(_at_first(numbers, f"[^/]*?{piece}") for piece in pieces[1:-1])
    return f"{pieces[0]}{middle}[^/]*{pieces[-1]}"


def _single(token: _Token) -> str:
    if isinstance(token, str):
        return re.escape(token)
    if token == _NO_SLASH:
        return "[^/]"
    if not isinstance(token, frozenset) or not token:
        return "(?!)"
    if len(token) > len(_BYTES) // 2:
        return "[^" + _listed(_BYTES - token) + "]"
    return "[" + _listed(token) + "]"


def _listed(chars: Iterable[str]) -> str:
    return "".join(f"\\x{ord(char):02x}" for char in sorted(chars))


# -----------------------------------------------------------------------------
# Lists of patterns in the syntax of .gitignore, with git's answers.
#
# A pattern decides about exactly one name.  To check a name deep in a tree, go down from
# the root and stop at the first excluded folder, as git does.
#
# A pattern is compiled for the first name that it could match, judged by its last part:
# most names match no pattern, however many there are.  The package pathspec is not used
# because it reads `[z-a]`, `[[:alpha:]]` and `[\]]` differently from git, and applies a
# pattern for a folder to everything below, which then loses to a later negation.
# -----------------------------------------------------------------------------

_MAGIC = re.compile(r"[*?\[\\]")

_MANY = 64
"""Number of names from which searching all of them as one text is faster: for 10,000, it takes a third of the
time."""

_BETWEEN = "\0"
"""Separates names; a name that contains it only causes more names to be checked individually."""


@final
class IgnorePattern:
    """One line.

    Attributes:
        text: The line as written, trimmed.
        number: Its line in the list, from 1.
        negated: It includes again what an earlier pattern excluded.
        glob: The pattern for a whole path, or for its last part only.
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
        """Its regular expression, made when first needed. Raises UnusablePattern."""
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


def require_effect(pattern: IgnorePattern) -> None:
    """Raise UnusablePattern for one that can match no name: a denial must not be without effect unnoticed.

    git takes such lines and matches nothing. A control character could be part of a name, and is there
    because of an editor, an encoding or a line end that was not meant.
    """
    pattern.compiled()
    parts = pattern.glob.replace("\\", "").split("/")
    if any(part in ("", ".", "..") for part in parts) or _INVISIBLE.search(pattern.text):
        raise UnusablePattern(pattern.text)


_INVISIBLE = re.compile(
    r"[\0-\x1f\x7f-\x9f\u2028\u2029]|\A!?/?[\u200c-\u200f\u202a-\u202e\u2060-\u206f\ufeff]*/?\Z"
)
"""Control characters, line ends, and a pattern of nothing but characters that comparing names leaves out."""


@final
class PatternList:
    """Patterns in order; the last one that matches a name decides about it."""

    __slots__ = (
        "_borders",
        "_literals",
        "_others",
        "_prefix_tuple",
        "_prefixes",
        "_suffix_tuple",
        "_suffixes",
    )

    def __init__(self, patterns: Iterable[IgnorePattern], *, fold: bool = False) -> None:
        self._literals: dict[str, list[IgnorePattern]] = {}
        self._suffixes: dict[str, list[IgnorePattern]] = {}
        self._prefixes: dict[str, list[IgnorePattern]] = {}
        self._others: list[IgnorePattern] = []
        for pattern in patterns:
            above, _, last = pattern.glob.rpartition("/")
            if fold:
                last = last.encode("latin-1").lower().decode("latin-1")  # of ASCII letters only
            magic = [match.start() for match in _MAGIC.finditer(last)]
            if "[" in above:  # a slash in a set does not end a part
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
        borders = [*(f"{end}{_BETWEEN}" for end in self._suffixes)]
        borders += [f"{_BETWEEN}{start}" for start in self._prefixes]
        self._borders = [border.encode("latin-1") for border in borders]

    @property
    def slow(self) -> int:
        """How many of the patterns are tried on every name."""
        return len(self._others)

    def concerned(self, names: Sequence[str]) -> Sequence[int]:
        """Which of many last parts, as byte text, some pattern may say something about, by position."""
        if self._others:
            return range(len(names))
        literals, ends, starts = self._literals, self._suffix_tuple, self._prefix_tuple
        if len(names) >= _MANY and not self._some_end_or_begin(names):
            return [*compress(count(), map(literals.__contains__, names))]
        return [
            at
            for at, name in enumerate(names)
            if name in literals or name.endswith(ends) or name.startswith(starts)
        ]

    def _some_end_or_begin(self, names: Sequence[str]) -> bool:
        """Whether any of many names may end or begin like a pattern: looked for in one text."""
        import stringzilla  # few processes check many names

        text = _BETWEEN.join(("", *names, "")).encode("latin-1")
        return any(stringzilla.find(text, part) >= 0 for part in self._borders)

    def deciding(self, path: str, *, folder: bool) -> IgnorePattern | None:
        """The pattern that decides about exactly this path, if any; `path` is byte text."""
        name = path[path.rfind("/") + 1 :]
        if not (
            name in self._literals
            or name.endswith(self._suffix_tuple)
            or name.startswith(self._prefix_tuple)
            or self._others
        ):
            return None
        candidates = [*self._others, *self._literals.get(name, ())]
        candidates += (p for end, some in self._suffixes.items() if name.endswith(end) for p in some)
        candidates += (p for start, some in self._prefixes.items() if name.startswith(start) for p in some)
        candidates.sort(key=lambda pattern: pattern.number, reverse=True)
        return next((pattern for pattern in candidates if pattern.matches(path, name, folder)), None)


def patterns(lines: Iterable[str], *, first: int = 1, fold: bool = False) -> list[IgnorePattern]:
    """The patterns of the lines of an ignore file, without comments and blank lines.

    Args:
        lines: The lines as written; the first one has the number `first`.
        first: See above.
        fold: They are matched against lower-case names.
    """
    return [
        IgnorePattern(text, number, fold=fold)
        for number, line in enumerate(lines, first)
        if (text := _trimmed(line)) and not text.startswith("#")
    ]


def decode_lines(data: bytes) -> Sequence[str]:
    """The lines of an ignore file as git splits them; bytes that are not UTF-8 are kept as in names.

    So a file in UTF-16 has no usable pattern, as for git.
    """
    text = data.removeprefix(b"\xef\xbb\xbf")
    return [os.fsdecode(line.removesuffix(b"\r")) for line in text.split(b"\n")]


def _trimmed(line: str) -> str:
    """Without the spaces at its end, except one that a backslash protects."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return text + " " if len(text) < len(line) and backslashes % 2 else text
