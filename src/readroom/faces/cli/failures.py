"""Failures on the command line: an exit code, a sentence, and the command that works instead."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from readroom.errors import AbsentError, Internal, ReadroomError, RefusedError, UsageError, of_code
from readroom.faces.cli import output
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.spelling import COMMANDS, command
from readroom.log import log
from readroom.paths import ABOVE, ELSEWHERE
from readroom.quoting import quote, unquoted
from readroom.values import Fact

_OPTIONS: Mapping[str, str] = {"old_text": "--old", "new_text": "--new", "encoding=utf-8": "--encoding utf-8"}

_TOOL_WORD = re.compile(rf"(?<![\w./'\"-])(?:{'|'.join([*COMMANDS, *_OPTIONS])})(?![\w/'\"-]|\.\w)")

_NAMES = re.compile(r'("(?:[^"\\]|\\.)*")')
"""Quoted ones; splitting at them keeps them."""

_CODES: tuple[tuple[type[ReadroomError], ExitCode], ...] = (
    (UsageError, ExitCode.USAGE),
    (RefusedError, ExitCode.REFUSED),
    (AbsentError, ExitCode.NOT_FOUND),
)


def exit_code(error: type[ReadroomError]) -> ExitCode:
    """The exit code of a class of failures."""
    return next((code for base, code in _CODES if issubclass(error, base)), ExitCode.FAILED)


def exit_code_of(facts: Mapping[str, Fact]) -> ExitCode:
    """The exit code for the facts of a reply that is an error."""
    error = facts.get("error")
    return exit_code(of_code(error.get("code") if isinstance(error, Mapping) else None))


def unexpected(error: Exception) -> ExitCode:
    """What a command did not turn into a reply: said on standard error, a defect also in the log."""
    if not isinstance(error, ReadroomError):
        log().exception("the command failed")
        error = Internal(type(error).__name__)
    output.complain(f"readroom: {error}")
    return exit_code(type(error))


def worded(facts: Mapping[str, Fact], root: str | None) -> str:
    """What happened, for a person, from the facts of a native error; `root` is the --root that was given."""
    error = facts.get("error")
    assert isinstance(error, Mapping)
    text = f"readroom: {_in_verbs(str(error['message']))}"
    known = error.get("facts")
    for name in ("changed", "place"):
        if isinstance(known, Mapping) and known.get(name):
            text += "\n" + str(known[name]).rstrip("\n")
    candidates = known.get("candidates") if isinstance(known, Mapping) else None
    listed = candidates if isinstance(candidates, list) else []
    differ = len({candidate["name"] for candidate in listed}) > 1
    for candidate in listed:
        name = f"{quote(candidate['name'])}: " if differ else ""
        text += f"\n{candidate['start']}-{candidate['end']} {name}{candidate['signature']}"
    following = error.get("next")
    if isinstance(following, Mapping):
        return f"{text}\nTry: {command(following, root)}"
    return text + (_other_root(known) if isinstance(known, Mapping) else "")


def _other_root(known: Mapping[str, Fact]) -> str:
    """How a person gets at what is outside: who is at a shell says which folder is the workspace."""
    if known.get("how") not in (ABOVE, ELSEWHERE):
        return ""
    import shlex

    path = str(known["path"])
    folder = os.path.dirname(unquoted(path) or path) if known["how"] == ELSEWHERE else ""
    # That all of the machine is the workspace is nothing to propose.
    place = shlex.quote(folder) if folder.strip("/") else "DIR"
    return f"\n`--root {place}` makes another folder the workspace."


def _in_verbs(message: str) -> str:
    """The advice with commands and options for the names of tools and arguments; what happened as it is.

    What is quoted is a name, whatever it says.
    """
    worded_text, advises = "", False
    for piece in _NAMES.split(message):
        happened, stop, advice = ("", "", piece) if advises else piece.partition(". ")
        if piece.startswith('"'):
            happened, stop, advice = piece, "", ""
        advises = advises or bool(stop)
        worded_text += happened + stop + _TOOL_WORD.sub(lambda word: _for_shells(word[0]), advice)
    return worded_text


def _for_shells(word: str) -> str:
    return f"`readroom {COMMANDS[word]}`" if word in COMMANDS else _OPTIONS[word]
