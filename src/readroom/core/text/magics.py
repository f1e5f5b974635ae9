"""Cells of notebooks as programs: what is not of their language, but for the kernel, is taken out.

Line numbers stay.  Only what IPython takes for a magic is one: a line of Python may begin with `%` within
brackets, and with `!` within a string.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

SUFFIXES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("python", "python2", "python3", "ipython", "pypy"), "py"),
        **dict.fromkeys(("bash", "sh", "shell", "shellscript", "zsh"), "sh"),
        **dict.fromkeys(("javascript", "js", "node", "nodejs"), "js"),
        **dict.fromkeys(("typescript", "deno"), "ts"),
        **dict.fromkeys(("ruby", "iruby"), "rb"),
        "lua": "lua",
    }
)
"""The suffix of files of a kernel's language, where a cell is the same as a file in it. Kernels of C++ and
Java take what no file may hold, as statements outside of functions."""

_PASSED_ON = frozenset({"capture", "memit", "prun", "snakeviz", "time", "timeit"})
"""Magics of a cell that run it as Python."""

_CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*")
_PROGRAMS = "cat|cd|conda|cp|head|less|ls|man|mkdir|more|mv|pip|rm|rmdir|tail"
_MAGIC = re.compile(
    r"(?P<before>[ \t]*)(?:(?P<python>%)|!|\?{1,2}[\w.*]|[\w.*\[\]]+\?{1,2}[ \t]*$"
    rf"|(?:{_PROGRAMS})[ \t]+(?!(?:and|if|in|is|for|not|or)\b)[\w./~-])"
)
_ASSIGNED = re.compile(r"(?P<before>[ \t]*[\w.,\[\] \t]*?=[ \t]*)(?:![^=]|%[A-Za-z])")
_TOKEN = re.compile(
    r"""\#.*|\"{3}|'{3}|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[(\[{]|[)\]}]""",
)


def program_of(language: str | None, source: str) -> tuple[str, str] | None:
    """The suffix of files in the language of a cell, and its source as such a file; None if none is known."""
    suffix = SUFFIXES.get((language or "").lower())
    if suffix != "py":
        return None if suffix is None else (suffix, source)
    magic = _CELL_MAGIC.match(source)
    if magic is None:
        return suffix, _without_magics(source)
    rest = "\n" * magic[0].count("\n") + source[magic.end() :]
    if magic[1] in _PASSED_ON:
        return suffix, _without_magics(rest)
    own = SUFFIXES.get(magic[1])
    return None if own is None else (own, rest)


def _without_magics(source: str) -> str:
    lines, depth, quote, continued, skipped = list[str](), 0, "", False, False
    for line in source.split("\n"):
        magic = None if depth or quote or continued else _MAGIC.match(line)
        assigned = None if depth or quote or continued or magic else _ASSIGNED.match(line)
        if magic or assigned or continued:
            kept = magic["before"] + "pass" if magic else assigned["before"] + "None" if assigned else ""
            lines.append(kept)
            continued = line.endswith("\\")
            if magic and magic["python"]:
                depth, quote = _after(line, 0, "")  # `%timeit f(` goes on below
                skipped = bool(depth or quote)
            continue
        lines.append("" if skipped else line)
        depth, quote = _after(line, depth, quote)
        skipped = skipped and bool(depth or quote)
    return "\n".join(lines)


def _after(line: str, depth: int, quote: str) -> tuple[int, str]:
    """How many brackets, and which long string, are open after a line that begins with these."""
    at = 0
    while True:
        if quote:
            end = line.find(quote, at)
            if end < 0:
                return depth, quote
            at, quote = end + len(quote), ""
        token = _TOKEN.search(line, at)
        if token is None:
            return depth, ""
        at = token.end()
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            depth = max(0, depth - 1)
        elif len(token[0]) == 3 and token[0] in ('"""', "'''"):
            quote = token[0]
