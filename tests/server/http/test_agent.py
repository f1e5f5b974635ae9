"""The HTTP agent: who gets in, what comes back, and that nothing takes it down."""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from readroom import Workspace
from readroom.mcp.calls import share
from readroom.server.http.connections import HTTP_CONNECTIONS
from tests.each import each
from tests.server.http.cluster import PROCESSES
from tests.server.http.serving import Agent, agent, command, open_agent
from tests.suites import daily


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    (folder / "a.txt").write_text("hello\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=secret\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    (folder / "b.txt").write_text("there\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module", params=PROCESSES)
def processes(request: pytest.FixtureRequest) -> str:
    """How many there are of the agent."""
    return str(request.param)


@pytest.fixture(scope="module")
def opened(root: Path, processes: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    """An agent that needs no token."""
    with open_agent(tmp_path_factory.mktemp("state"), "--workers", processes, str(root)) as found:
        yield found


@pytest.fixture(scope="module")
def guarded(
    root: Path, other: Path, processes: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Agent]:
    """An agent of two workspaces that needs tokens."""
    config = tmp_path_factory.mktemp("config") / "operator.toml"
    config.write_text(
        f'[serve]\nauth = "required"\ndefault = "main"\n'
        f'[workspaces.main]\nroot = "{root}"\n[workspaces.other]\nroot = "{other}"\n',
        encoding="utf-8",
    )
    state = tmp_path_factory.mktemp("state")
    with agent(state, "--workers", processes, "--config", str(config)) as found:
        yield found


@each(
    ("tool", "arguments", "status", "code"),
    [
        ("read_file", {}, 400, "missing_argument"),
        ("list_directory", [], 400, "wrong_type"),
        ("read_file", {"path": ".env"}, 403, "denied"),
        ("read_file", {"path": "../x"}, 403, "outside_root"),
        ("read_file", {"path": "none"}, 404, "not_found"),
        ("none", {}, 404, "unknown_tool"),
        ("write_file", {"path": "a.txt", "content": "", "expected_hash": "absent"}, 409, "exists"),
    ],
)
def test_errors_of_tools_have_the_status_of_their_class(
    opened: Agent, tool: str, arguments: object, status: int, code: str
) -> None:
    answer = opened.call(tool, arguments)
    assert (answer.status, answer.code) == (status, code)
    assert b"secret" not in answer.body


@each(
    "path",
    [
        "/v1/native",
        "/v1/native%2Fread_file",
        "/v1//native/read_file",
        "/v1/./native/read_file",
        "/w/../v1/native/read_file",
        "/w/%2e%2e/v1/native/read_file",
        "/v1/native/read_file%00",
        "/v1/native/\xff",
        "/" + "a" * 5000,
        "/w/nobody/v1/native/read_file",
        "/v1/nobody/read_file",
        "/a.txt",
        "/mcp/a.txt",
    ],
)
def test_tricks_with_addresses_lead_nowhere(opened: Agent, path: str) -> None:
    with closing(socket.create_connection((opened.host, opened.port), timeout=30)) as line:
        body = b'{"path":"a.txt"}'
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        length = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body)
        line.sendall(head.encode("latin-1") + length + body)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.split(b" ", 2)[1] in (b"400", b"404")
    assert b"hello" not in answer


@each("body", [b"", b"{", b"\xff", b"[" * 100_000, b'{"path": NaN}', b'{"path":"a.txt"} x'])
def test_a_body_that_is_no_json_is_refused(opened: Agent, body: bytes) -> None:
    answer = opened.request(
        "POST", "/v1/native/read_file", body, headers={"Content-Type": "application/json"}
    )
    assert (answer.status, answer.code) == (400, "bad_request")


def test_a_form_is_refused_as_a_page_can_send_it_unasked(opened: Agent) -> None:
    answer = opened.request("POST", "/v1/native/read_file", b'{"path":"a.txt"}')
    assert (answer.status, answer.code) == (415, "wrong_media_type")
    assert answer.json["error"]["message"].startswith("The body has no type. Send JSON")


def test_a_body_too_large_is_refused_before_it_is_sent(opened: Agent) -> None:
    with closing(opened.connect()) as connection:
        connection.putrequest("POST", "/v1/native/read_file")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(10**12))
        connection.endheaders()
        response = connection.getresponse()
        assert response.status == 413
        assert json.loads(response.read())["error"]["code"] == "body_too_large"


