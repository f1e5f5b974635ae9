"""Kept outputs as MCP resources: listed in pages, and read as `read_file` reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from readroom.mcp.resources import MCP_RESOURCES
from readroom.server.tokens import Tokens
from tests.cli.test_mcp_commands import facts, session, text
from tests.mcp.serving import ERAS, HANDSHAKE, Stdio, request
from tests.server.http.serving import Agent, agent
from tests.server.http.test_mcp import connect

URI = "readroom:///.outputs/"
OTHERS = [
    "file:///etc/passwd",
    "readroom:///a.txt",
    "readroom:///.env",
    "readroom:///.outputs",
    "readroom:///.outputs/",
    "readroom:///.outputs/../a.txt",
    "readroom:///.outputs/%2e%2e/a.txt",
    "readroom:///.outputs/aaaaa.stdout/../../a.txt",
    "readroom:///.outputs/aaaaa.stdout\n",
    "readroom:///.outputs/aaaaa.stdout",
    "READROOM:///.outputs/aaaaa.stdout",
    "/.outputs/aaaaa.stdout",
    "",
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("hello\n", encoding="utf-8")
    (tmp_path / ".env").write_text("canary7f3a\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(params=["legacy", "auto"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def ran(client: Client, command: str) -> str:
    """The path of what a command writes."""
    result = await client.call_tool("run_command", {"command": command})
    path = facts(result)["outputs"][0]["path"]
    assert isinstance(path, str)
    return path


def test_an_output_is_listed_and_read_as_the_tool_reads_it(root: Path, mode: str) -> None:
    async def what(client: Client) -> None:
        assert client.server_capabilities is not None
        assert client.server_capabilities.resources is not None
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []
        first, second = await ran(client, "seq 9000"), await ran(client, "echo two; cat .env")
        listed = (await client.list_resources(cache_mode="bypass")).resources
        by_uri = {one.uri: one for one in listed}
        assert listed[0].uri.startswith(f"readroom://{second.removesuffix('stdout')}")
        assert by_uri[f"readroom://{first}"].size == 43_893
        assert by_uri[f"readroom://{first}"].mime_type == "text/plain"

        for path in (first, second):
            found = await client.read_resource(f"readroom://{path}")
            (part,) = found.contents
            assert isinstance(part, types.TextResourceContents)
            same = await client.call_tool("read_file", {"path": path})
            assert part.text == text(same)
            assert found.meta is not None
            assert "canary7f3a" not in part.text
        assert "Next: read_file" in text(await client.call_tool("read_file", {"path": first}))

    session(root, mode, what)


@pytest.mark.parametrize("era", ERAS)
def test_nothing_but_outputs_and_what_was_shown_is_a_resource(root: Path, era: str) -> None:
    absent = -32002 if era == HANDSHAKE else -32602
    with Stdio(root, "--allow-commands", version=era) as client:
        for number, uri in enumerate(OTHERS):
            answer: Any = client.ask(request(number, "resources/read", {"uri": uri}))
            assert (answer["error"]["code"], answer["error"]["data"]["uri"]) == (absent, uri)
            assert "hello" not in str(answer)
            assert "canary7f3a" not in str(answer)
        bad = client.ask(request("c", "resources/list", {"cursor": "nobody's"}))
        assert bad["error"]["code"] == -32602


def test_many_outputs_are_listed_in_pages(root: Path) -> None:
    commands = MCP_RESOURCES // 2 + 2

    async def what(client: Client) -> None:
        async with anyio.create_task_group() as group:
            for number in range(commands):
                group.start_soon(ran, client, f"echo {number}; echo {number} >&2")
        page = await client.list_resources()
        assert len(page.resources) == MCP_RESOURCES
        rest = await client.list_resources(cursor=page.next_cursor)
        assert rest.next_cursor is None
        assert len({one.uri for one in (*page.resources, *rest.resources)}) == 2 * commands

    session(root, "legacy", what)


@pytest.mark.parametrize("era", ERAS)
def test_without_commands_no_output_is_a_resource(root: Path, era: str) -> None:
    with Stdio(root, version=era) as client:
        assert client.ask(request(1, "resources/list"))["result"]["resources"] == []
        found = client.ask(request(2, "resources/read", {"uri": f"{URI}aaaaa.stdout"}))
        assert found["error"]["code"] == (-32002 if era == HANDSHAKE else -32602)
        assert client.ask(request(3, "resources/list", {"cursor": "2"}))["error"]["code"] == -32602


@pytest.fixture
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """Two workspaces on one folder, with commands, for clients with tokens."""
    state = tmp_path_factory.mktemp("state")
    config = state / "operator.toml"
    config.write_text(
        f'[serve]\nauth = "required"\ndefault = "main"\n[commands]\nenabled = true\n'
        f'[workspaces.main]\nroot = "{root}"\n[workspaces.other]\nroot = "{root}"\n',
        encoding="utf-8",
    )
    with agent(state, "--config", str(config)) as found:
        yield found


def test_resources_belong_to_a_workspace_and_to_tokens_with_the_tools(served: Agent, mode: str) -> None:
    paths: list[str] = []
    with closing(Tokens(os.fspath(served.state / "readroom" / "tokens.db"))) as tokens:
        (_, all_of_it), (_, reader), (_, lister) = (
            tokens.create("bot"),
            tokens.create("bot", tools=["read_file"]),
            tokens.create("bot", tools=["list_directory"]),
        )

    async def runs(client: Client) -> None:
        paths.append(await ran(client, "echo done"))
        assert len((await client.list_resources()).resources) == 2

    async def hears_nothing(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="is not kept"):
            await client.read_resource(f"readroom://{paths[0]}")

    async def may_not_list(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="is not kept"):
            await client.read_resource(f"readroom://{paths[0]}")

    async def may_not_read(client: Client) -> None:
        assert (await client.list_resources()).resources == []
        with pytest.raises(MCPError, match="does not include read_file"):
            await client.read_resource(f"readroom://{paths[0]}")

    connect(served, all_of_it, mode, runs)
    connect(served, all_of_it, mode, hears_nothing, at="/w/other")
    connect(served, reader, mode, may_not_list)
    connect(served, lister, mode, may_not_read)
