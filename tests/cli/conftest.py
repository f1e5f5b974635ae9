"""A small workspace, and the command line in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Cli


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with one of everything."""
    folder = tmp_path / "root"
    (folder / "src").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "README.md").write_text("# Title\nneedle\nthird\n", encoding="utf-8")
    (folder / "src/main.py").write_text("def main():\n    return 'needle'\n", encoding="utf-8")
    (folder / "src/long.txt").write_text("x" * 5000 + "\n", encoding="utf-8")
    (folder / ".env").write_text("SECRET=canary\n", encoding="utf-8")
    (folder / "blob.bin").write_bytes(b"\0\1\2" * 100)
    (folder / ".gitignore").write_text("build/\n", encoding="utf-8")
    (folder / "build").mkdir()
    (folder / "build/out.txt").write_text("needle\n", encoding="utf-8")
    (folder / "out").symlink_to("/etc/hostname")
    (folder / "secret").symlink_to(".env")
    return folder


@pytest.fixture
def cli(root: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    """The command line in this process, on that folder."""
    return Cli(root, capsys)
