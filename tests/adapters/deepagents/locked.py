"""A store with names that the operating system does not let this process open, also as root."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from readroom.core.errors import NoPermission
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Folder, Source
from readroom.core.stores.memory import MemoryStore

FILES: Final[Mapping[str, str]] = {
    "locked.txt": "needle\n",
    "open.txt": "needle\n",
    "sub/locked/a.txt": "needle\n",
    "sub/b.txt": "needle\n",
}
LOCKED: Final = ("locked.txt", "sub/locked")


def locked_store() -> Any:
    """The files, of which two names cannot be opened."""
    return _Locked()


class _Locked:
    def __init__(self) -> None:
        self._files = MemoryStore()
        for path, text in FILES.items():
            self._files.put(path, text)

    def open(self, path: WorkPath) -> Source:
        _require(path)
        return self._files.open(path)

    def open_folder(self, path: WorkPath) -> Folder:
        _require(path)
        return self._files.open_folder(path)

    def __getattr__(self, name: str) -> object:
        return getattr(self._files, name)


def _require(path: WorkPath) -> None:
    if path.startswith(LOCKED):
        raise NoPermission(path)
