"""The table of commands, imported when used, and the handler of all failures.

A command returns its exit code. Click words its own errors, unless a program reads standard
output: then it is a result in JSON like any other failure.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from readroom.cli import examples
from readroom.cli.exits import MEANING, OF_RUN, ExitCode

COMMANDS = {
    "read": ("readroom.cli.tools:read", "Read a text file, an image or a document."),
    "outline": ("readroom.cli.tools:outline", "List what a file defines."),
    "grep": ("readroom.cli.tools:grep", "Search file contents."),
    "refs": ("readroom.cli.tools:refs", "Show who uses a name."),
    "find": ("readroom.cli.tools:find", "Find the passages that answer a question."),
    "ls": ("readroom.cli.tools:ls", "List a folder."),
    "git": ("readroom.cli.tools:git", "Show changes, a log or who changed lines."),
    "edit": ("readroom.cli.tools:edit", "Replace texts in files."),
    "write": ("readroom.cli.tools:write", "Create a file, or replace its content."),
    "patch": ("readroom.cli.changing:patch", "Apply a patch to files."),
    "mv": ("readroom.cli.changing:mv", "Move files and folders."),
    "cp": ("readroom.cli.changing:cp", "Copy files and folders."),
    "rm": ("readroom.cli.changing:rm", "Delete files and folders."),
    "mkdir": ("readroom.cli.changing:mkdir", "Make folders."),
    "history": ("readroom.cli.history:history", "List what was changed, by whom and when."),
    "diff": ("readroom.cli.history:diff", "Show what a change did."),
    "undo": ("readroom.cli.history:undo", "Take changes back."),
    "run": ("readroom.cli.tools:run", "Run a command, confined to the folder."),
    "review": ("readroom.cli.review:review", "Show, accept or reject what waits for review."),
    "explain": ("readroom.cli.explain:explain", "Show which rule decides about a path."),
    "call": ("readroom.cli.call:call", "Make one tool call and print its result as JSON."),
    "ledger": (
        "readroom.server.commands.ledger:ledger",
        "Show the record of calls, and verify it.",
    ),
    "init": ("readroom.cli.init:init", "Write a commented readroom.toml for a folder."),
    "doctor": (
        "readroom.cli.doctor:doctor",
        "Check what works on this machine, and how to fix the rest.",
    ),
    "connect": ("readroom.cli.connect:connect", "Configure an MCP client for a folder."),
    "ui": ("readroom.server.commands.ui:ui", "Show a ledger or an audit in a browser."),
    "audit": ("readroom.lens.command:audit", "Report where agents spent their context, and what it cost."),
    "mcp": ("readroom.cli.mcp:mcp", "Serve a folder to an MCP client over stdio."),
    "serve": (
        "readroom.server.commands.servers:serve",
        "Serve folders over HTTP, to MCP clients and programs.",
    ),
    "budget": (
        "readroom.server.commands.budget:budget",
        "Show how much of their budgets servers have spent.",
    ),
    "token": (
        "readroom.server.commands.token:token",
        "Create, show, list and revoke tokens for the HTTP server.",
    ),
}
"""Every command: its module and its description. Each wing adds its own, found when it is used."""

SERVING = "readroom.server.settings:load"
"""Reads the operator's file for serving."""

FOLDER_TOKENS = "readroom.server.settings:folder_tokens"
"""The tokens that servers make for folders."""


