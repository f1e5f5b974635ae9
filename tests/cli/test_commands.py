"""What each command prints, and how it ends."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from readroom.cli.exits import MEANING, ExitCode
from readroom.cli.failures import command, exit_code, exit_code_of
from readroom.cli.main import main, unsupported
from readroom.core.contracts.base import tool_result
from readroom.core.contracts.native.calls import as_tool_call
from readroom.core.errors import ReadroomError
from readroom.core.values import Call
from readroom.core.workspace import Workspace
from tests.cli.running import Cli
from tests.each import each

# --- the text ----------------------------------------------------------------------------------

CALLS: list[tuple[list[str], str, dict[str, Any]]] = [
    (["read", "README.md"], "read_file", {"path": "README.md"}),
    (["read", "README.md", "--offset", "-2"], "read_file", {"path": "README.md", "offset": -2}),
    (["read", "src/long.txt", "--column", "2001"], "read_file", {"path": "src/long.txt", "column": 2001}),
    (["read", "README.md", "--encoding", "latin-1", "--limit", "1"], "read_file",
     {"path": "README.md", "encoding": "latin-1", "limit": 1}),
    (["grep", "needle"], "grep_files", {"pattern": "needle"}),
    (["grep", "NEEDLE", "src", "-i", "-C", "1", "-g", "*.py", "--glob", "!x"], "grep_files",
     {"pattern": "NEEDLE", "path": "src", "ignore_case": True, "context": 1, "glob": ["*.py", "!x"]}),
    (["grep", "-F", "needle", "--output", "files", "--include", "ignored"], "grep_files",
     {"pattern": "needle", "fixed": True, "output": "files", "include": ["ignored"]}),
    (["ls"], "list_directory", {}),
    (["ls", "src", "--depth", "2", "--sort", "size", "--limit", "1"], "list_directory",
     {"path": "src", "depth": 2, "sort": "size", "limit": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "tool", "arguments"), CALLS)
def test_a_command_prints_the_text_that_the_tool_gives_with_commands_for_calls(
    cli: Cli, words: list[str], tool: str, arguments: dict[str, Any]
) -> None:
    done = cli(*words)
    assert (done.code, done.err) == (0, "")
    reply = Workspace(cli.root).call(tool, arguments)
    text = reply.text
    if isinstance(call := reply.facts["next"], dict):
        text = text.replace(as_tool_call(Call(**call)), command(call, cli.root))
    left_out: Any = reply.facts.get("omitted", [])
    for item in left_out:
        # A tool names only what differs from the call; a command is written out.
        text = re.sub(r"the same call with \S+\]$", f"{command(item['call'], cli.root)}]", text)
    assert done.out == text + "\n"


@pytest.mark.parametrize(("words", "tool", "arguments"), CALLS)
def test_json_and_call_print_the_result_that_mcp_sends(
    cli: Cli, words: list[str], tool: str, arguments: dict[str, Any]
) -> None:
    expected = tool_result(Workspace(cli.root).call(tool, arguments))
    assert cli(*words, "--json").result == expected
    assert cli("call", tool, json.dumps(arguments)).result == expected


def test_a_root_that_is_given_is_what_paths_are_relative_to(cli: Cli, root: Path) -> None:
    assert cli.bare("read", "main.py", "--root", str(root / "src")).code == 0
    assert cli("read", str(root / "src/main.py")).out.startswith("src/main.py | lines 1-2")


# --- exit codes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["read", "README.md"], ExitCode.OK),
        (["ls", "empty"], ExitCode.OK),
        (["grep", "haystack"], ExitCode.NOTHING_FOUND),
        (["ls", "--glob", "*.nothing"], ExitCode.NOTHING_FOUND),
        (["read", "README.md", "--offset", "99"], ExitCode.USAGE),
        (["read"], ExitCode.USAGE),
        (["read", "README.md", "--nonsense"], ExitCode.USAGE),
        (["grep", "("], ExitCode.USAGE),
        (["ls", "--cursor", "x"], ExitCode.USAGE),
        (["read", ".env"], ExitCode.REFUSED),
        (["read", "secret"], ExitCode.REFUSED),
        (["read", "out"], ExitCode.REFUSED),
        (["read", "../x"], ExitCode.REFUSED),
        (["read", "README"], ExitCode.NOT_FOUND),
        (["ls", "nowhere"], ExitCode.NOT_FOUND),
        (["read", "blob.bin"], ExitCode.FAILED),
        (["read", "src"], ExitCode.FAILED),
        (["ls", "README.md"], ExitCode.FAILED),
    ],
)
def test_exit_codes_tell_failures_apart(cli: Cli, words: list[str], code: ExitCode) -> None:
    done = cli(*words)
    assert done.code == code, done.err
    if code > ExitCode.NOTHING_FOUND:
        assert done.out == ""
        assert done.err
        assert "Traceback" not in done.err
    result = cli(*words, "--json")
    assert result.code == code
    assert result.result["isError"] == (code > ExitCode.NOTHING_FOUND)


def test_an_unknown_command_is_bad_usage(cli: Cli) -> None:
    assert cli.bare("raed").code == ExitCode.USAGE
    assert cli.bare().code == ExitCode.USAGE


def _classes(base: type[ReadroomError]) -> list[type[ReadroomError]]:
    return [base, *(found for one in base.__subclasses__() for found in _classes(one))]


@each("error", _classes(ReadroomError))
def test_a_class_of_errors_has_one_exit_code_by_itself_and_by_its_facts(error: type[ReadroomError]) -> None:
    assert exit_code(error) == exit_code_of({"error": {"code": error.code}})
    assert exit_code(error) in MEANING


# --- failures ----------------------------------------------------------------------------------


def test_a_failure_is_a_sentence_and_the_command_that_works(cli: Cli) -> None:
    done = cli("read", "README.md", "--offset", "99")
    first, second = done.err.rstrip("\n").split("\n")
    assert first.startswith("readroom: --offset 99 is past the end of README.md, which has 3 lines.")
    assert second.startswith("Try: readroom read README.md --offset 3")
    assert cli.bare(*shlex.split(second)[2:]).code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["read", "README"],
        ["read", "src"],
        ["ls", "README.md"],
        ["ls", "--cursor", "x", "--depth", "2", "-g", "*.py", "-g", "!a b"],
        ["read", "src/long.txt", "--column", "99999"],
        ["read", "README.md", "--encoding", "klingon"],
    ],
)
def test_the_command_that_is_suggested_works(cli: Cli, words: list[str]) -> None:
    suggestion = cli(*words).err.rstrip("\n").split("\nTry: ")[1]
    assert cli.bare(*shlex.split(suggestion)[1:]).code == 0


@pytest.mark.parametrize("words", [["read", "{}/a b.txt"], ["ls", "{}"], ["grep", "needle", "{}/a b.txt"]])
def test_a_path_elsewhere_is_refused_with_the_root_that_takes_it(
    cli: Cli, tmp_path: Path, words: list[str]
) -> None:
    other = tmp_path / "some where"
    other.mkdir()
    (other / "a b.txt").write_text("needle\n", encoding="utf-8")
    asked = [word.format(other) for word in words]
    done = cli(*asked)
    assert done.code == ExitCode.REFUSED
    advice = done.err.rstrip("\n").split("\n")[1]
    option, end = advice.split("`")[1:]
    assert end == " makes another folder the workspace."
    assert cli.bare(*asked, *shlex.split(option)).code == 0


@pytest.mark.parametrize("path", ["../x", "/x"])
def test_no_root_is_made_up_for_a_path_above_it(cli: Cli, path: str) -> None:
    advice = cli("read", path).err.rstrip("\n").split("\n")[1]
    assert advice == "`--root DIR` makes another folder the workspace."


def test_a_suggested_name_that_begins_with_a_dash_is_no_option(cli: Cli, root: Path) -> None:
    (root / "--root").write_text("x\n", encoding="utf-8")
    done = cli("read", "--offset", "9", "--", "--root")
    suggestion = done.err.rstrip("\n").split("\nTry: ")[1]
    assert suggestion.endswith(" -- --root")
    assert cli.bare(*shlex.split(suggestion)[1:]).out.startswith("--root | lines 1-1")


def test_a_root_that_is_not_there_is_not_found(cli: Cli, tmp_path: Path) -> None:
    for words in (["read", "x"], ["ls"], ["explain", "x"]):
        done = cli.bare(*words, "--root", str(tmp_path / "none"))
        assert (done.code, done.out) == (ExitCode.NOT_FOUND, "")
        assert "none" in done.err


def test_a_configuration_that_cannot_be_used_is_bad_usage(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text("[nonsense]\n", encoding="utf-8")
    done = cli("ls", "--config", str(tmp_path / "bad.toml"))
    assert (done.code, done.out) == (ExitCode.USAGE, "")
    assert "nonsense" in done.err
    assert cli("ls", "--config", str(tmp_path / "none.toml")).code == ExitCode.USAGE


def test_a_configuration_that_is_given_counts(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text('[policy]\ndeny = ["README.md"]\n', encoding="utf-8")
    assert cli("read", "README.md", "--config", str(tmp_path / "more.toml")).code == ExitCode.REFUSED


# --- call --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["read_file", "{"], 2, "bad_value"),
        (["read_file", ""], 2, "bad_value"),
        (["read_file", "[]"], 2, "wrong_type"),
        (["read_file", '"x"'], 2, "wrong_type"),
        (["read_file", "{}"], 2, "missing_argument"),
        (["read_file", '{"path": 1}'], 2, "wrong_type"),
        (["read_file", '{"path": "x", "lines": 1}'], 2, "unknown_argument"),
        (["read_file", '{"path": "\\ud800"}'], 2, "bad_value"),
        (["raed_file", "{}"], 2, "unknown_tool"),
        (["read_file", "{}", "--contract", "nobody"], 2, "bad_value"),
        (["read_file", "{", "--contract", "nobody"], 2, "bad_value"),
        (["read_file", '{"path": "README.md"}', "--root", "/nowhere/at/all"], 4, "not_found"),
        (["read_file", '{"path": "README.md"}', "--root", "README.md"], None, None),
        (["read_file", '{"path": "README.md"}', "--config", "/nowhere.toml"], 2, "bad_config"),
        (["read_file", '{"path": ".env"}'], 3, "denied"),
        (["read_file", '{"path": "nope"}'], 4, "not_found"),
        (["read_file", '{"path": "blob.bin"}'], 5, "binary"),
        (["read_file", "{}", "--nonsense"], 2, "usage"),
        (["read_file", "{}", "{}"], 2, "usage"),
        (["read_file", "{}", "--max-chars", "x"], 2, "usage"),
        ([], 2, "usage"),
    ],
)
def test_call_prints_one_json_object_whatever_happens(
    cli: Cli, words: list[str], code: int | None, error: str | None
) -> None:
    done = cli("call", *words)
    assert done.out.count("\n") == 1
    assert done.result["isError"] is True
    assert [block["type"] for block in done.result["content"]] == ["text"]
    assert done.err == ""
    if code is not None:
        assert (done.code, done.facts["error"]["code"]) == (code, error)


def test_call_without_arguments_sends_none(cli: Cli) -> None:
    assert cli("call", "list_directory").facts["path"] == "."


def test_call_is_held_to_the_cap_that_is_given(cli: Cli, root: Path) -> None:
    (root / "big.txt").write_text("line\n" * 2000, encoding="utf-8")
    text = cli("call", "read_file", '{"path": "big.txt"}', "--max-chars", "3000").result["content"][0]["text"]
    assert 2000 < len(text) <= 3000


# --- explain -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "allowed", "says"),
    [
        ("README.md", True, "no rule denies it"),
        (".env", False, "'.env' of defaults (environment files hold credentials)"),
        ("secret", False, "'.env' of defaults"),
        (".git/config", False, "'.git' of defaults"),
        ("out", False, "outside the workspace"),
        ("../x", False, "outside the workspace"),
        ("nothing", True, "nothing is there"),
        ("build/out.txt", True, "hidden from search and listing by 'build/' of .gitignore:1"),
        ("src", True, "no rule denies it"),
    ],
)
def test_explain_names_what_decides(cli: Cli, path: str, allowed: bool, says: str) -> None:
    done = cli("explain", path)
    assert (done.code, done.err) == (0, "")
    assert done.out.split("\n")[0] == f"{path}: {'allowed' if allowed else 'refused'}"
    assert says in done.out
    assert "canary" not in done.out
    result = cli("explain", path, "--json")
    assert result.facts["allowed"] is allowed
    assert result.result["content"][0]["text"] + "\n" == done.out


def test_explain_tells_the_real_name_and_the_confinement(cli: Cli, root: Path) -> None:
    (root / "way").symlink_to("src")
    facts = cli("explain", "way/main.py", "--json").facts
    assert facts["real_path"] == "src/main.py"
    assert facts["confinement"] == ("kernel" if facts["promises"]["opening"] == "kernel" else "none")
    assert "real name: src/main.py" in cli("explain", "way/main.py").out


def test_explain_names_the_line_of_an_ignore_file(cli: Cli, root: Path) -> None:
    (root / ".readroomignore").write_text("# mine\nsrc/\n", encoding="utf-8")
    assert ".readroomignore:2" in cli("explain", "src/main.py").out


@pytest.mark.parametrize("there", [True, False])
def test_explain_says_what_can_be_read_and_not_changed(cli: Cli, root: Path, there: bool) -> None:
    if there:
        (root / ".mcp.json").write_text("{}", encoding="utf-8")
    done = cli("explain", ".mcp.json")
    assert done.out.split("\n")[0] == ".mcp.json: allowed"
    assert ".mcp.json cannot be changed: clients of agents start" in done.out
    assert 'exceptions = ["/.mcp.json"] under [changes]' in done.out
    facts = cli("explain", ".mcp.json", "--json").facts
    assert facts["protected_by"]["pattern"] == ".mcp.json"
    assert "cannot be changed" not in cli("explain", "src/main.py").out


# --- platforms ---------------------------------------------------------------------------------


def test_windows_is_told_in_one_sentence() -> None:
    assert unsupported("linux") is None
    assert unsupported("darwin") is None
    sentence = unsupported("win32")
    assert sentence is not None
    assert "Windows" in sentence
    assert "\n" not in sentence


def test_windows_ends_at_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.platform", "win32")
    assert main(["ls"]) == ExitCode.FAILED
    assert capsys.readouterr() == ("", f"{unsupported('win32')}\n")
