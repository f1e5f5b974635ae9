"""Globs as git reads them, as regular expressions.

Follows git's wildmatch.c with WM_PATHNAME, byte by byte: names and globs come as
`byte_text`, in which each character stands for one byte.  `*`, `?` and sets never
match a slash; `**` between slashes matches any number of folders.

A glob may come from a hostile repository.  Naively translated, `*a*a*a*a*b` costs
time to the power of its stars; so what stands between two stars is matched at its
first place and not tried again (an atomic group).  That loses no match: the
second star takes whatever the first could have taken.  The same holds for the
folders between two `**`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TypeAlias


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
"""Sets by name, of ASCII characters only, as git has them."""

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
        glob: Without "!", and without slashes at its ends.
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
    found: list[_Token] = []
    at = 0
    # git compares what stands before the first special character by itself, and so takes
    # stars that come next as standing at the beginning: `a**/b` means `ax/y/b` too.
    first = re.search(r"[*?\[\\]", glob)
    plain = first.start() if first else 0
    while at < len(glob):
        char = glob[at]
        if char == "*":
            wild, at = _stars(glob, at, at in (0, plain) or glob[at - 1] == "/")
            found.append(wild)
        elif char == "[":
            chars, at = _set(glob, at + 1)
            found.append(chars)
        elif char == "?":
            found.append(_NO_SLASH)
            at += 1
        else:
            escaped = char == "\\"
            found.append(glob[at + 1] if escaped else char)
            at += 1 + escaped
    return found


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
    found = [_run(run) if not deep else f"(?>{deep}?{_run(run)})" for deep, run in runs[:-1]]
    deep, run = runs[-1]
    return "".join(found) + deep + _run(run)


def _run(tokens: list[_Token]) -> str:
    pieces: list[list[str]] = [[""]]  # of names, split at the stars in them
    for token in tokens:
        if token is _Wild.STAR:
            pieces[-1].append("")
        elif token == "/":
            pieces.append([""])
        else:
            pieces[-1][-1] += _single(token)
    return "/".join(map(_name, pieces))


def _name(pieces: list[str]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[1:-1])
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
