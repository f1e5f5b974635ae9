"""A tool for a program that hosts a model: name, description, schema, and the function to call.

Knows: the record of the tool.
Does not know: the workspace that answers, but for its `call`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from readroom.core.contracts.base import Tool
from readroom.core.values import Fact, Reply


class Calling(Protocol):
    """A workspace's `call` for one contract."""

    def __call__(self, tool: str, arguments: Mapping[str, Fact]) -> Reply:
        """The reply to one call."""


class Offer(Struct, frozen=True):
    """A tool of a workspace, ready to be called.

    Attributes:
        tool: Its record.
        call: What answers it.
    """

    tool: Tool
    call: Calling

    @property
    def name(self) -> str:
        """The name that the model uses."""
        return self.tool.name

    @property
    def description(self) -> str:
        """Its description for the model."""
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
        """A function that takes the arguments by keyword and returns the reply, even for a failure."""

        def handle(**arguments: Fact) -> Reply:
            return self.call(self.tool.name, arguments)

        return handle
