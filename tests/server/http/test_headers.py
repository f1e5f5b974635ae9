"""Headers that decide something: each counts once, and a page of another port is a page of somebody else."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.each import each
from tests.server.http.serving import Agent, agent

BODY = b'{"path": "a.txt"}'


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Agent, str]]:
    root, state = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("state")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    options = ["--allow-host", "agent.internal", "--allow-origin", "http://localhost:3000"]
    with agent(state, *options, str(root)) as found:
        yield found, found.make_token("bot")


def sent(found: Agent, *lines: str, path: str = "/v1/native/read_file") -> tuple[int, bytes]:
    """The status and the body for a request with these headers, byte for byte."""
    head = "\r\n".join([f"POST {path} HTTP/1.1", *lines, "Connection: close", "", ""])
    with closing(socket.create_connection((found.host, found.port), 60)) as line:
        line.sendall(head.encode("latin-1") + BODY)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


def whole(found: Agent, token: str) -> dict[str, str]:
    """What a request needs."""
    return {
        "Host": f"{found.host}:{found.port}",
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Content-Length": str(len(BODY)),
    }


def lines(headers: dict[str, str]) -> list[str]:
    return [f"{name}: {value}" for name, value in headers.items()]


def test_a_request_with_each_header_once_is_answered(served: tuple[Agent, str]) -> None:
    found, token = served
    status, body = sent(found, *lines(whole(found, token)))
    assert (status, b"hello" in body) == (200, True)


def test_blanks_around_a_value_are_no_part_of_it(served: tuple[Agent, str]) -> None:
    """RFC 9110, section 5.5."""
    found, token = served
    status, body = sent(found, *(f"{name}:\t  {value} \t " for name, value in whole(found, token).items()))
    assert (status, b"hello" in body) == (200, True)


DOUBLES: dict[str, list[str | None]] = {
    "Authorization": ["Bearer nobody", None],
    "Origin": ["http://evil.example", None],
    "Host": ["evil.example", None],
    "Content-Length": ["3", None],
    "Content-Type": ["text/plain", None],
    "Transfer-Encoding": ["chunked"],
    "Mcp-Session-Id": ["another"],
    "Mcp-Protocol-Version": ["2025-06-18"],
}


@each("first", [True, False], ids=["first", "last"])
@each("path", ["/v1/native/read_file", "/mcp", "/healthz"])
@each(("name", "other"), [(name, one) for name, many in DOUBLES.items() for one in many])
def test_two_of_a_header_that_decides_are_refused(
    served: tuple[Agent, str], name: str, other: str | None, path: str, first: bool
) -> None:
    """Whichever counts here, a proxy before us may have looked at the other. None is the same once more."""
    found, token = served
    headers = whole(found, token)
    headers.setdefault("Origin", f"http://{found.host}:{found.port}")
    value = headers.setdefault(name, "x" if name.startswith("Mcp") else "chunked")
    second = value if other is None else other
    spelt = name.lower()
    double = (
        [f"{name}: {second}", f"{spelt}: {value}"] if first else [f"{spelt}: {value}", f"{name}: {second}"]
    )
    del headers[name]
    status, body = sent(found, *lines(headers), *double, path=path)
    assert status == 400
    assert b"hello" not in body
    error = json.loads(body)["error"]
    assert error.get("data", error)["code"] in ("repeated_header", "bad_request")


def test_a_body_has_one_length(served: tuple[Agent, str]) -> None:
    found, token = served
    status, body = sent(found, *lines(whole(found, token)), "Transfer-Encoding: chunked")
    assert status == 400
    assert b"bad_request" in body


@each(
    ("host", "origin", "ours"),
    [
        ("", "", True),
        ("localhost:{port}", "http://localhost:{port}", True),
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}", True),
        ("localhost:9000", "http://localhost:9000", True),  # through a tunnel
        ("agent.internal", "https://agent.internal", True),  # through a proxy
        ("127.0.0.1:{port}", "http://localhost:3000", True),  # the operator allows it
        ("127.0.0.1:{port}", "HTTP://LocalHost:3000", True),
        ("127.0.0.1:{port}", "http://localhost:3001", False),
        ("127.0.0.1:{port}", "http://127.0.0.1:3000", False),
        ("127.0.0.1:{port}", "http://127.0.0.1", False),
        ("127.0.0.1:{port}", "https://127.0.0.1:{port}", False),
        ("127.0.0.1:{port}", "http://localhost:{port}", False),  # may be another program on ::1
        ("127.0.0.1:{port}", "http://[::1]:{port}", False),
        ("127.0.0.1:{port}", "https://localhost:3000", False),
        ("127.0.0.1:{port}", "http://agent.internal", False),
        ("agent.internal", "http://agent.internal:3000", False),
        ("127.0.0.1:{port}", "null", False),
        ("127.0.0.1:{port}", "http://localhost:3000 http://evil.example", False),
        ("127.0.0.1:{port}", "http://localhost:3000, http://evil.example", False),
        ("127.0.0.1:{port}", "http://127.0.0.1:{port}/", False),
        ("127.0.0.1:{port}", "file://", False),
    ],
)
@each("path", ["/v1/native/read_file", "/mcp"])
def test_a_page_is_ours_when_it_comes_from_the_address_that_it_asks(
    served: tuple[Agent, str], host: str, origin: str, ours: bool, path: str
) -> None:
    found, token = served
    headers = whole(found, token)
    if host:
        headers |= {"Host": host.format(port=found.port), "Origin": origin.format(port=found.port)}
    status, _ = sent(found, *lines(headers), path=path)
    assert (status != 403) is ours


def test_an_origin_that_is_not_one_is_refused_at_the_start(tmp_path: Path) -> None:
    for options in (["--allow-origin", "localhost:3000"], ["--config", str(tmp_path / "operator.toml")]):
        (tmp_path / "operator.toml").write_text('[serve]\norigins = ["http://a/b"]\n', encoding="utf-8")
        with pytest.raises(AssertionError, match="http://localhost:3000"):
            with agent(tmp_path / "state", *options, str(tmp_path)):
                pass