def test_headers_that_never_end_are_not_waited_for(opened: Agent) -> None:
    """A client that sends a byte now and then would hold its place for ever."""
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        lines = []
        for before in (b"", health):
            line = stack.enter_context(closing(socket.create_connection((opened.host, opened.port), 60)))
            line.sendall(before + b"GET / HTTP/1.1\r\nHost: loc")
            lines.append(line)
        answers = [b"".join(iter(partial(line.recv, 65536), b"")) for line in lines]
    for answer, others in zip(answers, (0, 1), strict=True):
        assert answer.count(b"HTTP/1.1 200") == others
        assert answer.count(b"HTTP/1.1 408") == 1
        assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["error"]["code"] == "slow_request"
    assert command(opened.state, "ledger", "refused", "--outcome", "slow_request").count("slow_request") == 2


def test_connections_beyond_the_most_are_told_to_come_back(root: Path, tmp_path: Path) -> None:
    """Each of them has a request that was let in, and whose body does not come."""
    head = "POST /v1/native/read_file HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with agent(tmp_path / "state", str(root)) as found, ExitStack() as stack:
        mine, token = found.make_token("bot"), found.make_token("other")
        most = share(HTTP_CONNECTIONS)
        for number in range(HTTP_CONNECTIONS):
            who = mine if number < most else token
            begun = f"{head}Authorization: Bearer {who}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            if number == most:  # one token has as many as it may have, and the others have room
                assert found.call("read_file", {"path": "a.txt"}, token=mine).status == 503
                assert found.call("read_file", {"path": "a.txt"}, token=token).status == 200
            line = stack.enter_context(closing(socket.create_connection((found.host, found.port), 60)))
            line.sendall(begun.encode())
            assert line.recv(100).startswith(b"HTTP/1.1 100 ")  # it is asked for, so the request is inside
        answer = found.call("read_file", {"path": "a.txt"}, token=token)
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "busy", "1")
        assert found.request("GET", "/healthz").status == 200


def test_a_body_in_chunks_is_counted(opened: Agent) -> None:
    with closing(opened.connect()) as connection:
        pieces = (b" " * 2**20 for _ in range(40))
        headers = {"Content-Type": "application/json"}
        try:
            connection.request("POST", "/v1/native/read_file", pieces, headers, encode_chunked=True)
        except (BrokenPipeError, ConnectionResetError):
            return  # it hung up on the rest, which says the same
        assert connection.getresponse().status == 413


