"""`readroom read` in its plain forms, and `readroom --help`, performed without the parser of command lines.

To import that parser and to make its options of the arguments of every tool takes longer than
to read a file.  Whatever is unusual is left to the command proper; what is understood here
means there the same, which a test compares.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

HELP = os.path.join(os.path.dirname(__file__), "help")
"""The help on all commands, in a file for each usual width; made by `python -m scripts.docs`."""

WIDEST, NARROWEST, MARGIN = 100, 50, 2
"""Columns of a terminal that are used at most, those of help at least, and those that stay free."""

_NUMBERS = {"--offset": "offset", "--limit": "limit"}
_PLACES = ("--root",)
_DIGITS = 9
"""A number of more is for the command proper to refuse."""


def run(words: Sequence[str]) -> int | None:
    """The exit code of a command line; None when it is not plain."""
    if words[:1] == ["read"]:
        return read(words[1:])
    return show_help() if list(words) in (["--help"], ["-h"]) else None


def show_help() -> int | None:
    """The exit code of `readroom --help`; None where there is no text for the width of this terminal."""
    import shutil

    out, columns = sys.stdout, min(shutil.get_terminal_size().columns, WIDEST)
    try:
        with open(os.path.join(HELP, f"{max(columns - MARGIN, NARROWEST)}.txt"), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return None
    try:
        out.write(text)
        out.flush()
    except BrokenPipeError:
        # What is still buffered goes nowhere, or the interpreter would complain when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return 1
    except OSError as error:
        from readroom.faces.cli.failures import unexpected

        return int(unexpected(error))
    return 0


def read(words: Sequence[str]) -> int | None:
    """The exit code of `readroom read` with these words behind it; None when they are not plain."""
    meaning = understood(words)
    if meaning is None:
        return None
    root, calls = meaning
    try:
        import gc

        from readroom.contracts.native.calls import READ
        from readroom.faces.cli.answers import Where, always, answer_each

        # As the command proper does: what was imported never becomes garbage.
        gc.freeze()
        gc.enable()
        return int(answer_each(Where(root), READ, calls, always, as_json=False))
    except Exception as error:
        from readroom.faces.cli.failures import unexpected

        return int(unexpected(error))


def understood(words: Sequence[str]) -> tuple[str | None, list[dict[str, str | int]]] | None:
    """The root and the arguments of each call, where the words are paths, a root and plain numbers."""
    root: str | None = None
    paths: list[str] = []
    numbers: dict[str, int] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        value = value if equals else next(rest, "")
        if name in _PLACES and value:
            root = value
        elif name in _NUMBERS and _is_number(value):
            numbers[_NUMBERS[name]] = int(value)
        else:
            return None
    # A name that is not text is spelled in another way.
    if not paths or not all(path and path.isprintable() for path in paths):
        return None
    return root, [{"path": path, **numbers} for path in paths]


def _is_number(word: str) -> bool:
    digits = word.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS
