"""Names of files in unified diffs: quotes of git, the prefixes a/ and b/, and times after a tab."""

from __future__ import annotations

import re
from typing import Final

ABSENT: Final = "/dev/null"
"""The name of a file that is not there."""

_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_ESCAPE = re.compile(rb'\\([abtnvfr"\\]|[0-3][0-7]{2})')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')

_EPOCH = re.compile(r"\t(?:1970-01-01|1969-12-31) \d\d:\d\d:\d\d(?:\.0+)?(?: |$)")
"""The time with which `diff -N` says that a file is not there."""

_PREFIXES = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("w/", "i/"), ("b/", "a/"))
"""Pairs of prefixes of git; of a file that is made or deleted only the first is known for one."""


def of_header(text: str) -> str:
    """The name that a line gives after `---`, `+++`, `rename from` and the like."""
    text = text.removesuffix("\r")
    quoted = _QUOTED.match(text)
    if quoted is not None:
        return _unquoted(quoted[1])
    if _EPOCH.search(text):
        return ABSENT
    return text.partition("\t")[0].rstrip(" ") if "\t" in text else text


def of_git(text: str) -> str | None:
    """The name in a line `diff --git a/NAME b/NAME`, if both are the same; else None."""
    text = text.removesuffix("\r")
    quoted = _QUOTED.match(text)
    if quoted is not None:
        old, new = _unquoted(quoted[1]), of_header(text[quoted.end() :].lstrip())
        return _same(old, new)
    if text.endswith('"') and ' "' in text:
        old, _, rest = text.partition(' "')
        return _same(old, of_header(f'"{rest}'))
    # Names may have blanks: the one in the middle parts two equal names.
    middle = len(text) // 2
    return _same(text[:middle], text[middle + 1 :]) if text[middle : middle + 1] == " " else None


def _same(old: str, new: str) -> str | None:
    names = stripped(old, new)
    return names[0] if names[0] == names[1] else None


def stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Two names without the prefixes of git; None for one that is not there."""
    pairs = _PREFIXES if ABSENT not in (old, new) else _PREFIXES[:1]
    for first, second in pairs:
        if (old == ABSENT or old.startswith(first)) and (new == ABSENT or new.startswith(second)):
            old = old if old == ABSENT else old[len(first) :]
            new = new if new == ABSENT else new[len(second) :]
            break
    return (None if old == ABSENT else old), (None if new == ABSENT else new)


def _unquoted(text: str) -> str:
    data = _ESCAPE.sub(_byte, text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "surrogateescape")


def _byte(match: re.Match[bytes]) -> bytes:
    escaped = match[1].decode("ascii")
    return bytes([_ESCAPES[escaped] if escaped in _ESCAPES else int(escaped, 8)])
