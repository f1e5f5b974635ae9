"""A tool as a program that hosts a model takes it: name, words, schema, and what to call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from readroom.contracts.base import Tool
from readroom.model import Fact, Reply


class Calling(Protocol):
    """A workspace's `call` for one contract."""

    def __call__(self, tool: str, arguments: Mapping[str, Fact]) -> Reply:
        """The reply to one call."""


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool of a workspace.

    Attributes:
        tool: Its record.
        call: What answers it.
    """

    tool: Tool
    call: Calling

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.tool.name

    @property
    def description(self) -> str:
        """What the model is told of it."""
        return self.tool.description

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema of its arguments."""
        return self.tool.input_schema

    @property
    def read_only(self) -> bool:
        """Whether it changes nothing."""
        return self.tool.read_only

    @property
    def handler(self) -> Callable[..., Reply]:
        """Takes the arguments by keyword and gives the reply; a failure is a reply, too."""

        def handle(**arguments: Fact) -> Reply:
            return self.call(self.tool.name, arguments)

        return handle
