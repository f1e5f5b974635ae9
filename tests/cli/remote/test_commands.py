"""Which commands reach another machine: those whose help says so."""

from __future__ import annotations

import click

from readroom.cli.commands import COMMANDS, found
from readroom.cli.remote import OPTION
from readroom.cli.remote.command import ROOTED
from tests.suites import needs


def _options(name: str) -> set[str]:
    command = found(COMMANDS[name][0])
    command = getattr(command, "listing", command)  # what `history` is without another word
    assert isinstance(command, click.Command)
    return {word for parameter in command.params for word in parameter.opts}


@needs("server")
def test_every_command_that_offers_an_address_takes_one_and_has_a_root() -> None:
    assert {name for name in COMMANDS if OPTION in _options(name)} == ROOTED
    assert all("--root" in _options(name) for name in ROOTED)
