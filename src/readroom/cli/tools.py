"""read, outline, grep, find, ls, edit, write and run: native tools as commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial

import click
import msgspec
from msgspec.structs import replace

from readroom.cli import options
from readroom.cli.answers import Found, Where, always, answer, answer_each, failure, finish
from readroom.cli.exits import NOT_RUN, ExitCode
from readroom.cli.failures import COMMANDS, POSITIONAL
from readroom.cli.options import commands_option, flag, json_option, option, subcommand, where_options
from readroom.core.contracts.base import Tool
from readroom.core.contracts.native import GREP_FILES, LIST_DIRECTORY, READ_FILE
from readroom.core.contracts.native.calls import EDIT, READ, RUN, WRITE
from readroom.core.contracts.native.changes import EDIT_FILE, RUN_COMMAND, WRITE_FILE
from readroom.core.contracts.native.git import GIT_TOOL
from readroom.core.contracts.native.render import HASH_DIGITS
from readroom.core.contracts.native.search import FIND_RELEVANT
from readroom.core.errors import BadValue, NotFound, ReadroomError, UsageError
from readroom.core.limits import CHANGE_TEXT_BYTES
from readroom.core.values import Fact, ReadRequest, Reply
from readroom.core.values.changes import ABSENT


def _command(tool: Tool, has_found: Found) -> click.Command:
    parameters = options.parameters(tool.arguments, POSITIONAL[tool.name], several_paths=True)
    work = partial(_run, tool.name, has_found)
    return subcommand(
        COMMANDS[tool.name], work, *parameters, json_option(), *where_options(), words=tool.description
    )


def _run(
    tool: str, has_found: Found, root: str | None, config: str | None, as_json: bool, **values: object
) -> ExitCode:
    """One call for each path."""
    calls = options.given_for_each_path(values)
    return answer_each(Where(root, config), tool, calls, has_found, as_json=as_json)


def _outline_command() -> click.Command:
    """`read --view outline`, with the options that mean something for it."""
    kept = {"path", "offset", "limit", "symbol", "encoding"}
    parameters = options.parameters(READ_FILE.arguments, POSITIONAL[READ_FILE.name], several_paths=True)
    return subcommand(
        "outline",
        partial(_run, READ_FILE.name, always, view="outline"),
        *(parameter for parameter in parameters if parameter.name in kept),
        json_option(),
        *where_options(),
        words="List what a file defines: start-end signature, nested. Headings of Markdown, keys of data.",
    )


def _refs_command() -> click.Command:
    """`grep --output references`, with the options that mean something for it."""
    others = {"output", "context", "before", "after", "multiline", "fixed", "documents", "symbols"}
    parameters = options.parameters(GREP_FILES.arguments, POSITIONAL[GREP_FILES.name], several_paths=True)
    return subcommand(
        "refs",
        partial(_run, GREP_FILES.name, _matched, output="references"),
        *(_named(parameter) for parameter in parameters if parameter.name not in others),
        json_option(),
        *where_options(),
        words="Show who uses a name: definitions, calls, imports, other uses, text and comments, by name.",
    )


def _named(parameter: click.Parameter) -> click.Parameter:
    """The parameter; the pattern is a name here."""
    if parameter.name == "pattern":
        parameter.help = "A name, found as a whole word"
    return parameter


def _matched(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    return reply.facts["shown"] != 0


def _fits(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    """An empty folder is an answer; globs that no name fits have found nothing."""
    return "glob" not in arguments or reply.facts["total"] != 0


read = _command(READ_FILE, always)
outline = _outline_command()
grep = _command(GREP_FILES, _matched)
refs = _refs_command()
find = _command(FIND_RELEVANT, _matched)
ls = _command(LIST_DIRECTORY, _fits)
git = _command(GIT_TOOL, always)


# -----------------------------------------------------------------------------
# edit and write: the tools that change files as commands, with texts from options or standard input.
# -----------------------------------------------------------------------------

_STDIN = "-"


_HASH, _NOW, _NEW = "--expected-hash", "--now", "--new"
"""Short options for the expected state of the file, for a person who looks at it while typing."""


def _edit(
    root: str | None,
    config: str | None,
    as_json: bool,
    now: bool,
    old: Sequence[str],
    new: Sequence[str],
    edits: str | None,
    replace_all: bool,
    patch: str | None,
    **values: object,
) -> ExitCode:
    """Replace texts in a file if it still has the expected hash; all of them, or none.

    --now uses the hash that the file has when the command starts; a later change by somebody else
    still stops the edit.  The first --old is replaced by the first --new, the second by the second.
    --edits gives many or long edits as JSON, in the form of edit_file; each may name a file of its own by
    path and expected_hash.  --patch applies a patch instead, as `readroom patch` does.
    """
    if patch is not None:
        from readroom.cli.changing import patched

        return patched(patch, bool(values.get("dry_run")), root, config, as_json)
    try:
        sent = _pairs(old, new, replace_all=replace_all) if edits is None else _from_json(edits)
        arguments = {**options.given(values), "edits": sent}
        where = Where(root, config)
        state = _state(where, EDIT, arguments, now=now) if "path" in arguments else {}
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    reply = answer(where, EDIT, {**arguments, **state}, for_person=not as_json)
    return finish(reply, as_json=as_json, root=root)


def _pairs(old: Sequence[str], new: Sequence[str], *, replace_all: bool) -> Fact:
    if len(old) != len(new):
        count = f"{len(old)} --old and {len(new)} --new"
        raise BadValue("edits", count, "do not make pairs", "Give one --new for each --old.")
    return [
        {"old_text": old_text, "new_text": new_text, "replace_all": replace_all}
        for old_text, new_text in zip(old, new, strict=True)
    ]


def _from_json(edits: str) -> Fact:
    text = _standard_input("edits") if edits == _STDIN else edits
    try:
        decoded: Fact = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        advice = 'Send [{"old_text": "...", "new_text": "..."}].'
        raise BadValue("edits", text[:80], f"is not JSON: {error}", advice) from None
    return decoded


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

    --new only creates the file; --now replaces the version that exists when the command starts, after
    reading all of the content.  The content comes from standard input unless --content gives it.
    """
    try:
        sent = _standard_input("content") if content is None else content
        arguments = {**options.given(values), "content": sent}
        where = Where(root, config)
        state = _state(where, WRITE, arguments, now=now, new=new)
    except ReadroomError as error:
        return finish(failure(error), as_json=as_json, root=root)
    reply = answer(where, WRITE, {**arguments, **state}, for_person=not as_json)
    return finish(reply, as_json=as_json, root=root)


