"""edit and write: the tools that change files as commands, with texts from options or standard input."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
import msgspec

from readroom.contracts.base import Tool
from readroom.contracts.native_calls import EDIT, WRITE
from readroom.contracts.native_changes import EDIT_FILE, WRITE_FILE
from readroom.errors import BadValue, ReadroomError
from readroom.faces.cli import options
from readroom.faces.cli.calling import Where, answer, failure, finish, json_option, parameters
from readroom.faces.cli.exits import ExitCode
from readroom.limits import CHANGE_TEXT_BYTES
from readroom.model import Fact

_STDIN = "-"


def _edit(
    root: str | None,
    config: str | None,
    as_json: bool,
    old: Sequence[str],
    new: Sequence[str],
    edits: str | None,
    replace_all: bool,
    **values: object,
) -> ExitCode:
    """Replace texts in a file if it still has the expected hash; all of them, or none.

    Each --old is replaced by the --new that stands at the same place among them.
    Many or long edits come as JSON, as edit_file takes them, with --edits.
    """
    try:
        sent = _pairs(old, new, replace_all=replace_all) if edits is None else _from_json(edits)
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json)
    arguments = {**options.given(values), "edits": sent}
    return finish(answer(Where(root, config), EDIT, arguments), as_json=as_json, root=root)


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
    root: str | None, config: str | None, as_json: bool, content: str | None, **values: object
) -> ExitCode:
    """Create a file, with its folders, or replace all of its content.

    The content is read from standard input unless it is given with --content.
    """
    try:
        sent = _standard_input("content") if content is None else content
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json)
    arguments = {**options.given(values), "content": sent}
    return finish(answer(Where(root, config), WRITE, arguments), as_json=as_json, root=root)


def _standard_input(argument: str) -> str:
    data = b"" if sys.stdin is None else sys.stdin.buffer.read(CHANGE_TEXT_BYTES + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of standard input is no UTF-8"
        raise BadValue(argument, "-", f"cannot be read: {problem}", "Send it as UTF-8.") from None


def _parameters(tool: Tool, without: str) -> list[click.Parameter]:
    """Those of the tool but one, which a shell gives in another way."""
    made = options.parameters(tool.arguments, ("path",))
    return [parameter for parameter in made if parameter.name != without]


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
        click.Option(["--content"], metavar="TEXT", help="Instead of standard input"),
        json_option(),
        *parameters(),
    ],
    callback=_write,
    help=_write.__doc__,
)
