"""Completion in the shells themselves, as the guide sets it up."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites import needs

_BASH = """
eval "$(_READROOM_COMPLETE=bash_source readroom)"
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_readroom_completion readroom
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

_FISH = """
_READROOM_COMPLETE=fish_source readroom | source
complete -C "readroom {words}"
"""

_PROMPT = "prompt:"

_ENDED = "typed"

_ZSH = f"""
PS1={_PROMPT}
autoload -Uz compinit && compinit -u
eval "$(_READROOM_COMPLETE=zsh_source readroom)"
zstyle ':completion:*' insert-tab false
compadd() {{
    local -a fitting
    builtin compadd -O fitting "$@"
    print -rl -- $fitting >>offered
    builtin compadd "$@"
}}
"""
"""The settings of a zsh that also notes what it offers: on its screen, one word alone is completed at once.

A tabulator with more input behind it completes as well: the test types without waiting.
"""


def _if_there(shell: str) -> pytest.MarkDecorator:
    missing = shutil.which(shell) is None and "CI" not in os.environ
    return pytest.mark.skipif(missing, reason=f"{shell} is not installed; CI has it")


SHELLS = [pytest.param(shell, marks=_if_there(shell)) for shell in ("bash", "fish", "zsh")]


def typed(shell: str, before: str, begun: str, folder: Path) -> set[str]:
    """The words that a shell offers after those before, for one that has begun."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    if shell == "zsh":
        return _at_a_terminal(f"readroom {before} {begun}", folder, environment)
    quoted = f'readroom {before} "{begun}"'
    script = _BASH.format(words=quoted) if shell == "bash" else _FISH.format(words=f"{before} {begun}")
    done = subprocess.run(
        [shell, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return {line.partition("\t")[0].strip() for line in done.stdout.splitlines()}


def _at_a_terminal(line: str, folder: Path, environment: dict[str, str]) -> set[str]:
    """What zsh, which completes only at a terminal, offers when the tabulator is pressed after a line."""
    (folder / ".zshrc").write_text(_ZSH, encoding="utf-8")
    here, there = pty.openpty()
    zsh = subprocess.Popen(
        ["zsh", "-i"], cwd=folder, env={**environment, "ZDOTDIR": str(folder), "TERM": "dumb"},
        stdin=there, stdout=there, stderr=there, start_new_session=True,
    )  # fmt: skip
    os.close(there)
    _await(here, _PROMPT)
    # The line is dropped after that; the quotes keep the echo of the last command from being its output.
    os.write(here, f"{line}\t\x15print {_ENDED[:3]}''{_ENDED[3:]}\nexit\n".encode())
    shown = _await(here, _ENDED)
    zsh.wait(timeout=60)
    os.close(here)
    offered = folder / "offered"
    assert offered.exists(), shown
    return set(offered.read_text(encoding="utf-8").splitlines())


def _await(terminal: int, text: str) -> bytes:
    """What is shown until a text is."""
    shown = b""
    while text.encode() not in shown:
        assert select.select([terminal], [], [], 60)[0], shown
        shown += os.read(terminal, 65536)
    return shown


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("before", "begun", "offered"),
    [
        ("", "re", {"read", "refs"}),
        ("git", "", {"changes", "log", "blame"}),
        ("connect", "cl", {"claude-code"}),
        ("grep x --output", "f", {"files"}),
        ("call", "read", {"read_file"}),
        pytest.param("call --contract opencode", "g", {"glob", "grep"}, marks=needs("contracts")),
        pytest.param("audit --fail-on", "rep", {"repeated"}, marks=needs("lens")),
        pytest.param("ledger export --format", "", {"csv", "jsonl", "parquet"}, marks=needs("server")),
        ("ls", "--inc", {"--include"}),
    ],
)
def test_a_shell_offers_what_can_be_typed(
    shell: str, before: str, begun: str, offered: set[str], tmp_path: Path
) -> None:
    assert offered <= typed(shell, before, begun, tmp_path)
