"""A workspace for asyncio: the methods of `Workspace`, awaitable.

Each method makes its call in a thread, with the arguments and result of the same method of `Workspace`; no
behaviour is written twice.  Cancelling a task cancels the deadline of its call and waits for the
thread to end, so that no file is read or changed afterwards on its behalf.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, final

from readroom.core.caller import ANONYMOUS, Caller
from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.methods.awaited import AsyncToolMethods
from readroom.core.tasks import in_thread
from readroom.core.values import Fact, Reply
from readroom.core.workspace import Workspace

if TYPE_CHECKING:
    from readroom.core.config.roots import RootLike


@final
class AsyncWorkspace(AsyncToolMethods):
    """A folder (or another store) with its policy, limits and session, for programs with an event loop.

    Its methods have the arguments, results and errors of those of `Workspace`.
    Use as an async context manager or await `close`.

    Attributes:
        workspace: The same without an event loop: its tools, settings and conversations.
    """

    def __init__(
        self, root: RootLike | Workspace, *others: RootLike, settings: Settings | None = None
    ) -> None:
        """Open a workspace, or use one that is open; `others` and `settings` as of `Workspace`.

        Raises:
            NotFound, NotAFolder: There is no such folder.
            BadValue: The folders cannot be served together.
            BadConfig: Its `readroom.toml` or an ignore file cannot be used.
        """
        self.workspace = root if isinstance(root, Workspace) else Workspace(root, *others, settings=settings)

    async def perform(
        self,
        tool: str,
        arguments: Mapping[str, Fact],
        *,
        contract_name: str = "native",
        deadline: Deadline | None = None,
        reply_bytes: int | None = None,
        caller: Caller = ANONYMOUS,
    ) -> Reply:
        """As `Workspace.perform`."""
        deadline = deadline or Deadline()
        work = partial(
            self.workspace.perform,
            tool,
            arguments,
            contract_name=contract_name,
            deadline=deadline,
            reply_bytes=reply_bytes,
            caller=caller,
        )
        return await in_thread(work, deadline)

    async def call(
        self,
        tool: str,
        arguments: object,
        *,
        contract_name: str = "native",
        deadline: Deadline | None = None,
        reply_bytes: int | None = None,
        reply_lines: int | None = None,
        caller: Caller = ANONYMOUS,
        granted: frozenset[str] | None = None,
        images: bool = True,
    ) -> Reply:
        """As `Workspace.call`."""
        deadline = deadline or Deadline()
        work = partial(
            self.workspace.call,
            tool,
            arguments,
            contract_name=contract_name,
            deadline=deadline,
            reply_bytes=reply_bytes,
            reply_lines=reply_lines,
            caller=caller,
            granted=granted,
            images=images,
        )
        return await in_thread(work, deadline)

    async def close(self) -> None:
        """Close the workspace."""
        await in_thread(self.workspace.close, Deadline())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
