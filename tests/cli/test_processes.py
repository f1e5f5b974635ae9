"""The command as a process: pipes, signals, odd names, odd streams."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from tests.cli.running import COMMAND, run
from tests.each import each
from tests.suites import needs

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
HOSTILE = "\x1b]0;title\x07 \x1b[2J \x9b31m \r over \u202e back\n"


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    """Run a line of shell in which `readroom` is the command."""
    script = f'readroom() {{ {shlex.join(COMMAND)} "$@"; }}\n{line}'
    return subprocess.run(["sh", "-c", script], cwd=cwd, capture_output=True, timeout=60, check=False)


def test_nothing_is_imported_from_a_folder_that_is_served(tmp_path: Path) -> None:
    """Nor from the current one, in which `python -m` would look first."""
    for name in ("click", "msgspec", "wave"):
        (tmp_path / f"{name}.py").write_text("open('taken', 'w')\nraise SystemExit(3)\n", encoding="utf-8")
    command = [sys.executable, "-m", "readroom"]
    for words in (["ls", "--glob", "w*.py"], ["read", "wave.py"], ["grep", "raise"], ["--help"]):
        done = subprocess.run([*command, *words], cwd=tmp_path, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
    assert not (tmp_path / "taken").exists()


def on_terminal(*arguments: str, cwd: Path, **environment: str) -> str:
    """What a person sees: the output of a command on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, *arguments], cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs,
            env={**os.environ, "TERM": "xterm-256color", **environment},
        )  # fmt: skip
    finally:
        os.close(theirs)
    seen = b""
    try:
        while data := os.read(ours, 65536):
            seen += data
    except OSError:  # how Linux says that the other end is closed
        pass
    finally:
        os.close(ours)
        process.wait(60)
    return seen.decode()


def test_the_installed_command_and_the_module_are_the_same(root: Path) -> None:
    script = os.path.join(sysconfig.get_path("scripts"), "readroom")
    found = subprocess.run([script, "read", "README.md"], cwd=root, capture_output=True, check=True)
    assert found.stdout == run("read", "README.md", cwd=root).stdout
    assert found.stdout.startswith(b"README.md | lines 1-3 of 3")


