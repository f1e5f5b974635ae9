"""Calls of the contract kilo, and files that they read."""

from __future__ import annotations

from typing import Any

from readroom.contracts.kilo import KiloSettings
from readroom.core import config
from readroom.core.policy.rules import denials
from readroom.core.stores.base import Store
from readroom.core.stores.memory import MemoryStore
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

CODE = "".join(
    f"class C{number}:\n    def load(self, a):\n        return a\n\n    def save(self):\n        pass\n\n"
    for number in range(20)
)


def room(files: dict[str, bytes | str] | Store, **kilo: Any) -> Workspace:
    store = MemoryStore(files) if isinstance(files, dict) else files
    made = config.Settings(layers=(denials(),), contracts={"kilo": KiloSettings(**kilo)})
    return Workspace(store, settings=made)


def call(space: Workspace, path: str, **options: Any) -> Reply:
    return space.call("read_file", {"path": path, **options}, contract_name="kilo")


def read(space: Workspace, path: str, **options: Any) -> str:
    reply = call(space, path, **options)
    assert not reply.is_error, reply.text
    return reply.text


def refused(space: Workspace, path: str, **options: Any) -> str:
    reply = call(space, path, **options)
    assert reply.is_error
    return reply.text


def numbered(first: int, last: int, text: str = "line {}") -> str:
    return "\n".join(f"{number} | {text.format(number)}" for number in range(first, last + 1))


LINES = "".join(f"line {number}\n" for number in range(1, 31))
