"""The skill for agents keeps the rules of Agent Skills, is short, and says what is true."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import click
import yaml

from readroom.cli.commands import GROUP
from readroom.core.contracts.native import NATIVE
from readroom.core.text.tokens import estimate
from tests.each import each

SKILL = Path(__file__).parents[1] / "skills" / "readroom" / "SKILL.md"

_, _FRONT, BODY = SKILL.read_text(encoding="utf-8").split("---\n", 2)

FRONT: dict[str, Any] = yaml.safe_load(_FRONT)

COMMANDS = re.findall(r"`readroom ([^`]+)`", BODY)


def test_the_name_is_that_of_the_folder() -> None:
    assert FRONT["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", FRONT["name"])
    assert len(FRONT["name"]) <= 64


def test_the_description_says_what_it_does_and_when() -> None:
    assert 0 < len(FRONT["description"]) <= 1024
    assert " Use for " in FRONT["description"]


def test_there_are_only_fields_of_the_format() -> None:
    assert set(FRONT) <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert len(FRONT["compatibility"]) <= 500
    assert FRONT["license"] == "MIT"


def test_it_is_short() -> None:
    """The format recommends 500 lines and 5,000 tokens; a conversation pays for each of them."""
    assert BODY.count("\n") < 60
    assert estimate(BODY) < 1000


@each("line", COMMANDS)
def test_a_command_is_accepted(line: str) -> None:
    name, *words = shlex.split(line)
    context = click.Context(GROUP, **GROUP.context_settings)
    command = GROUP.get_command(context, name)
    assert command is not None
    command.make_context(name, words, parent=context)


def test_tools_and_arguments_are_those_of_the_contract() -> None:
    assert len(COMMANDS) > 8
    rows = [row.split("|")[3].strip() for row in BODY.splitlines() if row.startswith("| ") and "`" in row]
    for row in filter(None, rows):
        tool, *arguments = re.findall(r"`(\w+)", row)
        assert tool in NATIVE.by_name
        assert [
            name for name in arguments if name not in NATIVE.by_name[tool].input_schema["properties"]
        ] == []
