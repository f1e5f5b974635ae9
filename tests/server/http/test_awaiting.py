"""Calls have their places as long as a thread has work for them, whoever has left meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.core.contracts.base import tool_result
from readroom.core.deadline import Deadline
from readroom.mcp.access import Access
from readroom.mcp.calls import Calls
from readroom.server.http.awaiting import ClientScope, called
from tests.mcp.serving import endless_log

THREADS, QUEUE = 1, 3


@pytest.fixture
def access(tmp_path: Path) -> Iterator[Access]:
    endless_log(tmp_path)
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        yield Access(workspace, "native")


def _performed(test: Callable[[Calls, asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """With an event that is set when no call is open."""

    async def run() -> None:
        nobody, loop = asyncio.Event(), asyncio.get_running_loop()

        def on_open(number: int) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(nobody.clear if number else nobody.set)

        with closing(Calls(threads=THREADS, queue=QUEUE, on_open=on_open)) as calls:
            await test(calls, nobody)

    asyncio.run(run())


async def _begun(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    task = asyncio.create_task(call)
    await asyncio.wait({task}, timeout=0)
    return task


def _call(calls: Calls, access: Access, scope: ClientScope | None = None, **arguments: Any) -> Any:
    return called(calls, access, "read_file", arguments, tool_result, scope or ClientScope())


def _code(result: Any) -> str:
    code: str = result["_meta"]["readroom/facts"]["error"]["code"]
    return code


def test_a_cancelled_call_has_its_place_until_its_thread_is_done(access: Access) -> None:
    async def test(calls: Calls, nobody: asyncio.Event) -> None:
        call = partial(_call, calls, access)
        long = await _begun(call(path="endless.txt", offset=-1))
        for _ in range(QUEUE):
            waits = await _begun(call(path="a.txt"))
            waits.cancel()
            await asyncio.wait({waits})
        assert calls.open == THREADS + QUEUE
        scope = ClientScope()
        turned_away = await _begun(call(path="a.txt", scope=scope))
        assert turned_away.done(), "nobody can fill the queue by calling and leaving"
        assert _code(turned_away.result()) == "busy"
        assert scope.turned_away
        calls.stop()
        assert _code(await long) == "cancelled"
        await nobody.wait()
        assert not calls.open

    _performed(test)


def test_what_a_client_holds_is_held_until_its_thread_is_done(access: Access) -> None:
    async def test(calls: Calls, _: asyncio.Event) -> None:
        scope, over = ClientScope(), asyncio.Event()
        long = await _begun(_call(calls, access, path="endless.txt", offset=-1))
        waits = await _begun(_call(calls, access, scope, path="a.txt"))
        waits.cancel()
        await asyncio.wait({waits})
        scope.when_over(over.set)
        assert not over.is_set()
        long.cancel()
        await over.wait()
        assert not calls.open

    _performed(test)


def test_what_a_client_holds_is_free_where_nothing_is_done_for_it() -> None:
    over: list[bool] = []
    ClientScope().when_over(lambda: over.append(True))
    assert over == [True]


def test_work_for_a_client_that_has_left_is_cancelled_at_once() -> None:
    client, before, after = ClientScope(), Deadline(), Deadline()
    client.wait_for(before)
    client.leave()
    client.wait_for(after)
    assert before.cancelled
    assert after.cancelled


def test_finished_work_is_forgotten() -> None:
    client, work = ClientScope(), Deadline()
    client.wait_for(work)
    client.done(work)
    client.leave()
    assert not work.cancelled


def test_no_call_takes_longer_than_its_client_may(access: Access) -> None:
    async def test(calls: Calls, _: asyncio.Event) -> None:
        limited = Access(access.workspace, "native", seconds=0.0)
        result = await _call(calls, limited, path="endless.txt", offset=-1)
        assert "time limit" in result["content"][0]["text"]

    _performed(test)
