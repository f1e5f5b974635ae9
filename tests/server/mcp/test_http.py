"""The HTTP server: who may connect, what it says to people, ports, sessions."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from readroom.core.errors import BadValue
from readroom.core.workspace import Workspace
from readroom.server.admission import FolderTokens, Keys
from readroom.server.http.server import Address, Served, admitted, listening, serve_http
from readroom.server.settings import Serving
from readroom.server.tokens import Tokens
from tests.each import each
from tests.mcp.serving import (
    END_S,
    ERAS,
    HANDSHAKE,
    STATELESS,
    Http,
    client_meta,
    http_server,
    initialize,
    request,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("http")
    (found / "a.txt").write_text("hello\n", encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    with http_server(folder) as (found, _):
        yield found


def _exchange(url: str, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    with closing(Http(url).connect()) as connection:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, named)
        response = connection.getresponse()
        return response.status, response.read().decode()


def test_the_url_is_on_loopback_and_names_the_port(url: str) -> None:
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith("/mcp")
    assert not url.endswith(":0/mcp")


def test_a_person_who_opens_the_port_is_told_what_it_is(url: str) -> None:
    status, text = _exchange(url, "GET", "/")
    assert status == 200
    assert text.startswith(f"readroom is an MCP server. Point an MCP client at {url}\n")


@pytest.mark.parametrize("path", ["/mcp/../etc/passwd", "/a.txt", "/mcp/a.txt"])
def test_nothing_else_is_served(url: str, path: str) -> None:
    assert _exchange(url, "GET", path)[0] == 404


ATTACKS = [
    "evil.example",
    "evil.example:80",
    "127.0.0.1.evil.example",
    "localhost.evil.example:80",
    "0.0.0.0",
]
"""What a browser puts into Host when a name of the attacker was bound to 127.0.0.1."""


def _first(era: str) -> tuple[bytes, dict[str, str]]:
    """A request that opens a conversation, and its headers."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if era == HANDSHAKE:
        return json.dumps(initialize("somebody")).encode(), headers
    params = {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": client_meta("somebody")}
    headers |= {
        "Mcp-Protocol-Version": STATELESS,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "read_file",
    }
    return json.dumps(request(1, "tools/call", params)).encode(), headers


@each("era", ERAS)
@each("host", ATTACKS)
def test_a_name_that_is_not_this_machine_is_refused(url: str, era: str, host: str) -> None:
    """DNS rebinding: the page's own name leads here, and the browser lets the page read the answer."""
    body, headers = _first(era)
    status, text = _exchange(url, "POST", "/mcp", body, **headers, Host=host)
    assert status == 421
    assert "hello" not in text
    assert _exchange(url, "GET", "/", Host=host)[0] == 421


@each("era", ERAS)
@each(
    "origin", ["https://evil.example", "http://evil.example:8080", "null", "file://", "http://localhost.evil"]
)
def test_a_page_of_another_origin_is_refused(url: str, era: str, origin: str) -> None:
    body, headers = _first(era)
    status, text = _exchange(url, "POST", "/mcp", body, **headers, Origin=origin)
    assert status == 403
    assert "hello" not in text


@each("era", ERAS)
@each("host", ["127.0.0.1:1", "localhost", "localhost:9000", "[::1]:9000"])
def test_this_machine_is_known_by_its_names_with_any_port(url: str, era: str, host: str) -> None:
    """A tunnel has another port at its other end."""
    body, headers = _first(era)
    assert _exchange(url, "POST", "/mcp", body, **headers, Host=host)[0] == 200


def test_a_page_cannot_send_json_without_asking(url: str) -> None:
    """Only types that need no preflight request come without one, and none of them is taken."""
    body, headers = _first(HANDSHAKE)
    headers["Content-Type"] = "text/plain"
    assert _exchange(url, "POST", "/mcp", body, **headers)[0] == 400
    assert _exchange(url, "OPTIONS", "/mcp", Origin="http://localhost:3000")[0] >= 400


def test_sessions_do_not_see_each_other(url: str) -> None:
    with Http(url) as first, Http(url) as second:
        assert first.call("read_file", {"path": "a.txt"}) == second.call("read_file", {"path": "a.txt"})


def test_a_closed_session_is_gone(url: str) -> None:
    with closing(Http(url).connect()) as connection:
        body, headers = _first(HANDSHAKE)
        connection.request("POST", "/mcp", body, headers)
        response = connection.getresponse()
        session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        response.read()
        assert _status(connection, "DELETE", session) == 200
        assert _status(connection, "DELETE", session) == 404


def _status(connection: HTTPConnection, method: str, headers: dict[str, str]) -> int:
    connection.request(method, "/mcp", None, headers)
    response = connection.getresponse()
    response.read()
    return response.status


def _serve(folder: Path, host: str, port: int, contract_name: str = "native") -> None:
    def never() -> None:
        raise AssertionError("it serves")

    where, serving = Address(host, port), Serving()
    keys = Keys(Tokens(f"{folder}/state/tokens.db"), FolderTokens(f"{folder}/state/folder-tokens"))
    with Workspace(folder) as workspace:
        workspaces = {"default": workspace}
        admission = admitted(workspaces, where, serving, keys)
        with listening(host, port, None) as (bound, _):
            serve_http(Served(workspaces, serving, admission, contract_name, None), bound, on_ready=never)


@each("host", ["0.0.0.0", "::", "192.168.1.1", "example.com", "", "127.0.0.1.evil"])
def test_other_machines_are_kept_out(folder: Path, host: str) -> None:
    with pytest.raises(BadValue, match=r"open to other machines|not a valid address") as caught:
        _serve(folder, host, 0)
    assert "127.0.0.1" in caught.value.advice


def test_a_port_in_use_says_how_to_get_another(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BadValue, match="in use") as caught:
            _serve(folder, "127.0.0.1", taken.getsockname()[1])
    assert "0 for a free one" in caught.value.advice


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port_is_refused(folder: Path, port: int) -> None:
    with pytest.raises(BadValue, match="not a valid port"):
        _serve(folder, "127.0.0.1", port)


def test_an_unknown_contract_is_refused_before_anything_listens(folder: Path) -> None:
    with pytest.raises(BadValue, match="contract"):
        _serve(folder, "127.0.0.1", 0, contract_name="nobody's")


def test_an_address_of_another_interface_says_so(folder: Path) -> None:
    """Any address of 127.0.0.0/8 is loopback; on macOS only 127.0.0.1 exists."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(BadValue):
            _serve(folder, "localhost", taken.getsockname()[1])


def test_the_log_names_no_file_and_standard_output_stays_empty(folder: Path) -> None:
    with http_server(folder) as (url, process):
        with Http(url) as client:
            client.call("read_file", {"path": "a.txt"})
            client.call("read_file", {"path": "b.txt"})
        process.terminate()
        rest, log = process.communicate(timeout=END_S)
    assert (rest, log) == (b"", b"")
