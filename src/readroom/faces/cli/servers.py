"""mcp and serve: start the other face, as a program would."""

from __future__ import annotations

import os
import sys

import click

from readroom.contracts.registry import NAMES
from readroom.errors import UsageError
from readroom.faces.cli import terminal
from readroom.faces.cli.calling import NATIVE, Where, commands_option, parameters
from readroom.faces.cli.exits import ExitCode
from readroom.limits import HTTP_PORT

_HOST = "127.0.0.1"
"""Loopback: whoever reaches the port may read the folder."""


def _mcp(
    folder: str | None,
    root: str | None,
    config: str | None,
    contract_name: str,
    max_chars: int | None,
    allow_commands: bool,
) -> ExitCode:
    """Serve a folder to one MCP client over standard input and output."""
    from readroom.faces.mcp.stdio import serve_stdio

    with Where(_root(folder, root), config, allow_commands, lasting=True).open() as workspace:
        serve_stdio(workspace, contract_name=contract_name, reply_chars=max_chars)
    return ExitCode.OK


def _serve(
    folder: str | None,
    root: str | None,
    config: str | None,
    contract_name: str,
    max_chars: int | None,
    allow_commands: bool,
    host: str,
    port: int,
) -> ExitCode:
    """Serve a folder to MCP clients on this machine over streamable HTTP.

    Prints the URL and what to paste into a client's configuration.
    """
    from readroom.faces.mcp.hello import startup_text
    from readroom.faces.mcp.http import serve_http

    with Where(_root(folder, root), config, allow_commands, lasting=True).open() as workspace:
        served = workspace.guard.folder or "."
        command = [
            *_program(),
            "mcp",
            *_given(config, contract_name, max_chars, allow_commands),
            "--",
            served,
        ]

        def ready(url: str) -> None:
            terminal.write(startup_text(url=url, root=served, command=command).encode())

        serve_http(
            workspace,
            host=host,
            port=port,
            contract_name=contract_name,
            reply_chars=max_chars,
            on_ready=ready,
        )
    return ExitCode.OK


def _program() -> list[str]:
    """How this very readroom is started from anywhere."""
    script = os.path.join(os.path.dirname(sys.executable), "readroom")
    return [script] if os.path.exists(script) else [sys.executable, "-m", "readroom"]


def _given(config: str | None, contract_name: str, max_chars: int | None, allow_commands: bool) -> list[str]:
    """The options that a client's command has to repeat."""
    found = [] if config is None else ["--config", os.path.abspath(config)]
    if allow_commands:
        found.append("--allow-commands")
    if contract_name != NATIVE:
        found += ["--contract", contract_name]
    return found if max_chars is None else [*found, "--max-chars", str(max_chars)]


def _root(folder: str | None, root: str | None) -> str | None:
    if folder is not None and root is not None and folder != root:
        raise UsageError("Two folders were given", "Name the folder once, as DIR or with --root.")
    return folder if root is None else root


def _options() -> list[click.Parameter]:
    return [
        click.Argument(
            ["folder"], required=False, type=click.Path(readable=False), metavar="[DIR]", help="As --root."
        ),
        click.Option(
            ["--contract", "contract_name"],
            type=click.Choice(NAMES),
            default=NATIVE,
            show_default=True,
            help="Whose tools are served.",
        ),
        click.Option(
            ["--max-chars"],
            type=click.IntRange(min=1),
            help="Cap on a reply's text, instead of what the client is known to pass on; "
            "no more than the limit reply_bytes.",
        ),
        commands_option(),
        *parameters(),
    ]


mcp = click.Command("mcp", params=_options(), callback=_mcp, help=_mcp.__doc__)

serve = click.Command(
    "serve",
    params=[
        *_options(),
        click.Option(["--host"], default=_HOST, show_default=True, help="Address to listen on."),
        click.Option(
            ["--port"],
            type=click.IntRange(0, 65535),
            default=HTTP_PORT,
            show_default=True,
            help="Port to listen on; 0 takes a free one.",
        ),
    ],
    callback=_serve,
    help=_serve.__doc__,
)
