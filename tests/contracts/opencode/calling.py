"""Calls of the contract opencode, and workspaces for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from readroom.contracts.opencode.requests import OpencodeSettings
from readroom.core import config
from readroom.core.policy.rules import denials
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

ROOT = "/workspace"
"""The root of a workspace in memory."""

DENIED = "API_KEY=not-to-be-seen\n"


def room(files: Mapping[str, bytes | str] | Store, *, kilo: bool = False) -> Workspace:
    store = MemoryStore(dict(files)) if isinstance(files, Mapping) else files
    made = config.Settings(layers=(denials(),), contracts={"opencode": OpencodeSettings(kilo=kilo)})
    return Workspace(store, settings=made)


def call(space: Workspace, tool: str, **arguments: Any) -> Reply:
    return space.call(tool, arguments, contract_name="opencode")


def said(space: Workspace, tool: str, **arguments: Any) -> str:
    reply = call(space, tool, **arguments)
    assert not reply.is_error, reply.text
    return reply.text


def refused(space: Workspace, tool: str, **arguments: Any) -> str:
    reply = call(space, tool, **arguments)
    assert reply.is_error, reply.text
    return reply.text


def edited(text: str, old: str, new: str, **more: Any) -> str:
    """The text after an edit, which is refused if that raises."""
    data = text.encode()
    with room({"a.txt": data}) as space:
        said(space, "edit", filePath="a.txt", oldString=old, newString=new, **more)
        return stored(space, "a.txt").decode()


def stored(space: Workspace, path: str) -> bytes:
    """The bytes of a file."""
    with space.guard.open(space.guard.parse(path)) as source:
        return source.read_at(0, source.size)


def shown(path: str, *lines: str, end: str, first: int = 1) -> str:
    """A read of a text, to the byte."""
    rows = "\n".join(f"{number}: {line}" for number, line in enumerate(lines, first))
    return f"<path>{path}</path>\n<type>file</type>\n<content>\n{rows}\n\n{end}\n</content>"
