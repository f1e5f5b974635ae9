"""`--at ADDRESS`: the same command on another machine, as if it ran here.

Standard output and standard error arrive as they are written there, apart from each other; the terminal here
decides about colours; the exit code is that of the command, or its own for a machine that was not reached.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Final

from readroom.cli.exits import ExitCode
from readroom.cli.remote import OPTION, frames
from readroom.cli.remote.address import Address, parsed
from readroom.core.errors import ReadroomError, UsageError

ROOTED: Final = frozenset((
    "read", "outline", "grep", "refs", "find", "ls", "git", "edit", "write", "patch", "mv", "cp", "rm",
    "mkdir", "run", "history", "diff", "undo", "explain", "call", "mcp",
))  # fmt: skip
"""Commands with a --root, which the address takes the place of."""

_TALKS: Final = "mcp"

_QUESTIONS: Final = frozenset(("undo", "history"))
"""Commands that ask a person who sits at a terminal."""

_PLAIN: Final = 3
"""Parts of a request from where there is no terminal: no size, and the address."""


def asked(words: Sequence[str]) -> bool:
    """Whether a command line names another machine."""
    return any(word == OPTION or word.startswith(f"{OPTION}=") for word in words[: _options(words)])


def run(words: Sequence[str]) -> int:
    """Run a command line that names another machine; the result is the exit code."""
    try:
        address, rest = _taken(words)
        if _TALKS in rest[:2]:
            from readroom.cli.remote.conversation import relay

            return relay(address, rest)
        return _ran(address, rest)
    except ReadroomError as error:
        return _failed(error, words)


def _options(words: Sequence[str]) -> int:
    """How many of the words may be options: those before `--`."""
    return words.index("--") if "--" in words else len(words)


def _taken(words: Sequence[str]) -> tuple[Address, list[str]]:
    """The address, and the command line there, with its folder as the root. Raises UsageError."""
    rest, addresses, at = list(words), [], 0
    while at < _options(rest):
        name, equals, value = rest[at].partition("=")
        if name != OPTION:
            at += 1
            continue
        if not equals and at + 1 == len(rest):
            raise UsageError(f"{OPTION} names no address", f"Write {OPTION} ssh://host/folder.")
        addresses.append(value if equals else rest[at + 1])
        del rest[at : at + 1 + (not equals)]
    if len(addresses) > 1:
        raise UsageError(f"{OPTION} was given twice", "Name one address.")
    debug = int(rest[:1] == ["--debug"])
    name = next(iter(rest[debug:]), "")
    if name not in ROOTED:
        listed = ", ".join(sorted(ROOTED))
        raise UsageError(f"{OPTION} cannot be used with {name or 'no command'}", f"It is for {listed}.")
    address = parsed(addresses[0])
    if any(word == "--root" or word.startswith("--root=") for word in rest[: _options(rest)]):
        raise UsageError(f"--root and {OPTION} were both given", "The address names the folder.")
    at = debug + 1
    return address, [*rest[:at], "--root", address.folder, *rest[at:]]


def _ran(address: Address, words: Sequence[str]) -> int:
    from readroom.cli.remote.near import converse

    asks = sys.stderr.isatty() and sys.stdin.isatty()
    answers = sys.stdin.isatty() and not _QUESTIONS.isdisjoint(words[:2])
    source = 0 if answers or _reads_input(words) else None
    shown = terminal(address)
    shown += ["in=1"] if answers and len(shown) > _PLAIN else []
    return converse(address, words, shown, source, _take, asks=asks)


def _reads_input(words: Sequence[str]) -> bool:
    """Whether the command takes standard input: of a loop in a shell, it must be left alone otherwise."""
    content = any(word == "--content" or word.startswith("--content=") for word in words)
    return "-" in words or ("write" in words[:2] and not content) or "patch" in words[:2]


def terminal(address: Address) -> list[str]:
    """The terminal here and the address, for a request."""
    streams = {"out": sys.stdout, "err": sys.stderr}
    shown = [f"{name}=1" for name, stream in streams.items() if stream.isatty()]
    if not shown:
        return ["", "", f"at={address}"]
    from readroom.core import config

    size = shutil.get_terminal_size()
    settings = config.variables("TERM", "COLORTERM", "NO_COLOR")
    return [
        str(size.columns), str(size.lines), f"at={address}", *shown,
        *(f"{name}={value}" for name, value in settings.items()),
    ]  # fmt: skip


def _take(kind: bytes, data: bytes) -> None:
    """Write a piece of output; a reader that went away is not a failure."""
    stream = sys.stdout if kind == frames.OUTPUT else sys.stderr
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(stream.fileno(), left) :]
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _failed(error: ReadroomError, words: Sequence[str]) -> ExitCode:
    from readroom.cli.failures import unexpected

    if "--json" in words or "call" in words[:2]:
        from readroom.cli.answers import failure, finish

        return finish(failure(error), as_json=True)
    return unexpected(error)
