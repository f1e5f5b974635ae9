"""Tool calls in worker threads: bounded in number, with progress, cancelled when no client waits for them.

Shared by the servers, whatever protocol they speak.

The core is synchronous, the protocol is not. A call runs in a thread of a pool; its deadline is all that the
two sides share. A cancelled task leaves the thread at once and cancels the deadline, so that the thread ends
at its next check and its child processes are killed.

Finished work reaches the event loop in groups: waking it costs as much as a small reply. For the same reason
a thread does not wait for its call's row in the ledger (`grouped`), which is written together with others;
the reply is sent once its row is durable.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from readroom.caller import ANONYMOUS, Caller
from readroom.contracts.base import Tool, tool_result
from readroom.deadline import Deadline, Progress
from readroom.errors import Busy
from readroom.faces.batch import APART_S, Batch
from readroom.faces.turns import Turns, shared
from readroom.limits import MCP_PROGRESS_S, MCP_WORKERS, SERVE_QUEUE
from readroom.log import log
from readroom.values import Fact, Reply
from readroom.workspace import Workspace

T = TypeVar("T")


SendProgress: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]
"""Receives (progress, total or None, message)."""


class Access(Struct, frozen=True):
    """What a client may use, and on whose behalf.

    Attributes:
        workspace: The workspace.
        contract_name: The contract whose tools are called.
        granted: The tools it may call; None for all that the workspace offers.
        caller: The caller.
        seconds: Longest time of one call; None for the limits of its tool.
        images: Whether its client passes on images; otherwise a sentence is sent instead.
    """

    workspace: Workspace
    contract_name: str
    granted: frozenset[str] | None = None
    caller: Caller = ANONYMOUS
    seconds: float | None = None
    images: bool = True

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools listed for this client."""
        offered = self.workspace.offered(self.contract_name)
        return tuple(tool for tool in offered if self.granted is None or tool.name in self.granted)


class Failed(Exception):
    """A reply could not be made; only the log has the reason."""


async def noted(workspace: Workspace, work: Callable[[], T]) -> T:
    """Update a session: at once, or in a thread if other processes share it."""
    return work() if workspace.state is None else await asyncio.to_thread(work)


class ClientScope:
    """A client that waits for answers. When it leaves, its work is cancelled.

    Work may begin and end in any thread; everything else happens in the event loop.
    """

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


class Calls:
    """The calls of one process. `threads` calls run at once and `queue` more wait, those of one token in
    order of arrival; one token has a share of both.

    With `grouped` their rows are written together: right for many clients, and slower for one. `on_open` is
    called with the number of running and waiting calls whenever it changes.
    """

    def __init__(
        self,
        *,
        threads: int = MCP_WORKERS,
        queue: int = SERVE_QUEUE,
        grouped: bool = False,
        on_open: Callable[[int], None] | None = None,
    ) -> None:
        self._everyone = ClientScope()
        self._grouped = grouped
        self._finished: _Finished | None = None
        self._turns = Turns(threads)
        self._most = threads + queue
        self._most_of_one = shared(threads) + shared(queue)
        self._open_of: dict[str, int] = {}
        self._on_open = on_open
        self._batch: Batch | None = None
        self._apart_until = 0.0
        self.open = 0
        """The number of calls that run or wait."""

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
        """The tool result of one call; see `run_with`."""
        return await self.run_with(
            access,
            tool,
            arguments,
            tool_result,
            reply_bytes=reply_bytes,
            reply_lines=reply_lines,
            client_scope=client_scope,
            send_progress=send_progress,
        )

    async def run_with(
        self,
        access: Access,
        tool: str,
        arguments: object,
        seal: Callable[[Reply], T],
        *,
        reply_bytes: int | None = None,
        reply_lines: int | None = None,
        client_scope: ClientScope | None = None,
        send_progress: SendProgress | None = None,
    ) -> T:
        """The outcome of one call's reply; cancelling the task ends the work.

        Args:
            access: What the client may use.
            tool: Name in the contract.
            arguments: As the client sent them.
            seal: Turns a reply into what is sent, in the thread of the call.
            reply_bytes: Cap on the text.
            reply_lines: Cap on its lines.
            client_scope: A client whose leaving ends the work, as the end of this task does.
            send_progress: Called with progress now and then; never after this returns.

        Raises:
            Failed: The reply could not be made.
        """
        token, caps = access.caller.token, (reply_bytes, reply_lines)
        if self.open >= self._most or (token and self._open_of.get(token, 0) >= self._most_of_one):
            if client_scope is not None:
                client_scope.turned_away = True
            name = access.contract_name
            return seal(access.workspace.refuse(Busy(), name, tool, reply_bytes=reply_bytes))
        if send_progress is None:
            return await self._answer(access, tool, arguments, caps, seal, client_scope, None)
        progress = _Progress(send_progress)
        pump = asyncio.create_task(progress.pump())
        try:
            answer: T = await self._answer(access, tool, arguments, caps, seal, client_scope, progress.report)
            progress.end()
            await pump
            return answer
        finally:
            pump.cancel()

    def stop(self) -> None:
        """Cancel all work; clients that wait are told that it was cancelled."""
        self._everyone.leave()

    def close(self) -> None:
        """Cancel all work, and end its threads."""
        self.stop()
        self._turns.close()

    def _batch_of_turn(self) -> Batch | None:
        """The batch of this turn of the loop; None while each call has a thread of its own."""
        if self._grouped and self._batch is None and time.monotonic() >= self._apart_until:
            self._batch = Batch()
            # After the callbacks that are ready by now, which may add calls.
            asyncio.get_running_loop().call_soon(self._wait_for, self._batch)
        return self._batch

    def _wait_for(self, batch: Batch) -> None:
        self._batch = None
        if not batch.wait():
            self._turns.widen()
            self._apart_until = time.monotonic() + APART_S

    def _change(self, token: str, by: int) -> None:
        self.open += by
        self._open_of[token] = of_token = self._open_of.get(token, 0) + by
        if not of_token:
            del self._open_of[token]
        if self._on_open is not None:
            self._on_open(self.open)

    async def _answer(
        self,
        access: Access,
        tool: str,
        arguments: object,
        caps: tuple[int | None, int | None],
        seal: Callable[[Reply], T],
        client_scope: ClientScope | None,
        report: Progress | None,
    ) -> T:
        if self._finished is None:
            self._finished = _Finished(self._over)
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        token, deadline = access.caller.token, Deadline(access.seconds, progress=report)
        scopes = (self._everyone,) if client_scope is None else (client_scope, self._everyone)
        batch = self._batch_of_turn()
        work = partial(perform_call, access, tool, arguments, caps, seal, deadline)
        finish: Callable[[T | Failed], None]
        finish = partial(self._finished.put, _Open(token, deadline, scopes, answer))
        self._change(token, +1)
        for scope in scopes:
            scope.wait_for(deadline)
        if batch is None:
            self._turns.submit(token, partial(work, finish))
        else:
            one = partial(batch.perform, partial(work, partial(batch.answer, finish)))
            self._turns.submit(token, one, wake=batch.add())
        try:
            return await answer
        except BaseException:
            deadline.cancel()  # this task was cancelled: the thread ends soon, and keeps its place until then
            raise

    def _over(self, call: _Open) -> None:
        """No thread has the call any more."""
        self._change(call.token, -1)
        for scope in call.scopes:
            scope.done(call.deadline)


