"""On the wire a result is `contracts.base.tool_result`, with nothing added, renamed or left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from readroom.core.contracts.base import FACTS_KEY, tool_result
from readroom.core.workspace import Workspace
from tests.each import each
from tests.mcp.serving import ERAS, HANDSHAKE, STATELESS, Http, Stdio, http_server

CALLS: list[tuple[str, Any]] = [
    ("read_file", {"path": "a.txt"}),
    ("read_file", {"path": "a.txt", "limit": 1}),
    ("read_file", {"path": "picture.png"}),
    ("read_file", {"path": "nothing"}),
    ("list_directory", {}),
    ("no_such_tool", {}),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("results")
    (found / "a.txt").write_text("erste\nzweite\u2028 \x1b[31m\U0001f600\ndritte\n", encoding="utf-8")
    Image.new("RGB", (40, 30), "teal").save(found / "picture.png")
    return found


@pytest.fixture(scope="module", params=["stdio", "http"])
def clients(request: pytest.FixtureRequest, folder: Path) -> Iterator[dict[str, Stdio | Http]]:
    """One client of each era."""
    if request.param == "stdio":
        with Stdio(folder) as old, Stdio(folder, version=STATELESS) as new:
            yield {HANDSHAKE: old, STATELESS: new}
        return
    with http_server(folder) as (url, _), Http(url) as first, Http(url, version=STATELESS) as second:
        yield {HANDSHAKE: first, STATELESS: second}


def _expected(folder: Path, tool: str, arguments: Any) -> Any:
    with Workspace(folder) as workspace:
        return json.loads(json.dumps(tool_result(workspace.call(tool, arguments))))


@each(("tool", "arguments"), CALLS)
def test_a_stateless_client_gets_what_its_protocol_adds_as_well(
    clients: dict[str, Stdio | Http], folder: Path, tool: str, arguments: Any
) -> None:
    result = clients[STATELESS].call(tool, arguments)
    assert result.pop("resultType") == "complete"
    assert result["_meta"].pop("io.modelcontextprotocol/serverInfo")["name"] == "readroom"
    assert result == _expected(folder, tool, arguments)


@pytest.mark.parametrize("era", ERAS)
def test_there_is_one_text_part_and_no_structured_content(clients: dict[str, Stdio | Http], era: str) -> None:
    """Clients show the model nothing but structured content when it is there."""
    result = clients[era].call("read_file", {"path": "picture.png"})
    assert [part["type"] for part in result["content"]] == ["text", "image"]
    assert "structuredContent" not in result
    assert FACTS_KEY in result["_meta"]


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_version_with_a_handshake_is_spoken(folder: Path, version: str) -> None:
    with Stdio(folder, version=version) as client:
        assert client.greeting["result"]["protocolVersion"] == version
        assert client.call("read_file", {"path": "a.txt"}) == _expected(
            folder, "read_file", {"path": "a.txt"}
        )


def test_a_version_that_nobody_knows_is_answered_with_the_newest(folder: Path) -> None:
    with Stdio(folder, version="2099-01-01") as client:
        assert client.greeting["result"]["protocolVersion"] == HANDSHAKE
