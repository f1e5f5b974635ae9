"""What reaches standard output: exact bytes for programs, something readable and harmless for a person.

A file can hold control characters that would drive the reader's terminal; on a
terminal they are shown as escapes.  Whatever is piped gets the reply as it is.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType, TracebackType
from typing import Self, TextIO

import msgspec

from readroom.contracts.base import tool_result
from readroom.errors import StoreFailed
from readroom.model import Fact, Reply

_DRIVES = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that move the cursor, end lines or reorder text on a terminal; tab and line feed may stay."""

_QUIET_S = 0.5
"""Work that takes no longer shows no progress: it would only flicker."""

_EVERY_S = 0.1


def show(text: str, arguments: Mapping[str, Fact] = MappingProxyType({})) -> None:
    """Print the text of a reply; `arguments` of the call say what is worth a colour on a terminal."""
    out = sys.stdout
    if out is not None and out.isatty():
        _paint(text, out, arguments)
    else:
        write((text + "\n").encode("utf-8", "backslashreplace"))


def show_result(reply: Reply) -> None:
    """Print the reply as one JSON object in the shape of an MCP tool result."""
    result = tool_result(reply)
    if sys.stdout is not None and sys.stdout.isatty():
        write((json.dumps(result, indent=2) + "\n").encode())
    else:
        write(msgspec.json.encode(result) + b"\n")


def visible(text: str) -> str:
    """The text with everything that could drive a terminal as escapes."""
    return _DRIVES.sub(lambda match: ascii(match[0])[1:-1], text)


def write(data: bytes) -> None:
    """Write to standard output; a reader that went away is no failure, a full disk is.

    Raises:
        StoreFailed: The system refuses the bytes.
    """
    out = sys.stdout
    if out is None:
        return
    try:
        out.buffer.write(data)
        out.flush()
    except BrokenPipeError:
        _silence(out)
    except OSError as error:
        _silence(out)
        raise StoreFailed("standard output", error.strerror or type(error).__name__) from None


def complain(text: str) -> None:
    """Print a line on standard error, if there is one."""
    if sys.stderr is None:
        return
    try:
        print(visible(text), file=sys.stderr, flush=True)
    except OSError:
        _silence(sys.stderr)


class ProgressLine:
    """One line on a person's terminal that says how far long work is, and disappears with it."""

    def __init__(self, out: TextIO | None, clock: Callable[[], float] = time.monotonic) -> None:
        """`out` is where a person may look; anything but a terminal gets nothing."""
        self._out = out if out is not None and out.isatty() else None
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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown and self._out is not None:
            self._out.write("\r\x1b[K")
            self._out.flush()


def _paint(text: str, out: TextIO, arguments: Mapping[str, Fact]) -> None:
    """Colour only: nothing here decides about content; rich leaves it out where NO_COLOR says so."""
    from rich.console import Console

    from readroom.faces.cli.painting import painted

    out.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # every TextIOWrapper has it
    console = Console(file=out, markup=False, highlight=False, emoji=False)
    console.print(painted(visible(text), arguments), soft_wrap=True)


def _silence(stream: TextIO) -> None:
    """Send what is still buffered nowhere, or the interpreter would complain when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, stream.fileno())
    finally:
        os.close(nowhere)
