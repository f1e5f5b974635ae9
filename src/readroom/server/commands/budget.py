"""budget: show spending by server accounts, and reset budgets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from readroom.cli import output
from readroom.cli.exits import ExitCode
from readroom.cli.options import database_option, flag, json_option, option, subcommand
from readroom.core.errors import UsageError
from readroom.core.stores.bucket.address import absolute

if TYPE_CHECKING:
    from readroom.server.shared.state import SharedState


@contextmanager
def _state(config: str | None) -> Iterator[SharedState]:
    from readroom.server import settings as serve
    from readroom.server.shared.state import SharedState

    with closing(SharedState(serve.shared_state(serve.load(config).state), "", several=True)) as state:
        yield state


def _list(as_json: bool, config: str | None) -> ExitCode:
    """Show how many tokens servers have spent of each budget, the largest first."""
    with _state(config) as state:
        spent = state.spent()
    if as_json:
        output.write_json({"spent": spent})
        return ExitCode.OK
    for spending in spent:
        name = f"{spending.name or '-'}  {spending.workspace}"
        output.write_text(f"{spending.used:>12,}  {spending.scope:9}  {name}")
    if not spent:
        output.complain("No budget was used.")
    return ExitCode.OK


def _reset(
    workspace: str | None, scope: str | None, name: str | None, whole: bool, config: str | None
) -> ExitCode:
    """Reset budgets: those of a workspace, of a scope, of one name, or all of them.

    Running servers count from zero again with the next call.
    """
    if whole == bool(workspace or scope or name):
        raise UsageError("No budget was chosen", "Use --all, or choose some with the other options.")
    root = None if workspace is None else absolute(workspace)
    with _state(config) as state:
        chosen = [
            spending
            for spending in state.spent()
            if (root is None or spending.workspace == root)
            and (scope is None or spending.scope == scope)
            and (name is None or spending.name == name)
        ]
        for spending in chosen:
            state.forgive(spending)
    output.complain(f"{len(chosen)} budget{' was' if len(chosen) == 1 else 's were'} reset.")
    return ExitCode.OK


budget = click.Group(
    "budget",
    help="Show how much of their budgets servers have spent, and reset budgets.",
    commands=[
        subcommand("list", _list, json_option("Print one JSON object."), database_option()),
        subcommand(
            "reset",
            _reset,
            option("--workspace", "Reset the budgets of one folder.", metavar="DIR"),
            option(
                "--scope",
                "Reset the budgets of conversations, of tokens, or of whole workspaces.",
                type=click.Choice(["session", "token", "workspace"]),
            ),
            option("--name", "Name of one conversation, or id of a token.", metavar="NAME"),
            flag("--all whole", "Reset all budgets."),
            database_option(),
        ),
    ],
)
