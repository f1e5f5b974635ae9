"""Each wing without those that it may not know: its tests pass in a copy of the project that lacks them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.suites import whole
from tests.test_wings import PUBLIC, WINGS

ROOT = Path(__file__).parents[1]

FOLDERS = {wing: (wing,) for wing in WINGS} | {"contracts": ("contracts", "adapters")}
"""Folders of tests by wing."""


def copied(folder: Path, wing: str) -> Path:
    """A project with this wing and those that it may know; its Python finds no other."""
    known = {wing, *WINGS[wing]}
    absent = {name for name in WINGS if name not in known}
    absent |= {name for name, rules in PUBLIC.items() if rules not in known}
    for entry in ROOT.iterdir():
        if entry.name not in {".git", ".venv", "src", "tests"}:
            (folder / entry.name).symlink_to(entry)
    unwanted = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=unwanted)
    (folder / "src/readroom").mkdir(parents=True)
    for entry in (ROOT / "src/readroom").iterdir():
        if entry.is_dir() and entry.name not in absent:
            shutil.copytree(entry, folder / "src/readroom" / entry.name, ignore=unwanted)
        elif entry.is_file():
            shutil.copy(entry, folder / "src/readroom")
    return environment(folder)


def environment(folder: Path) -> Path:
    """A Python with the packages of this one, and readroom from the copy.

    Folders that a .pth file names are searched, and .pth files in them are not read: the other packages and
    all metadata are found, and the original readroom is not.
    """
    venv.create(folder / ".venv", symlinks=True)
    python = folder / ".venv/bin/python"
    scheme = {"base": str(folder / ".venv"), "platbase": str(folder / ".venv")}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        own = python.parent / program.name
        if program.name == "readroom":
            own.write_text(program.read_text("utf-8").replace(sys.executable, str(python), 1), "utf-8")
            own.chmod(0o755)
        elif not own.exists():
            own.symlink_to(program)
    found = (folder / "src", sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    (packages / "copy.pth").write_text("\n".join(map(str, found)), encoding="utf-8")
    return python


@whole
@pytest.mark.long
@pytest.mark.parametrize("wing", sorted(WINGS))
def test_a_wing_needs_only_what_it_may_know(tmp_path: Path, wing: str) -> None:
    python = copied(tmp_path, wing)
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHONPATH"))
    }
    folders = [f"tests/{name}" for name in FOLDERS[wing]]
    command = [str(python), "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "-p", "tests.alone"]
    done = subprocess.run(
        [*command, *folders], cwd=tmp_path, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
