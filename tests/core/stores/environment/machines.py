"""Environments on this machine: a shell as a sandbox has one, whole files alone, and ones that misbehave."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from readroom.core.stores.environment import Known, Ran
from readroom.core.stores.environment.base import failed


class ShellMachine:
    """Commands in a folder; both streams in one text, as several clients have them."""

    runs = True
    has_files = False

    def __init__(
        self, root: Path, *, path: str | None = None, answer: Callable[[Ran], Ran] | None = None
    ) -> None:
        """`path` is where its programs are, and `answer` what its client makes of their output."""
        self.root = root
        self.name = "sandbox"
        self.ran: list[Sequence[str]] = []
        self._path = os.environ["PATH"] if path is None else path
        self._answer = answer

    def working_dir(self) -> str:
        return os.path.realpath(self.root)

    def run(self, command: Sequence[str], seconds: float) -> Ran:
        self.ran.append(command)
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"PATH": self._path, "LC_ALL": "C.UTF-8"},
                timeout=seconds,
                cwd="/",
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise failed(self.name, f"it did not answer within {seconds:g} s") from None
        ran = Ran(done.returncode, done.stdout.decode("utf-8", "replace"))
        return ran if self._answer is None else self._answer(ran)

    def read(self, path: str) -> bytes:
        return Path(path).read_bytes()

    def write(self, path: str, data: bytes) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(data)

    def look(self, path: str) -> Known:
        found = Path(path)
        size = found.stat().st_size
        return Known(found.name, found.is_dir(), None if found.is_dir() else size)

    def list(self, path: str) -> Sequence[Known]:
        return [self.look(str(one)) for one in Path(path).iterdir()]

    def make(self, path: str) -> None:
        Path(path).mkdir(parents=True)

    def remove(self, path: str) -> None:
        if Path(path).is_dir() and not Path(path).is_symlink():
            shutil.rmtree(path)
        else:
            Path(path).unlink()

    def real(self, path: str) -> str | None:
        return os.path.realpath(path)

    def close(self) -> None:
        pass


class FullMachine(ShellMachine):
    """Commands and whole files."""

    has_files = True


class FilesMachine(ShellMachine):
    """Whole files, no commands."""

    runs = False
    has_files = True
