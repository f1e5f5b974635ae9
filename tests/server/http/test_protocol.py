"""HTTP/1.1 byte by byte: requests are answered however they arrive, and refused where they are not one."""

from __future__ import annotations

import json
import re
import select
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from readroom.server.http.framing import SERVE_HEAD_BYTES
from tests.each import each
from tests.server.http.serving import END_S, Agent, agent, command, open_agent

BODY = b'{"path": "a.txt"}'
HEAD = b"POST /v1/native/read_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
WHOLE = HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
LAST = b"Connection: close\r\n"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    root = tmp_path_factory.mktemp("root")
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    with open_agent(tmp_path_factory.mktemp("state"), str(root)) as found:
        yield found


def connected(found: Agent) -> closing[socket.socket]:
    return closing(socket.create_connection((found.host, found.port), 60))


def answers(line: socket.socket) -> list[tuple[int, bytes]]:
    """Status and body of all answers until the server closes; each has a length."""
    data = b"".join(iter(lambda: line.recv(65536), b""))
    found = []
    while data:
        head, _, rest = data.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        assert length is not None, head
        size = int(length[1])
        assert len(rest) >= size
        found.append((int(head.split()[1]), rest[:size]))
        data = rest[size:]
    return found


def sent(found: Agent, *pieces: bytes) -> list[tuple[int, bytes]]:
    with connected(found) as line:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in pieces:
            line.sendall(piece)
        return answers(line)


def code(body: bytes) -> Any:
    return json.loads(body)["error"]["code"]


LAST_ONE = HEAD + LAST + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)


@pytest.mark.parametrize("size", [1, 2, 7, 40, 1000])
def test_a_request_is_answered_however_it_is_cut(served: Agent, size: int) -> None:
    (answer,) = sent(served, *(LAST_ONE[at : at + size] for at in range(0, len(LAST_ONE), size)))
    assert answer[0] == 200
    assert b"hello" in answer[1]


@pytest.mark.parametrize("count", [1, 5])
def test_who_has_asked_and_sends_no_more_is_answered(served: Agent, count: int) -> None:
    """As `nc -N` does, and whoever writes a request and then ends its side of the connection."""

    def asked() -> list[tuple[int, bytes]]:
        with connected(served) as line:
            line.sendall(WHOLE * count)
            line.shutdown(socket.SHUT_WR)
            return answers(line)

    # The answers have some seconds, which may once not suffice on a busy machine.
    tries = (asked() for _ in range(9))
    assert any([status for status, _ in found] == [200] * count for found in tries)


@pytest.mark.parametrize("address", [b"/healthz", b"/no/such/route", b"/mcp"])
def test_who_sends_no_more_is_answered_at_once_too(served: Agent, address: bytes) -> None:
    """Such an answer is made before it is known that nothing more comes."""
    for _ in range(20):
        with connected(served) as line:
            line.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % address)
            line.shutdown(socket.SHUT_WR)
            ((status, _),) = answers(line)
            assert status in (200, 404, 405)


@pytest.mark.parametrize("piece", [b"", b"GET /healthz HT", WHOLE[:-1], WHOLE + HEAD])
def test_who_ends_within_a_request_is_let_go(served: Agent, piece: bytes) -> None:
    with connected(served) as line:
        line.sendall(piece)
        line.shutdown(socket.SHUT_WR)
        assert all(status == 200 for status, _ in answers(line))


@pytest.mark.parametrize("count", [2, 9, 700])
def test_requests_at_once_are_answered_in_order(served: Agent, count: int) -> None:
    other = WHOLE.replace(b"a.txt", b"b.txt")
    found = sent(served, b"".join([WHOLE, other] * count) + LAST_ONE)
    assert [status for status, _ in found] == [200, 404] * count + [200]


