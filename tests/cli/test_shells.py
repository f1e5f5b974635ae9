"""Completion in the shells themselves, as the guide sets it up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

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


def _if_there(shell: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(shell) is None, reason=f"{shell} is not installed")


SHELLS = [pytest.param(shell, marks=_if_there(shell)) for shell in ("bash", "fish")]


def typed(shell: str, before: str, begun: str, folder: Path) -> set[str]:
    """The words that a shell offers after those before, for one that has begun."""
    quoted = f'readroom {before} "{begun}"'
    script = _BASH.format(words=quoted) if shell == "bash" else ""
    script = script or _FISH.format(words=f"{before} {begun}")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    done = subprocess.run(
        [shell, "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return {line.partition("\t")[0].strip() for line in done.stdout.splitlines()}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("before", "begun", "offered"),
    [
        ("", "re", {"read", "refs"}),
        ("git", "", {"changes", "log", "blame"}),
        ("connect", "cl", {"claude-code"}),
        ("grep x --output", "f", {"files"}),
    ],
)
def test_a_shell_offers_what_can_be_typed(
    shell: str, before: str, begun: str, offered: set[str], tmp_path: Path
) -> None:
    assert offered <= typed(shell, before, begun, tmp_path)
