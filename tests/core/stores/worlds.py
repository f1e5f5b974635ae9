"""Trees to test stores on: made from outside, seen through the store."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from readroom.core.stores.base import Store
from readroom.core.stores.local import LocalStore, openat2
from readroom.core.stores.memory import MemoryStore

Way: TypeAlias = Literal["kernel", "walk"]


def _ways() -> tuple[Way, ...]:
    fd = os.open(tempfile.gettempdir(), os.O_RDONLY)
    try:
        return ("kernel", "walk") if openat2.available(fd) else ("walk",)
    finally:
        os.close(fd)


WAYS = _ways()
"""The ways of confinement that this machine has."""


class World(Protocol):
    """What a store shows, and how to change it behind its back."""

    @property
    def store(self) -> Store:
        """The store."""

    def file(self, path: str, data: bytes = b"") -> None:
        """Write a file; folders above it are made."""

    def folder(self, path: str) -> None:
        """Make a folder."""

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link."""

    def delete(self, path: str) -> None:
        """Remove a file or link."""


class MemoryWorld:
    """A tree in memory."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def file(self, path: str, data: bytes = b"") -> None:
        self.store.put(path, data)

    def folder(self, path: str) -> None:
        self.store.make_folder(path)

    def link(self, path: str, target: str) -> None:
        self.store.link(path, target)

    def delete(self, path: str) -> None:
        self.store.delete(path)


class LocalWorld:
    """A tree on disk, with a secret file and a secret folder beside the root."""

    def __init__(self, base: Path, confinement: Way) -> None:
        self.base = base
        self.root = base / "root"
        self.root.mkdir()
        (base / "outside").mkdir()
        (base / "outside" / "file").write_bytes(b"OUTSIDE")
        (base / "secret").write_bytes(b"OUTSIDE")
        self.notes = base / "notes"
        self.store = LocalStore(self.root, confinement, str(self.notes))

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
