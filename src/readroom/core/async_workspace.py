"""A workspace for asyncio: the methods of `Workspace`, awaitable.

Each method runs the method of the same name in a thread, with the same arguments and result; no
behaviour is written twice.  Cancelling a task cancels the deadline of its call and waits for the
thread to end, so that no file is read or changed afterwards on its behalf.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, final

from readroom.core.config import Settings
from readroom.core.deadline import Deadline
from readroom.core.values import Reply
from readroom.core.workspace import Workspace

if TYPE_CHECKING:
    from readroom.core.config.roots import RootLike

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    method: Callable[Concatenate[Workspace, P], T],
) -> Callable[Concatenate[AsyncWorkspace, P], Coroutine[Any, Any, T]]:
    """The awaitable counterpart of a method of `Workspace`."""

    @wraps(method)
    async def run(self: AsyncWorkspace, /, *arguments: P.args, **options: P.kwargs) -> T:
        stated = options.get("deadline")
        deadline = stated if isinstance(stated, Deadline) else Deadline()
        # `perform` and `call` take a deadline; the other methods of a workspace are built on `perform`.
        work: Callable[..., T] = getattr(_Ending, method.__name__, method)
        ending = _Ending(self.workspace, deadline)
        return await in_thread(lambda: work(ending, *arguments, **options), deadline)

    return run


@final
class _Ending:
    """A workspace whose calls use one deadline; methods of `Workspace` run with this as `self`."""

    def __init__(self, workspace: Workspace, deadline: Deadline) -> None:
        self._workspace = workspace
        self._deadline = deadline

    def perform(self, *arguments: Any, **options: Any) -> Reply:
        return self._workspace.perform(*arguments, **{**options, "deadline": self._deadline})

    def call(self, *arguments: Any, **options: Any) -> Reply:
        return self._workspace.call(*arguments, **{**options, "deadline": self._deadline})


async def in_thread(work: Callable[[], T], deadline: Deadline) -> T:
    """Run `work` in a thread and return its result.

    When this task is cancelled so is the deadline, and `work` ends before the cancellation is raised.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    done = loop.run_in_executor(None, context.run, work)
    try:
        return await asyncio.shield(done)
    except asyncio.CancelledError:
        deadline.cancel()
        while not done.done():
            await asyncio.wait([done])
        if not done.cancelled():
            done.exception()  # marks it as retrieved; it only reports the cancellation
        raise


@final
class AsyncWorkspace:
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

    read = _awaited(Workspace.read)
    find = _awaited(Workspace.find)
    grep = _awaited(Workspace.grep)
    list = _awaited(Workspace.list)
    edit = _awaited(Workspace.edit)
    edit_files = _awaited(Workspace.edit_files)
    change = _awaited(Workspace.change)
    patch = _awaited(Workspace.patch)
    write = _awaited(Workspace.write)
    git = _awaited(Workspace.git)
    run = _awaited(Workspace.run)
    history = _awaited(Workspace.history)
    diff = _awaited(Workspace.diff)
    undo = _awaited(Workspace.undo)
    forget = _awaited(Workspace.forget)
    perform = _awaited(Workspace.perform)
    call = _awaited(Workspace.call)

    async def close(self) -> None:
        """Close the workspace."""
        await in_thread(self.workspace.close, Deadline())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
