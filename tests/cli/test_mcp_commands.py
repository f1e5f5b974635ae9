"""run_command over MCP, with the official client and with one that goes away."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from readroom.core.contracts.base import FACTS_KEY
from tests.core.engine.command.running import go_on, processes, when
from tests.mcp.serving import ERAS, Stdio, call, request, stdio_command
from tests.suites import daily, needs

END_S = 90


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("hello\n")
    (tmp_path / ".env").write_text("canary7f3a\n")
    return tmp_path


@pytest.fixture
def mark() -> str:
    return f"41337.{os.getpid()}"


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def session(root: Path, mode: str, what: Callable[[Client], Awaitable[None]]) -> None:
    command, *arguments = stdio_command(root, "--allow-commands")

    async def main() -> None:
        with anyio.fail_after(END_S):
            parameters = StdioServerParameters(command=command, args=arguments)
            async with Client(parameters, mode=mode) as client:
                await what(client)

    anyio.run(main)


def text(result: types.CallToolResult) -> str:
    (part,) = result.content
    assert isinstance(part, types.TextContent)
    return part.text


def facts(result: types.CallToolResult) -> Any:
    assert result.meta is not None
    return result.meta[FACTS_KEY]


@needs("server")
def test_a_session_with_commands(root: Path, mode: str) -> None:
    """Run, read what was cut, search it, and go on."""

    async def what(client: Client) -> None:
        listed = (await client.list_tools()).tools
        (tool,) = [tool for tool in listed if tool.name == "run_command"]
        assert tool.annotations is not None
        found = tool.annotations
        assert (found.read_only_hint, found.destructive_hint, found.idempotent_hint) == (False, True, False)
        result = await client.call_tool("run_command", {"command": "cat a.txt .env; seq 9000; exit 2"})
        assert not result.is_error
        assert "canary7f3a" not in text(result)
        assert text(result).startswith("exit 2 | ")
        following = facts(result)["next"]
        page = await client.call_tool(following["tool"], following["arguments"])
        assert not page.is_error
        path = facts(result)["outputs"][0]["path"]
        found_there = await client.call_tool("grep_files", {"path": path, "pattern": "^8999$"})
        assert "9000\t8999" in text(found_there)

    session(root, mode, what)


@needs("server")
def test_progress_streams_while_a_command_runs(root: Path, mode: str) -> None:
    async def what(client: Client) -> None:
        told: list[tuple[float, float | None, str | None]] = []

        async def tell(progress: float, total: float | None, message: str | None) -> None:
            told.append((progress, total, message))
            if len(told) > 1 and "output so far: 1 line, 4 bytes" in str(message):
                go_on(root)

        os.mkfifo(root / "gate")
        await client.call_tool(
            "run_command", {"command": "echo one; cat gate; echo two"}, progress_callback=tell
        )
        assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
        assert {total for _, total, _ in told} == {120}
        assert any("output so far: 1 line, 4 bytes" in str(message) for _, _, message in told)
        assert all("output so far: " in str(message) for _, _, message in told)

    session(root, mode, what)


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_command_ends_with_all_that_it_started(root: Path, era: str, mark: str) -> None:
    with Stdio(root, "--allow-commands", version=era) as client:
        client.send(call(7, "run_command", {"command": f"setsid sleep {mark} & sleep {mark}"}))
        when(lambda: len(processes(f"sleep\0{mark}")) == 2)
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}})
        when(lambda: not processes(f"sleep\0{mark}"))
        assert "hello" in client.call("read_file", {"path": "a.txt"})["content"][0]["text"]


@daily(1, "era", ERAS)
def test_a_command_ends_when_the_client_goes_away(root: Path, era: str, mark: str) -> None:
    with Stdio(root, "--allow-commands", version=era) as client:
        client.send(call(7, "run_command", {"command": f"setsid sleep {mark} & sleep {mark}"}))
        when(lambda: len(processes(f"sleep\0{mark}")) == 2)
        assert client.end() == (0, "")
        assert processes(f"sleep\0{mark}") == []


def test_a_command_ends_when_the_server_is_killed(root: Path, mark: str) -> None:
    with Stdio(root, "--allow-commands") as client:
        client.send(call(7, "run_command", {"command": f"setsid sleep {mark} & sleep {mark}"}))
        when(lambda: len(processes(f"sleep\0{mark}")) == 2)
        client.process.kill()
        when(lambda: not processes(f"sleep\0{mark}"))


def test_without_permission_the_tool_is_not_listed_and_says_why_it_is_refused(root: Path) -> None:
    with Stdio(root) as client:
        names = [tool["name"] for tool in client.ask(request("l", "tools/list"))["result"]["tools"]]
        assert "run_command" not in names
        result = client.call("run_command", {"command": "true"})
        assert result["isError"]
        assert "--allow-commands" in result["content"][0]["text"]


def test_the_folder_cannot_allow_commands_itself(root: Path) -> None:
    (root / "readroom.toml").write_text("[commands]\nenabled = true\n")
    done = subprocess.run(
        stdio_command(root),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=END_S,
        check=False,
    )
    assert done.returncode != 0
    assert "can only forbid" in done.stderr
