"""A workspace with a history of its own, and how its tree is compared."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from readroom.core import config
from readroom.core.caller import Caller
from readroom.core.deadline import Deadline
from readroom.core.history.settings import HistoryPolicy
from readroom.core.stores.base import Store
from readroom.core.values import Request
from readroom.core.values.history import HistoryRequest, KeptChange, UndoRequest, UndoResult
from readroom.core.workspace import Workspace


class Past:
    """A workspace whose history lies in a folder of its own."""

    def __init__(self, root: Path | Store, folder: Path, **policy: Any) -> None:
        store = config.open_store(root)
        settings = config.load(store)
        history = HistoryPolicy(folder=str(folder), **policy)
        self.workspace = Workspace(store, settings=replace(settings, history=history))
        self.cap = self.workspace.cap(self.workspace.contract("native"))

    def do(self, request: Request, caller: Caller | None = None) -> Any:
        """Perform a request."""
        return self.workspace.engine.perform(request, self.cap, Deadline(), caller or Caller())

    def changes(self, **which: Any) -> list[KeptChange]:
        """The newest changes."""
        return list(self.do(HistoryRequest(**which)).changes)

    def undo(self, **which: Any) -> UndoResult:
        """Take changes back."""
        result = self.do(UndoRequest(**which))
        assert isinstance(result, UndoResult)
        return result

    def write(self, path: str, content: str) -> str:
        """Create or replace a file; its hash."""
        known: Any = "absent"
        with contextlib.suppress(FileNotFoundError):
            known = self.workspace.read(path).facts["content_hash"]
        return str(self.workspace.write(path, content, known).facts["content_hash"])

    def change(self, **one: Any) -> None:
        """One change of names."""
        self.workspace.perform("change_files", {"changes": [one]})

    def close(self) -> None:
        self.workspace.close()


def tree(root: Path, *, times: bool = False) -> dict[str, Any]:
    """Every name below a folder with kind, mode and content, and the times of files and links."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        name, mode = str(path.relative_to(root)), stat.S_IMODE(status.st_mode)
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))
        elif path.is_dir():
            found[name] = ("folder", mode)
        else:
            found[name] = ("file", mode, path.read_bytes())
        if times and not path.is_dir():
            found[name] += (status.st_mtime_ns,)
    return found
