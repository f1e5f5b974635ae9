"""Whatever a client sends, the server answers the next request, and no traceback reaches the client."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from readroom.core.contracts.base import FACTS_KEY
from readroom.core.limits import MCP_MESSAGE_BYTES
from readroom.mcp.streams import MCP_UNREAD_BYTES
from tests.each import each
from tests.mcp.serving import (
    END_S,
    ERAS,
    HANDSHAKE,
    STATELESS,
    Http,
    Stdio,
    call,
    client_meta,
    http_server,
    initialize,
    request,
    stdio_command,
)
from tests.suites import daily

BAD_CALLS: list[tuple[str, Any, str]] = [
    ("no_such_tool", {}, "unknown_tool"),
    ("", {}, "unknown_tool"),
    ("read_file", {}, "missing_argument"),
    ("read_file", {"path": "a.txt", "lines": 3}, "unknown_argument"),
    ("read_file", {"path": ["a.txt"]}, "wrong_type"),
    ("read_file", {"path": "a.txt", "limit": "many"}, "wrong_type"),
    ("read_file", {"path": "a.txt", "column": -1}, "bad_value"),
    ("read_file", {"path": "a.txt", "offset": 10**400}, "bad_value"),
    ("read_file", {"path": "\0"}, "bad_path"),
    ("read_file", {"path": "../a.txt"}, "outside_root"),
    ("read_file", {"path": "x" * 10_000_000}, "bad_path"),
    ("read_file", {"path": "a.txt", "x" * 10_000_000: 1}, "unknown_argument"),
    ("read_file", {"path": {"a": [[[{}]]] * 1000}}, "wrong_type"),
    ("list_directory", {"depth": 1e300}, "wrong_type"),
    ("grep_files", {"pattern": "x", "timeout_s": float("inf")}, "bad_value"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("bad")
    (found / "a.txt").write_text("hello\n", encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with http_server(folder) as (found, _):
        yield found


@pytest.fixture(scope="module", params=[(kind, era) for kind in ("stdio", "http") for era in ERAS])
def client(request: pytest.FixtureRequest, folder: Path, url: str) -> Iterator[Stdio | Http]:
    kind, era = request.param
    if kind == "stdio":
        with Stdio(folder, version=era) as process:
            yield process
    else:
        with Http(url, version=era) as connection:
            yield connection


def _alive(client: Stdio | Http) -> bool:
    return "1\thello" in client.call("read_file", {"path": "a.txt"})["content"][0]["text"]


@daily(15, ("tool", "arguments", "code"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_a_bad_call_is_a_typed_error_that_models_can_read(
    client: Stdio | Http, tool: str, arguments: Any, code: str
) -> None:
    result = client.call(tool, arguments)
    assert result["isError"] is True
    assert result["_meta"][FACTS_KEY]["error"]["code"] == code
    assert len(json.dumps(result)) < 10_000
    assert "Traceback" not in result["content"][0]["text"]
    assert _alive(client)


@each("arguments", [[], "text", 3, [{"path": "a.txt"}]])
def test_arguments_that_are_no_object_break_the_protocol(client: Stdio | Http, arguments: Any) -> None:
    answer = client.ask(call(1, "read_file", arguments))
    assert answer["error"]["code"] == types.INVALID_PARAMS
    assert _alive(client)


@each(
    ("method", "params"),
    [("no/such/method", {}), ("prompts/list", {}), ("tools/call", {}), ("tools/call", {"name": 3})],
)
def test_a_bad_request_is_a_protocol_error(client: Stdio | Http, method: str, params: Any) -> None:
    assert client.ask(request(1, method, params))["error"]["code"] < 0
    assert _alive(client)


# --- stdio: any bytes ----------------------------------------------------------------------------

GARBAGE = [
    b"hello",
    b"\x00\xff\xfe" * 1000,
    b"[" * 100_000,
    b"{}",
    b"[]",
    b"null",
    b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}',
    b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": [1]}}',
    b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "nobody"}}',
    b'{"jsonrpc": "2.0", "method": "no/such/notification"}',
    b"",
    b" \t\r",
    b"\xef\xbb\xbf{}",
    b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}',
]


@pytest.mark.parametrize("era", ERAS)
def test_garbage_on_stdin_costs_nothing_but_itself(folder: Path, era: str) -> None:
    with Stdio(folder, version=era) as client:
        for line in GARBAGE:
            client.send_line(line)
            assert _alive(client)
        code, log = client.end()
    assert code == 0
    assert "Traceback" not in log


@pytest.mark.parametrize("line", GARBAGE[:4])
def test_garbage_before_the_first_request_does_not_end_the_server(folder: Path, line: bytes) -> None:
    done = subprocess.run(
        stdio_command(folder),
        input=line + b"\n" + json.dumps(initialize("somebody")).encode() + b"\n",
        capture_output=True,
        timeout=END_S,
        check=True,
    )
    *_, last = done.stdout.decode().removesuffix("\n").split("\n")
    assert json.loads(last)["result"]["serverInfo"]["name"] == "readroom"


def test_a_line_that_is_no_message_is_answered(folder: Path) -> None:
    """A client that waits for the answer to something unreadable would wait for minutes."""
    with Stdio(folder) as client:
        client.send_line(b'{"jsonrpc": "2.0", "id": 7, "method": 5}')
        assert client.receive()["id"] == 7
        client.send_line(b"not json")
        answer = client.receive()
        assert (answer["id"], answer["error"]["code"]) == (None, types.PARSE_ERROR)


def test_a_message_over_the_limit_is_refused_and_the_next_is_read(folder: Path) -> None:
    with Stdio(folder) as client:
        client.send_line(b'{"x": "' + b"y" * (MCP_MESSAGE_BYTES + 1000) + b'"}')
        assert "longer" in client.receive()["error"]["message"]
        assert _alive(client)


@pytest.mark.parametrize("half", ['"\\ud800"', '"a\\udfffb"'])
def test_half_of_a_surrogate_pair_is_a_typed_error(folder: Path, half: str) -> None:
    text = json.dumps(call(1, "read_file", {"path": "?"})).replace('"?"', half)
    with Stdio(folder) as client:
        client.send_line(text.encode())
        assert client.receive()["result"]["_meta"][FACTS_KEY]["error"]["code"] == "bad_value"
        assert _alive(client)


def test_bytes_that_are_not_utf8_are_a_typed_error(folder: Path) -> None:
    with Stdio(folder) as client:
        client.send_line(json.dumps(call(1, "read_file", {"path": "?"})).encode().replace(b"?", b"\xff\xfe"))
        assert client.receive()["result"]["_meta"][FACTS_KEY]["error"]["code"] == "not_found"


def test_requests_from_a_file_are_answered_into_a_file(folder: Path, tmp_path: Path) -> None:
    """A shell connects files as easily as pipes; what was asked before the end is begun."""
    (tmp_path / "in").write_text(json.dumps(initialize("somebody")) + "\n", encoding="utf-8")
    with open(tmp_path / "in", "rb") as asked, open(tmp_path / "out", "wb") as answered:
        subprocess.run(stdio_command(folder), stdin=asked, stdout=answered, timeout=END_S, check=True)
    assert json.loads((tmp_path / "out").read_bytes())["result"]["protocolVersion"] == HANDSHAKE


def test_a_call_in_a_last_line_without_end_is_made_once(tmp_path: Path) -> None:
    """As `printf ... | readroom mcp DIR` has it: the input ends long before the first answer."""
    asked = [initialize("somebody"), *(write(number, f"made-{number}.txt") for number in range(3))]
    done = subprocess.run(
        stdio_command(tmp_path),
        input="\n".join(json.dumps(message) for message in asked).encode(),
        capture_output=True,
        timeout=END_S,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.split(b"\n") if line]
    assert sorted(str(answer["id"]) for answer in answers) == ["0", "1", "2", "hello"]
    assert "no answer yet" not in done.stdout.decode()


def write(number: int, path: str) -> dict[str, object]:
    return call(number, "write_file", {"path": path, "content": "x", "expected_hash": "absent"})


_PRINTING = """
import os, subprocess, sys
from readroom import Workspace
from readroom.mcp.stdio import serve_stdio
from readroom.core.workspace import Workspace as Used