def found(place: str) -> Any:
    """The object at a place of the table."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


_EXIT_CODES = "\b\nExit codes:\n" + "\n".join(f"  {code.value}  {text}" for code, text in MEANING.items())
_WHERE_CODES_ARE = "Exit codes: `readroom --help` lists them."


_HELP: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class _Commands(click.Group):
    """The commands of the table; help on all of them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        place, summary = COMMANDS[cmd_name]
        command = found(place)
        assert isinstance(command, click.Command)
        command.short_help = summary
        _finish(command, cmd_name)
        command.context_settings = _HELP
        if ctx.resilient_parsing:  # a shell asks what can follow
            from readroom.cli import completion

            completion.offer(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from readroom.cli import near

            if line := near.command_for(args, COMMANDS):
                raise click.UsageError(f"No such command {args[0]!r}. Use `{line}`.", ctx)
            raise click.NoSuchCommand(args[0], possibilities=COMMANDS, ctx=ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def _finish(command: click.Command, name: str) -> None:
    """Give a command, and those below it, the end of its help."""
    ends = OF_RUN if name == "run" else _WHERE_CODES_ARE
    command.epilog = f"{examples.of(name)}\n\n{ends}"
    if isinstance(command, click.Group):
        for inner, below in command.commands.items():
            _finish(below, f"{name} {inner}")


def run(arguments: Sequence[str]) -> int:
    """Run one command; the result is its exit code, and nothing is raised but KeyboardInterrupt."""
    try:
        return int(GROUP.main(list(arguments), prog_name="readroom", standalone_mode=False) or 0)
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.UsageError as error:
        return _misused(_advised(_in_place(error, arguments)), arguments)
    except Exception as error:
        from readroom.cli.failures import unexpected

        return unexpected(error)


def _in_place(error: click.UsageError, arguments: Sequence[str]) -> click.UsageError:
    """The correct command line if an option comes before the command instead of after it."""
    if not isinstance(error, click.NoSuchOption) or error.ctx is None or error.ctx.parent is not None:
        return error
    # In front of the command is one of its options, and perhaps the value of that.
    at = next((at for at, word in enumerate(arguments) if word in COMMANDS), None)
    if at is None:
        return click.UsageError(f"{error.message} Name a command first, then its options.", error.ctx)
    import shlex

    line = shlex.join(["readroom", arguments[at], *arguments[at + 1 :], *arguments[:at]])
    return click.UsageError(f"{error.message} Options come after the command: {line}", error.ctx)


def _advised(error: click.UsageError) -> click.UsageError:
    """The same with what is needed instead, where that is known."""
    if error.ctx is None:
        return error
    from readroom.cli import near

    command = error.ctx.command
    if isinstance(error, click.NoSuchOption):
        advice = near.instead_of(error.option_name, command)
        return click.UsageError(f"{error.message} {advice}", error.ctx) if advice else error
    advice = near.ARGUMENTS.get(command.name or "", "")
    if isinstance(error, click.MissingParameter) and error.param is not None:
        from readroom.cli import completion

        values = ", ".join(completion.words(error.ctx, error.param))
        advice = f"Give one of {values}." if values else advice
    elif type(error) is not click.UsageError:
        return error
    said = error.format_message().rstrip(".")
    return click.UsageError(f"{said}. {advice}", error.ctx) if advice else error


def _misused(error: click.UsageError, arguments: Sequence[str]) -> int:
    if (error.ctx is not None and error.ctx.info_name == "call") or "--json" in arguments:
        from readroom.cli.answers import failure, finish
        from readroom.core.errors import UsageError

        help_on = error.ctx.command_path if error.ctx is not None else "readroom"
        refusal = UsageError(error.format_message().rstrip("."), f"See `{help_on} --help`.")
        return finish(failure(refusal), as_json=True)
    with suppress(OSError):
        error.show()
    return ExitCode.USAGE


def _start(debug: bool) -> None:
    """Find, list and read the files of a folder, as an AI agent does with readroom's tools."""
    # Imported modules stay to the end: not collecting them then saves 15 ms of 130.
    gc.freeze()
    gc.enable()
    if debug:
        import logging

        logging.basicConfig(level=logging.DEBUG)


GROUP = _Commands(
    "readroom",
    params=[click.Option(["--debug"], is_flag=True, help="Log to standard error, with tracebacks.")],
    callback=_start, help=_start.__doc__, epilog=f"{_EXIT_CODES}\n  {OF_RUN}", context_settings=_HELP,
)  # fmt: skip
"""The command `readroom`, whose subcommands are imported when they are used."""

click.version_option(package_name="readroom", message="%(prog)s %(version)s")(GROUP)
