"""Tool calls in worker threads: bounded in number, reporting progress, ended when nobody waits for them.

The core is synchronous, the protocol is not.  A call runs in a thread of a pool;
its deadline is the only thing the two sides share.  A cancelled task leaves the
thread at once and cancels the deadline, so that the thread ends at its next check
and its children are killed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from readroom.caller import ANONYMOUS
from readroom.caller import Caller as Who
from readroom.contracts.base import tool_result
from readroom.deadline import Deadline
from readroom.limits import MCP_PROGRESS_S, MCP_WORKERS
from readroom.session.session import Session
from readroom.toolbox import Workspace

_LOG = logging.getLogger("readroom")

SendProgress: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Receives (progress, total or None, message)."""


class Caller:
    """Somebody who waits for answers. When they leave, the work for them ends.

    Used from the event loop only.
    """

    def __init__(self) -> None:
        self._waiting: set[Deadline] = set()
        self._left = False

    def wait_for(self, work: Deadline) -> None:
        """Count `work` as theirs; it is cancelled at once if they have left already."""
        self._waiting.add(work)
        if self._left:
            work.cancel()

    def done(self, work: Deadline) -> None:
        """Forget finished work."""
        self._waiting.discard(work)

    def leave(self) -> None:
        """Cancel everything that was still done for them."""
        self._left = True
        for work in tuple(self._waiting):
            work.cancel()


class Calls:
    """The calls of one server. `workers` run at once, more wait in the order they came."""

    def __init__(self, workspace: Workspace, contract_name: str, *, workers: int = MCP_WORKERS) -> None:
        self._workspace = workspace
        self._contract_name = contract_name
        self.tools = workspace.tools(contract_name)
        self._everyone = Caller()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="readroom-call")

    async def run(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        reply_bytes: int,
        caller: Caller | None = None,
        send_progress: SendProgress | None = None,
        who: Who = ANONYMOUS,
    ) -> dict[str, Any]:
        """The MCP tool result of one call; cancelling the task ends the work.

        Args:
            tool: Name in the contract.
            arguments: As the client sent them.
            reply_bytes: Cap on the text.
            caller: Whose leaving ends the work, beside the end of this task.
            send_progress: Told now and then how far the work is; never after this returns.
            who: Whose conversation it is, and who stands in the ledger.
        """
        if send_progress is None:
            work = partial(self._work, tool, arguments, reply_bytes, who)
            return await self._answer(work, caller or self._everyone, Deadline())
        progress = _Progress(send_progress)
        pump = asyncio.create_task(progress.pump())
        try:
            deadline = Deadline(progress=progress.report)
            work = partial(self._work, tool, arguments, reply_bytes, who)
            return await self._answer(work, caller or self._everyone, deadline)
        finally:
            pump.cancel()

    def stop(self) -> None:
        """End all work; those who wait are told that it was cancelled."""
        self._everyone.leave()

    def close(self) -> None:
        """End all work and its threads."""
        self.stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def _answer(
        self, work: Callable[[Deadline], dict[str, Any]], caller: Caller, deadline: Deadline
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        waiting = {caller, self._everyone}
        for one in waiting:
            one.wait_for(deadline)
        try:
            return await loop.run_in_executor(self._pool, work, deadline)
        finally:
            # Harmless after an answer; when this task was cancelled, it ends the thread.
            deadline.cancel()
            for one in waiting:
                one.done(deadline)

    def session(self, session_id: str) -> Session:
        """The conversation of that id."""
        return self._workspace.session(session_id)

    def _work(
        self, tool: str, arguments: Mapping[str, Any], reply_bytes: int, who: Who, deadline: Deadline
    ) -> dict[str, Any]:
        try:
            reply = self._workspace.call(
                tool,
                arguments,
                contract_name=self._contract_name,
                deadline=deadline,
                reply_bytes=reply_bytes,
                caller=who,
            )
            # Here too: facts are built when first asked for, and images are encoded.
            return tool_result(reply)
        except Exception:
            # What the SDK makes of other exceptions has their message in it.
            _LOG.exception("the reply to a call could not be made")
            raise MCPError(
                code=INTERNAL_ERROR, message="readroom failed inside; see the server's log"
            ) from None


class _Progress:
    """Carries the latest progress from worker threads to the client, no faster than it takes it."""

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._fresh = asyncio.Event()
        self._latest: tuple[int, int | None, str] = (0, None, "")
        self._next_at = 0.0

    def report(self, done: int, total: int | None, unit: str) -> None:
        """What a `Deadline` calls, from any thread and as often as it likes."""
        now = time.monotonic()
        if now < self._next_at:
            return
        self._next_at = now + MCP_PROGRESS_S
        with suppress(RuntimeError):  # the loop has ended; nobody listens any more
            self._loop.call_soon_threadsafe(self._put, done, total, unit)

    def _put(self, done: int, total: int | None, unit: str) -> None:
        self._latest = (done, total, unit)
        self._fresh.set()

    async def pump(self) -> None:
        """Send what is fresh, until cancelled."""
        sent = 0
        while True:
            await self._fresh.wait()
            self._fresh.clear()
            done, total, unit = self._latest
            # The protocol wants every value above the one before; a second pass starts at nothing again.
            if done > sent:
                sent = done
                await self._send(done, total, _worded(done, total, unit))


def _worded(done: int, total: int | None, unit: str) -> str:
    return f"{done:,} {unit}" if total is None else f"{done:,} of {total:,} {unit}"
