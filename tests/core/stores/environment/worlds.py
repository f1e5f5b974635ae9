"""Trees in a sandbox, changed behind the back of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from readroom.core.stores.environment import Environment, EnvironmentStore


class EnvironmentWorld:
    """A tree on disk that the store reaches through an environment, with secrets beside the root."""

    def __init__(self, base: Path, machine: Callable[[Path], Environment]) -> None:
        self.root = base / "root"
        self.root.mkdir()
        (base / "outside").mkdir()
        (base / "outside" / "file").write_bytes(b"OUTSIDE")
        (base / "secret").write_bytes(b"OUTSIDE")
        self.machine = machine(self.root)
        self.store = EnvironmentStore(self.machine)

    def file(self, path: str, data: bytes = b"") -> None:
        self._above(path)
        (self.root / path).write_bytes(data)

    def folder(self, path: str) -> None:
        (self.root / path).mkdir(parents=True, exist_ok=True)

    def link(self, path: str, target: str) -> None:
        self._above(path)
        (self.root / path).symlink_to(target)

    def delete(self, path: str) -> None:
        (self.root / path).unlink()

    def _above(self, path: str) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