def test_the_version_is_the_packages(root: Path) -> None:
    version = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["version"]
    assert run("--version", cwd=root).stdout.decode() == f"readroom {version}\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("readroom re", "read"),
        ("readroom ls --so", "--sort"),
        ("readroom ls --sort m", "mtime"),
        ("readroom connect cl", "claude-code"),
        ("readroom doctor --client cu", "cursor"),
        ("readroom call grep", "grep_files"),
        pytest.param("readroom call --contract everruns re", "read_file", marks=needs("contracts")),
        ("readroom call --contract in", "inspect_agents"),
        pytest.param("readroom token create x --tool app", "apply_patch", marks=needs("server")),
        pytest.param("readroom ledger totals --tool read", "read_file", marks=needs("server")),
        pytest.param("readroom ledger export --format p", "parquet", marks=needs("server")),
        ("readroom git bl", "blame"),
        ("readroom grep x --type kot", "kotlin"),
        ("readroom refs x --kinds d", "definition"),
        pytest.param("readroom audit --fail-on secrets,re", "secrets,repeated", marks=needs("lens")),
    ],
)
def test_completion_offers_commands_options_and_values(root: Path, words: str, offered: str) -> None:
    """Through the installed name, by which the shell's function calls it."""
    environment = {**os.environ, "_READROOM_COMPLETE": "bash_complete"}
    environment |= {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = run(cwd=root, env=environment)
    assert f"plain,{offered}" in done.stdout.decode().split("\n")


def test_the_current_folder_is_the_root(root: Path) -> None:
    assert run("read", "main.py", cwd=root / "src").returncode == 0
    assert run("read", "../README.md", cwd=root / "src").returncode == 3


def test_piped_output_is_exactly_the_reply(root: Path) -> None:
    (root / "hostile.txt").write_text(HOSTILE, encoding="utf-8", newline="")
    done = run(
        "read", "hostile.txt", cwd=root, env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"1\t" + HOSTILE.encode() in done.stdout


def test_a_name_of_any_bytes_can_be_given_and_comes_back(root: Path) -> None:
    name = b"\xff\n\x1b.txt"
    Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_bytes(b"odd\n")
    done = run("read", name, cwd=root)
    assert done.stdout.startswith(rb'"\377\n\033.txt" | lines 1-1 of 1')
    shown = done.stdout.split(b" | ")[0]
    assert run("read", shown, cwd=root).stdout == done.stdout
    assert run("ls", "--glob", b"\xff*", cwd=root).returncode == 2
    assert run("explain", name, cwd=root).stdout.startswith(rb'"\377\n\033.txt": allowed')


def test_a_reader_that_went_away_is_no_failure(root: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "read", "README.md"], cwd=root, stdout=writing, stderr=subprocess.PIPE, check=False
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


def test_head_ends_quietly(root: Path) -> None:
    (root / "big.txt").write_text("a line of text\n" * 2000, encoding="utf-8")
    done = shell("readroom read big.txt | head -n 2", root)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 2


@pytest.mark.parametrize("command", ["read README.md", "ls --json", "call list_directory", "explain src"])
def test_a_closed_standard_output_is_no_failure(root: Path, command: str) -> None:
    done = shell(f"readroom {command} >&-", root)
    assert (done.returncode, done.stderr) == (0, b"")


def test_closed_streams_are_no_failure_of_ours(root: Path) -> None:
    assert shell("readroom read nothing 2>&-", root).returncode == 4
    assert shell("readroom read nothing <&- >&- 2>&-", root).returncode == 4
    assert shell("readroom --help >&-", root).returncode == 0
    assert shell("readroom read --nonsense 2>&-", root).returncode == 2


@pytest.mark.parametrize("settings", ["", "[budget]\ncall = 8000\n"])
def test_closed_streams_are_a_client_that_is_gone(root: Path, settings: str) -> None:
    """With settings it is another road that begins the server."""
    if settings:
        (root / "readroom.toml").write_text(settings, encoding="utf-8")
    for streams in ("<&-", "</dev/null >&-", "<&- >&-"):
        done = shell(f"readroom mcp . {streams}", root)
        assert (done.returncode, done.stderr) == (0, b"")


@each("command", ["ls", "read a", "explain a", "init", "serve --port 0", "audit --here"])
def test_a_current_folder_that_was_removed_is_said(tmp_path: Path, command: str) -> None:
    done = shell(f"mkdir gone && cd gone && rmdir ../gone && readroom {command}", tmp_path)
    assert (done.returncode, done.stdout) == (4, b"")
    assert (
        done.stderr
        == b"readroom: The current folder was removed. Change to another folder, or name one with --root.\n"
    )


def test_a_full_disk_is_a_failure(root: Path) -> None:
    done = shell("ulimit -f 0; readroom read README.md > copy.txt", root)
    assert done.returncode == 5
    assert done.stderr.count(b"\n") == 1
    assert b"standard output" in done.stderr


def test_call_reads_its_arguments_from_standard_input(root: Path) -> None:
    done = run("call", "read_file", "-", cwd=root, input=b'{"path": "README.md"}')
    assert json.loads(done.stdout)["isError"] is False
    for line in ("readroom call read_file - <&-", "readroom call read_file - </dev/null"):
        done = shell(line, root)
        assert done.returncode == 2
        assert json.loads(done.stdout)["_meta"]["readroom/facts"]["error"]["code"] == "bad_value"


def test_ctrl_c_ends_quietly(root: Path, tmp_path: Path) -> None:
    """The command waits for its configuration, a pipe, when the signal comes."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # As users have it: a signal between `open` and `with` leaves a file to the collector, with a warning.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    line = [*COMMAND, "ls", "--config", str(pipe)]
    with subprocess.Popen(
        line, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        with open(pipe, "wb"):  # returns when the command has opened it, too
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, b"", b"")


# --- start -------------------------------------------------------------------------------------

HEAVY = {
    "PIL", "asyncio", "charset_normalizer", "difflib", "mcp", "pathspec", "rapidfuzz", "re2",
    "readroom.core.engine.edit", "readroom.core.engine.grep", "readroom.core.engine.edit.write",
    "readroom.core.text.tokens", "rich", "tomllib",
}  # fmt: skip
"""What takes long to import and a plain read does not need."""


def imported(*arguments: str, cwd: Path) -> set[str]:
    command = [COMMAND[0], "-X", "importtime", *COMMAND[1:], *arguments]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=True)
    return {
        line.rpartition("|")[2].strip() for line in done.stderr.split("\n") if line.startswith("import time")
    }


def test_a_read_imports_nothing_that_it_does_not_need(root: Path) -> None:
    found = imported("read", "README.md", cwd=root)
    assert "readroom.core.engine.read" in found
    assert found & HEAVY == set()


def test_help_imports_no_part_of_the_engine(root: Path) -> None:
    found = imported("--help", cwd=root)
    own = {name for name in found if name.startswith("readroom.") and not name.startswith("readroom.cli")}
    assert own == {"readroom.core", "readroom.core.release"}
    assert found & (HEAVY | {"msgspec"}) == set()


# --- terminals ---------------------------------------------------------------------------------


def test_on_a_terminal_a_file_cannot_drive_it(root: Path) -> None:
    (root / "hostile.txt").write_text(HOSTILE, encoding="utf-8", newline="")
    seen = on_terminal("read", "hostile.txt", cwd=root, TERM="dumb")
    assert r"\x1b]0;title\x07 \x1b[2J \x9b31m \r over \u202e back" in seen
    assert not set("\x1b\x07\x9b\u202e") & set(seen)


def test_on_a_terminal_numbers_are_dim_and_nothing_is_markup(root: Path) -> None:
    (root / "markup.txt").write_text("[bold]not bold[/bold] :smile: [link=x]\n", encoding="utf-8")
    seen = on_terminal("read", "markup.txt", cwd=root)
    assert "[bold]not bold[/bold] :smile: [link=x]" in seen
    assert "\x1b[2m1" in seen
    plain = on_terminal("read", "markup.txt", cwd=root, TERM="dumb").replace("\r\n", "\n")
    assert plain.expandtabs() == run("read", "markup.txt", cwd=root).stdout.decode().expandtabs()


def test_long_lines_are_not_broken_on_a_terminal(root: Path) -> None:
    seen = on_terminal("read", "src/long.txt", cwd=root, TERM="dumb")
    assert "x" * 2000 + " [+3000 chars]" in seen


def test_json_on_a_terminal_is_json_that_cannot_drive_it(root: Path) -> None:
    (root / "hostile.txt").write_text(HOSTILE, encoding="utf-8", newline="")
    seen = on_terminal("read", "hostile.txt", "--json", cwd=root)
    assert json.loads(seen) == json.loads(run("read", "hostile.txt", "--json", cwd=root).stdout)
    assert not set("\x1b\x07\x9b\u202e") & set(seen)


def test_a_failure_on_a_terminal_cannot_drive_it(root: Path) -> None:
    seen = on_terminal("grep", "(\x1b[2J", cwd=root)
    assert "\x1b" not in seen
    seen = on_terminal("read", "x\x1b[2J", cwd=root)
    assert "\x1b" not in seen
    seen = on_terminal("read", "README.md", "--\x1b[2J", cwd=root)
    assert "\x1b" not in seen
