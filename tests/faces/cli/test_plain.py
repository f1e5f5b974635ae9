"""`readroom read` in its plain forms: understood as by the parser of command lines, and answered alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from readroom.faces.cli import commands, main, options
from scripts import prepared
from tests.each import each
from tests.faces.mcp.serving import END_S
from tests.suites import daily

_WORDS = st.one_of(
    st.sampled_from(
        [
            *(
                "--offset",
                "--limit",
                "--root",
                "--config",
                "--json",
                "--view",
                "outline",
                "--column",
                "--help",
            ),
            *(
                "--offset=3",
                "--limit=-2",
                "--root=/tmp",
                "--root=",
                "--offset=",
                "--limit=x",
                "-",
                "--",
                "-h",
            ),
            *(
                "a.txt",
                "b/c.txt",
                "3",
                "-3",
                "007",
                "1_000",
                " 5",
                "+5",
                "٣",
                "12345678901",
                "",
                "-x",
                "--off",
            ),
        ]
    ),
    st.text(max_size=6),
)


def _parsed(words: list[str]) -> tuple[object, list[dict[str, object]]]:
    """The root and the calls, as the command proper has them."""
    command = commands.GROUP.get_command(click.Context(commands.GROUP), "read")
    assert command is not None
    values = command.make_context("read", list(words), **commands.GROUP.context_settings).params
    assert values.pop("config") is None
    assert values.pop("as_json") is False
    root = values.pop("root")
    defaults = {"column": 1, "view": "text"}
    calls = options.given_for_each_path(values)
    return root, [
        {name: value for name, value in call.items() if defaults.get(name) != value} for call in calls
    ]


@given(st.lists(_WORDS, max_size=6))
def test_what_is_understood_is_what_the_parser_understands(words: list[str]) -> None:
    meaning = main.understood(words)
    if meaning is not None:
        assert meaning == _parsed(words)


@pytest.mark.parametrize(
    "words",
    [
        ["a.txt"],
        ["a.txt", "b.txt", "--root", "/tmp"],
        ["--offset", "-3", "a.txt"],
        ["--limit=20", "--offset=7", "a b.txt"],
    ],
)
def test_the_plain_forms_are_understood(words: list[str]) -> None:
    assert main.understood(words) == _parsed(words)


@each("words", [["--json", "a.txt"], [], ["--", "-a"], ["a\udcff.txt"], ["a\nb"], ["-h"]])
def test_what_is_unusual_is_left_to_the_command(words: list[str]) -> None:
    assert main.understood(words) is None


PROPER = "import sys; from readroom.faces.cli.commands import run; sys.exit(run(sys.argv[1:]))"
OURS = "import sys; from readroom.faces.cli.main import main; sys.exit(main(sys.argv[1:]))"


def _answers(
    folder: Path, words: list[str], environment: dict[str, str] | None = None
) -> list[tuple[int, bytes, bytes]]:
    """Exit code, output and errors of the command proper, and of ours."""
    answers = [
        subprocess.run(
            [sys.executable, "-c", code, *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            timeout=END_S,
            check=False,
        )
        for code in (PROPER, OURS)
    ]
    return [(done.returncode, done.stdout, done.stderr) for done in answers]


@daily(
    2,
    "words",
    [
        ["a.txt"],
        ["a.txt", "b.txt"],
        ["a.txt", "--offset", "2", "--limit", "1"],
        ["gone.txt"],
        ["a.txt", "gone.txt"],
        [".env"],
        ["a.txt", "--limit", "0"],
        ["a.txt", "--root", "nowhere"],
    ],
)
def test_the_answer_is_that_of_the_command(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("four\n", encoding="utf-8")
    (tmp_path / ".env").write_text("secret\n", encoding="utf-8")
    first, second = _answers(tmp_path, ["read", *words])
    assert first == second


def test_the_help_that_is_prepared_is_that_of_the_commands() -> None:
    """`python -m scripts.docs` writes it."""
    assert {path: path.read_text(encoding="utf-8") for path in prepared.helps()} == prepared.helps()


@daily(2, "columns", ["", "40", "80", "97", "100", "200"])
def test_help_is_the_same_at_every_width(tmp_path: Path, columns: str) -> None:
    first, second = _answers(tmp_path, ["--help"], {**os.environ, "COLUMNS": columns})
    assert first == second
    assert b"readroom" in second[1]


def test_the_reader_of_help_may_leave() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as out:
        done = subprocess.run(
            [sys.executable, "-c", OURS, "--help"],
            stdout=out,
            stderr=subprocess.PIPE,
            timeout=END_S,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"")
