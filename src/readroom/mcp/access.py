"""Permissions of a client, and its caller."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.contracts.base import Tool
from readroom.core.deadline import Deadline
from readroom.core.values import Reply
from readroom.core.workspace import Workspace


class Access(Struct, frozen=True):
    """Permissions of a client, and its caller.

    Attributes:
        workspace: The workspace.
        contract_name: The contract whose tools are called.
        granted: The tools it may call; None for all of the workspace.
        caller: The caller.
        seconds: Longest time of one call; None for the limits of its tool.
        images: Whether its client passes on images; otherwise a sentence is sent instead.
        around: Makes its calls, in their threads; None for calls that are simply made.
    """

    workspace: Workspace
    contract_name: str
    granted: frozenset[str] | None = None
    caller: Caller = ANONYMOUS
    seconds: float | None = None
    images: bool = True
    around: Callable[[Callable[[], Reply]], Reply] | None = None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools listed for this client."""
        offered = self.workspace.offered(self.contract_name)
        return tuple(tool for tool in offered if self.granted is None or tool.name in self.granted)

    def call(
        self,
        tool: str,
        arguments: object,
        deadline: Deadline,
        *,
        reply_bytes: int | None = None,
        reply_lines: int | None = None,
    ) -> Reply:
        """Call a tool; `max_chars` limits the text of the reply."""
        call = partial(
            self.workspace.call,
            tool,
            arguments,
            contract_name=self.contract_name,
            deadline=deadline,
            reply_bytes=reply_bytes,
            reply_lines=reply_lines,
            caller=self.caller,
            granted=self.granted,
            images=self.images,
        )
        return call() if self.around is None else self.around(call)
