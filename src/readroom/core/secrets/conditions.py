"""Patterns of RE2, searched for all at once: a line that matches none of them is not judged.

A pattern may match more than the shapes that it stands for, and never less.  It counts bytes, not characters,
so bytes that are not UTF-8 break no match.
"""

from __future__ import annotations

import re
from typing import Any

import re2

from readroom.core.secrets.shapes import NAMES

_BY_BYTES = re2.Options()
_BY_BYTES.encoding = re2.Options.Encoding.LATIN1
_BY_BYTES.max_mem = 32 * 1024 * 1024  # with less it forgets states, and makes them anew


def matching(*patterns: str) -> Any:
    """A pattern that matches where one of some patterns in ASCII does."""
    together = "|".join(f"(?:{pattern})" for pattern in dict.fromkeys(patterns))
    return re2.compile(together.encode("ascii"), _BY_BYTES)


def _class(shape: str) -> str:
    """The bytes that match a regex as characters of Latin-1, as a class."""
    return "[" + "".join(f"\\x{byte:02x}" for byte in range(256) if re.match(shape, chr(byte))) + "]"


_SPACE, _WORD, _LETTER = _class(r"[^\S\n]"), _class(r"\w"), _class(r"[^\W0-9]")
_NAME = rf"(?i:{NAMES})"
_MORE_NAME = rf"(?i:{NAMES}|token|passphrase)"

_QUOTE = "[\"'`]"
_TELLING = _LETTER + "*" + _class(r"[^\w\"\n]|[0-9]")
"""How a quoted value begins that can be a secret: not with letters alone."""

QUOTED = "|".join(
    (
        rf"{_NAME}{_WORD}*(?:[\]\"']{{0,2}}|\[[0-9]*\]){_SPACE}*[:=!][=>]{{0,2}}{_SPACE}*@?{_QUOTE}{_TELLING}",
        rf"{_NAME}{_WORD}*(?:.assign)?\(\"{_TELLING}",
        rf"{_NAME}{_WORD}*\??{_SPACE}*:[\w&'<>\[\]|.,? \x80-\xff]+={_SPACE}*{_QUOTE}{_TELLING}",
        rf"{_NAME}\S*{_SPACE}*{_QUOTE}{_TELLING}[^\"'\n]*{_QUOTE};",
        rf"{_QUOTE}{_SPACE}*[!=]{{2,3}}{_SPACE}*{_WORD}*{_NAME}",
    )
)
"""A value in quotes next to a word that says it is secret, as assignments, calls and comparisons have it."""

_PLAIN = _class(r"[^\s\"'`,;(){}\[\]<>|&\\]")
_NO_LETTER = _class(r"(?![\s\"'`,;(){}\[\]<>|&\\])[\W0-9]")
_FIRST = _class(r"(?![\s\"'`,;(){}\[\]<>|&\\$%*@!:])[\W0-9]")
_VALUE = "|".join(
    (
        f"{_FIRST}{_PLAIN}{{5}}",
        *(f"{_LETTER}{{{at}}}{_NO_LETTER}{_PLAIN}{{{5 - at}}}" for at in range(1, 5)),
        f"{_LETTER}{{5}}{_LETTER}*{_NO_LETTER}",
    )
)

ASSIGNED = rf"{_MORE_NAME}(?:{_WORD}|[.\]-])*[\"']?{_SPACE}*(?::=|=>|[:=]){_SPACE}*(?:{_VALUE})"
"""A value without quotes, six characters of which not all are letters, after such a word."""

SETTING = rf"\A{_SPACE}*(?:(?:export|set|-){_SPACE}+|--?|[\"'])?(?:{_WORD}|[.\[\]-])*{_MORE_NAME}"
"""The beginning of a line that is one such assignment."""

_ESCAPE = r"\\[\"'/nrtu]|&(?:quot|apos|amp|#)"
_ANY_NAME = r"(?i:key|pass|pwd|secret|contrase|token|auth|identified)"
ESCAPED = rf"{_ANY_NAME}[^\n]*(?:{_ESCAPE})|(?:{_ESCAPE})[^\n]*{_ANY_NAME}|:\\+/\\+/"
"""Such a word in a line in which something is escaped, or an address with such slashes."""
