"""Batches: taken in sessions of the version that has them; elsewhere each of their ids is answered too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.mcp.serving import END_S, call, initialize, request, stdio_command
from tests.server.http.serving import open_agent

BATCHES = "2025-03-26"
OTHERS = ("2024-11-05", "2025-06-18", "2025-11-25")
MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
BOM = "\ufeff".encode()

INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
BATCH = [
    request(101, "tools/list"),
    call("102", "read_file", {"path": "a.txt"}),
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
    request(103, "no/such/method"),
    call(104, "read_file", {"path": "absent.txt"}),
    request(105, "ping"),
    {"id": 106, "method": "ping"},
    call(107, "list_directory", {}),
]
IDS = {101, "102", 103, 104, 105, 106, 107}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n", encoding="utf-8")
    return folder


def spoken(root: Path, lines: Sequence[object], before: bytes = b"") -> list[Any]:
    """All that the server writes to a client that says these lines, and then no more."""
    said = before + b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    done = subprocess.run(stdio_command(root), input=said, capture_output=True, timeout=END_S, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_id(answers: Sequence[Any]) -> dict[Any, Any]:
    found = {answer["id"]: answer for answer in answers}
    assert len(found) == len(answers)
    return found


@pytest.mark.parametrize(
    "lines", [[BATCH], [INITIALIZED, BATCH], [BATCH[:1], BATCH[1:]], [[one] for one in BATCH]]
)
def test_each_message_of_a_batch_is_answered(root: Path, lines: Sequence[object]) -> None:
    found = by_id(spoken(root, [initialize("somebody", BATCHES), *lines]))
    assert found.keys() == {"hello", *IDS}
    assert found[101]["result"]["tools"]
    assert "hello" in found["102"]["result"]["content"][0]["text"]
    assert found[103]["error"]["code"] == -32601
    assert found[104]["result"]["isError"]
    assert found[105]["result"] == {}
    assert found[106]["error"]["code"] == -32600


@pytest.mark.parametrize("version", OTHERS)
def test_where_there_are_none_each_id_is_told_so(root: Path, version: str) -> None:
    """A client would wait for minutes otherwise."""
    found = by_id(spoken(root, [initialize("somebody", version), BATCH, request(1, "ping")]))
    assert found.keys() == {"hello", 1, *IDS}
    assert all("singly" in found[one]["error"]["message"] for one in IDS)
    assert found[1]["result"] == {}


@pytest.mark.parametrize("batch", [[], [INITIALIZED], ["x", 1, None], [[]]])
def test_a_batch_without_requests_costs_nothing_else(root: Path, batch: object) -> None:
    for version in (BATCHES, *OTHERS):
        found = spoken(root, [initialize("somebody", version), batch, request(1, "ping")])
        assert next(one for one in found if one.get("id") == 1)["result"] == {}


def test_a_batch_of_too_many_is_answered(root: Path) -> None:
    batch = [request(at, "ping") for at in range(1000)]
    found = by_id(spoken(root, [initialize("somebody", BATCHES), batch]))
    assert found.keys() == {"hello", *range(1000)}
    assert "at most 100" in found[0]["error"]["message"]


@pytest.mark.parametrize("version", [BATCHES, *OTHERS])
def test_a_byte_order_mark_before_the_first_line_means_nothing(root: Path, version: str) -> None:
    """Pipes of PowerShell begin with one."""
    found = by_id(spoken(root, [initialize("somebody", version), request(1, "tools/list")], BOM))
    assert found[1]["result"]["tools"]


def test_a_batch_is_answered_over_http(root: Path, tmp_path: Path) -> None:
    with open_agent(tmp_path / "state", str(root)) as served:

        def post(message: object, headers: dict[str, str], before: bytes = b"") -> Any:
            return served.request("POST", "/mcp", before + json.dumps(message).encode(), headers=headers)

        opened = post(initialize("somebody", BATCHES), MCP, BOM)
        headers = {**MCP, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
        answer = post(BATCH, headers)
        assert answer.status == 200
        found = by_id(answer.json)
        assert found.keys() == IDS
        assert "hello" in found["102"]["result"]["content"][0]["text"]
        assert post([INITIALIZED, BATCH[2]], headers).status == 202
        for version in OTHERS:
            other = post(initialize("somebody", version), MCP)
            refused = post(BATCH, {**MCP, "Mcp-Session-Id": other.headers["mcp-session-id"]})
            assert refused.status == 400
            assert "singly" in refused.json["error"]["message"]
        kind = {"Content-Type": "application/json"}
        plain = served.request("POST", "/v1/native/read_file", BOM + b'{"path": "a.txt"}', headers=kind)
        assert plain.status == 200
