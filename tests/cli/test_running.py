"""readroom run: the command's own exit code, and 125 when none was run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Cli, run


def test_the_exit_code_is_that_of_the_command(cli: Cli) -> None:
    for code in (0, 1, 2, 3, 125, 255):
        done = cli("run", "--allow-commands", f"echo out; exit {code}")
        assert done.code == code
        assert done.out.startswith(f"exit {code} | ")
        assert "1\tout\n" in done.out
        assert done.err == ""


def test_a_signal_is_a_code_as_shells_have_it(cli: Cli) -> None:
    assert cli("run", "--allow-commands", "kill -9 $$").code == 137
    assert cli("run", "--allow-commands", "no-such-program").code == 127
    assert cli("run", "--allow-commands", "--timeout-s", "0.3", "sleep 99").code == 143


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("touch made",), "--allow-commands"),
        (("--allow-commands", "--cwd", "nothing", "touch made"), "nothing"),
        (("--allow-commands", ""), "empty"),
        (("--allow-commands", "--timeout-s", "9999", "touch made"), "timeout"),
        (("--allow-commands", "--output", "loud", "touch made"), "loud"),
    ],
)
def test_without_a_command_that_was_run_it_is_125_or_bad_usage(
    cli: Cli, root: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = cli("run", *arguments)
    assert done.code in (2, 125)
    assert done.out == ""
    assert said in done.err
    assert not (root / "made").exists()


def test_what_is_denied_is_denied(cli: Cli) -> None:
    done = cli("run", "--allow-commands", "--output", "full", "cat .env secret out src/main.py")
    assert "canary" not in done.out
    assert "def main():" in done.out


def test_json_is_the_tool_result(cli: Cli) -> None:
    done = cli("run", "--allow-commands", "--json", "seq 3000; exit 4")
    assert done.code == 4
    assert done.facts["exit_code"] == 4
    assert done.facts["next"] is None
    assert done.facts["outputs"][0]["path"] is None


def test_a_cut_output_says_how_to_see_more_here(cli: Cli) -> None:
    done = cli("run", "--allow-commands", "seq 3000")
    assert "/.outputs" not in done.out
    assert "full" in done.out.splitlines()[-1]
    assert "3000" in cli("run", "--allow-commands", "--output", "full", "seq 3000").out


def test_as_a_process_it_ends_like_the_command(root: Path) -> None:
    done = run("run", "--allow-commands", "--", "echo oops >&2; exit 7", cwd=root)
    assert done.returncode == 7
    assert b"1\toops" in done.stdout


def test_how_more_of_an_output_is_shown_is_said_in_options(cli: Cli) -> None:
    assert "--output full shows more." in cli("run", "--allow-commands", "seq 4000").out
    ended = cli("run", "--allow-commands", "--timeout-s", "1", "sleep 60")
    assert "--timeout-s gives it more time." in ended.out
