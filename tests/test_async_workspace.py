"""The workspace of programs with an event loop: the same replies, and work that ends with its task."""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from readroom import AsyncWorkspace, Deadline, NotFound, Workspace
from readroom.core.config import Settings
from readroom.core.policy.commands import CommandPolicy


def done(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


async def a_turn_of_the_loop() -> None:
    loop = asyncio.get_running_loop()
    turned = loop.create_future()
    loop.call_soon(turned.set_result, None)
    await turned


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return tmp_path


def test_every_method_of_a_workspace_that_works_is_awaitable_with_the_same_arguments() -> None:
    """Those without work of their own are reached through the attribute `workspace`."""
    methods = dict(inspect.getmembers(Workspace, inspect.isfunction))
    replies = {name for name, one in methods.items() if one.__annotations__.get("return") == "Reply"}
    names = {name for name in replies if not name.startswith("_")} - {"refuse"}
    assert {"read", "grep", "list", "edit", "write", "run", "perform", "call"} <= names
    assert names <= set(dir(AsyncWorkspace))
    for name in names:
        ours, theirs = getattr(AsyncWorkspace, name), getattr(Workspace, name)
        assert inspect.iscoroutinefunction(ours), name
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters), name


def test_replies_are_those_of_the_workspace(folder: Path) -> None:
    async def work() -> list[str]:
        async with AsyncWorkspace(folder) as workspace:
            replies = await asyncio.gather(
                workspace.read("a.txt", limit=1),
                workspace.grep("two"),
                workspace.list(),
                workspace.call("read_file", {"path": "none.txt"}),
                workspace.perform("read_file", {"path": "a.txt"}, contract_name="kilo"),
            )
            return [one.text for one in replies]

    with Workspace(folder) as workspace:
        expected = [
            workspace.read("a.txt", limit=1),
            workspace.grep("two"),
            workspace.list(),
            workspace.call("read_file", {"path": "none.txt"}),
            workspace.perform("read_file", {"path": "a.txt"}, contract_name="kilo"),
        ]
    assert done(work()) == [one.text for one in expected]


def test_changes_are_made_and_failures_raised(folder: Path) -> None:
    async def work() -> None:
        async with AsyncWorkspace(folder) as workspace:
            known = (await workspace.read("a.txt")).facts["content_hash"]
            await workspace.edit("a.txt", str(known), [{"old_text": "two", "new_text": "2"}])
            await workspace.write("b.txt", "new\n", "absent")
            with pytest.raises(NotFound):
                await workspace.read("none.txt")

    done(work())
    assert (folder / "a.txt").read_text() == "one\n2\n"
    assert (folder / "b.txt").read_text() == "new\n"


def test_an_open_workspace_can_be_shared_by_both(folder: Path) -> None:
    async def work(workspace: Workspace) -> str:
        return (await AsyncWorkspace(workspace).read("a.txt")).text

    with Workspace(folder) as workspace:
        assert done(work(workspace)) == workspace.read("a.txt").text


def test_a_cancelled_task_ends_its_command_and_then_nothing_runs(folder: Path) -> None:
    """Its process is gone when the task has ended, not some time later."""
    policy = CommandPolicy(enabled=True, confinement="none")

    async def work() -> None:
        async with AsyncWorkspace(folder, settings=Settings(commands=policy)) as workspace:
            os.mkfifo(folder / "begun")
            task = asyncio.create_task(workspace.run("echo $$ > begun; exec sleep 60"))
            process = int(await asyncio.to_thread((folder / "begun").read_text))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)
            assert "1\tone" in (await workspace.read("a.txt")).text  # the workspace goes on

    done(work())


def test_a_task_that_is_cancelled_before_its_thread_begins_changes_nothing(folder: Path) -> None:
    async def work() -> None:
        busy = threading.Event()
        with ThreadPoolExecutor(1) as only:
            asyncio.get_running_loop().set_default_executor(only)
            only.submit(busy.wait)
            workspace = AsyncWorkspace(folder)
            task = asyncio.create_task(workspace.write("late.txt", "x", "absent"))
            await a_turn_of_the_loop()
            task.cancel()
            await a_turn_of_the_loop()
            busy.set()
            with pytest.raises(asyncio.CancelledError):
                await task
            await workspace.close()

    done(work())
    assert not (folder / "late.txt").exists()


def test_a_deadline_that_is_given_counts_and_is_cancelled_with_the_task(folder: Path) -> None:
    spent = Deadline()
    spent.cancel()

    async def work() -> str:
        async with AsyncWorkspace(folder) as workspace:
            reply = await workspace.call("grep_files", {"pattern": "one"}, deadline=spent)
            return str(reply.facts["error"])

    assert "cancelled" in done(work())
