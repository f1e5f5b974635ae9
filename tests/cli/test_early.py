"""`readroom mcp` in its plain forms begins at once; what is unusual is left to the command proper."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from readroom.cli.early import Plain, understood
from readroom.cli.exits import ExitCode
from readroom.core.contracts import NAMES
from readroom.core.release import VERSION
from tests.each import each
from tests.mcp.serving import END_S, Stdio, request, stdio_command
from tests.suites import daily


@each(
    ("words", "plain"),
    [
        ([], Plain()),
        (["dir"], Plain("dir")),
        (["--root", "dir"], Plain("dir")),
        (["--root=dir"], Plain("dir")),
        (["--allow-commands", "dir"], Plain("dir", commands=True)),
        (["dir", "--contract", "everruns"], Plain("dir", contract="everruns")),
        (["--max-chars=7", "--", "-dir"], Plain("-dir", max_chars=7)),
        (["--"], Plain()),
    ],
)
def test_plain_words_are_understood(words: list[str], plain: Plain) -> None:
    assert understood(words) == plain


@each(
    "words",
    [
        ["--help"],
        ["-h"],
        ["--config", "file"],
        ["--front-matter", "file"],
        ["--root"],
        ["--root="],
        ["--max-chars", "0"],
        ["--max-chars", "x"],
        ["--max-chars", "²"],
        ["a", "b"],
        ["a", "--root", "b"],
        ["--", "a", "b"],
        ["--no-such-option"],
        [""],
    ],
)
def test_other_words_are_left_to_the_command(words: list[str]) -> None:
    assert understood(words) is None


def test_the_version_is_that_of_the_package() -> None:
    assert version("readroom") == VERSION


@daily(3, "contract", NAMES)
@pytest.mark.parametrize("commands", [(), ("--allow-commands",)])
def test_the_tools_are_the_same_however_the_server_begins(
    tmp_path: Path, contract: str, commands: tuple[str, ...]
) -> None:
    """An empty file of settings changes nothing, and is reason enough to look first."""
    options = ("--contract", contract, "--max-chars", "60000", *commands)
    (tmp_path / "readroom.toml").write_bytes(b"")
    told = []
    for _ in range(2):
        with Stdio(tmp_path, *options) as client:
            told.append((client.greeting["result"], client.ask(request(1, "tools/list"))["result"]))
        (tmp_path / "readroom.toml").unlink(missing_ok=True)
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["readroom.toml", ".readroomignore"])
def test_a_folder_that_cannot_be_opened_ends_the_server_with_the_reason(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with Stdio(tmp_path, version="2026-07-28") as client:
        client.send(request(1, "tools/list"))
        code, log = client.end()
    assert code == ExitCode.USAGE
    assert name in log
    assert "Traceback" not in log


def test_a_server_that_nobody_speaks_to_ends_with_its_input(tmp_path: Path) -> None:
    done = subprocess.run(stdio_command(tmp_path), input=b"", capture_output=True, timeout=END_S, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
