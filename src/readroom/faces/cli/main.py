"""The entry point of the `readroom` command.

Nothing of readroom or click is imported before `main` runs, so that Ctrl-C during the start is as quiet as
later.

Plain forms of `readroom read`, and `readroom --help`, are answered here without the parser of command lines:
importing it, and making options from the arguments of every tool, takes longer than reading a file. Anything
unusual is left to the full command. What is understood here means the same there, which a test compares.
"""

from __future__ import annotations

import gc
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


def at_once(words: Sequence[str]) -> int | None:
    """The exit code of a command line; None when it is not plain."""
    if words[:1] == ["read"]:
        return read(words[1:])
    return show_help() if list(words) in (["--help"], ["-h"]) else None


def show_help() -> int | None:
    """The exit code of `readroom --help`; None if there is no text for the width of this terminal."""
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
        # Drop what is still buffered, or the interpreter would complain at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        return 1
    except OSError as error:
        from readroom.faces.cli.failures import unexpected

        return int(unexpected(error))
    return 0


def read(words: Sequence[str]) -> int | None:
    """The exit code of `readroom read` with these arguments; None if they are not plain."""
    meaning = understood(words)
    if meaning is None:
        return None
    root, calls = meaning
    try:
        from readroom.contracts.native.calls import READ
        from readroom.faces.cli.answers import Where, always, answer_each

        # As the full command does: imported modules never become garbage.
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
        if name in _PLACES and os.path.lexists(value):
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the result is the exit code."""
    refusal = unsupported(sys.platform)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 5  # ExitCode.FAILED, before anything is imported
    _open_closed_streams()
    # Imported modules never become garbage: collecting costs 5 ms of 130. `_start` turns it on again.
    gc.disable()
    try:
        words = sys.argv[1:] if arguments is None else arguments
        if words[:1] not in (["--help"], ["-h"]):
            _import_msgspec()
        if words[:1] == ["mcp"]:
            from readroom.faces.cli import early

            code = early.run(words[1:])
            if code is not None:
                return code
        code = at_once(words)
        if code is not None:
            return code
        from readroom.faces.cli.commands import run

        return run(words)
    except KeyboardInterrupt:
        return 130  # as shells report a program that SIGINT ended: 128 + 2
    finally:
        gc.enable()


def _open_closed_streams() -> None:
    """Give standard streams that were closed by who started us an end that is nothing.

    A file that is opened later would get the number of one, and be read or written as what it was.
    """
    import os

    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)  # the lowest that is free: that of the stream
            os.set_inheritable(number, True)
            stream = os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)


def _import_msgspec() -> None:
    """Import msgspec, which nearly every command needs, without what it needs on old Pythons only.

    From `typing_extensions`, where it is installed, it takes names that `typing` has since Python 3.11;
    with `inspect` and `ast` that is a sixth of the processor time of `readroom read`.
    """
    name = "typing_extensions"
    if "msgspec" in sys.modules or name in sys.modules:
        return
    sys.modules[name] = None  # type: ignore[assignment]  # so that it cannot be imported
    try:
        import msgspec  # noqa: F401
    finally:
        del sys.modules[name]


def unsupported(platform: str) -> str | None:
    """Why readroom does not run on `sys.platform`; None where it does."""
    if platform in ("win32", "cygwin"):
        return "readroom does not run on Windows yet; use it inside the Windows Subsystem for Linux (WSL)."
    return None
