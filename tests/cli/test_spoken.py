"""Refusals of a command name its options as they are typed, never the arguments that a model sends."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from readroom.cli import commands
from readroom.cli.failures import COMMANDS
from readroom.core.contracts.native import NATIVE
from tests.cli.running import Cli
from tests.each import each
from tests.suites import daily

ARGUMENTS = sorted({name for tool in NATIVE.callable for name in tool.input_schema["properties"]})
_ANY = "|".join(ARGUMENTS)
_LONG = "|".join(name for name in ARGUMENTS if "_" in name)
AS_A_MODEL = re.compile(
    rf"\b({_ANY})=|\bargument ({_ANY})\b|`({_ANY})`|'({_ANY})' (?:must|as)\b"
    rf"|(?<![\w./'-])({_LONG})(?![\w./-])"
)
"""A name of an argument that is not part of a name, of an option or of JSON that was typed."""

SOUND = {
    "read_file": (["a.txt"], ["m.py"], ["t.csv"], ["b.bin"]),
    "grep_files": (["one"],),
    "find_relevant": (["one"],),
    "list_directory": (["."],),
    "edit_file": (["a.txt", "--old", "one", "--new", "1", "--now"],),
    "write_file": (["n.txt", "--content", "x", "--new"],),
    "run_command": (["true"],),
    "git": (["changes"], ["log"], ["blame", "a.txt"], ["blame"], ["log", "A..B"], ["changes", "main~3"]),
}
"""Calls of each tool that a wrong option or a wrong word is added to."""


@pytest.fixture
def small(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    for name, data in {"a.txt": b"one\ntwo\none\n", "t.csv": b"a,b\n1,2\n", "b.bin": b"\0\1" * 50}.items():
        (root / name).write_bytes(data)
    (root / "m.py").write_text("def f():\n    return 1\n\n\ndef f():\n    return 2\n", encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "a.txt", "m.py"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], cwd=root, check=True)
    return root


def lines(tool: str, values: tuple[str, ...]) -> Iterator[list[str]]:
    """Commands with one thing that is wrong in each, and some that are right."""
    found = commands.GROUP.get_command(click.Context(commands.GROUP), COMMANDS[tool])
    assert found is not None
    options = [one for one in found.params if isinstance(one, click.Option)]
    for sound in SOUND[tool]:
        yield sound
        for value in values:
            yield [*sound, value]
            if value:
                yield [value]
        for option in options:
            if option.name in ("root", "config", "at"):
                continue
            for value in ("",) if option.is_flag else values:
                yield [*sound, option.opts[0], *([value] if value else [])]


@daily(1, "values", [("x", "0"), ("-1", "A..B", "{}")])
@each("tool", COMMANDS)
def test_a_refusal_names_what_was_typed(tool: str, values: tuple[str, ...], cli: Cli, small: Path) -> None:
    problems = []
    for line in lines(tool, values):
        done = cli(COMMANDS[tool], *line)
        for said in done.err.splitlines():
            typed = re.sub(r"objects with [a-z_, ]+", "", said)  # the fields of JSON that was typed
            for word in line:  # what somebody typed is repeated as it is
                typed = typed.replace(word, "") if len(word) > 2 else typed
            if AS_A_MODEL.search(typed):
                problems.append(f"readroom {COMMANDS[tool]} {shlex.join(line)}\n    {said}")
    assert not problems, "\n".join(problems)


def test_a_revision_in_place_of_a_path_is_told_its_option(cli: Cli, small: Path) -> None:
    for show in ("changes", "log"):
        said = cli("git", show, "main~3..main").err
        assert said.endswith("A revision is sent as `--revision`: HEAD~1..HEAD, main, v1.2.\n")
    assert cli("git", "shew").err.startswith("readroom: SHOW 'shew' is not allowed. SHOW must be one of")
    assert "Use `readroom git log`" in cli("git", "changes", "--lines", "1-2").err
    assert "--lines '1-2' are lines of a file" in cli("git", "log", "--lines", "1-2").err
