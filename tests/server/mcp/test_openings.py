"""How clients begin: what they send before they know what is spoken here, in every order that was seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from readroom.core.contracts.base import FACTS_KEY
from tests.mcp.serving import (
    HANDSHAKE,
    STATELESS,
    Http,
    Stdio,
    call,
    client_meta,
    http_server,
    initialize,
    request,
)
from tests.server.http.serving import open_agent

DISCOVER = request("what", "server/discover", {"_meta": client_meta("somebody")})
HELLO = initialize("somebody")
READ = ("read_file", {"path": "a.txt"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("openings")
    (found / "a.txt").write_text("hello\n", encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with http_server(folder) as (found, _):
        yield found


def _silent(folder: Path) -> Stdio:
    """A client that has sent nothing."""
    return Stdio(folder, version=STATELESS)


def _said(client: Stdio, *messages: Any) -> None:
    client.send_line(b"\n".join(json.dumps(message).encode() for message in messages))


@pytest.mark.parametrize("first", ["discover", "initialize"])
def test_a_client_that_gives_up_on_the_first_answer_sends_the_other_opening(folder: Path, first: str) -> None:
    """@ai-sdk/mcp waits a second for server/discover, then sends initialize on the same connection."""
    openings = [DISCOVER, HELLO] if first == "discover" else [HELLO, DISCOVER]
    with _silent(folder) as client:
        _said(client, *openings, {"jsonrpc": "2.0", "method": "notifications/initialized"})
        answers = {answer["id"]: answer for answer in (client.receive(), client.receive())}
        assert answers["what"]["result"]["supportedVersions"] == [STATELESS]
        assert answers["hello"]["result"]["protocolVersion"] == HANDSHAKE
        _said(client, call(1, *READ))
        assert "1\thello" in client.receive()["result"]["content"][0]["text"]


def test_what_a_request_has_used_is_kept(folder: Path) -> None:
    with _silent(folder) as client:
        _said(client, DISCOVER, call(1, *READ, **client_meta("somebody")))
        assert {client.receive()["id"], client.receive()["id"]} == {"what", 1}
        _said(client, HELLO)
        assert client.receive()["error"]["data"]["supported"] == [STATELESS]


def test_everything_at_once_is_answered_before_the_end(folder: Path) -> None:
    """A shell sends its requests and closes the pipe; what needs no work is answered all the same."""
    with _silent(folder) as client:
        _said(client, HELLO, request(1, "tools/list"), request(2, "ping"))
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert {client.receive()["id"] for _ in range(3)} == {"hello", 1, 2}
        client.process.stdin = None


@pytest.mark.parametrize("cut", [1, 7])
def test_bytes_may_come_one_by_one(folder: Path, cut: int) -> None:
    data = json.dumps(HELLO).encode() + b"\r\n" + json.dumps(request(1, "ping")).encode() + b"\n"
    with _silent(folder) as client:
        assert client.process.stdin is not None
        for at in range(0, len(data), cut):
            client.process.stdin.write(data[at : at + cut])
            client.process.stdin.flush()
        assert [client.receive()["id"], client.receive()["id"]] == ["hello", 1]


@pytest.mark.parametrize("client_class", [Stdio, Http])
@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_a_made_up_cursor_is_refused(folder: Path, url: str, client_class: Any, era: str) -> None:
    with client_class(folder if client_class is Stdio else url, version=era) as client:
        assert "nextCursor" not in client.ask(request(1, "tools/list"))["result"]
        for cursor in ("0", "100", "a", "-1", "²"):
            assert client.ask(request(2, "tools/list", {"cursor": cursor}))["error"]["code"] == -32602


def test_an_id_in_use_is_refused_and_the_call_goes_on(folder: Path) -> None:
    with Stdio(folder) as client:
        client.send_line(b"\n".join(json.dumps(call(7, *READ)).encode() for _ in range(2)))
        answers = [client.receive(), client.receive()]
        (refused,) = (one for one in answers if "error" in one)
        (done,) = (one for one in answers if "result" in one)
        assert (refused["id"], refused["error"]["code"], done["id"]) == (7, -32600, 7)
        assert not done["result"]["isError"]
        assert FACTS_KEY in done["result"]["_meta"]


# --- HTTP ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
def test_an_answer_is_json_where_no_progress_is_told(url: str, era: str) -> None:
    with Http(url, version=era) as client, client.post(call(1, *READ, progressToken=1)) as response:
        assert response.headers["Content-Type"] == "application/json"
        assert json.loads(response.read())["id"] == 1


def test_a_session_of_a_contract_without_resources_has_no_stream(folder: Path) -> None:
    """Nothing is ever said to a client that has not asked, and a stream would hold a connection."""
    with open_agent(folder / "state", "--contract", "opencode", str(folder)) as found:
        with Http(f"http://{found.host}:{found.port}/mcp") as client, closing(client.connect()) as connection:
            connection.request("GET", "/mcp", None, {"Accept": "text/event-stream", **client.session_headers})
            response = connection.getresponse()
            assert (response.status, response.headers["Allow"]) == (405, "POST, DELETE")