def test_a_body_in_chunks_is_taken(served: Agent) -> None:
    chunks = b"5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (BODY[:5], len(BODY) - 5, BODY[5:])
    ((status, body),) = sent(served, HEAD + LAST + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
    assert (status, b"hello" in body) == (200, True)


def test_a_client_that_asks_before_it_sends_its_body_is_told_to_go_on(served: Agent) -> None:
    with connected(served) as line:
        line.sendall(HEAD + LAST + b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(BODY))
        told = b""
        while not told.endswith(b"\r\n\r\n"):
            told += line.recv(1)
        assert told.startswith(b"HTTP/1.1 100 ")
        line.sendall(BODY)
        assert [status for status, _ in answers(line)] == [200]


def test_http_1_0_is_answered_and_closed(served: Agent) -> None:
    ((status, body),) = sent(served, WHOLE.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert (status, b"hello" in body) == (200, True)


def test_an_offer_of_another_protocol_is_passed_over(served: Agent) -> None:
    """As clients of Java offer HTTP/2 with their first request."""
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"
    request = HEAD + offer + b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
    for at in (0, 10, len(request) // 2, len(request) - len(BODY), len(request) - 4):
        with connected(served) as line:
            data = b""
            for behind, count in ((WHOLE, 2), (b"", 3)):
                line.sendall(request[:at])
                line.sendall(request[at:] + behind)
                while data.count(b"hello") < count:
                    data += line.recv(65536)
            assert data.count(b"HTTP/1.1 200 ") == data.count(b"HTTP/1.1 ")
    assert [status for status, _ in sent(served, WHOLE + request + LAST_ONE)] == [200] * 3


@each(
    "request_",
    [
        b"hello\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 100,  # TLS
        *(
            WHOLE.replace(b" HTTP/1.1", ending)
            for ending in (b"", b" ", b" HTTP/1.1 ", b" HTTP/1", b"\tHTTP/1.1")
        ),
        *(WHOLE.replace(b" HTTP/1.1", ending) for ending in (b"  HTTP/1.1", b" HTTP/01.1", b" http/1.1")),
        *(
            WHOLE.replace(b"POST ", begin)
            for begin in (b"POST  ", b"POST\t", b" POST ", b"\nPOST ", b"PO ST ")
        ),
        WHOLE.replace(b"\r\n", b"\n"),
        WHOLE.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\n"),
        WHOLE.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\r\n"),
        b"GET /healthz\r\n\r\n",
        WHOLE.replace(b"POST /v1", b"POST http://localhost/v1"),
        WHOLE.replace(b"read_file", b"read_file#x"),
        WHOLE.replace(b"/v1/native/read_file", b"*"),
        WHOLE.replace(b"/v1/native/read_file", b"/v1/native/read_f\xc3\xadle"),
        WHOLE.replace(b"POST /v1/native/read_file", b"CONNECT localhost:80"),
        HEAD + b"Content-Length: 17\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 17\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Content-Length: +17\r\n\r\n" + BODY,
        HEAD + b"Content-Length : 17\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 17, 17\r\n\r\n" + BODY,
        HEAD + b"Content-Length: 0x11\r\n\r\n" + BODY,
        HEAD + b"Content-Length: \r\n\r\n" + BODY,
        HEAD + b"Content-Length: 99999999999999999999\r\n\r\n" + BODY,
        HEAD + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
        HEAD.replace(b"HTTP/1.1", b"HTTP/1.0") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        *(
            HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
            for chunks in (
                *(b"0x11\r\n" + BODY + b"\r\n0\r\n\r\n", b"-1\r\n\r\n0\r\n\r\n", b"+11\r\n" + BODY),
                *(b"11\n" + BODY + b"\n0\n\n", b"11;a\nb\r\n" + BODY + b"\r\n0\r\n\r\n", b"\r\n0\r\n\r\n"),
                *(b"fffffffffffffffff\r\n", b"11;" + b"x" * 4096 + b"\r\n" + BODY + b"\r\n0\r\n\r\n"),
                b"11\r\n" + BODY + b"0\r\n\r\n0\r\n\r\n",
            )
        ),
        HEAD + b"X: %s\r\nContent-Length: 17\r\n\r\n%s" % (b"x" * SERVE_HEAD_BYTES, BODY),
        HEAD + b"X\tY: a\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b": a\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"\tX: a\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"X: a\r\n folded\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"X: a\rb\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"X: a\0b\r\nContent-Length: 17\r\n\r\n" + BODY,
        HEAD + b"No colon\r\nContent-Length: 17\r\n\r\n" + BODY,
    ],
)
def test_what_is_not_one_request_for_every_reader_is_refused_in_our_words(
    served: Agent, request_: bytes
) -> None:
    ((status, body),) = sent(served, request_)
    assert (status, code(body)) == (400, "bad_request")
    assert b"hello" not in body


@each(
    ("request_", "expected"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", (505, "wrong_version")),
        (WHOLE.replace(b"HTTP/1.1", b"HTTP/3.7"), (505, "wrong_version")),
        (WHOLE.replace(b"HTTP/1.1", b"HTTP/0.9"), (505, "wrong_version")),
        (HEAD + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", (501, "unknown_coding")),
        (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", (501, "unknown_coding")),
        (HEAD + b"Transfer-Encoding:gzip\t,\tchunked\t\r\n\r\n0\r\n\r\n", (501, "unknown_coding")),
        (HEAD + b"transfer-encoding: Identity\r\n\r\n" + BODY, (501, "unknown_coding")),
    ],
)
def test_what_this_server_does_not_speak_has_its_own_status(
    served: Agent, request_: bytes, expected: tuple[int, str]
) -> None:
    """RFC 9112, 2.3 and 6.1; alone, and after another request."""
    ((status, body),) = sent(served, request_)
    assert (status, code(body)) == expected
    assert sent(served, WHOLE + request_)[-1][0] == expected[0]


@each("size", [1, 3, 100_000])
@each("extension", [b"", b";a=b", b';x="y z"'])
def test_chunks_are_taken_however_they_are_cut(served: Agent, size: int, extension: bytes) -> None:
    """RFC 9112, 7.1.1: extensions mean nothing. Another request may follow, and empty lines."""
    chunks = b"%x%s\r\n%s\r\n0%s\r\n\r\n" % (len(BODY), extension, BODY, extension)
    request = HEAD + b"Transfer-Encoding: Chunked\r\n\r\n" + chunks + b"\r\n" + LAST_ONE
    found = sent(served, *(request[at : at + size] for at in range(0, len(request), size)))
    assert [(status, b"hello" in body) for status, body in found] == [(200, True)] * 2


def test_headers_behind_a_body_are_refused(served: Agent) -> None:
    """uvicorn puts them among those in front, where they could say who asks."""
    trailer = b"Readroom-Agent: somebody-else\r\n"
    chunks = b"%x\r\n%s\r\n0\r\n%s\r\n" % (len(BODY), BODY, trailer)
    request = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    ((status, body),) = sent(served, request)
    assert (status, code(body)) == (400, "bad_request")
    assert "somebody-else" not in command(served.state, "ledger", "--limit", "1000", "--json")


def test_what_follows_a_request_and_is_none_ends_the_connection(served: Agent) -> None:
    with connected(served) as line:
        line.sendall(WHOLE)
        data = b""
        while b"hello" not in data:
            data += line.recv(65536)
        line.sendall(b"\xff\xff\xff\xff\r\n\r\n")
        rest = b"".join(iter(lambda: line.recv(65536), b""))
    assert b"HTTP/1.1 400 " in rest


@pytest.mark.parametrize("filling", [b"X: y\r\n", b"x" * 1024])
def test_a_head_without_end_is_refused_and_not_kept(served: Agent, filling: bytes) -> None:
    with connected(served) as line:
        line.sendall(HEAD + (b"" if filling.endswith(b"\n") else b"X: "))
        for _ in range(2 + SERVE_HEAD_BYTES // len(filling)):
            try:
                line.sendall(filling)
            except OSError:  # it has closed already
                break
        data = b"".join(iter(lambda: _received(line), b""))
    assert data == b"" or b" 400 " in data  # an answer over unread bytes can be lost
    refused = json.loads(command(served.state, "ledger", "refused", "--json", "--limit", "1000"))["rows"]
    assert "bad_request" in {row["outcome"] for row in refused}
    assert served.request("GET", "/healthz").status == 200


def _received(line: socket.socket) -> bytes:
    try:
        return line.recv(65536)
    except ConnectionResetError:
        return b""


def test_a_connection_serves_many_requests_one_after_the_other(served: Agent) -> None:
    with closing(served.connect()) as connection:
        for _ in range(50):
            connection.request("POST", "/v1/native/read_file", BODY, {"Content-Type": "application/json"})
            response = connection.getresponse()
            assert (response.status, b"hello" in response.read()) == (200, True)
            local = connection.sock.getsockname()
    assert local[1] > 0


def test_nothing_that_clients_send_is_written_to_standard_error(tmp_path: Path) -> None:
    with open_agent(tmp_path / "state", str(tmp_path)) as found:
        sent(found, b"hello\r\n\r\n")
        sent(
            found,
            b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        )
        found.process.terminate()
        assert found.process.stderr is not None
        assert found.process.stderr.read() == b""


IMPATIENT = """
import sys
from readroom.server.http import protocol
from readroom.cli.main import main
protocol.SERVE_IDLE_S = protocol.SERVE_HEADER_S = 1.0
protocol.SERVE_UNREAD_S = 0.2
sys.argv[0] = "readroom"
main()
"""


def test_who_takes_nothing_of_its_answers_is_let_go(tmp_path: Path) -> None:
    """Its place, and the answers, would be kept for it for ever."""
    (tmp_path / "a.txt").write_text("a line of text\n" * 3000, encoding="utf-8")
    with agent(tmp_path / "state", "--open", str(tmp_path), program=("-c", IMPATIENT)) as found:
        with closing(socket.socket()) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            line.connect((found.host, found.port))
            line.sendall(WHOLE * 200)  # 9 MB of answers: more than the system holds for both sides
            ended = select.poll()
            ended.register(line, 0)
            assert ended.poll(END_S * 1000)
        assert found.request("GET", "/healthz").status == 200
