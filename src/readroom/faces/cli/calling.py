"""One tool call from the command line: opened, answered and printed; no failure leaves without a reply."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import click

from readroom.caller import Caller
from readroom.contracts.base import Contract
from readroom.contracts.registry import contract
from readroom.deadline import Deadline
from readroom.errors import ReadroomError
from readroom.faces.cli import terminal
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.failures import exit_code_of, worded
from readroom.model import Cap, Reply
from readroom.toolbox import Workspace

NATIVE = "native"


@dataclass(frozen=True, slots=True)
class Where:
    """The root and the files of settings, as given; `lasting` is a workspace for more than one call."""

    root: str | None = None
    config: str | None = None
    allow_commands: bool = False
    lasting: bool = False
    front_matter: str | None = None

    def open(self) -> Workspace:
        """The workspace.

        Raises:
            NotFound, NotAFolder, NoPermission: There is no such root.
            BadConfig: A configuration file cannot be used.
        """
        from readroom import config

        store = config.open_store(self.root or ".")
        settings = config.load(
            store,
            self.config,
            allow_commands=self.allow_commands,
            one_shot=not self.lasting,
            serving=self.lasting,
            front_matter=self.front_matter,
        )
        return Workspace(store, settings=settings)


def parameters() -> list[click.Parameter]:
    """--root and --config, which every command has."""
    return [
        click.Option(
            ["--root"],
            type=click.Path(readable=False),
            metavar="DIR",
            help="The workspace; paths are relative to it.",
            show_default="the current folder",
        ),
        click.Option(
            ["--config"], type=click.Path(readable=False), metavar="FILE", help="More settings and rules."
        ),
    ]


def commands_option() -> click.Option:
    """--allow-commands, where run_command can be called."""
    return click.Option(
        ["--allow-commands"], is_flag=True, help="Let run_command run programs, confined to the folder."
    )


def front_matter_option() -> click.Option:
    """--front-matter, where the contract rnd can be called."""
    return click.Option(
        ["--front-matter"],
        type=click.Path(readable=False),
        metavar="FILE",
        help="The command file whose limits and paths the contract rnd obeys.",
    )


def json_option() -> click.Option:
    """--json, for commands that print a text without it."""
    return click.Option(
        ["--json", "as_json"], is_flag=True, help="Print the MCP tool result, one JSON object."
    )


def answer(
    where: Where,
    tool: str,
    arguments: object,
    *,
    contract_name: str = NATIVE,
    reply_bytes: int | None = None,
    session: str = "",
) -> Reply:
    """The reply to a call; whatever fails on the way is a reply, too."""
    try:
        contract(contract_name)
    except ReadroomError as error:
        return failure(error)
    with terminal.ProgressLine(sys.stderr) as progress:
        try:
            with where.open() as workspace:
                return workspace.call(
                    tool,
                    arguments,
                    contract_name=contract_name,
                    deadline=Deadline(progress=progress),
                    reply_bytes=reply_bytes,
                    caller=Caller(session=session, face="cli"),
                )
        except ReadroomError as error:
            return failure(error, contract_name)


def failure(error: ReadroomError, contract_name: str = NATIVE) -> Reply:
    """The reply that says so, in a contract's words."""
    record: Contract = contract(contract_name)
    return record.render_error(error, Cap(record.reply_bytes, record.measure))


def finish(reply: Reply, *, as_json: bool, root: str | None = None) -> ExitCode:
    """Print a reply, or on standard error what went wrong."""
    if as_json:
        terminal.show_result(reply)
    elif reply.is_error:
        terminal.complain(worded(reply.facts, root))
    else:
        terminal.show(reply.text)
    return exit_code_of(reply.facts) if reply.is_error else ExitCode.OK
