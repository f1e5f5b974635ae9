"""Values that a shell offers and no type lists: clients, tools, contracts, languages and findings.

Imported when a shell asks, or when one is missing; a value that is not offered is as good as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, final, get_args

import click
from click.shell_completion import CompletionItem

Source: TypeAlias = Callable[[click.Context], Iterable[str]]


def _clients(ctx: click.Context) -> Iterable[str]:
    from readroom.cli.connect.clients import CLIENTS

    return CLIENTS


def _tools(ctx: click.Context) -> Iterable[str]:
    """The tools of the contract that the line names."""
    from readroom.core.contracts import NAMES, contract

    named = ctx.params.get("contract_name")
    return sorted(contract(named if named in NAMES else "native").by_name)


def _contracts(ctx: click.Context) -> Iterable[str]:
    from readroom.core.contracts import NAMES

    return NAMES


def _languages(ctx: click.Context) -> Iterable[str]:
    from readroom.core.engine.grep.process import globs_by_type

    return globs_by_type()


def _findings(ctx: click.Context) -> Iterable[str]:
    from readroom.core.rows import FINDINGS

    return (*FINDINGS, "any")


def _of_git(ctx: click.Context) -> Iterable[str]:
    from readroom.core.contracts.native.git import Show

    return get_args(Show)


_SOURCES: Mapping[tuple[str, str], Source] = {
    ("connect", "client"): _clients,
    ("doctor", "client"): _clients,
    ("call", "tool"): _tools,
    ("call", "contract_name"): _contracts,
    ("create", "tools"): _tools,
    ("ledger", "tool"): _tools,
    ("git", "show"): _of_git,
    ("grep", "type"): _languages,
    ("refs", "type"): _languages,
    ("find", "type"): _languages,
    ("audit", "fail_on"): _findings,
}
"""By command and parameter."""


@final
class _Offered(click.types.StringParamType):
    """A text, for which words are offered; of a list with commas they complete the last."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[Any]]:
        before, comma, last = incomplete.rpartition(",")
        words = (word for word in self._source(ctx) if word.startswith(last))
        return [CompletionItem(f"{before}{comma}{word}") for word in words]


def words(ctx: click.Context, parameter: click.Parameter) -> Iterable[str]:
    """The values of an argument of the command, where they are listed here."""
    source = _SOURCES.get((ctx.command.name or "", parameter.name or ""))
    return () if source is None else source(ctx)


def offer(command: click.Command) -> None:
    """Let the parameters of a command, and of those of a group, offer their words."""
    for one in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
        for parameter in one.params:
            source = _SOURCES.get((one.name or "", parameter.name or ""))
            if source is not None:
                parameter.type = _Offered(source)
