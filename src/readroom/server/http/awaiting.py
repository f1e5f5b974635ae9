"""Await calls in an event loop: threads perform them, and clients that leave cancel them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from readroom.core.deadline import Deadline
from readroom.core.errors import Busy
from readroom.core.values import Reply
from readroom.core.workspace import Workspace
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls, Failed

T = TypeVar("T")


class ClientScope:
    """A client that waits for answers. When it leaves, its work is cancelled. Used from the event loop."""

    def __init__(self) -> None:
        self._waiting: set[Deadline] = set()
        self._left = False
        self._on_leave: Callable[[], object] | None = None
        self._when_over: Callable[[], object] | None = None
        self.turned_away = False
        """Whether a call of it was turned away for lack of room, and so was not recorded."""

    def wait_for(self, work: Deadline) -> None:
        """Count `work` for this client; it is cancelled at once if the client has left already."""
        self._waiting.add(work)
        if self._left:
            work.cancel()

    def done(self, work: Deadline) -> None:
        """Forget finished work."""
        self._waiting.discard(work)
        if self._when_over is not None and not self._waiting:
            self._when_over()

    def when_over(self, callback: Callable[[], object]) -> None:
        """Call `callback` once no thread works for this client; at once if none does."""
        if self._waiting:
            self._when_over = callback
        else:
            callback()

    def on_leave(self, callback: Callable[[], object]) -> None:
        """Call `callback` when the client leaves, besides cancelling its work; at once if it has left."""
        self._on_leave = callback
        if self._left:
            callback()

    def leave(self) -> None:
        """Cancel all work that is still done for this client."""
        self._left = True
        for work in tuple(self._waiting):
            work.cancel()
        if self._on_leave is not None:
            self._on_leave()


async def performed(
    calls: Calls,
    token: str,
    deadline: Deadline,
    client_scope: ClientScope,
    work: Callable[[], T],
    busy: Callable[[], T],
) -> T:
    """The result of `work` in a thread, or `busy` here if there is no room; cancelling the task ends it.

    Raises:
        Failed: The work ended without a result.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def deliver(result: T | Failed) -> None:
        client_scope.done(deadline)
        if answer.done():
            return
        if isinstance(result, Failed):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    def finish(result: T | Failed) -> None:
        with suppress(RuntimeError):  # the loop has ended, and its clients with it
            loop.call_soon_threadsafe(deliver, result)

    client_scope.wait_for(deadline)
    if not calls.start(token, work, finish, deadline):
        client_scope.done(deadline)
        client_scope.turned_away = True
        return busy()
    try:
        return await answer
    except BaseException:
        deadline.cancel()  # this task was cancelled: the thread ends soon, and keeps its place until then
        raise


async def called(
    calls: Calls,
    access: Access,
    tool: str,
    arguments: object,
    seal: Callable[[Reply], T],
    client_scope: ClientScope,
) -> T:
    """The outcome of a tool call; `seal` turns a reply into the response, in the thread of the call."""
    deadline = Deadline(access.seconds)
    return await performed(
        calls,
        access.caller.token,
        deadline,
        client_scope,
        lambda: seal(access.call(tool, arguments, deadline)),
        lambda: seal(access.workspace.refuse(Busy(), access.contract_name, tool)),
    )


async def noted(workspace: Workspace, work: Callable[[], T]) -> T:
    """Update a session: at once, or in a thread if other processes share it."""
    return work() if workspace.state is None else await asyncio.to_thread(work)
