"""Failures on the command line: an exit code, a sentence, and a command that works instead.

Native calls in advice are spelled as shell commands that a person can type.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.remote import OPTION, place
from readroom.cli.roots import roots_of
from readroom.core.contracts import history as past
from readroom.core.contracts.native.calls import EDIT, FIND, GIT, GREP, LIST, READ, RUN, SAID, WRITE
from readroom.core.errors import (
    AbsentError,
    BadValue,
    Internal,
    NotReached,
    ReadroomError,
    RefusedError,
    UsageError,
    of_code,
)
from readroom.core.log import log
from readroom.core.paths import ABOVE, ELSEWHERE
from readroom.core.quoting import quote, unquoted
from readroom.core.values import Call, Fact, FindRequest, GrepRequest, ListRequest, ReadRequest
from readroom.core.values.changes import EditRequest, WriteRequest
from readroom.core.values.commands import RunRequest
from readroom.core.values.git import GitBlameRequest, GitChangesRequest, GitLogRequest

COMMANDS: Mapping[str, str] = {
    READ: "read", GREP: "grep", FIND: "find", LIST: "ls", EDIT: "edit", WRITE: "write", RUN: "run",
    GIT: "git",
}  # fmt: skip
"""The command for each tool of the native contract."""

POSITIONAL: Mapping[str, tuple[str, ...]] = {
    READ: ("path",), GREP: ("pattern", "path"), FIND: ("query", "path"), LIST: ("path",), EDIT: ("path",),
    WRITE: ("path",), RUN: ("command",), GIT: ("show", "path"),
}  # fmt: skip
"""Arguments that a command takes without an option's name."""


_COMMANDS: Mapping[str, str] = {
    **COMMANDS, past.LIST: "history", past.SHOW: "diff", past.UNDO: "undo", past.FORGET: "history forget",
}  # fmt: skip
"""These, and those for calls about the history."""

_POSITIONAL: Mapping[str, tuple[str, ...]] = {
    **POSITIONAL, past.LIST: ("path",), past.SHOW: ("change", "path"), past.UNDO: ("change", "path"),
    past.FORGET: ("path",),
}  # fmt: skip


def command(call: Call | Mapping[str, Fact], root: str | None) -> str:
    """A native call from the facts ({tool, arguments}) as a command for a shell."""
    import shlex  # most replies name no call

    if not isinstance(call, Call):
        sent = call["arguments"]
        assert isinstance(sent, Mapping)
        call = Call(str(call["tool"]), dict(sent))
    where = [] if root is None else [word for one in roots_of(root) for word in ("--root", one)]
    where = [OPTION, place.address] if root is not None and place.address else where
    if call.tool not in _COMMANDS:
        import json

        text = json.dumps(call.arguments, ensure_ascii=False, separators=(",", ":"))
        return shlex.join(["readroom", "call", call.tool, text, *where])
    positional = _POSITIONAL[call.tool]
    names = [_positional(name, call.arguments[name]) for name in positional if name in call.arguments]
    options = [
        word
        for name, value in call.arguments.items()
        if name not in positional
        for word in (_edits(value) if name == "edits" else _option(name, value))
    ]
    options += where
    words = ["readroom", *_COMMANDS[call.tool].split()]
    if any(name.startswith("-") for name in names):
        return shlex.join([*words, *options, "--", *names])
    return shlex.join([*words, *names, *options])


def _positional(name: str, value: Fact) -> str:
    """An argument without an option's name; a file that is called like a number is not taken for a change."""
    return f"./{value}" if name == "path" and str(value).isdigit() else str(value)


def _edits(edits: Fact) -> Iterator[str]:
    """Options for arguments of a pair: one --replace-all applies to all pairs of a command."""
    items = [item for item in edits if isinstance(item, Mapping)] if isinstance(edits, list) else []
    if len({bool(item.get("replace_all")) for item in items}) != 1:
        import json

        yield from ("--edits", json.dumps(edits, ensure_ascii=False, separators=(",", ":")))
        return
    for item in items:
        # One word each: a text may begin with a dash.
        yield from (f"--old={item['old_text']}", f"--new={item['new_text']}")
    if items[0].get("replace_all"):
        yield "--replace-all"


