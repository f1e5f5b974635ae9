"""call: one tool call as a model would send it, with exactly the result it would receive."""

from __future__ import annotations

import sys

import click
import msgspec

from readroom.cli.answers import NATIVE, Where, answer, failure, finish
from readroom.cli.exits import ExitCode
from readroom.cli.options import (
    commands_option,
    front_matter_option,
    mask_option,
    option,
    subcommand,
    where_options,
)
from readroom.core.contracts import NAMES
from readroom.core.errors import BadValue, ReadroomError
from readroom.core.limits import VALUE_CHARS

_STDIN = "-"


def _call(
    tool: str,
    arguments: str,
    contract_name: str,
    max_chars: int | None,
    session: str,
    allow_commands: bool,
    mask_secrets: bool,
    front_matter: str | None,
    root: str | None,
    config: str | None,
) -> ExitCode:
    """Make one tool call and print its MCP tool result as one JSON object, even if it fails.

    ARGUMENTS is a JSON object; "-" reads it from standard input.
    """
    try:
        decoded = _decoded(arguments)
    except ReadroomError as error:
        return finish(failure(error, contract_name), as_json=True)
    where = Where(root, config, allow_commands, front_matter=front_matter, mask_secrets=mask_secrets)
    reply = answer(where, tool, decoded, contract_name=contract_name, reply_bytes=max_chars, session=session)
    return finish(reply, as_json=True)


def _decoded(arguments: str) -> object:
    data = sys.stdin.buffer.read() if arguments == _STDIN else arguments.encode("utf-8", "surrogateescape")
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        start = data[:VALUE_CHARS].decode("utf-8", "replace")
        advice = """Send one JSON object, like '{"path": "README.md"}'."""
        raise BadValue("arguments", start, f"is not JSON ({problem})", advice) from None


call = subcommand(
    "call",
    _call,
    click.Argument(["tool"], help="The tool's name in the contract."),
    click.Argument(
        ["arguments"], required=False, default="{}", help="A JSON object, or - for standard input."
    ),
    option(
        "--contract contract_name",
        f"Contract that has the tool: {', '.join(NAMES)}.",
        default=NATIVE,
        metavar="NAME",
    ),
    option(
        "--max-chars",
        "Maximum characters of the text, as an MCP client would set it; at most the limit reply_bytes.",
        type=click.IntRange(min=1),
    ),
    option("--session", "Conversation that the call belongs to.", default="", show_default=False),
    commands_option(),
    mask_option(),
    front_matter_option(),
    *where_options(),
)
