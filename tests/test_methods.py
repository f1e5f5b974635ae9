"""The methods of a workspace take what the tools take, and their replies lead on."""

from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest

from readroom import AsyncWorkspace, Call, Cancelled, Deadline, NotFound, Reply, UnknownArgument, Workspace
from readroom.core.contracts.history.record import HISTORY
from readroom.core.contracts.native import NATIVE
from readroom.core.methods import keywords
from readroom.core.methods.awaited import AsyncToolMethods
from readroom.core.methods.following import AsBefore
from readroom.core.methods.plain import ToolMethods
from scripts import methods

every_method = pytest.mark.parametrize("method", methods.METHODS, ids=lambda method: method.name)


def test_the_modules_are_what_the_tools_say() -> None:
    """`python -m scripts.docs` writes them."""
    assert methods.stale() == {}


def test_a_changed_argument_makes_them_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    class Others(msgspec.Struct, frozen=True, kw_only=True):
        path: str
        depth: int = 1

    first = methods.METHODS[0]
    tool = msgspec.structs.replace(first.tool, arguments=Others)
    monkeypatch.setattr(methods, "METHODS", (first._replace(tool=tool), *methods.METHODS[1:]))
    assert {path.name for path in methods.stale()} == {"keywords.py", "plain.py", "awaited.py"}


def test_every_tool_has_a_method() -> None:
    tools = {tool.name for tool in (*NATIVE.offered(commands=True), *HISTORY.tools)}
    assert {method.tool.name for method in methods.METHODS} == tools


@every_method
@pytest.mark.parametrize("kind", [ToolMethods, AsyncToolMethods])
def test_a_method_takes_every_argument_and_says_so(kind: type, method: methods.Method) -> None:
    made = getattr(kind, method.name)
    named = set(inspect.signature(made).parameters) - {"self", "options"}
    offered = get_type_hints(getattr(keywords, method.keywords)) if method.options else {}
    sent = {field.encode_name for field in msgspec.structs.fields(method.tool.arguments)}
    assert named | set(offered) == sent - set(method.fixed)
    words = inspect.getdoc(made) or ""
    assert [name for name in named if f"\n    {name}: " not in words] == []
    assert [name for name in offered if f"\n        `{name}`: " not in words] == []


@every_method
def test_errors_that_a_method_names_are_errors(method: methods.Method) -> None:
    import readroom

    names = [name for words in method.raises for name in words.partition(":")[0].split(", ")]
    assert [name for name in names if not issubclass(getattr(readroom, name), readroom.ReadroomError)] == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "big.log").write_text("".join(f"line {number}\n" for number in range(3000)))
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    return tmp_path


def test_pages_show_every_line_once(folder: Path) -> None:
    with Workspace(folder) as workspace:
        pages = list(workspace.read("big.log", offset=1).pages())
        rows = [row for page in pages for row in page.text.splitlines() if "\t" in row]
    assert len(pages) > 2
    assert rows == [f"{number + 1}\tline {number}" for number in range(3000)]


def test_pages_of_a_log_lead_up_from_its_end(folder: Path) -> None:
    with Workspace(folder) as workspace:
        pages = list(workspace.read("big.log").pages())
    assert "3000\tline 2999" in pages[0].text
    assert "\n1\tline 0" in pages[-1].text


def test_searches_listings_and_calls_have_pages_as_well(folder: Path) -> None:
    with Workspace(folder) as workspace:
        found = [page.facts["shown"] for page in workspace.grep("line 1", limit=500).pages()]
        assert sum(int(str(shown)) for shown in found) == 1111
        assert len(list(workspace.list(limit=1).pages())) == 2
        called = workspace.call("read_file", {"path": "big.log", "offset": 1}, reply_bytes=4096)
        pages = list(called.pages())
        assert all(len(page.text.encode()) <= 4096 for page in pages)
        assert "3000\tline 2999" in pages[-1].text


def test_pages_are_made_when_they_are_asked_for(folder: Path) -> None:
    with Workspace(folder) as workspace:
        pages = iter(workspace.read("big.log", offset=1, limit=10).pages())
        next(pages)
        (folder / "big.log").unlink()
        with pytest.raises(NotFound):
            next(pages)


def test_a_failure_has_no_pages_behind_it(folder: Path) -> None:
    """Its next call is another attempt, for a model to decide about."""
    with Workspace(folder) as workspace:
        failed = workspace.call("read_file", {"path": "a.tx"})
        assert failed.next is not None
        assert list(failed.pages()) == [failed]
        assert not workspace.perform(failed.next.tool, failed.next.arguments).is_error


def test_a_reply_says_what_it_costs_where_it_goes_on_and_what_a_change_expects(folder: Path) -> None:
    with Workspace(folder) as workspace:
        reply = workspace.read("big.log", offset=1, limit=10)
        assert reply.next == Call("read_file", {"path": "big.log", "offset": 11, "limit": 10})
        assert reply.tokens == reply.facts["tokens"] != 0
        whole = workspace.read("a.txt")
        assert (whole.next, whole.hash) == (None, whole.facts["content_hash"])
        assert workspace.list().hash is None
        changed = workspace.edit("a.txt", str(whole.hash), [{"old_text": "two", "new_text": "2"}])
        assert changed.hash == workspace.read("a.txt").hash != whole.hash


def test_a_tuple_is_a_list(folder: Path) -> None:
    with Workspace(folder) as workspace:
        found = workspace.grep("line 7", glob=("*.log", "!a*"), include=("hidden",), output="files")
        assert found.facts["shown"] == 1
        known = str(workspace.read("a.txt").hash)
        workspace.edit("a.txt", known, ({"old_text": "one", "new_text": "1"},))
    assert (folder / "a.txt").read_text() == "1\ntwo\n"


def test_an_option_that_is_none_was_left_out(folder: Path) -> None:
    with Workspace(folder) as workspace:
        assert workspace.read("a.txt", limit=None, view=None).text == workspace.read("a.txt").text


def test_a_wrong_option_is_refused_at_run_time_too(folder: Path) -> None:
    wrong: dict[str, Any] = {"ofset": 3}
    with Workspace(folder) as workspace, pytest.raises(UnknownArgument, match="ofset"):
        workspace.read("a.txt", **wrong)


def test_pages_are_awaited_with_async_for(folder: Path) -> None:
    async def work() -> list[Reply]:
        async with AsyncWorkspace(folder) as workspace:
            return [page async for page in (await workspace.read("big.log", offset=1)).pages()]

    with Workspace(folder) as workspace:
        assert asyncio.run(work()) == list(workspace.read("big.log", offset=1).pages())


def test_cancelling_between_pages_ends_the_one_that_is_made(folder: Path) -> None:
    """The page that was begun is given up, and its thread has ended when the task has."""
    seen: list[str] = []

    async def work() -> None:
        async with AsyncWorkspace(folder) as workspace:
            first = await workspace.read("big.log", offset=1)
            asked, go_on = threading.Event(), threading.Event()

            def make(tool: str, arguments: object, *, deadline: Deadline) -> Reply:
                deadline.on_cancel(go_on.set)
                asked.set()
                go_on.wait()
                try:
                    deadline.check()
                except Cancelled:
                    seen.append("cancelled")
                    raise
                return first

            async def read() -> None:
                async for _ in msgspec.structs.replace(first, follow=AsBefore(make)).pages():
                    pass

            task = asyncio.create_task(read())
            await asyncio.to_thread(asked.wait)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(work())
    assert seen == ["cancelled"]
