"""Run tool calls in threads that also write the answers, for a server with one client.

Handing a result back to the thread that reads from the client, for it to write, takes as long as reading
a small file.  So the thread of a call makes the whole answer and writes it.  The other thread only reads:
a long call, such as one on a file system that does not respond, delays neither a ping nor its own
cancellation.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeVar, final

from readroom.contracts.base import tool_result
from readroom.deadline import Deadline
from readroom.errors import Busy
from readroom.faces.calls import Access, ClientScope, Failed, SendProgress, Steps, perform_call
from readroom.faces.pool import Pool
from readroom.limits import MCP_WORKERS, SERVE_QUEUE
from readroom.values import Fact

T = TypeVar("T")


def driven(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never waits, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("a call waited for an event loop where there is none")


@final
class DirectCalls:
    """The calls of one process, each performed in the thread of a pool that asks for it.

    MCP_WORKERS run at once, SERVE_QUEUE more wait in the order they came.  Safe to share between threads.
    """

    def __init__(self) -> None:
        self._everyone = ClientScope()
        self._open = 0
        self._lock = threading.Lock()
        self._pool = Pool("readroom-call")

    def start(self, work: Callable[[], None]) -> None:
        """Run `work`, which may `run` calls and does not raise, in a thread.

        If no thread is free, it runs in the current thread, and its calls are refused.
        """
        with self._lock:
            crowded = self._open >= MCP_WORKERS + SERVE_QUEUE
            self._open += not crowded
            threads = min(self._open, MCP_WORKERS)
        if crowded:
            work()
        else:
            self._pool.submit(partial(self._do, work), threads)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._open -= 1

    async def run(
        self,
        access: Access,
        tool: str,
        arguments: object,
        *,
        reply_bytes: int | None = None,
        reply_lines: int | None = None,
        client_scope: ClientScope | None = None,
        send_progress: SendProgress | None = None,
    ) -> dict[str, Fact]:
        """Perform a call in this thread and return its tool result; otherwise like `Calls.run`."""
        if not self._pool.is_here:
            name = access.contract_name
            return tool_result(access.workspace.refuse(Busy(), name, tool, reply_bytes=reply_bytes))
        progress = None if send_progress is None else _DirectProgress(send_progress)
        deadline = Deadline(access.seconds, progress=None if progress is None else progress.report)
        scopes = (self._everyone,) if client_scope is None else (client_scope, self._everyone)
        for scope in scopes:
            scope.wait_for(deadline)
        answers: list[dict[str, Fact] | Failed] = []
        try:
            caps = (reply_bytes, reply_lines)
            perform_call(access, tool, arguments, caps, tool_result, deadline, answers.append)
        finally:
            if progress is not None:
                progress.end()
            for scope in scopes:
                scope.done(deadline)
        answer = answers[0]
        if isinstance(answer, Failed):
            raise answer
        return answer

    def close(self) -> None:
        """End all work and its threads."""
        self._everyone.leave()
        self._pool.close()


@final
class _DirectProgress:
    """Sends progress to the client, from any thread of a call."""

    def __init__(self, send: SendProgress) -> None:
        self._steps = Steps(send)
        self._lock = threading.Lock()
        self._latest: tuple[int, int | None, str] = (0, None, "")
        self._ended = False

    def report(self, done: int, total: int | None, unit: str) -> None:
        """Called by a `Deadline`, from any thread and as often as it likes."""
        self._latest = (done, total, unit)  # always: quick work ends before the next one is due
        if self._steps.due():
            self._tell()

    def end(self) -> None:
        """Send the last value, so that quick work is seen to progress, too."""
        self._tell()
        self._ended = True

    def _tell(self) -> None:
        with self._lock:
            if not self._ended:
                driven(self._steps.send(*self._latest))
