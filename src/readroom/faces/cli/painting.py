"""Colours of a reply on a person's terminal: code, matches, and what is ours dimmed.

It knows the look of the native replies (numbered lines, a first and a last line
of ours) and nothing of terminals.  A colour in the wrong place is harmless: no
character is added, left out or moved.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from readroom.model import Fact

if TYPE_CHECKING:
    from rich.text import Text

_NUMBERED = re.compile(r"^((?:p\d+:)?-?\d+(-?)\t)(.*)$", re.MULTILINE)
"""Its number and tab, the dash of a line of context, and the text."""

_LAST = re.compile(r"\n\[[^\n]*\]\Z")


def painted(text: str, arguments: Mapping[str, Fact]) -> Text:
    """The same text with styles; `arguments` are those of the call that it answers."""
    from rich.text import Text

    found = Text(text)
    lines = list(_NUMBERED.finditer(text))
    if "pattern" in arguments:
        _headings(found, text, lines)
        for start, end in _matches(lines, arguments):
            found.stylize("bold red", start, end)
    else:
        _code(found, lines, str(arguments.get("path", "")))
    for line in lines:
        found.stylize("dim", line.start(1), line.end(1))
    found.stylize("bold", 0, max(text.find("\n"), 0))
    if last := _LAST.search(text):
        found.stylize("dim", last.start() + 1, last.end())
    return found


def _headings(found: Text, text: str, lines: list[re.Match[str]]) -> None:
    """The names of files, which stand between numbered lines."""
    at = text.find("\n") + 1  # behind the first line, which counts the matches
    for line in lines:
        if at < line.start():
            found.stylize("magenta", at, line.start())
        at = line.end() + 1


def _matches(lines: list[re.Match[str]], arguments: Mapping[str, Fact]) -> Iterator[tuple[int, int]]:
    """Where the pattern stands in the lines that match, not in those around them."""
    from readroom.search.pattern import Pattern

    fixed, any_case = bool(arguments.get("fixed")), bool(arguments.get("ignore_case"))
    pattern = Pattern(str(arguments["pattern"]), fixed=fixed, ignore_case=any_case)
    for line in lines:
        data = line[3].encode("utf-8", "surrogatepass")
        for first, last in pattern.spans_in(data) if not line[2] else ():
            start = line.start(3) + len(data[:first].decode("utf-8", "ignore"))
            yield start, start + len(data[first:last].decode("utf-8", "ignore"))


def _code(found: Text, lines: list[re.Match[str]], path: str) -> None:
    """The colours of the language that the name of the file tells."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound
    from rich.syntax import Syntax

    try:
        lexer = get_lexer_for_filename(path.rpartition("/")[2], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return
    code = "\n".join(line[3] for line in lines)
    coloured = Syntax("", lexer, theme="ansi_dark").highlight(code)
    if not coloured.plain.startswith(code):
        return  # the lexer changed the text, and its places would not be ours
    for line, styles in zip(lines, coloured.split("\n", allow_blank=True), strict=False):
        for span in styles.spans:
            found.stylize(span.style, line.start(3) + span.start, line.start(3) + span.end)
