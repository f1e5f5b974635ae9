"""Workspaces whose files are changed, on every kind of store."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from readroom import OneEdit
from readroom.core.config import Settings
from readroom.core.contracts.native.calls import to_call
from readroom.core.errors import ReadroomError
from readroom.core.limits import Limits
from readroom.core.paths import WorkPath
from readroom.core.policy.changes import ChangePolicy
from readroom.core.values import Reply
from readroom.core.values.changes import Edit
from readroom.core.workspace import Workspace
from tests.core.stores.worlds import WAYS, LocalWorld, MemoryWorld, World

STORES = [*WAYS, "memory"]


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Room:
    """A workspace, and its tree behind its back."""

    def __init__(
        self, world: World, *, changes: ChangePolicy | None = None, limits: Limits | None = None
    ) -> None:
        self.world = world
        settings = Settings(limits=limits or Limits(), changes=changes or ChangePolicy())
        self.workspace = Workspace(world.store, settings=settings)

    def file(self, path: str, data: bytes | str) -> str:
        """Put a file; its hash."""
        content = data if isinstance(data, bytes) else data.encode()
        self.world.file(path, content)
        return digest(content)

    def data(self, path: str) -> bytes:
        with self.world.store.open(WorkPath(path)) as source:
            return source.read_at(0, source.size)

    def edit(self, path: str, expected: str, *edits: Edit, **options: Any) -> Reply:
        sent: list[OneEdit] = [
            {"old_text": one.old_text, "new_text": one.new_text, "replace_all": one.replace_all}
            for one in edits
        ]
        return self.workspace.edit(path, expected, sent, **options)

    def write(self, path: str, content: str, expected: str, **options: Any) -> Reply:
        return self.workspace.write(path, content, expected, **options)

    def names(self, folder: str = ".") -> list[str]:
        with self.world.store.open_folder(WorkPath(folder)) as opened:
            return sorted(entry.name for entry in opened.entries())


def made(kind: str, base: Path) -> World:
    return MemoryWorld() if kind == "memory" else LocalWorld(base, "walk" if kind == "walk" else "kernel")


def refused(error: type[ReadroomError], room: Room, path: str, act: Any) -> ReadroomError:
    """What is raised; the file at `path` and the names beside it stay what they are, and `next` works."""
    before = room.data(path) if path else b""
    names = room.names()
    with pytest.raises(error) as caught:
        act()
    assert room.names() == names
    assert not path or room.data(path) == before
    following = caught.value.next
    if following is not None:
        call = to_call(following)
        assert not room.workspace.call(call.tool, call.arguments).is_error
    return caught.value
