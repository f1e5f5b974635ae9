"""call: one tool call as a model would send it, and exactly the result that it would receive."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct

from readroom.caller import Caller
from readroom.contracts import NAMES, contract
from readroom.contracts.base import Contract
from readroom.contracts.native.calls import as_tool_call, spelled
from readroom.deadline import Deadline
from readroom.errors import BadValue, ReadroomError
from readroom.faces.cli import output
from readroom.faces.cli.exits import ExitCode
from readroom.faces.cli.failures import command, exit_code_of, worded
from readroom.limits import VALUE_CHARS
from readroom.values import Cap, Fact, Reply
from readroom.workspace import Workspace

if TYPE_CHECKING:
    from readroom.session.shared.state import SharedState

# -----------------------------------------------------------------------------
# One tool call from the command line: opened, answered and printed; no failure leaves without a reply.
# -----------------------------------------------------------------------------

NATIVE = "native"


class Where(Struct, frozen=True):
    """The root and the files of settings, as given; `lasting` is a workspace for more than one call."""

    root: str | None = None
    config: str | None = None
    allow_commands: bool = False
    lasting: bool = False
    front_matter: str | None = None

    def open(self, state: SharedState | None = None) -> Workspace:
        """The workspace; `state` is what other processes of the same server know.

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
        return Workspace(store, settings=settings, state=state)


def place_options() -> list[click.Parameter]:
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
            with spelled(spelling), output.ProgressLine(sys.stderr) as progress:
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
        output.show_result(reply)
    elif reply.is_error:
        output.complain(worded(reply.facts, root))
    else:
        output.show(reply.text, arguments)
    return exit_code_of(reply.facts) if reply.is_error else ExitCode.OK


_STDIN = "-"


def _call(
    tool: str,
    arguments: str,
    contract_name: str,
    max_chars: int | None,
    session: str,
    allow_commands: bool,
    front_matter: str | None,
    root: str | None,
    config: str | None,
) -> ExitCode:
    """Print the MCP tool result of one call, one JSON object, whatever happens.

    ARGUMENTS is a JSON object; "-" reads it from standard input.
    """
    try:
        decoded = _decoded(arguments)
    except ReadroomError as error:
        return finish(failure(error, contract_name if contract_name in NAMES else NATIVE), as_json=True)
    where = Where(root, config, allow_commands, front_matter=front_matter)
    reply = answer(where, tool, decoded, contract_name=contract_name, reply_bytes=max_chars, session=session)
    return finish(reply, as_json=True)


def _decoded(arguments: str) -> object:
    data = _standard_input() if arguments == _STDIN else arguments.encode("utf-8", "surrogateescape")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        start = data[:VALUE_CHARS].decode("utf-8", "replace")
        raise BadValue(
            "arguments",
            start,
            f"is not JSON ({problem})",
            """Send one JSON object, like '{"path": "README.md"}'.""",
        ) from None


def _standard_input() -> bytes:
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


call = click.Command(
    "call",
    params=[
        click.Argument(["tool"], help="The tool's name in the contract."),
        click.Argument(
            ["arguments"], required=False, default="{}", help="A JSON object, or - for standard input."
        ),
        click.Option(
            ["--contract", "contract_name"],
            default=NATIVE,
            show_default=True,
            metavar="NAME",
            help=f"Whose tools are meant: {', '.join(NAMES)}.",
        ),
        click.Option(
            ["--max-chars"],
            type=click.IntRange(min=1),
            help="Cap on the text, as an MCP client would set it; no more than the limit reply_bytes.",
        ),
        click.Option(["--session"], default="", help="The conversation that the call belongs to."),
        commands_option(),
        front_matter_option(),
        *place_options(),
    ],
    callback=_call,
    help=_call.__doc__,
)
