"""Calls in threads have their places as long as a thread has work for them, whoever has left meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from readroom import Workspace
from readroom.faces.calls import Access, Calls, ClientScope
from tests.faces.mcp.serving import endless_log

THREADS, QUEUE = 1, 3


@pytest.fixture
def access(tmp_path: Path) -> Iterator[Access]:
    endless_log(tmp_path)
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    with Workspace(tmp_path) as workspace:
        yield Access(workspace, "native")


def _performed(test: Callable[[Calls, asyncio.Event], Coroutine[Any, Any, None]]) -> None:
    """With an event that is set when no call is open."""
    nobody = asyncio.Event()

    def on_open(number: int) -> None:
        if number:
            nobody.clear()
        else:
            nobody.set()

    with closing(Calls(threads=THREADS, queue=QUEUE, grouped=True, on_open=on_open)) as calls:
        asyncio.run(test(calls, nobody))


async def _begun(call: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    task = asyncio.create_task(call)
    await asyncio.wait({task}, timeout=0)
    return task


def _code(result: Any) -> str:
    code: str = result["_meta"]["readroom/facts"]["error"]["code"]
    return code


def test_a_cancelled_call_has_its_place_until_its_thread_is_done(access: Access) -> None:
    async def test(calls: Calls, nobody: asyncio.Event) -> None:
        long = await _begun(calls.run(access, "read_file", {"path": "endless.txt", "offset": -1}))
        for _ in range(QUEUE):
            waits = await _begun(calls.run(access, "read_file", {"path": "a.txt"}))
            waits.cancel()
            await asyncio.wait({waits})
        assert calls.open == THREADS + QUEUE
        turned_away = await _begun(calls.run(access, "read_file", {"path": "a.txt"}))
        assert turned_away.done(), "nobody can fill the queue by calling and leaving"
        assert _code(turned_away.result()) == "busy"
        calls.stop()
        assert _code(await long) == "cancelled"
        await nobody.wait()

    _performed(test)


def test_what_a_client_holds_is_held_until_its_thread_is_done(access: Access) -> None:
    async def test(calls: Calls, _: asyncio.Event) -> None:
        scope, over = ClientScope(), asyncio.Event()
        long = await _begun(calls.run(access, "read_file", {"path": "endless.txt", "offset": -1}))
        waits = await _begun(calls.run(access, "read_file", {"path": "a.txt"}, client_scope=scope))
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
