"""What `tools/list` says, on the wire, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from readroom.core.contracts.native import NATIVE
from readroom.mcp.server import CLAUDE_CODE
from tests.mcp.serving import ERAS, STATELESS, Http, Stdio, http_server, request
from tests.vocabulary import tokens_of

MOST_TOKENS = 2250
"""What the tools of the native contract may take on the wire, in o200k tokens, with titles and hints;
models are passed less (`tests/contracts/native/test_replies.py`)."""

MOST_TOKENS_OF_COMMANDS = 400
"""What those that run commands may cost besides, where they are allowed."""


@pytest.fixture(scope="module", params=["stdio", "http"])
def over(request: pytest.FixtureRequest) -> str:
    """How the server is reached."""
    return str(request.param)


@pytest.fixture(scope="module")
def listed(over: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of `tools/list` by era."""
    folder = tmp_path_factory.mktemp("folder")
    found = {}
    if over == "stdio":
        for era in ERAS:
            with Stdio(folder, version=era) as client:
                found[era] = client.ask(LIST)["result"]
    else:
        with http_server(folder) as (url, _):
            for era in ERAS:
                with Http(url, version=era) as client:
                    found[era] = client.ask(LIST)["result"]
    return found


LIST = request("list", "tools/list")


@pytest.fixture(scope="module")
def with_commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The result of `tools/list` where commands are allowed."""
    with Stdio(tmp_path_factory.mktemp("folder"), "--allow-commands", version=STATELESS) as client:
        found: dict[str, Any] = client.ask(LIST)["result"]
        return found


def test_commands_are_listed_where_they_are_allowed(
    listed: dict[str, Any], with_commands: dict[str, Any]
) -> None:
    plain = [tool["name"] for tool in listed[STATELESS]["tools"]]
    assert [tool["name"] for tool in with_commands["tools"]] == [*plain, "run_command", "check_command"]


def test_commands_add_little_to_the_list(listed: dict[str, Any], with_commands: dict[str, Any]) -> None:
    plain, every = (
        tokens_of(json.dumps(one["tools"], separators=(",", ":")))
        for one in (listed[STATELESS], with_commands)
    )
    assert every - plain < MOST_TOKENS_OF_COMMANDS


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_those_of_the_contract(listed: dict[str, Any], era: str) -> None:
    assert listed[era]["tools"] == [
        {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description,
            "inputSchema": tool.input_schema,
            "annotations": {
                "readOnlyHint": tool.read_only,
                "openWorldHint": False,
                **({} if tool.read_only else {"destructiveHint": tool.destructive}),
                **({} if tool.read_only else {"idempotentHint": tool.idempotent}),
            },
            "_meta": {
                "anthropic/maxResultSizeChars": CLAUDE_CODE.chars,
                "anthropic/alwaysLoad": True,
            },
        }
        for tool in NATIVE.tools
    ]


@pytest.mark.parametrize("era", ERAS)
def test_the_whole_list_is_short(listed: dict[str, Any], era: str) -> None:
    """All of it, annotations and `_meta` as well, though models see neither."""
    text = json.dumps(listed[era], separators=(",", ":"))
    assert tokens_of(text) < MOST_TOKENS


def test_a_stateless_client_may_keep_the_list(listed: dict[str, Any], over: str) -> None:
    result = listed[STATELESS]
    assert result["ttlMs"] > 0
    # Over HTTP the list depends on the client's token.
    assert result["cacheScope"] == ("public" if over == "stdio" else "private")


def test_every_argument_has_a_type() -> None:
    """Gemini CLI leaves out a tool with an argument that has none."""
    for tool in NATIVE.offered(commands=True):
        for name, schema in tool.input_schema["properties"].items():
            branches = schema.get("anyOf", [schema])
            assert all("type" in branch for branch in branches), f"{tool.name}.{name}"


def test_a_higher_cap_is_announced_to_claude_code(tmp_path: Path) -> None:
    with Stdio(tmp_path, "--max-chars", "200000") as client:
        tools = client.ask(LIST)["result"]["tools"]
    assert {tool["_meta"]["anthropic/maxResultSizeChars"] for tool in tools} == {200_000}
