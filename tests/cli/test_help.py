"""The help of every command has lines to copy that are accepted, and words for every option."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from importlib.util import find_spec

import click
import pytest

from readroom.cli.commands import COMMANDS, GROUP
from readroom.cli.examples import EXAMPLES
from readroom.cli.exits import MEANING, ExitCode
from tests.each import each
from tests.suites import needs


def _commands() -> Iterator[tuple[str, click.Command]]:
    """Every command of the wings that are here, and those below it."""
    context = click.Context(GROUP, **GROUP.context_settings)
    for name, (place, _) in COMMANDS.items():
        if find_spec(".".join(place.split(".")[:2])) is None:
            continue
        command = GROUP.get_command(context, name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            yield from ((f"{name} {inner}", below) for inner, below in command.commands.items())


ALL = dict(_commands())

every_command = pytest.mark.parametrize("name", ALL)


def _help(name: str) -> str:
    parent = click.Context(GROUP, **GROUP.context_settings)
    return ALL[name].get_help(click.Context(ALL[name], info_name=name, parent=parent))


@every_command
def test_a_help_has_examples_and_exit_codes_stand_in_one_place(name: str) -> None:
    text = _help(name)
    assert f"readroom {name}" in text.split("Example")[-1]
    assert MEANING[ExitCode.REFUSED] not in text
    assert ("Exit codes: `readroom --help`" in text) != (name == "run")


def test_the_help_of_all_lists_the_exit_codes() -> None:
    text = GROUP.get_help(click.Context(GROUP, info_name="readroom", **GROUP.context_settings))
    assert [words for words in MEANING.values() if words.partition(",")[0] not in text] == []


@every_command
def test_every_option_has_words(name: str) -> None:
    options = [one for one in ALL[name].params if isinstance(one, click.Option)]
    assert [one.opts for one in options if not one.help] == []


@needs("server")
@needs("lens")
def test_examples_are_of_commands() -> None:
    groups = {name for name, command in ALL.items() if isinstance(command, click.Group)} - {"history"}
    assert set(EXAMPLES) == set(ALL) - groups


@each("line", [line for name, some in EXAMPLES.items() if name in ALL for line in some])
def test_an_example_is_accepted(line: str) -> None:
    """Its options, values and words are those of the command; nothing is done."""
    words = shlex.split(line.partition(" <")[0])
    command: click.Command = GROUP
    context = click.Context(GROUP, **GROUP.context_settings)
    while (
        isinstance(command, click.Group)
        and words
        and words[0] in (COMMANDS if command is GROUP else command.commands)
    ):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    made = command.make_context(command.name, words, parent=context)
    assert made.command.name == command.name


def test_an_example_with_a_wrong_option_would_be_found() -> None:
    command = ALL["read"]
    parent = click.Context(GROUP, **GROUP.context_settings)
    with pytest.raises(click.NoSuchOption):
        command.make_context("read", ["README.md", "--ofset", "3"], parent=parent)