class _Open(Struct, eq=False):
    """A call that runs or waits for a thread, even if no client waits for its answer any more."""

    token: str
    deadline: Deadline
    scopes: Sequence[ClientScope]
    answer: asyncio.Future[Any]


class _Finished:
    """Brings finished work to the event loop, all that is waiting at one wakeup."""

    def __init__(self, over: Callable[[_Open], None]) -> None:
        self._over = over
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[_Open, object]] = deque()
        self._woken = False

    def put(self, call: _Open, result: object) -> None:
        """Give a call its answer, from any thread; an exception is raised where the answer is awaited."""
        self._waiting.append((call, result))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop has ended, and its clients with it
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        # First: a result put after the last look wakes the loop again.
        self._woken = False
        while self._waiting:
            call, result = self._waiting.popleft()
            self._over(call)
            if call.answer.done():
                continue
            if isinstance(result, Exception):
                call.answer.set_exception(result)
            else:
                call.answer.set_result(result)


def perform_call(
    access: Access,
    tool: str,
    arguments: object,
    caps: tuple[int | None, int | None],
    seal: Callable[[Reply], T],
    deadline: Deadline,
    finish: Callable[[T | Failed], None],
) -> None:
    """Perform a call, and call `finish` once with what is sent."""
    try:
        reply = access.workspace.call(
            tool,
            arguments,
            contract_name=access.contract_name,
            deadline=deadline,
            reply_bytes=caps[0],
            reply_lines=caps[1],
            caller=access.caller,
            granted=access.granted,
            images=access.images,
        )
    except Exception:
        finish(_failed())
        return
    # In this thread too: facts are built when first used, and images are encoded.
    finish(_sealed(reply, seal))


def _sealed(reply: Reply, seal: Callable[[Reply], T]) -> T | Failed:
    try:
        return seal(reply)
    except Exception:
        return _failed()


def _failed() -> Failed:
    log().exception("the reply to a call could not be made")
    return Failed()


class Steps:
    """Progress as a client sees it: each value above the one before, and not too often."""

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        self._next_at = 0.0
        self._furthest: dict[str, int] = {}

    def due(self) -> bool:
        """Whether it is time for an update; the next one then has to wait."""
        now = time.monotonic()
        if now < self._next_at:
            return False
        self._next_at = now + MCP_PROGRESS_S
        return True

    async def send(self, done: int, total: int | None, unit: str) -> None:
        """Send the progress, unless it did not advance."""
        furthest, counted = self._furthest, unit.partition(";")[0]  # the rest only adds detail
        # The protocol requires increasing values; a second pass starts from zero again.
        if done > furthest.get(counted, 0):
            furthest[counted] = done
            # Work counted in one unit and then in another continues the sum.
            summed = sum(furthest.values())
            whole = total if len(furthest) == 1 else None
            await self._send(summed, whole, _worded(done, total, unit))


class _Progress:
    """Brings the latest progress from worker threads to the client, no faster than it reads."""

    def __init__(self, send: SendProgress) -> None:
        self._steps = Steps(send)
        self._loop = asyncio.get_running_loop()
        self._fresh = asyncio.Event()
        self._latest: tuple[int, int | None, str] = (0, None, "")
        self._ended = False

    def report(self, done: int, total: int | None, unit: str) -> None:
        """The callback of a `Deadline`, for any thread and any number of calls."""
        self._latest = (done, total, unit)  # in any case: quick work ends before the next is due
        if self._steps.due():
            with suppress(RuntimeError):  # the loop has ended, and its listeners with it
                self._loop.call_soon_threadsafe(self._fresh.set)

    def end(self) -> None:
        """Finish: the last progress is still sent, so that quick work shows some too."""
        self._ended = True
        self._fresh.set()

    async def pump(self) -> None:
        """Send new progress until the end."""
        while not self._ended or self._fresh.is_set():
            await self._fresh.wait()
            self._fresh.clear()
            await self._steps.send(*self._latest)


def _worded(done: int, total: int | None, unit: str) -> str:
    return f"{done:,} {unit}" if total is None else f"{done:,} of {total:,} {unit}"
