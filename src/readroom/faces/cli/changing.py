"""edit and write: the tools that change files as commands, with texts from options or standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click
import msgspec

from readroom.changes import ABSENT
from readroom.contracts.base import Tool
from readroom.contracts.native_calls import EDIT, READ, WRITE
from readroom.contracts.native_changes import EDIT_FILE, WRITE_FILE
from readroom.contracts.native_text import HASH_DIGITS
from readroom.errors import BadValue, NotFound, ReadroomError, UsageError
from readroom.faces.cli import options
from readroom.faces.cli.calling import Where, answer, failure, finish, json_option, parameters
from readroom.faces.cli.exits import ExitCode
from readroom.limits import CHANGE_TEXT_BYTES
from readroom.model import Fact

_STDIN = "-"


_HASH, _NOW, _NEW = "--expected-hash", "--now", "--new"
"""Short ways to say which state of the file is meant, for a person who looks at it while typing."""


def _edit(
    root: str | None,
    config: str | None,
    as_json: bool,
    now: bool,
    old: Sequence[str],
    new: Sequence[str],
    edits: str | None,
    replace_all: bool,
    **values: object,
) -> ExitCode:
    """Replace texts in a file if it still has the expected hash; all of them, or none.

    --now takes the hash that the file has as the command starts: what changes between then and the
    replacement still ends the edit.  Each --old is replaced by the --new that stands at the same
    place among them.  Many or long edits come as JSON, as edit_file takes them, with --edits.
    """
    try:
        sent = _pairs(old, new, replace_all=replace_all) if edits is None else _from_json(edits)
        arguments = {**options.given(values), "edits": sent}
        where = Where(root, config)
        state = _state(where, EDIT, arguments, now=now)
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    return _change(where, EDIT, {**arguments, **state}, as_json=as_json)


def _pairs(old: Sequence[str], new: Sequence[str], *, replace_all: bool) -> Fact:
    if len(old) != len(new):
        given = f"{len(old)} --old and {len(new)} --new"
        raise BadValue("edits", given, "do not make pairs", "Give one --new for each --old.")
    return [
        {"old_text": one, "new_text": other, "replace_all": replace_all}
        for one, other in zip(old, new, strict=True)
    ]


def _from_json(edits: str) -> Fact:
    text = _standard_input("edits") if edits == _STDIN else edits
    try:
        found: Fact = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        advice = 'Send [{"old_text": "...", "new_text": "..."}].'
        raise BadValue("edits", text[:80], f"is not JSON: {error}", advice) from None
    return found


def _write(
    root: str | None,
    config: str | None,
    as_json: bool,
    now: bool,
    new: bool,
    content: str | None,
    **values: object,
) -> ExitCode:
    """Create a file, with its folders, or replace all of its content.

    --new only creates; --now replaces the file as it is when the command starts, once all of the
    content has been read.  The content is read from standard input unless it is given with --content.
    """
    try:
        sent = _standard_input("content") if content is None else content
        arguments = {**options.given(values), "content": sent}
        where = Where(root, config)
        state = _state(where, WRITE, arguments, now=now, new=new)
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    return _change(where, WRITE, {**arguments, **state}, as_json=as_json)


def _change(where: Where, tool: str, arguments: Mapping[str, Fact], *, as_json: bool) -> ExitCode:
    reply = answer(where, tool, arguments, for_person=not as_json)
    return finish(reply, as_json=as_json, root=where.root)


def _state(
    where: Where, tool: str, arguments: Mapping[str, Fact], *, now: bool, new: bool = False
) -> Mapping[str, Fact]:
    """The hash that the file must have, as an argument.

    Raises:
        UsageError: None of the ways to say it was used, or two of them.
        ReadroomError: The file cannot be read, as reading it says.
    """
    said = [
        name for name, is_said in ((_NOW, now), (_NEW, new), (_HASH, "expected_hash" in arguments)) if is_said
    ]
    if len(said) > 1:
        raise UsageError(f"{' and '.join(said)} were both given", "Give one of them.")
    if new:
        return {"expected_hash": ABSENT}
    if said == [_HASH]:
        return {}
    try:
        current = _current_hash(where, arguments)
    except NotFound:
        if now or tool == EDIT:
            raise
        advice = f"Add `{_NEW}` to create the file."
        raise UsageError(f"{_HASH} was not given, and there is no such file yet", advice) from None
    if now:
        return {"expected_hash": current}
    digest = current.removeprefix("sha256:")[:HASH_DIGITS]
    raise UsageError(
        f"{_HASH} was not given; the file now has {digest}",
        f"If that is the file you mean, add `{_HASH} {digest}`, or `{_NOW}` for what it holds by then.",
        facts={"content_hash": current},
    )


def _current_hash(where: Where, arguments: Mapping[str, Fact]) -> str:
    """The hash of the whole file, read as read_file reads it: under policy, and into the ledger.

    Raises:
        ReadroomError: The file cannot be read.
    """
    kept = {name: arguments[name] for name in ("path", "encoding") if name in arguments}
    with where.open() as workspace:
        found = workspace.perform(READ, {**kept, "limit": 1}).facts["content_hash"]
    if not isinstance(found, str):
        # A file so large that one look does not hash it.
        raise UsageError(
            "The hash of the file is not known yet", "Run `readroom read` on it until it is shown."
        )
    return found


def _standard_input(argument: str) -> str:
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(CHANGE_TEXT_BYTES + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of standard input is no UTF-8"
        raise BadValue(argument, "-", f"cannot be read: {problem}", "Send it as UTF-8.") from None


def _parameters(tool: Tool, without: str) -> list[click.Parameter]:
    """Those of the tool but one, which a shell gives in another way; the hash may be said in short."""
    made = options.parameters(tool.arguments, ("path",))
    for parameter in made:
        parameter.required = parameter.required and parameter.name != "expected_hash"
    return [
        *(parameter for parameter in made if parameter.name != without),
        click.Option([_NOW], is_flag=True, help="Instead of a hash: the file as it is when this starts"),
    ]


edit = click.Command(
    "edit",
    params=[
        *_parameters(EDIT_FILE, "edits"),
        click.Option(["--old"], multiple=True, metavar="TEXT", help="What is replaced; may be repeated"),
        click.Option(["--new"], multiple=True, metavar="TEXT", help="What takes its place; may be repeated"),
        click.Option(["--replace-all"], is_flag=True, help="Every place, not one that must be the only one"),
        click.Option(["--edits"], metavar="JSON", help="A list of edits; - reads it from standard input"),
        json_option(),
        *parameters(),
    ],
    callback=_edit,
    help=_edit.__doc__,
)

write = click.Command(
    "write",
    params=[
        *_parameters(WRITE_FILE, "content"),
        click.Option([_NEW], is_flag=True, help="Instead of a hash: only create the file"),
        click.Option(["--content"], metavar="TEXT", help="Instead of standard input"),
        json_option(),
        *parameters(),
    ],
    callback=_write,
    help=_write.__doc__,
)
