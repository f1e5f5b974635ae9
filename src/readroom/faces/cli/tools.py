"""read, outline, grep and ls: the tools of the native contract as commands for people and scripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

import click

from readroom.contracts.base import Tool
from readroom.contracts.native import GREP_FILES, LIST_DIRECTORY, READ_FILE
from readroom.faces.cli import options
from readroom.faces.cli.calling import Where, answers, finish, json_option, parameters
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.failures import COMMANDS, POSITIONAL
from readroom.faces.cli.terminal import show
from readroom.model import Fact, Reply

Found: TypeAlias = Callable[[Reply, Mapping[str, Fact]], bool]
"""Whether the reply to a call with these arguments shows anything of what was looked for."""


def _command(tool: Tool, found: Found) -> click.Command:
    made = options.parameters(tool.arguments, POSITIONAL[tool.name], several_paths=True)
    return click.Command(
        COMMANDS[tool.name],
        params=[*made, json_option(), *parameters()],
        callback=partial(_run, tool.name, found),
        help=tool.description,
    )


def _run(
    tool: str, found: Found, root: str | None, config: str | None, as_json: bool, **values: object
) -> ExitCode:
    """One call for each path, printed one below the other.

    As with grep, a failure decides the exit code, then whether anything was found at all.
    """
    calls = options.given_for_each_path(values)
    failed: ExitCode | None = None
    any_found = False
    replies = answers(Where(root, config), tool, calls, for_person=not as_json)
    for number, (arguments, reply) in enumerate(zip(calls, replies, strict=False)):
        if number and not as_json:
            show("")
        code = finish(reply, as_json=as_json, root=root, arguments=arguments)
        if reply.is_error:
            failed = code if failed is None else failed
        else:
            any_found |= found(reply, arguments)
    return failed if failed is not None else ExitCode.OK if any_found else ExitCode.NOTHING_FOUND


def _outline_command() -> click.Command:
    """`read --view outline`, with the options that mean something for it."""
    kept = {"path", "offset", "limit", "symbol", "encoding"}
    given = options.parameters(READ_FILE.arguments, POSITIONAL[READ_FILE.name], several_paths=True)
    return click.Command(
        "outline",
        params=[*(one for one in given if one.name in kept), json_option(), *parameters()],
        callback=partial(_run, READ_FILE.name, _always, view="outline"),
        help="List what a file defines: start-end signature, nested. Headings of Markdown, keys of data.",
    )


def _always(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    return True


def _matched(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    return reply.facts["shown"] != 0


def _fits(reply: Reply, arguments: Mapping[str, Fact]) -> bool:
    """An empty folder is an answer; globs that no name fits have found nothing."""
    return "glob" not in arguments or reply.facts["total"] != 0


read = _command(READ_FILE, _always)
outline = _outline_command()
grep = _command(GREP_FILES, _matched)
ls = _command(LIST_DIRECTORY, _fits)
