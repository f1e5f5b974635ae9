"""One tool call from the command line: opened, answered and printed; no failure leaves without a reply."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import click

from readroom.caller import Caller
from readroom.contracts.base import Contract
from readroom.contracts.native_calls import as_tool_call, spelled
from readroom.contracts.registry import NAMES, contract
from readroom.deadline import Deadline
from readroom.errors import ReadroomError
from readroom.faces.cli import terminal
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.failures import command, exit_code_of, worded
from readroom.model import Cap, Fact, Reply
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
    for_person: bool = False,
) -> Reply:
    """The reply to a call; whatever fails on the way is a reply, too."""
    made = answers(
        where,
        tool,
        [arguments],
        contract_name=contract_name,
        reply_bytes=reply_bytes,
        session=session,
        for_person=for_person,
    )
    return next(made)


def answers(
    where: Where,
    tool: str,
    calls: Iterable[object],
    *,
    contract_name: str = NATIVE,
    reply_bytes: int | None = None,
    session: str = "",
    for_person: bool = False,
) -> Iterator[Reply]:
    """The reply to each call of one tool, made when it is asked for.

    A workspace that cannot be opened is the reply to all of them.  `for_person`
    words what can be done next as commands of a shell.
    """
    spelling = partial(command, root=where.root) if for_person else as_tool_call
    try:
        contract(contract_name)
        workspace = where.open()
    except ReadroomError as error:
        yield failure(error, contract_name if contract_name in NAMES else NATIVE)
        return
    with workspace:
        for arguments in calls:
            with spelled(spelling), terminal.ProgressLine(sys.stderr) as progress:
                try:
                    reply = workspace.call(
                        tool,
                        arguments,
                        contract_name=contract_name,
                        deadline=Deadline(progress=progress),
                        reply_bytes=reply_bytes,
                        caller=Caller(session=session, face="cli"),
                    )
                except ReadroomError as error:
                    reply = failure(error, contract_name)
            yield reply


def failure(error: ReadroomError, contract_name: str = NATIVE) -> Reply:
    """The reply that says so, in a contract's words."""
    record: Contract = contract(contract_name)
    return record.render_error(error, Cap(record.reply_bytes, record.measure))


def finish(
    reply: Reply,
    *,
    as_json: bool,
    root: str | None = None,
    arguments: Mapping[str, Fact] = MappingProxyType({}),
) -> ExitCode:
    """Print a reply, or on standard error what went wrong; `arguments` as `terminal.show` takes them."""
    if as_json:
        terminal.show_result(reply)
    elif reply.is_error:
        terminal.complain(worded(reply.facts, root))
    else:
        terminal.show(reply.text, arguments)
    return exit_code_of(reply.facts) if reply.is_error else ExitCode.OK
