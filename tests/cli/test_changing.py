"""edit and write on the command line: what they print, their exit codes, and texts from standard input."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, Cli


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_edit_prints_the_diff(cli: Cli, root: Path) -> None:
    done = cli(
        "edit", "README.md", "--expected-hash", digest(root / "README.md"), "--old", "needle", "--new", "pin"
    )
    assert (done.code, done.err) == (0, "")
    assert "-needle\n+pin\n" in done.out
    assert (root / "README.md").read_text(encoding="utf-8") == "# Title\npin\nthird\n"


def test_several_pairs_are_several_edits(cli: Cli, root: Path) -> None:
    pairs = ["--old", "Title", "--old", "third", "--new", "Name", "--new", "3rd"]
    assert cli("edit", "README.md", "--expected-hash", digest(root / "README.md"), *pairs).code == 0
    assert (root / "README.md").read_text(encoding="utf-8") == "# Name\nneedle\n3rd\n"


def test_edits_come_as_json_too(cli: Cli, root: Path) -> None:
    edits = json.dumps([{"old_text": "needle", "new_text": "pin"}])
    done = cli("edit", "README.md", "--expected-hash", digest(root / "README.md"), "--edits", edits, "--json")
    assert done.facts["replacements"] == 1


def test_replace_all_and_dry_run(cli: Cli, root: Path) -> None:
    state = ["--expected-hash", digest(root / "README.md")]
    done = cli("edit", "README.md", *state, "--old", "e", "--new", "E", "--replace-all", "--dry-run")
    assert "+# TitlE\n+nEEdlE\n" in done.out
    assert done.out.endswith("[Dry run: nothing was changed.]\n")
    assert (root / "README.md").read_text(encoding="utf-8") == "# Title\nneedle\nthird\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["README.md", "--old", "a", "--new", "b"], 2, "--expected-hash was not given"),
        (["README.md", "--expected-hash", "0" * 12, "--old", "a"], 2, "1 --old and 0 --new"),
        (["README.md", "--expected-hash", "0" * 12, "--edits", "nonsense"], 2, "is not JSON"),
        (["README.md", "--expected-hash", "0" * 12, "--old", "a", "--new", "b"], 5, "has changed"),
        ([".env", "--expected-hash", "0" * 12, "--old", "a", "--new", "b"], 3, "denied"),
        (["none", "--expected-hash", "0" * 12, "--old", "a", "--new", "b"], 4, "no file"),
        (["secret", "--expected-hash", "0" * 12, "--old", "a", "--new", "b"], 3, "symbolic link"),
    ],
)
def test_refusals_have_their_exit_codes(cli: Cli, arguments: list[str], code: int, said: str) -> None:
    done = cli("edit", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_the_closest_place_is_shown_with_the_command_that_reads_it(cli: Cli, root: Path) -> None:
    state = ["--expected-hash", digest(root / "README.md")]
    done = cli("edit", "README.md", *state, "--old", "needles", "--new", "x")
    assert "\n2\tneedle\nTry: readroom read README.md --offset 1" in done.err


def test_of_a_name_that_is_not_there_a_read_of_the_whole_near_one_is_proposed(cli: Cli) -> None:
    done = cli("edit", "SRC/long.txt", "--now", "--old", "a", "--new", "b")
    advice = f"Try: readroom read src/long.txt --root {cli.root}\n"
    assert done.err.endswith(f"Did you mean src/long.txt?\n{advice}")


def test_write_takes_its_content_from_standard_input(root: Path) -> None:
    def run(content: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*COMMAND, "write", "--root", str(root), *arguments],
            input=content,
            capture_output=True,
            check=False,
        )

    made = run("é\n".encode(), "new/f", "--expected-hash", "absent")
    assert made.returncode == 0
    assert made.stdout.startswith(b"new/f | created, 1 line | sha256:")
    assert (root / "new/f").read_bytes() == "é\n".encode()
    assert run(b"x", "new/f", "--expected-hash", "absent").returncode == 5
    assert run(b"\xff", "new/g", "--expected-hash", "absent").returncode == 2
    assert (root / "new/f").read_bytes() == "é\n".encode()


def test_write_takes_its_content_from_an_option_too(cli: Cli, root: Path) -> None:
    assert cli("write", "f", "--expected-hash", "absent", "--content", "text").code == 0
    assert (root / "f").read_bytes() == b"text"
    assert cli("write", "f", "--expected-hash", digest(root / "f"), "--content", "").code == 0
    assert (root / "f").read_bytes() == b""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["edit", "README.md", "--expected-hash", "absent", "--old", "a", "--new", "b"], "`readroom write`"),
        (["edit", "README.md", "--expected-hash", "0" * 12, "--old", "", "--new", "b"], "repeat it in --new"),
        (["edit", "README.md", "--expected-hash", "0" * 12, "--edits", "[]"], "with --old and --new."),
        (["read", "qqq"], "`readroom ls` or `readroom grep`"),
    ],
)
def test_advice_names_what_a_shell_can_run(cli: Cli, arguments: list[str], said: str) -> None:
    done = cli(*arguments)
    assert said in done.err
    assert "_file" not in done.err


def test_a_file_with_the_name_of_a_tool_keeps_it(cli: Cli) -> None:
    assert "write_file" in cli("read", "write_file").err
