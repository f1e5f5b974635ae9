"""Run the commands of `tests/fixtures/outputs/cases.toml` and keep what they write, for the tests.

    python -m scripts.record_outputs [NAME ...]

Every command runs in an empty folder of its own.  Names of this machine are taken
out of what is kept, so that a recording made elsewhere differs in little.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import convert

OUTPUTS = Path(__file__).parents[1] / "tests" / "fixtures" / "outputs"

_SHOWN = "/home/dev/orders"
"""The folder that recordings name."""

_NO_SETTINGS = {"NPM_CONFIG_USERCONFIG": os.devnull, "PIP_CONFIG_FILE": os.devnull}
"""What a developer has set changes no recording."""


@dataclass(frozen=True)
class Case:
    """An output of a command that failed. The head of the file of cases says what each field means."""

    lines: list[str]
    silent: bool = True
    needs: list[str] = field(default_factory=list)
    setup: str = ""
    command: str | None = None
    files: dict[str, str] = field(default_factory=dict)


def cases() -> Mapping[str, Case]:
    """All cases by name."""
    text = (OUTPUTS / "cases.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(text), dict[str, Case])


def _record(name: str, case: Case) -> None:
    with TemporaryDirectory(prefix="record-") as place:
        folder = Path(os.path.realpath(place)) / "orders"
        folder.mkdir()
        for path, text in case.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text.removeprefix("\n"), encoding="utf-8")
        if case.setup:
            _run(case.setup, folder)
        done = _run(case.command or "", folder)
    for stream, data in (("stdout", done.stdout), ("stderr", done.stderr)):
        file = OUTPUTS / f"{name}.{stream}"
        file.unlink(missing_ok=True)
        if data:
            file.write_bytes(_neutral(data, folder))
    print(f"{name}: exit {done.returncode}, {len(done.stdout)} and {len(done.stderr)} bytes")


def _run(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    # Beside the interpreter stand the tools of this project.
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    kept = {name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**kept, **_NO_SETTINGS, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )


def _neutral(data: bytes, folder: Path) -> bytes:
    home = os.path.expanduser("~")
    for real, said in (
        (str(folder), _SHOWN),
        (str(folder.parent), os.path.dirname(_SHOWN)),
        (sys.prefix, "/usr"),
        (home, "/home/dev"),
    ):
        data = data.replace(real.encode(), said.encode())
    return data


def main(names: list[str]) -> None:
    """Record the named outputs; without a name, all that this machine has the programs for."""
    for name, case in cases().items():
        if case.command is None or (names and name not in names):
            continue
        missing = [program for program in case.needs if shutil.which(program) is None]
        if missing:
            print(f"{name}: left as it is; not here: {', '.join(missing)}")
        else:
            _record(name, case)


if __name__ == "__main__":
    main(sys.argv[1:])
