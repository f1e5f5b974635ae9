"""One sshd for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.remote.sshd import Sshd


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """A server on loopback."""
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder on the other machine, with what a shell could take for its own in its name."""
    folder = tmp_path / 'my shop\'s $(id) "&" \\ `x` ü!'
    (folder / "src").mkdir(parents=True)
    (folder / "README.md").write_text("# shop\nneedle\n", encoding="utf-8")
    (folder / "src/orders.py").write_text("def total():\n    return 'needle'\n", encoding="utf-8")
    (folder / ".env").write_text("SECRET=canary\n", encoding="utf-8")
    return folder
