"""The real server as a process and the official client, over both transports, in both eras of the protocol.

The folder is the standard library of the Python that runs the tests.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from readroom.core.contracts.base import FACTS_KEY
from readroom.core.contracts.native import NATIVE
from readroom.core.limits import MCP_WORKERS
from tests.mcp.serving import STATELESS, endless_log, http_server, stdio_command

STDLIB = Path(sysconfig.get_path("stdlib"))

END_S = 90
"""A test that hangs fails; a read that nobody stops takes longer than this."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small file and one that takes minutes."""
    found = tmp_path_factory.mktemp("made")
    (found / "small.txt").write_text("hello\n", encoding="utf-8")
    endless_log(found)
    return found


@pytest.fixture(scope="module")
def urls(made: Path) -> Iterator[dict[Path, str]]:
    with http_server(STDLIB) as (first, _), http_server(made) as (second, _):
        yield {STDLIB: first, made: second}


Connect: TypeAlias = "Callable[[Path, str], AbstractAsyncContextManager[Client]]"
Run: TypeAlias = "Callable[[Path, Callable[[Client], Awaitable[None]]], None]"


@pytest.fixture(params=["stdio", "http"])
def connect(request: pytest.FixtureRequest) -> Connect:
    """Connects a client to a folder, in a mode."""
    if request.param == "http":
        urls = request.getfixturevalue("urls")
        return lambda folder, mode: Client(urls[folder], mode=mode)

    def start(folder: Path, mode: str) -> Client:
        command, *arguments = stdio_command(folder)
        return Client(StdioServerParameters(command=command, args=arguments), mode=mode)

    return start


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    """With the handshake, or asking first what the server speaks."""
    return str(request.param)


@pytest.fixture
def run(connect: Connect, mode: str) -> Run:
    """Connects to a folder and does something there, within a time."""

    def run(folder: Path, what: Callable[[Client], Awaitable[None]]) -> None:
        _run(connect(folder, mode), what)

    return run


def _run(client: AbstractAsyncContextManager[Client], what: Callable[[Client], Awaitable[None]]) -> None:
    async def main() -> None:
        with anyio.fail_after(END_S):
            async with client as connected:
                await what(connected)

    anyio.run(main)


def _text(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text


def _facts(result: types.CallToolResult) -> Any:
    assert result.meta is not None
    return result.meta[FACTS_KEY]


def test_a_server_says_who_it_is_and_what_it_serves(run: Run, mode: str) -> None:
    async def what(client: Client) -> None:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else STATELESS)
        info = client.server_info
        assert info is not None
        assert (info.name, info.version) == ("readroom", version("readroom"))
        assert client.instructions == NATIVE.instructions
        with pytest.raises(MCPError):
            await client.read_resource("file:///etc/passwd")

    run(STDLIB, what)


def test_a_session_with_a_real_folder(run: Run) -> None:
    """Find the tools, list, search, read: as an agent does."""

    async def what(client: Client) -> None:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        assert tools == [tool.name for tool in NATIVE.tools]

        listed = await client.call_tool("list_directory", {"glob": "argparse.py"})
        assert "argparse.py" in _text(listed)

        found = await client.call_tool(
            "grep_files", {"pattern": r"^class ArgumentParser\b", "path": "argparse.py"}
        )
        (match,) = _facts(found)["files"][0]["lines"]

        read = await client.call_tool(
            "read_file", {"path": "argparse.py", "offset": match["line"], "limit": 1}
        )
        assert f"{match['line']}\tclass ArgumentParser(" in _text(read)
        assert not read.is_error
        assert read.structured_content is None

    run(STDLIB, what)


def test_a_long_first_pass_reports_progress(run: Run, made: Path) -> None:
    name = f"{uuid4()}.txt"
    endless_log(made, name, size=2**28)  # a file that was never read
    told: list[tuple[float, float | None, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async def what(client: Client) -> None:
        result = await client.call_tool("read_file", {"path": name, "offset": 2}, progress_callback=heard)
        assert not result.is_error

    run(made, what)
    values = [progress for progress, _, _ in told]
    assert values
    assert values == sorted(set(values))
    assert {total for _, total, _ in told} == {2**28}
    assert all(message is not None and message.endswith("bytes") for _, _, message in told)


def test_a_search_of_many_files_reports_progress(run: Run, made: Path) -> None:
    folder = made / str(uuid4())
    folder.mkdir()
    for number in range(300):
        (folder / f"{number}.txt").write_text("needle\n", encoding="utf-8")
    told: list[str | None] = []
    moved = anyio.Event()

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)
        moved.set()

    async def what(client: Client) -> None:
        arguments = {"pattern": "needle", "path": folder.name, "output": "count", "limit": 300}
        result = await client.call_tool("grep_files", arguments, progress_callback=heard)
        assert _facts(result)["shown"] > 100
        await moved.wait()  # the client may take the answer first

    run(made, what)
    assert told
    assert all(message is not None and message.endswith("files") for message in told)


def test_cancelled_calls_stop_working(run: Run, made: Path) -> None:
    """All workers are busy for minutes; after their calls were cancelled another call is answered."""

    async def cancelled_when_begun(client: Client) -> None:
        with anyio.CancelScope() as scope:

            async def begun(progress: float, total: float | None, message: str | None) -> None:
                scope.cancel()

            arguments = {"path": "endless.txt", "offset": -1}
            await client.call_tool("read_file", arguments, progress_callback=begun)
        assert scope.cancelled_caught

    async def what(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for _ in range(MCP_WORKERS):
                group.start_soon(cancelled_when_begun, client)
        assert "1\thello" in _text(await client.call_tool("read_file", {"path": "small.txt"}))

    run(made, what)


def test_many_calls_at_once_are_all_answered(run: Run) -> None:
    names = sorted(path.name for path in STDLIB.glob("*.py"))[:60]
    found: dict[str, str] = {}

    async def read(client: Client, name: str) -> None:
        found[name] = _text(await client.call_tool("read_file", {"path": name, "limit": 1}))

    async def what(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(read, client, name)

    run(STDLIB, what)
    assert all(found[name].startswith(f"{name} | ") for name in names)


def test_a_client_may_start_with_a_call(connect: Connect) -> None:
    """2026-07-28 has no handshake, and nothing has to be discovered first."""

    async def what(client: Client) -> None:
        assert not (await client.call_tool("read_file", {"path": "argparse.py"})).is_error

    _run(connect(STDLIB, STATELESS), what)
