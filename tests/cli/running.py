"""Running the command line, in this process and as one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pytest

from readroom.cli.main import main

COMMAND = [sys.executable, "-m", "readroom"]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        """The one JSON object on standard output."""
        return json.loads(self.out)

    @property
    def facts(self) -> Any:
        return self.result["_meta"]["readroom/facts"]


class Cli:
    """The command line in this process, with a root."""

    def __init__(self, root: str | PathLike[str], capture: pytest.CaptureFixture[str]) -> None:
        self.root = str(root)
        self._capture = capture

    def __call__(self, command: str, *arguments: str) -> Done:
        """Run a command with --root."""
        return self.bare(command, "--root", self.root, *arguments)

    def bare(self, *arguments: str) -> Done:
        """Run a command line as it is."""
        self._capture.readouterr()
        code = main(arguments)
        out, err = self._capture.readouterr()
        return Done(code, out, err)


def run(
    *arguments: str | bytes, cwd: str | PathLike[str], **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line as a process."""
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, timeout=60, check=False, **options
    )
