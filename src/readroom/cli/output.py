"""Standard output: exact bytes for programs, and readable and harmless text for people.

A file can have control characters that would drive a terminal: a terminal gets them as escapes, a pipe gets
the reply as it is.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

import msgspec

from readroom.core.closeable import Closeable
from readroom.core.contracts.base import tool_result
from readroom.core.errors import StoreFailed
from readroom.core.values import Fact, Reply

if TYPE_CHECKING:
    from rich.text import Text

    from readroom.core.contracts.base import Contract

_DRIVES = "[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Characters that move the cursor, end lines or reorder text on a terminal; tab and line feed may stay."""

_QUIET_S = 0.5
"""Shorter work shows no progress: it would only flicker."""

_EVERY_S = 0.1


def show(text: str, arguments: Mapping[str, Fact] = MappingProxyType({})) -> None:
    """Print the text of a reply; `arguments` of the call decide what is coloured on a terminal."""
    out = sys.stdout
    if out.isatty():
        _paint(text, out, arguments)
    else:
        write((text + "\n").encode("utf-8", "backslashreplace"))


def show_result(reply: Reply) -> None:
    """Print the reply as one JSON object in the shape of an MCP tool result."""
    result = tool_result(reply)
    if sys.stdout.isatty():
        import json  # msgspec indents nothing

        write((json.dumps(result, indent=2) + "\n").encode())
    else:
        write_json(result)


def write_json(value: object) -> None:
    """Print a value on one line, for programs."""
    write(msgspec.json.encode(value) + b"\n")


def write_text(text: str) -> None:
    """Print a text with control characters escaped, also into a pipe."""
    write((visible(text) + "\n").encode("utf-8", "backslashreplace"))


def visible(text: str) -> str:
    """The text with everything that could drive a terminal as escapes."""
    return re.sub(_DRIVES, lambda match: ascii(match[0])[1:-1], text)


def write(data: bytes) -> None:
    """Write to standard output; a reader that went away is not a failure, a full disk is.

    Raises:
        StoreFailed: The system refuses the bytes.
    """
    out = sys.stdout
    try:
        out.buffer.write(data)
        out.flush()
    except BrokenPipeError:
        _silence(out)
    except OSError as error:
        _silence(out)
        raise StoreFailed("standard output", error.strerror or type(error).__name__) from None


def complain(text: str) -> None:
    """Print a line on standard error."""
    if "pip install" in text:
        from readroom.core.extras import typed  # few lines say that something is missing

        text = typed(text)
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


def notify(record: Contract) -> None:
    """Warn the operator of a contract on standard error."""
    if record.notice:
        complain(record.notice)


class ProgressLine(Closeable):
    """One line on a person's terminal with the progress of long work; it disappears with it."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        """`out` is where a person may look; anything but a terminal gets nothing."""
        self._out = out if out.isatty() else None
        self._clock = clock
        self._next = clock() + _QUIET_S
        self._shown = False

    def __call__(self, done: int, total: int | None, unit: str) -> None:
        """As `deadline.Progress`."""
        if self._out is None or self._clock() < self._next:
            return
        self._next = self._clock() + _EVERY_S
        of = "" if total is None else f" of {total:,}"
        self._out.write(f"\r{done:,}{of} {unit}\x1b[K")
        self._out.flush()
        self._shown = True

    def close(self) -> None:
        """Take the line away."""
        if self._shown and self._out is not None:
            self._out.write("\r\x1b[K")
            self._out.flush()


def _paint(text: str, out: TextIO, arguments: Mapping[str, Fact]) -> None:
    """Colour only: nothing here decides about content; rich omits it if NO_COLOR is set."""
    out.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # every TextIOWrapper has it
    try:
        from rich.console import Console
    except ModuleNotFoundError:
        write_text(text)
        return
    console = Console(file=out, markup=False, highlight=False, emoji=False)
    console.print(painted(visible(text), arguments), soft_wrap=True)


def _silence(stream: TextIO) -> None:
    """Drop buffered output, or the interpreter would complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)


# -----------------------------------------------------------------------------
# Colours of a reply on a terminal: code and matches, and our own words dimmed.
#
# It knows the look of the native replies (numbered lines, a first and a last line
# of ours) and nothing of terminals.  A colour in the wrong place is harmless: no
# character is added, left out or moved.
# -----------------------------------------------------------------------------

_NUMBERED = r"(?m)^((?:p\d+:)?-?\d+(-?)\t)(.*)$"
"""Its number and tab, the dash of a line of context, and the text."""

_LAST = r"\n\[[^\n]*\]\Z"


def painted(text: str, arguments: Mapping[str, Fact]) -> Text:
    """The same text with styles; `arguments` are those of the call that it answers."""
    from rich.text import Text

    styled = Text(text)
    lines = list(re.finditer(_NUMBERED, text))
    if "pattern" in arguments:
        _headings(styled, text, lines)
        for start, end in _matches(lines, arguments):
            styled.stylize("bold red", start, end)
    else:
        _code(styled, lines, str(arguments.get("path", "")))
    for line in lines:
        styled.stylize("dim", line.start(1), line.end(1))
    styled.stylize("bold", 0, max(text.find("\n"), 0))
    if last := re.search(_LAST, text):
        styled.stylize("dim", last.start() + 1, last.end())
    return styled


def _headings(styled: Text, text: str, lines: list[re.Match[str]]) -> None:
    """The names of files between numbered lines."""
    at = text.find("\n") + 1  # after the first line, which counts the matches
    for line in lines:
        if at < line.start():
            styled.stylize("magenta", at, line.start())
        at = line.end() + 1


def _matches(lines: list[re.Match[str]], arguments: Mapping[str, Fact]) -> Iterator[tuple[int, int]]:
    """The matches of the pattern, without those in context lines."""
    from readroom.core.search.pattern import Pattern

    fixed, any_case = bool(arguments.get("fixed")), bool(arguments.get("ignore_case"))
    pattern = Pattern(str(arguments["pattern"]), fixed=fixed, ignore_case=any_case)
    for line in lines:
        data = line[3].encode("utf-8", "surrogatepass")
        for first, last in pattern.spans_in(data) if not line[2] else ():
            start = line.start(3) + len(data[:first].decode("utf-8", "ignore"))
            yield start, start + len(data[first:last].decode("utf-8", "ignore"))


def _code(styled: Text, lines: list[re.Match[str]], path: str) -> None:
    """The colours of the language of a file name."""
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
            styled.stylize(span.style, line.start(3) + span.start, line.start(3) + span.end)