def _option(name: str, value: Fact) -> Iterator[str]:
    flag = "--" + name.replace("_", "-")
    if value is True:
        yield flag
    elif isinstance(value, (str, int, float)):
        yield from (flag, str(value))
    elif value is not None:
        for item in value:
            yield from (flag, str(item))


_APART: Mapping[str, str] = {"old_text": "--old", "new_text": "--new", "replace_all": "--replace-all"}
"""Parts of an edit, which are options of their own."""

_ARGUMENTS = {
    name: _APART.get(name) or f"--{name.replace('_', '-')}"
    for kind in (
        *(ReadRequest, GrepRequest, FindRequest, ListRequest, EditRequest, WriteRequest, RunRequest),
        *(GitChangesRequest, GitLogRequest, GitBlameRequest),
    )
    for name in (*SAID[kind], *_APART)
} | {name: name.upper() for positional in POSITIONAL.values() for name in positional}
"""Arguments of tools, and their options; in capitals those that have none."""

_WORDS = frozenset(("lines", "by", "show", "path", "pattern", "query", "command"))
"""Arguments that are plain words in advice, or parts of an edit."""

_ADVISED = sorted(_ARGUMENTS.keys() - _WORDS, key=len, reverse=True)
_LONG = "|".join(name for name in _ADVISED if "_" in name)
_ANY = "|".join(_ADVISED)

_TOOLS = "|".join(name for name in COMMANDS if "_" in name)
"""Tools whose names are no words of their own: git is also a program, an extra and a kind of repository."""

_TOOL_WORD = re.compile(
    rf"(?<![\w./'\"-])(?:(?P<tool>{_TOOLS})|(?P<long>{_LONG})"
    rf"|(?P<said>\b(?:[Ss]et|[Uu]se|[Ss]end|without|argument|with) )(?P<short>{_ANY})"
    rf"|(?P<set>{_ANY})=(?P<value>[\w-]+))(?![\w/'\"-]|\.\w)"
)
"""A tool or an argument in advice: words that are also plain English only as an argument."""

_TICKED = re.compile(rf"`({_ANY})`")

_BEGINS = re.compile(rf"({'|'.join(sorted(_ARGUMENTS, key=len, reverse=True))})=")
"""An argument with its value, with which a message begins."""

_WRONG_TYPE = re.compile(rf"\A({'|'.join(COMMANDS)}): ('({'|'.join(_ARGUMENTS)})') must be ")
"""The beginning of a message about the type of an argument, which describes JSON as it was typed."""

_EDIT = re.compile(r"\bedits\[(\d+)\](?:\.(old_text|new_text|replace_all))?")

_TEXT = re.compile(r"\A(?=edits\[\d+\]\.(?:old|new)_text is )")
"""The beginning of a message about one text: an option is not in a file, but its text may be."""

_IN_SHELLS = (
    ('view="outline"', "`readroom outline`"),
    ("parts=true", "--parts"),
    ('output="full"', "--output full"),
    ("show=log", "`readroom git log`"),
)
"""Arguments with their values, and what does it at a shell."""

_NAMES = re.compile(r'("(?:[^"\\]|\\.)*")')
"""Quoted ones; splitting at them keeps them."""

_CODES: tuple[tuple[type[ReadroomError], ExitCode], ...] = (
    (UsageError, ExitCode.USAGE),
    (RefusedError, ExitCode.REFUSED),
    (AbsentError, ExitCode.NOT_FOUND),
    (NotReached, ExitCode.NOT_REACHED),
)


def exit_code(error: type[ReadroomError]) -> ExitCode:
    """The exit code of a class of failures."""
    return next((code for base, code in _CODES if issubclass(error, base)), ExitCode.FAILED)


def exit_code_of(facts: Mapping[str, Fact]) -> ExitCode:
    """The exit code for the facts of a reply that is an error."""
    error = facts.get("error")
    return exit_code(of_code(error.get("code") if isinstance(error, Mapping) else None))


