"""mv, cp, rm, mkdir and patch: changes of several files as commands, all of them or none."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click

from readroom.cli import output
from readroom.cli.answers import Where, answer, failure, finish, path_argument
from readroom.cli.exits import ExitCode
from readroom.cli.failures import exit_code_of, worded
from readroom.cli.options import flag, json_option, option, subcommand, where_options
from readroom.core.contracts.native.calls import CHANGE, PATCH
from readroom.core.errors import (
    BadValue,
    EditsFailed,
    HashNeeded,
    NoPermission,
    NotFound,
    ReadroomError,
    WrongEntries,
)
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.values import Fact

_NOW = "--now"

_STDIN = "-"


def _changed(
    changes: Sequence[dict[str, Fact]],
    *,
    expected_hash: str | None = None,
    entries: int | None = None,
    now: bool = False,
    dry_run: bool,
    root: str | None,
    config: str | None,
    as_json: bool,
) -> ExitCode:
    """Make changes that have the same options."""
    where = Where(root, config)
    given: dict[str, Fact] = {"expected_hash": expected_hash, "entries": entries}
    known = {name: value for name, value in given.items() if value is not None}
    try:
        sent = [{**change, **known} for change in changes]
        if now:
            sent = [_as_it_is(where, change) for change in sent]
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    arguments: dict[str, Fact] = {"changes": list(sent)}
    if dry_run:
        arguments["dry_run"] = True
    reply = answer(where, CHANGE, arguments, for_person=not as_json)
    if not reply.is_error or as_json:
        return finish(reply, as_json=as_json, root=root)
    output.complain(_ASKED.sub(_HOW, worded(reply.facts, root).replace(_HASH, "")))
    return exit_code_of(reply.facts)


_HASH = "expected_hash is missing; "
_ASKED = re.compile(
    rf"{re.escape(HashNeeded.advice)}|If all of them are meant, send entries=\d+\."
    rf"|(?:(?<=at any depth\. )|(?<=sha256:.{{12}}\. )){re.escape(EditsFailed.advice)}"
)
"""Advice of tools for a change that does not say what is there; a person has --now for that."""
_HOW = f"`{_NOW}` takes it as it is."


def _as_it_is(where: Where, change: dict[str, Fact]) -> dict[str, Fact]:
    """The change with the hash or the number of names of what is there now. Raises ReadroomError."""
    with where.open() as workspace:
        try:
            workspace.perform(CHANGE, {"changes": [change], "dry_run": True})
        except HashNeeded as error:
            return {**change, "expected_hash": error.found}
        except WrongEntries as error:
            return {**change, "entries": error.found}
    return change


def _removed(path: Sequence[str], **options: Any) -> ExitCode:
    """Delete files and folders, all of them or none.

    A file needs the hash that it is expected to have, and a folder the number of names in it, at any depth;
    --now takes those of the moment.
    """
    return _changed([{"action": "delete", "path": path_argument(each)} for each in path], **options)


def _renamed(action: str, path: Sequence[str], **options: Any) -> ExitCode:
    *names, to = path
    if not names:
        wrong = BadValue("PATH", to, "has no destination", "Name the new name, or a folder with a slash.")
        return finish(failure(wrong), as_json=options["as_json"], root=options["root"])
    into = len(names) > 1 or to.endswith("/")
    changes: list[dict[str, Fact]] = [
        {
            "action": action,
            "path": path_argument(each),
            "to": path_argument(posixpath.join(to, posixpath.basename(each.rstrip("/"))) if into else to),
        }
        for each in names
    ]
    return _changed(changes, **options)


def _made(path: Sequence[str], **options: Any) -> ExitCode:
    """Make folders, with those above them; all of them or none."""
    return _changed([{"action": "mkdir", "path": path_argument(each)} for each in path], **options)


def patched(file: str, dry_run: bool, root: str | None, config: str | None, as_json: bool) -> ExitCode:
    """Apply a patch to files: a unified diff, or a V4A patch; all of it or nothing.

    FILE is read from the shell's folder; - or nothing reads standard input.
    """
    try:
        arguments: dict[str, Fact] = {"patch": _text_of(file)}
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    if dry_run:
        arguments["dry_run"] = True
    reply = answer(Where(root, config), PATCH, arguments, for_person=not as_json)
    return finish(reply, as_json=as_json, root=root)


def _text_of(file: str) -> str:
    try:
        if file == _STDIN:
            data = sys.stdin.buffer.read(CHANGE_TEXT_BYTES + 1)
        else:
            with open(file, "rb") as opened:
                data = opened.read(CHANGE_TEXT_BYTES + 1)
        return data.decode()
    except FileNotFoundError:
        raise NotFound(file, advice="Name the file with the patch, or - for standard input.") from None
    except UnicodeDecodeError as error:
        problem = f"cannot be read: byte {error.start} is not UTF-8"
        raise BadValue("FILE", file, problem, "Send it as UTF-8.") from None
    except OSError:
        raise NoPermission(file) from None


def _paths(words: str) -> click.Argument:
    return click.Argument(["path"], nargs=-1, required=True, type=click.Path(readable=False), metavar=words)


def _states() -> Sequence[click.Parameter]:
    return (
        option("--expected-hash", "The hash that the file must have", metavar="HASH"),
        option("--entries", "The number of names in the folder, at any depth", type=click.IntRange(0)),
        flag(_NOW, "Instead of a hash or a number: those when this command starts"),
    )


def _command(
    name: str, work: Callable[..., int], *parameters: click.Parameter, words: str | None = None
) -> click.Command:
    dry = flag("--dry-run", "Only show what it would do")
    return subcommand(name, work, *parameters, dry, json_option(), *where_options(), words=words)


rm = _command("rm", _removed, _paths("PATH..."), *_states())
mkdir = _command("mkdir", _made, _paths("DIR..."))
mv = _command(
    "mv",
    partial(_renamed, "move"),
    _paths("PATH... NEW"),
    *_states(),
    words="Give a file or a folder the name NEW, or move several into the folder NEW; all of them or none.",
)
cp = _command(
    "cp",
    partial(_renamed, "copy"),
    _paths("PATH... NEW"),
    *_states(),
    words="Copy a file or a folder to the name NEW, or several into the folder NEW; all of them or none.",
)
patch = _command(
    "patch",
    patched,
    click.Argument(["file"], default=_STDIN, type=click.Path(readable=False), metavar="[FILE]"),
)
