"""run: a command in the folder, as run_command does it; what it wrote is not kept."""

from __future__ import annotations

import click

from readroom.contracts.native_calls import RUN
from readroom.contracts.native_run import RUN_COMMAND
from readroom.faces.cli import options
from readroom.faces.cli.calling import Where, answer, commands_option, finish, json_option, parameters
from readroom.faces.cli.failures import POSITIONAL

NOT_RUN = 125
"""Exit code when there is no command whose code could be passed on, as of docker, env and timeout."""


def _run(root: str | None, config: str | None, allow_commands: bool, as_json: bool, **values: object) -> int:
    """Run COMMAND in the shell, in the folder, and print the lines of its output that matter."""
    reply = answer(Where(root, config, allow_commands), RUN, options.given(values))
    finish(reply, as_json=as_json, root=root)
    code = reply.facts.get("exit_code")
    return code if isinstance(code, int) else NOT_RUN


run = click.Command(
    "run",
    params=[
        *options.parameters(RUN_COMMAND.arguments, POSITIONAL[RUN]),
        commands_option(),
        json_option(),
        *parameters(),
    ],
    callback=_run,
    help=_run.__doc__,
    epilog=f"\b\nExit codes:\n  those of the command; {NOT_RUN} when none was run",
)
