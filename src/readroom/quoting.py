"""How names are shown: quoted as git quotes them whenever they could be misread.

Line feeds, controls, bidirectional overrides, invisible characters, undecodable
bytes and blanks at the edges put a name into double quotes with C escapes.  What
stands in a reply is then one line, is valid Unicode, and holds nothing that a
reader cannot see; `paths.parse` takes it back.
"""

from __future__ import annotations

import re

ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\t": r"\t",
    "\n": r"\n",
    "\v": r"\v",
    "\f": r"\f",
    "\r": r"\r",
    '"': r"\"",
    "\\": r"\\",
}
"""The characters that have an escape of their own; all others are octal bytes."""

# Printable by Unicode's categories, yet drawn as nothing: marks and letters that
# can hide text in a name. `str.isprintable` knows all other invisible ones.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def quote(path: str) -> str:
    """The path as replies show it."""
    plain = path.isprintable() and (path.isascii() or not _BLANK.search(path))
    if plain and path[:1] not in ('"', " ") and path[-1:] != " ":
        return path
    return '"' + "".join(map(_quoted, path)) + '"'


def _quoted(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    if char.isprintable() and not _BLANK.match(char):
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", _errors(char)))


def _errors(char: str) -> str:
    return "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