def unexpected(error: Exception) -> ExitCode:
    """A failure that did not become a reply: reported on standard error, and a defect also in the log."""
    if not isinstance(error, ReadroomError):
        error = _outer(error)
    output.complain(f"readroom: {_of_option(error) if isinstance(error, BadValue) else error}")
    return exit_code(type(error))


def _of_option(error: BadValue) -> str:
    """The sentences about a value, which came with an option or an argument that is written in capitals."""
    name = error.argument
    option = name if name.startswith("-") or name.isupper() else f"--{name}"
    return f"{option} {str(error).removeprefix(f'{name}=')}"


def _outer(error: Exception) -> ReadroomError:
    """The error for an exception of the system."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return AbsentError(
            "The current folder was removed", "Change to another folder, or name one with --root."
        )
    log().exception("the command failed")
    return Internal(type(error).__name__)


def worded(facts: Mapping[str, Fact], root: str | None) -> str:
    """The message for a person, from the facts of a native error; `root` is the given --root."""
    error = facts.get("error")
    assert isinstance(error, Mapping)
    text = f"readroom: {_in_verbs(str(error['message']))}"
    known = error.get("facts")
    for name in ("changed", "place", "sides"):
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
    """How to reach a file outside: at a shell, choose another folder as the workspace."""
    if known.get("how") not in (ABOVE, ELSEWHERE):
        return ""
    import shlex

    path = str(known["path"])
    folder = os.path.dirname(unquoted(path) or path) if known["how"] == ELSEWHERE else ""
    # That all of the machine is the workspace is nothing to propose.
    named = folder if folder.strip("/") else "DIR"
    way = [OPTION, place.other(named)] if place.address else ["--root", named]
    return f"\n`{shlex.join(way)}` makes another folder the workspace."


def _in_verbs(message: str) -> str:
    """The advice with commands and options for the names of tools and arguments; the message is unchanged.

    Quoted text is always a name.  A sentence about an argument begins with it.
    """
    for argument, at_shell in _IN_SHELLS:
        message = message.replace(argument, at_shell)
    wrong = _WRONG_TYPE.match(message)
    if wrong is not None:
        rest = message[wrong.end(1) :].replace(wrong[2], _ARGUMENTS[wrong[3]])
        return f"`readroom {COMMANDS[wrong[1]]}`{rest}"
    if _EDIT.match(message):
        message = _of_edits(message)
    begun = _BEGINS.match(message)
    if begun is not None:
        message = f"{_ARGUMENTS[begun[1]]} {message[begun.end() :]}"
        message = message.replace(f"'{begun[1]}' must be", f"{_ARGUMENTS[begun[1]]} must be")
    worded_text, advises = "", False
    for piece in _NAMES.split(message):
        happened, stop, advice = ("", "", piece) if advises else piece.partition(". ")
        if piece.startswith('"'):
            happened, stop, advice = piece, "", ""
        advises = advises or bool(stop)
        advice = _TICKED.sub(lambda name: f"`{_ARGUMENTS[name[1]]}`", advice)
        worded_text += happened + stop + _TOOL_WORD.sub(_for_shells, advice)
    return worded_text


def _of_edits(message: str) -> str:
    """A message about edits, reworded for the pairs of options that give them here."""
    happened, stop, advice = message.partition(". ")
    for name, option in _APART.items():
        advice = re.sub(rf"\b{name}\b", option, advice)
    happened = _EDIT.sub(_pair, _TEXT.sub("The text of ", happened))
    return re.sub(r"\b(old_text|new_text)\b", lambda name: _APART[name[1]], happened) + stop + advice


def _pair(edit: re.Match[str]) -> str:
    number = int(edit[1]) + 1
    return f"{_APART[edit[2] or 'old_text']}{f' number {number}' if number > 1 else ''}"


def _for_shells(word: re.Match[str]) -> str:
    if word["tool"]:
        return f"`readroom {COMMANDS[word['tool']]}`"
    if word["set"]:
        return f"{_ARGUMENTS[word['set']]} {word['value']}"
    return f"{word['said'] or ''}{_ARGUMENTS[word['long'] or word['short']]}"