@each("method", ["GET", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE"])
def test_another_method_is_told_which(opened: Agent, method: str) -> None:
    answer = opened.request(method, "/v1/native/read_file")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


@each(
    ("headers", "refused"),
    [
        ({"Host": "evil.example"}, (421, "not_this_host")),
        ({"Host": "127.0.0.1.evil"}, (421, "not_this_host")),
        ({"Host": "a@localhost"}, (421, "not_this_host")),
        ({"Origin": "http://evil.example"}, (403, "wrong_origin")),
        ({"Origin": "null"}, (403, "wrong_origin")),
    ],
)
@each("path", ["/", "/healthz", "/v1/native/read_file"])
def test_pages_of_others_are_kept_out(
    opened: Agent, headers: dict[str, str], refused: tuple[int, str], path: str
) -> None:
    answer = opened.request("POST", path, b"{}", headers={"Content-Type": "application/json", **headers})
    assert (answer.status, answer.code) == refused


def test_health_needs_no_token_and_says_nothing_else(guarded: Agent) -> None:
    assert guarded.request("GET", "/healthz").json == {"status": "ok"}


@each("path", ["/", "/metrics", "/openapi.json", "/docs", "/v1/native/read_file", "/none"])
def test_nothing_else_is_open_without_a_token(guarded: Agent, path: str) -> None:
    answer = guarded.request("GET", path)
    assert (answer.status, answer.code) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_is_asked_for_before_the_body_is_read(guarded: Agent) -> None:
    with closing(guarded.connect()) as connection:
        connection.putrequest("POST", "/v1/native/write_file")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "1000000")
        connection.endheaders()
        assert connection.getresponse().status == 401


@pytest.mark.parametrize("expect", ["", "Expect: 100-continue\r\n"])
def test_a_refusal_reaches_a_client_that_is_still_sending(guarded: Agent, expect: str) -> None:
    """A socket that is closed over bytes nobody read resets the connection, and the answer with it."""
    with closing(socket.create_connection((guarded.host, guarded.port), timeout=30)) as line:
        head = f"POST /v1/native/write_file HTTP/1.1\r\nHost: localhost\r\n{expect}"
        line.sendall(f"{head}Content-Length: 300000\r\n\r\n".encode())
        select.select([line], [], [])
        line.sendall(b" " * 300_000)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert answer.endswith(b"}")


def test_a_token_opens_what_it_was_made_for(guarded: Agent) -> None:
    token = guarded.make_token("bot", "--workspace", "other", "--tool", "read_file")
    read = guarded.call("read_file", {"path": "b.txt"}, token=token, at="/w/other")
    assert read.status == 200
    assert "there" in read.json["content"][0]["text"]
    assert guarded.call("grep_files", {"pattern": "t"}, token=token, at="/w/other").code == "not_granted"
    elsewhere = guarded.call("read_file", {"path": "a.txt"}, token=token, at="/w/main")
    assert (elsewhere.status, elsewhere.code) == (404, "no_such_workspace")
    assert guarded.call("read_file", {"path": "a.txt"}, token=token).code == "no_such_workspace"
    assert "main" not in elsewhere.json["error"]["message"].split("are: ")[1]


def test_a_policy_of_a_token_only_restricts(guarded: Agent, tmp_path: Path) -> None:
    policy = tmp_path / "less.toml"
    policy.write_text('[policy]\ndeny = ["a.txt"]\n', encoding="utf-8")
    token = guarded.make_token("bot", "--policy", str(policy))
    assert guarded.call("read_file", {"path": "a.txt"}, token=token).code == "denied"
    assert guarded.call("read_file", {"path": ".env"}, token=token).code == "denied"
    policy.unlink()
    assert guarded.call("read_file", {"path": "a.txt"}, token=token).status >= 400


def test_a_revoked_token_ends_in_the_running_server(guarded: Agent) -> None:
    token = guarded.make_token("bot")
    assert guarded.call("read_file", {"path": "a.txt"}, token=token).status == 200
    command(guarded.state, "token", "revoke", token.split("_")[1])
    answer = guarded.call("read_file", {"path": "a.txt"}, token=token)
    assert (answer.status, answer.code) == (401, "unauthorized")


def test_too_many_requests_say_when_to_come_back(root: Path, tmp_path: Path) -> None:
    config = tmp_path / "operator.toml"
    config.write_text("[serve]\naddress_rate = 5\n", encoding="utf-8")
    with agent(tmp_path / "state", "--config", str(config), str(root)) as found:
        answers = [found.request("GET", "/healthz") for _ in range(8)]
    assert [answer.status for answer in answers[:5]] == [200] * 5
    assert answers[-1].status == 429
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 120


def test_what_others_at_its_address_send_does_not_count_for_a_token(root: Path, tmp_path: Path) -> None:
    """All behind a proxy have one address; and a token whose requests are refused counts like them."""
    config = tmp_path / "operator.toml"
    config.write_text("[serve]\naddress_rate = 20\n", encoding="utf-8")
    with agent(tmp_path / "state", "--config", str(config), str(root)) as found:
        token = found.make_token("bot")

        def status(path: str) -> int:
            return found.call("read_file", {"path": path}, token=token).status

        assert {status("a.txt") for _ in range(30)} == {200}
        others = [found.call("read_file", {"path": "a.txt"}).status for _ in range(22)]
        assert (others[0], others[-1]) == (401, 429)
        assert {status("a.txt") for _ in range(30)} == {200}
        assert found.request("GET", "/v1/%2e%2e/etc", token=token).status == 429
        assert found.call("read_file", {"path": "a.txt"}, token=found.make_token("new")).status == 429
        command(found.state, "token", "revoke", token.split("_")[1])
        assert status("a.txt") in (401, 429)
        assert status("a.txt") == 429


def test_the_log_has_no_path_of_a_file_and_no_secret(root: Path, tmp_path: Path) -> None:
    begun = datetime.now(UTC).replace(microsecond=0)
    with open_agent(tmp_path / "state", "--access-log", str(root)) as found:
        token = found.make_token("bot")
        found.call("read_file", {"path": "a.txt"}, token=token)
        found.call("read_file", {"path": "missing.txt"}, token=token)
        found.process.terminate()
        _, log = found.process.communicate(timeout=60)
    lines = [json.loads(line) for line in log.decode().splitlines()]
    assert [(line["tool"], line["status"]) for line in lines] == [("read_file", 200), ("read_file", 404)]
    times = [datetime.fromisoformat(line["time"]) for line in lines]
    assert begun <= times[0] <= times[1] <= datetime.now(UTC)
    assert b".txt" not in log
    assert token.encode() not in log


def test_a_shortened_conversation_is_shown_again_what_it_saw(opened: Agent) -> None:
    def read() -> str:
        body = json.dumps({"path": "a.txt", "known_hash": known}).encode()
        headers = {"Content-Type": "application/json", "Readroom-Session": "talk-1"}
        answer = opened.request("POST", "/v1/native/read_file", body, headers=headers)
        text = answer.json["content"][0]["text"]
        assert isinstance(text, str)
        return text

    known = opened.call("read_file", {"path": "a.txt"}).json["_meta"]["readroom/facts"]["content_hash"]
    read()
    answer = opened.request("POST", "/v1/sessions/talk-1/compacted")
    assert (answer.status, answer.json) == (200, {"session": "talk-1", "compacted": True})
    assert "hello" in read()
    assert "hello" not in read()


def test_metrics_count_calls_by_tool(opened: Agent) -> None:
    opened.call("read_file", {"path": "a.txt"})
    text = opened.request("GET", "/metrics").body.decode()
    assert (
        'readroom_tool_calls_total{contract="native",outcome="ok",tool="read_file",workspace="default"}'
        in text
    )


def test_the_description_names_every_tool_and_its_page_has_no_script(opened: Agent) -> None:
    document = opened.request("GET", "/openapi.json").json
    assert document["openapi"] == "3.1.0"
    with Workspace(".") as workspace:
        for tool in workspace.tools():
            found = document["paths"][f"/v1/native/{tool.name}"]["post"]
            assert found["requestBody"]["content"]["application/json"]["schema"] == tool.input_schema
    page = opened.request("GET", "/docs")
    assert b"<script" not in page.body
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_a_socket_file_serves_its_user_and_goes_with_the_server(root: Path, tmp_path: Path) -> None:
    path = tmp_path / "agent.sock"
    with agent(tmp_path / "state", "--socket", str(path), str(root)):
        with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as line:
            line.connect(str(path))
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: anything\r\nConnection: close\r\n\r\n")
            assert b'{"status":"ok"}' in b"".join(iter(lambda: line.recv(4096), b""))
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


def test_a_running_call_is_answered_when_the_server_is_told_to_end(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "started")  # to open it waits for the command
    with open_agent(tmp_path / "state", str(root), "--allow-commands") as found:
        with closing(found.connect()) as connection:
            body = json.dumps({"command": "echo begun > started; sleep 1; echo whole"})
            headers = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/native/run_command", body.encode(), headers)
            assert (root / "started").read_text(encoding="utf-8") == "begun\n"
            found.process.terminate()
            answer = json.loads(connection.getresponse().read())
    assert "whole" in answer["content"][0]["text"]
    (root / "started").unlink()


@daily(1, "host", ["0.0.0.0", "::"])
def test_other_machines_need_a_token(root: Path, tmp_path: Path, host: str) -> None:
    with pytest.raises(AssertionError, match="no token"), agent(tmp_path, "--host", host, str(root)):
        pass