def _state(
    where: Where, tool: str, arguments: Mapping[str, Fact], *, now: bool, new: bool = False
) -> Mapping[str, Fact]:
    """The hash that the file must have, as an argument. Raises UsageError, ReadroomError."""
    said = ((_NOW, now), (_NEW, new), (_HASH, "expected_hash" in arguments))
    ways = [name for name, is_said in said if is_said]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} were both given", "Give one of them.")
    if new:
        return {"expected_hash": ABSENT}
    if ways == [_HASH]:
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
        f"If that is the file you mean, add `{_HASH} {digest}`, or `{_NOW}` to skip the check.",
        facts={"content_hash": current},
    )


def _current_hash(where: Where, arguments: Mapping[str, Fact]) -> str:
    """The hash of the whole file, read as read_file reads it: under policy, and into the ledger.

    Raises:
        ReadroomError: The file cannot be read.
    """
    kept = {name: arguments[name] for name in ("path", "encoding") if name in arguments}
    try:
        with where.open() as workspace:
            content_hash = workspace.perform(READ, {**kept, "limit": 1}).facts["content_hash"]
    except ReadroomError as error:
        if isinstance(error.next, ReadRequest):  # the advice to read one line does not fit here
            error.next = replace(error.next, limit=None)
        raise
    if not isinstance(content_hash, str):
        # A file so large that one look does not hash it.
        advice = "Run `readroom read` on it until its reply shows the hash."
        raise UsageError("The hash of the file is not known yet", advice)
    return content_hash


def _standard_input(argument: str) -> str:
    data = sys.stdin.buffer.read(CHANGE_TEXT_BYTES + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of standard input is not UTF-8"
        raise BadValue(argument, "-", f"cannot be read: {problem}", "Send it as UTF-8.") from None


def _parameters(tool: Tool, without: str) -> list[click.Parameter]:
    """Those of the tool but one, which a shell gives in another way; the hash may be said in short."""
    parameters = options.parameters(tool.arguments, ("path",))
    for parameter in parameters:
        parameter.required = parameter.required and parameter.name != "expected_hash"
    return [
        *(parameter for parameter in parameters if parameter.name != without),
        click.Option(
            [_NOW],
            is_flag=True,
            help="Instead of a hash: use the hash that the file has when this command starts",
        ),
    ]


edit = subcommand(
    "edit",
    _edit,
    *_parameters(EDIT_FILE, "edits"),
    option("--old", "Text to replace; may be repeated", multiple=True, metavar="TEXT"),
    option("--new", "Its replacement; may be repeated", multiple=True, metavar="TEXT"),
    flag("--replace-all", "Replace all occurrences"),
    option("--edits", "A JSON list of edits; - reads it from standard input", metavar="JSON"),
    option("--patch", "A file with a patch; - reads it from standard input", metavar="FILE"),
    json_option(),
    *where_options(),
)

write = subcommand(
    "write",
    _write,
    *_parameters(WRITE_FILE, "content"),
    click.Option([_NEW], is_flag=True, help="Instead of a hash: create the file, and fail if it exists"),
    option("--content", "Content, instead of standard input", metavar="TEXT"),
    json_option(),
    *where_options(),
)


# -----------------------------------------------------------------------------
# run: a command in the folder, as run_command does it; its output is not kept.
# -----------------------------------------------------------------------------


def _run_command(
    root: str | None, config: str | None, allow_commands: bool, as_json: bool, **values: object
) -> int:
    """Run COMMAND in the shell, in the folder, and print the lines of its output that matter.

    It is off unless --allow-commands is given or the configuration allows it.
    """
    reply = answer(Where(root, config, allow_commands), RUN, options.given(values), for_person=not as_json)
    finish(reply, as_json=as_json, root=root)
    code = reply.facts.get("exit_code")
    return code if isinstance(code, int) else NOT_RUN


run = subcommand(
    "run",
    _run_command,
    # Nothing runs on after the program that started it.
    *(one for one in options.parameters(RUN_COMMAND.arguments, POSITIONAL[RUN]) if one.name != "background"),
    commands_option(),
    json_option(),
    *where_options(),
)
