"""Other usual names for commands and options are understood, and answered in the words of the person."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from readroom.cli import near
from readroom.cli.commands import COMMANDS, GROUP
from readroom.cli.connect.clients import CLIENTS, longest_reply
from readroom.cli.exits import ExitCode
from readroom.core.contracts.native import NATIVE
from readroom.core.contracts.schema import properties
from readroom.core.limits import REPLY_BYTES
from readroom.mcp.server import known
from tests.cli.running import Cli
from tests.each import each
from tests.suites import needs

ROOT = Path(__file__).parents[2]


def command(name: str) -> click.Command:
    found = GROUP.get_command(click.Context(GROUP), name)
    assert found is not None
    return found


def commands(of: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    yield name, of
    if isinstance(of, click.Group):
        for below in of.list_commands(click.Context(of)):
            found = of.get_command(click.Context(of), below)
            assert found is not None
            yield from commands(found, f"{name} {below}")


@needs("server")
def test_every_option_of_every_command_has_words() -> None:
    silent = [
        f"{where} {option.opts[-1]}"
        for name in COMMANDS
        for where, one in commands(command(name), name)
        for option in one.params
        if isinstance(option, click.Option) and option.help in (None, "", "May be repeated")
    ]
    assert silent == []


@needs("server")
@pytest.mark.parametrize("word", near.COMMANDS)
def test_a_command_of_another_program_leads_to_one_of_ours(cli: Cli, word: str) -> None:
    assert word not in COMMANDS
    done = cli.bare(word, "x")
    assert done.code == 2
    line = re.findall(r"Use `(readroom [^`]+)`", done.err)
    assert line == [near.COMMANDS[word]]
    _, name, *rest = shlex.split(line[0])
    if not name.startswith("-"):
        has = {option for parameter in command(name).params for option in parameter.opts}
        assert [option for option in rest if re.match(r"--[a-z]", option) and option not in has] == []


def test_an_option_of_another_program_leads_to_ours(cli: Cli) -> None:
    for line, meant in (
        (("read", "README.md", "--lines", "3"), "--offset and --limit"),
        (("read", "README.md", "-n", "3"), "--limit"),
        (("grep", "x", "-l"), "--output files"),
        (("grep", "x", "--hidden"), "--include hidden"),
        (("find", "x", "--no-ignore"), "--include ignored"),
        (("ls", "-R"), "--depth"),
        (("edit", "README.md", "--force"), "--now"),
    ):
        done = cli.bare(*line)
        assert done.code == 2
        assert f"Use {meant}." in done.err
    for names in near.OPTIONS.values():
        has = {opt for name in COMMANDS for one in command(name).params for opt in one.opts}
        assert {name.partition(" ")[0] for name in names} <= has


def test_an_option_that_is_none_here_is_left_out(cli: Cli) -> None:
    """What a command does in any case, and what it takes as an argument; the rest of the line works."""
    for line, advice in (
        (("grep", "-rn", "needle"), "Leave it out: `readroom grep` does that."),
        (("grep", "-E", "needle"), "Leave it out"),
        (("ls", "-la"), "Leave it out: `readroom ls` does that."),
        (("read", "--path", "README.md"), "Give PATH without an option."),
        (("grep", "--pattern", "needle"), "Give PATTERN without an option."),
        (("find", "--query", "needle"), "Give QUERY without an option."),
    ):
        done = cli.bare(*line)
        assert done.code == 2
        assert advice in done.err
    for name, options in near.NEEDLESS.items():
        assert options.isdisjoint(opt for one in command(name).params for opt in one.opts)


@needs("server")
def test_an_option_of_a_server_leads_to_what_has_it_here(cli: Cli) -> None:
    for line, advice in (
        (("read", "README.md", "--contract", "rnd"), "`readroom call TOOL JSON` has it."),
        (("mcp", ".", "--port", "1"), "`readroom serve DIR` has it."),
        (("grep", "x", "--allow-commands"), "`readroom run COMMAND` has it."),
        (("serve", "--read-only"), "Write --root DIR:ro."),
    ):
        done = cli.bare(*line)
        assert done.code == 2
        assert advice in done.err
    has = {name: {opt for one in command(name).params for opt in one.opts} for name in COMMANDS}
    for option, line_of in near.OF_COMMANDS.items():
        assert option in has[line_of.split()[1]]
    assert {needed for needed, _ in near.SETTINGS.values()} <= set().union(*has.values())


def test_masking_and_reading_only_are_set_as_the_advice_says(cli: Cli, tmp_path: Path) -> None:
    folder = Path(cli.root)
    key = "AKIAQYLPMN5HHHFPZAM2"
    (folder / "keys.txt").write_text(f"aws_access_key_id: {key}\n", encoding="utf-8")
    refused = cli.bare("read", "keys.txt", "--mask-secrets")
    assert (refused.code, refused.out) == (2, "")
    setting, section = re.findall(r"Set (\S+ = \S+) under (\[\w+\])", refused.err)[0]
    outside = tmp_path / "operator.toml"
    outside.write_text(f"{section}\n{setting}\n", encoding="utf-8")
    shown = cli("read", "keys.txt", "--config", str(outside))
    assert shown.code == 0
    assert "[masked: " in shown.out
    assert key not in shown.out

    assert "--root DIR:ro" in cli.bare("write", "keys.txt", "--read-only", "--content", "x").err
    kept = cli.bare("write", "new.txt", "--new", "--content", "x", "--root", f"{cli.root}:ro")
    assert kept.code == ExitCode.REFUSED
    assert not (folder / "new.txt").exists()


def test_no_client_is_proposed_that_is_not_meant(cli: Cli) -> None:
    assert "Did you mean" not in cli.bare("connect", "copilot").err
    assert "'copilot' is not a known client. They are" in cli.bare("doctor", "--client", "copilot").err


ARGUMENTS = {
    name for tool in NATIVE.offered(commands=True) for name in properties(tool.arguments)
} - {"path", "pattern", "query", "command"} | {"old_text", "new_text"}  # fmt: skip

_LONG = "old_text|new_text|replace_all|expected_hash|known_hash|ignore_case|timeout_s|dry_run"
_ANY = "|".join(sorted(ARGUMENTS))
_BARE = re.compile(
    rf"edits\[|view=|`(?:{_ANY})`|(?<![-\w])\w*(?:{_LONG})\b|\b(?:set|use) (?:{_ANY})\b|^readroom: \w+="
)
"""Names of arguments, as a model sends them."""

FAILING = (
    ("edit", "README.md", "--now", "--old", "absent", "--new", "b"),
    ("edit", "README.md", "--now", "--old", "e", "--new", "b"),
    ("edit", "README.md", "--now", "--old", "needle", "--new", "b", "--old", "e", "--new", "c"),
    ("edit", "README.md", "--now", "--old", "needle", "--new", "needle"),
    ("edit", "README.md", "--now", "--old", "", "--new", "b"),
    ("edit", "README.md", "--now", "--old", "needle", "--new", "a", "--old", "needle", "--new", "b"),
    ("edit", "README.md", "--expected-hash", "zz", "--old", "a", "--new", "b"),
    ("edit", "README.md", "--expected-hash", "0" * 64, "--old", "a", "--new", "b"),
    ("edit", "none.md", "--now", "--old", "a", "--new", "b"),
    ("write", "README.md", "--new", "--content", "x"),
    ("write", "README.md", "--expected-hash", "zz", "--content", "x"),
    ("read", "README.md", "--symbol", "nothing"),
    ("read", "README.md", "--offset", "99"),
    ("read", "README.md", "--limit", "0"),
    ("read", "README.md", "--column", "99"),
    ("read", "README.md", "--pages", "3"),
    ("read", "README.md", "--known-hash", "zz"),
    ("read", "README.md", "--encoding", "foo"),
    ("read", "blob.bin"),
    ("outline", "blob.bin"),
    ("grep", "need("),
    ("grep", "x", "--cursor", "zz"),
    ("grep", "needle", "--context", "2", "--before", "1"),
    ("grep", "x", "--type", "nothing"),
    ("ls", "README.md"),
    ("ls", "--cursor", "zz"),
    ("find", "needle", "--cursor", "zz"),
)


@pytest.mark.parametrize("line", FAILING, ids=" ".join)
def test_a_failure_speaks_of_options_and_not_of_arguments(cli: Cli, line: tuple[str, ...]) -> None:
    done = cli(*line)
    assert _BARE.findall(done.err) == [], done.err


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("doctor", "--client", "claude", "--port", "1"), "claude-code"),
        (("doctor", "--client", "Codex", "--port", "1"), "codex"),
        (("connect", "claude"), "claude-code"),
        (("connect", "vs-code"), "vscode"),
        (("token", "create", "x", "--tool", "readfile"), "read_file"),
        (("token", "create", "x", "--tool", "grep-files"), "grep_files"),
    ],
)
def test_a_name_that_is_nearly_right_is_named(cli: Cli, line: tuple[str, ...], meant: str) -> None:
    done = cli.bare(*line)
    assert done.code == 2
    assert f"Did you mean {meant}?" in done.err


@each("name", CLIENTS)
def test_the_longest_reply_that_is_named_is_one_that_arrives(name: str) -> None:
    limited = known(CLIENTS[name].wire)
    most = None if limited is None else limited.chars
    said = longest_reply(most)
    least = REPLY_BYTES if most is None else min(REPLY_BYTES, most)
    assert re.findall(r"at most ([\d,]+)", said) == [f"{least:,}"]


def test_the_first_sentence_after_the_first_write_is_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    first = cli.bare("connect", "claude-code", cli.root, "--write").out
    assert re.match(r"Created \S+\.mcp\.json:\n", first)
    (Path(cli.root) / ".mcp.json").write_text('{"mcpServers": {}}\n', encoding="utf-8")
    assert (
        ".mcp.json (the old version is kept in "
        in cli.bare("connect", "claude-code", cli.root, "--write").out
    )


@pytest.mark.parametrize("line", [("ui", "/no/such"), ("audit", "/no/such"), ("audit", "no such", "--here")])
def test_a_record_that_is_not_there_is_said_in_a_sentence(cli: Cli, line: tuple[str, ...]) -> None:
    done = cli.bare(*line)
    assert done.code == ExitCode.NOT_FOUND
    assert re.match(r"readroom: There is no file or folder .+\. Check the path, or ", done.err)


def test_an_audit_that_finds_no_session_says_where_it_looked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "nobody"))
    monkeypatch.chdir(cli.root)
    done = cli.bare("audit", "--here")
    assert (done.code, done.out) == (1, "")
    assert "No sessions found." in done.err
    assert "not there: ~/projects/" in " ".join(done.err.split())
    assert "~/sessions" in cli.bare("audit").err
    assert "Nothing was found" not in done.err


def test_quotes_on_the_site_are_those_that_can_be_pasted() -> None:
    settings: dict[str, object] = {}
    source = (ROOT / "scripts" / "website" / "conf.py").read_text(encoding="utf-8")
    exec(compile(source, "conf.py", "exec"), {"__file__": str(ROOT / "scripts/website/conf.py")}, settings)
    assert settings["smartquotes"] is False


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("orders.py", "Use `readroom read orders.py`."),
        ("shop", "Use `readroom ls shop`."),
        ("help ls", "Use `readroom ls --help`."),
        ("help", "Use `readroom --help`."),
        ("git", "Give one of changes, log, blame."),
        ("find price list", "readroom find 'price list'"),
        ("grep orders.py price", "The path comes last: readroom grep price orders.py"),
        ("refs orders.py price", "The path comes last: readroom refs price orders.py"),
        ("ls ssh://host/srv/shop", "`--at ADDRESS` works on another machine."),
        ("read s3://shop/logs/a.log", "`logs/a.log --root s3://shop` names it in a bucket."),
        ("ls az://shop", "`. --root az://shop` names it in a bucket."),
        ("rm -r shop", "Leave it out: `readroom rm` does that."),
        ("mkdir -p new", "Leave it out: `readroom mkdir` does that."),
        ("connect codex nowhere", "Give the path of a folder."),
        ("edit orders.py price cost", "Give the texts with --old and --new."),
        ("diff", "`readroom history` lists the changes."),
    ],
)
def test_a_line_that_was_meant_otherwise_gets_the_line_that_does_it(
    cli: Cli, line: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(cli.root)
    (folder / "shop").mkdir()
    (folder / "orders.py").write_text("price = 1\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    done = cli.bare(*line.split())
    assert done.code != 0
    assert hint in done.err.replace("\n", " ")