def call(self, *arguments, **options):
    print("printed")
    os.write(1, b"written")
    subprocess.run(["cat"], check=True)
    subprocess.run(["echo", "by a child"], check=True)
    return plain(self, *arguments, **options)

plain, Used.call = Used.call, call
with Workspace(sys.argv[1]) as workspace:
    serve_stdio(workspace, contract_name="native", reply_chars=None)
"""


def test_stray_output_and_children_do_not_touch_the_protocol(folder: Path) -> None:
    """What is printed goes to the log; a child that reads its input meets the end of it."""
    with Stdio(folder, command=[sys.executable, "-c", _PRINTING, os.fspath(folder)]) as client:
        assert _alive(client)
        assert _alive(client)
        code, log = client.end()
    assert code == 0
    assert "by a child" in log


_FAILING = """
import sys
from readroom import Workspace
from readroom.mcp import server
from readroom.mcp.stdio import serve_stdio

def tool_result(reply):
    raise RuntimeError(f"a secret: {reply.text}")

server.tool_result = tool_result
with Workspace(sys.argv[1]) as workspace:
    serve_stdio(workspace, contract_name="native", reply_chars=None)
"""


@pytest.mark.parametrize("era", ERAS)
def test_a_defect_of_ours_says_nothing_of_the_content(folder: Path, era: str) -> None:
    """Neither to the client nor in the log: frames and the type are enough to find it."""
    with Stdio(folder, version=era, command=[sys.executable, "-c", _FAILING, os.fspath(folder)]) as client:
        answer = client.ask(call(1, "read_file", {"path": "a.txt"}))
        assert answer["error"]["code"] == types.INTERNAL_ERROR
        _, log = client.end()
    assert "secret" not in json.dumps(answer) + log
    assert "RuntimeError" in log


@pytest.mark.parametrize("era", ERAS)
def test_a_client_that_wants_log_messages_hears_of_a_defect(folder: Path, era: str) -> None:
    with Stdio(folder, version=era, command=[sys.executable, "-c", _FAILING, os.fspath(folder)]) as client:
        meta = {"io.modelcontextprotocol/logLevel": "error"}
        if era == HANDSHAKE:
            meta = {}
            assert client.ask(request(1, "logging/setLevel", {"level": "error"}))["result"] == {}
        client.send(call(2, "read_file", {"path": "a.txt"}, **meta))
        told, answer = client.receive(), client.receive()
    assert (told["method"], told["params"]["level"]) == ("notifications/message", "error")
    assert answer["error"]["message"] == told["params"]["data"]


# --- HTTP: any body ------------------------------------------------------------------------------


def _post(url: str, body: bytes, version: str, **headers: str) -> tuple[int, bytes]:
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {"Mcp-Protocol-Version": version, **headers}
    with closing(Http(url).connect()) as connection:
        connection.request("POST", "/mcp", body, sent)
        response = connection.getresponse()
        return response.status, response.read()


@each("era", ERAS)
@each("body", GARBAGE)
def test_a_bad_body_is_a_client_error_in_json(url: str, era: str, body: bytes) -> None:
    status, answer = _post(url, body, era)
    assert status in (202, 400, 404)
    assert not answer or json.loads(answer)["error"]["code"] < 0
    assert b"Traceback" not in answer


@pytest.mark.parametrize("era", ERAS)
def test_a_body_over_the_limit_is_refused(url: str, era: str) -> None:
    assert _post(url, b"x", era, **{"Content-Length": str(MCP_MESSAGE_BYTES + 1)})[0] == 413


def test_a_batch_is_refused(url: str) -> None:
    body = json.dumps([request(1, "ping")] * 2).encode()
    assert _post(url, body, HANDSHAKE)[0] == 400


def test_a_session_that_nobody_opened_is_not_found(url: str) -> None:
    body = json.dumps(request(1, "tools/list")).encode()
    assert _post(url, body, HANDSHAKE, **{"Mcp-Session-Id": "made up"})[0] == 404


def test_a_request_that_contradicts_its_headers_is_refused(url: str) -> None:
    params = {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": client_meta("somebody")}
    headers = {"Mcp-Method": "tools/call", "Mcp-Name": "list_directory"}
    assert _post(url, json.dumps(request(1, "tools/call", params)).encode(), STATELESS, **headers)[0] == 400


def test_a_client_that_reads_nothing_is_not_heard_for_ever(folder: Path) -> None:
    """Its answers would fill the memory; what it has sent is answered when it reads."""
    line = json.dumps(request("x" * 30_000, "ping")).encode() + b"\n"
    most = 2 * MCP_UNREAD_BYTES // len(line)
    with Stdio(folder) as client:
        assert _alive(client)
        assert client.process.stdin is not None
        end = client.process.stdin.fileno()
        os.set_blocking(end, False)
        takes = select.poll()
        takes.register(end, select.POLLOUT)
        sent = 0
        while sent < most * len(line) and takes.poll(500):
            sent += os.write(end, line[sent % len(line) :])
        assert sent < most * len(line)
        os.set_blocking(end, True)
        for _ in range(sent // len(line)):
            assert client.receive()["result"] == {}
        client.send_line(line[sent % len(line) : -1])
        assert _alive(client)
