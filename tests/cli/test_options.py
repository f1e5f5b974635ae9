"""Options come from the tools' schemas, and every command has help."""

from __future__ import annotations

import ast
import shlex
from hashlib import sha256
from pathlib import Path

import click
import msgspec
import pytest

from readroom.cli import commands, mcp
from readroom.cli.answers import Where
from readroom.cli.exits import MEANING, OF_RUN
from readroom.cli.failures import COMMANDS, command
from readroom.cli.options import given_for_each_path
from readroom.core.contracts.native import NATIVE
from readroom.core.contracts.schema import properties
from readroom.core.values import Fact
from tests.cli.running import Cli
from tests.each import each
from tests.suites import needs

OWN = {"as_json", "root", "config", "at"}
"""Options that every command of a tool has beside those of its schema."""

OF_A_SHELL = {
    "edit_file": {"patch", "old", "new", "replace_all", "now"},
    "write_file": {"new", "now"},
    "run_command": {"allow_commands"},
}
"""Those of one command, for what is said in another way in a shell."""


NOT_IN_A_SHELL = {"run_command": {"background"}}
"""Arguments without an option: what runs on would end with the command line."""


def _command(name: str) -> click.Command:
    found = commands.GROUP.get_command(click.Context(commands.GROUP), name)
    assert found is not None
    return found


@each("tool", COMMANDS)
def test_every_argument_of_a_tool_is_an_option_of_its_command_and_the_reverse(tool: str) -> None:
    found = NATIVE.tool(tool)
    options = {param.name for param in _command(COMMANDS[found.name]).params}
    own = OWN | OF_A_SHELL.get(found.name, set())
    arguments = {field.name for field in msgspec.structs.fields(found.arguments)}
    assert options == arguments - NOT_IN_A_SHELL.get(tool, set()) | own


@each("tool", COMMANDS)
def test_ranges_choices_and_words_are_those_of_the_schema(tool: str) -> None:
    found = NATIVE.tool(tool)
    params = {param.name: param for param in _command(COMMANDS[found.name]).params}
    for name, schema in properties(found.arguments).items():
        if name in NOT_IN_A_SHELL.get(tool, ()):
            continue
        param = params[name]
        if isinstance(param.type, click.IntRange):
            assert (param.type.min, param.type.max) == (schema.get("minimum"), schema.get("maximum"))
        if isinstance(param.type, click.Choice):
            assert list(param.type.choices) == (schema.get("enum") or schema["items"]["enum"])
        assert schema.get("description", "") in (param.help or "")


@needs("server")
@pytest.mark.parametrize("name", commands.COMMANDS)
def test_every_command_has_help_and_exit_codes(cli: Cli, name: str) -> None:
    for flag in ("--help", "-h"):
        done = cli.bare(name, flag)
        assert done.code == 0
        assert done.out.startswith(f"Usage: readroom {name} ")
        assert (OF_RUN if name == "run" else "Exit codes: `readroom --help` lists them.") in done.out


def test_help_names_every_command(cli: Cli) -> None:
    out = cli.bare("--help").out
    assert all(f"  {name} " in out and summary in out for name, (_, summary) in commands.COMMANDS.items())
    assert all(f"  {code.value}  {text}" in out for code, text in MEANING.items())
    assert OF_RUN in out


@pytest.mark.parametrize("name", ["mcp", "serve"])
def test_a_server_takes_its_folder_once(cli: Cli, name: str) -> None:
    assert cli.bare(name, cli.root, "--root", cli.root + "/src").code == 2
    assert cli.bare(name, cli.root + "/none").code == 4
    assert cli.bare(name, "--root", cli.root + "/none").code == 4


def test_a_client_is_given_what_the_server_was_given() -> None:
    assert mcp.repeated_options(Where(), "native", None) == []
    where = Where(None, "/a.toml", allow_commands=True, front_matter="/read.md")
    given = mcp.repeated_options(where, "rnd", 9)
    files = ["--config", "/a.toml", "--front-matter", "/read.md"]
    assert given == [*files, "--allow-commands", "--contract", "rnd", "--max-chars", "9"]


_CALLS: list[dict[str, Fact]] = [
    {"path": "a b", "offset": -3, "limit": 2, "encoding": "utf-16"},
    {"path": "-dash", "column": 7},
    {"path": '"a\\nb"'},
]
_GREPS: list[dict[str, Fact]] = [
    {
        "pattern": "-x",
        "glob": ["*.py", "!t"],
        "ignore_case": True,
        "include": ["hidden"],
        "before": 0,
        "after": 2,
    },
    {"pattern": "it's", "path": "src", "output": "count", "timeout_s": 2.5, "cursor": "ab.c d"},
]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [*(("read_file", call) for call in _CALLS), *(("grep_files", call) for call in _GREPS)],
)
def test_a_call_as_a_command_means_the_same_call(tool: str, arguments: dict[str, Fact]) -> None:
    words = shlex.split(command({"tool": tool, "arguments": arguments}, None))
    assert words[0] == "readroom"
    with _command(words[1]).make_context(words[1], words[2:], **commands.GROUP.context_settings) as context:
        values = {name: value for name, value in context.params.items() if name not in OWN}
    defaults = {"column": 1, "output": "content", "path": ".", "view": "text"}
    assert [{**defaults, **one} for one in given_for_each_path(values)] == [{**defaults, **arguments}]


@pytest.mark.parametrize("all_places", [[False], [True], [False, False], [True, False]])
def test_an_edit_as_a_command_makes_the_same_edit(cli: Cli, root: Path, all_places: list[bool]) -> None:
    (root / "-f").write_text("-one 'two'\n$three\n", encoding="utf-8")
    texts = [("-one", "--new=x"), ("$three", "'3'\n\"4\"")]
    edits: list[Fact] = [
        {"old_text": old, "new_text": new, "replace_all": everywhere}
        for (old, new), everywhere in zip(texts, all_places, strict=False)
    ]
    digest = sha256((root / "-f").read_bytes()).hexdigest()
    call: dict[str, Fact] = {"path": "-f", "expected_hash": digest, "edits": edits}
    done = cli.bare(*shlex.split(command({"tool": "edit_file", "arguments": call}, cli.root))[1:])
    assert (done.code, done.err) == (0, "")
    wanted = "-one 'two'\n$three\n"
    for old, new in texts[: len(edits)]:
        wanted = wanted.replace(old, new)
    assert (root / "-f").read_text(encoding="utf-8") == wanted


def test_a_call_without_a_command_of_its_own_is_made_by_call() -> None:
    words = shlex.split(command({"tool": "other", "arguments": {"path": "it's"}}, "/root"))
    assert words == ["readroom", "call", "other", '{"path":"it\'s"}', "--root", "/root"]


def test_the_entry_imports_nothing_before_it_runs() -> None:
    """Ctrl-C while click and readroom are imported has to be caught."""
    source = Path(str(commands.__file__)).with_name("main.py").read_text(encoding="utf-8")
    names = [
        ast.unparse(node) for node in ast.parse(source).body if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
    assert names == [
        "from __future__ import annotations",
        "import gc",
        "import os",  # which every start of Python imports
        "import sys",
        "from collections.abc import Sequence",
    ]
