"""mcp: serve a folder over stdio; and code shared with `serve`."""

from __future__ import annotations

import os

import click

from readroom.cli import output
from readroom.cli.answers import NATIVE, Where
from readroom.cli.commands import SERVING, found
from readroom.cli.exits import ExitCode
from readroom.cli.options import (
    commands_option,
    front_matter_option,
    mask_option,
    option,
    roots_argument,
    subcommand,
    where_options,
)
from readroom.cli.remote import place
from readroom.cli.roots import one_folder
from readroom.core.contracts import NAMES


def _mcp(
    folder: str | None,
    root: str | None,
    config: str | None,
    contract_name: str,
    max_chars: int | None,
    allow_commands: bool,
    mask_secrets: bool,
    front_matter: str | None,
) -> ExitCode:
    """Serve a folder to one MCP client over standard input and output."""
    from readroom.mcp.stdio import serve_stdio

    at = one_folder(folder, root)
    where = Where(
        at, config, allow_commands, lasting=True, front_matter=front_matter, mask_secrets=mask_secrets
    )
    if config is not None:  # without a file nothing of serving is needed
        max_chars = max_chars or found(SERVING)(config).max_chars
    with where.open() as workspace:
        output.notify(workspace.contract(contract_name))
        shown = place.shown(where.root or ".")
        serve_stdio(workspace, contract_name=contract_name, reply_chars=max_chars, place=shown)
    return ExitCode.OK


def repeated_options(where: Where, contract_name: str, max_chars: int | None) -> list[str]:
    """The options that a client's command has to repeat."""
    repeated = [] if where.config is None else ["--config", os.path.abspath(where.config)]
    if where.front_matter is not None:
        repeated += ["--front-matter", os.path.abspath(where.front_matter)]
    if where.allow_commands:
        repeated.append("--allow-commands")
    if where.mask_secrets:
        repeated.append("--mask-secrets")
    if contract_name != NATIVE:
        repeated += ["--contract", contract_name]
    return repeated if max_chars is None else [*repeated, "--max-chars", str(max_chars)]


def server_options() -> list[click.Parameter]:
    """The folder, and how it is served."""
    return [
        roots_argument(),
        option(
            "--contract contract_name",
            "Contract whose tools are served.",
            type=click.Choice(NAMES),
            default=NATIVE,
        ),
        option(
            "--max-chars",
            "Maximum characters of a reply's text, instead of the client's known limit; "
            "at most the limit reply_bytes.",
            type=click.IntRange(min=1),
        ),
        commands_option(),
        mask_option(),
        front_matter_option(),
    ]


mcp = subcommand("mcp", _mcp, *server_options(), *where_options())
