"""An environment without some packages: the folder of this one's packages, by links, but for those."""

from __future__ import annotations

import os
import sys
import sysconfig
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from tests.test_dependencies import package_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]


def of_base() -> set[str]:
    """What the base needs, by name."""
    return {package_name(one) for one in PROJECT["dependencies"]}


def environment(folder: Path, extras: Iterable[str]) -> dict[str, str]:
    """Variables for a `python -S` that finds all packages of this environment but those of the extras."""
    without: set[str] = set()
    for one in {package_name(two) for extra in extras for two in EXTRAS[extra]} - of_base():
        for file in distribution(one).files or ():
            without.add(file.parts[0])
    folder.mkdir()
    for name in os.listdir(packages := sysconfig.get_paths()["purelib"]):
        if name not in without:
            (folder / name).symlink_to(Path(packages, name))
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{folder}"}


def command(*words: str) -> list[str]:
    """`readroom` in such an environment."""
    return [sys.executable, "-S", "-m", "readroom", *words]
