"""run: a command in the folder, as run_command does it; what it wrote is not kept."""

from __future__ import annotations

import click

from readroom.contracts.native_calls import RUN
from readroom.contracts.native_run import RUN_COMMAND
from readroom.faces.cli import options
from readroom.faces.cli.calling import Where, answer, commands_option, finish, json_option, parameters
from readroom.faces.cli.exits import NOT_RUN, OF_RUN
from readroom.faces.cli.failures import POSITIONAL


def _run(root: str | None, config: str | None, allow_commands: bool, as_json: bool, **values: object) -> int:
    """Run COMMAND in the shell, in the folder, and print the lines of its output that matter.

    It is off unless --allow-commands is given or the configuration allows it.
    """
    reply = answer(Where(root, config, allow_commands), RUN, options.given(values), for_person=not as_json)
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
    epilog=f"\b\nExit codes:\n  {OF_RUN}",
)
