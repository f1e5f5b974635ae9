"""The addresses of coder's agent on a real server: with its gate, its ledger and its workspaces."""

from __future__ import annotations

import asyncio
import hashlib
import json
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from starlette.types import Message

from readroom.core.paths import WorkPath
from readroom.core.stores.local import LocalStore
from readroom.core.values.files import Stream
from readroom.server.http.access_log import Exchange
from readroom.server.http.coder import STREAM_BYTES, StreamedBytes
from readroom.server.http.gate import EXCHANGE
from tests.server.http.serving import Agent, agent, command, open_agent

LARGE = 24 * 1024 * 1024


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("coder")


@pytest.fixture(scope="module")
def server(state: Path) -> Iterator[Agent]:
    root, other = state / "root", state / "other"
    for folder in (root, other):
        folder.mkdir()
    (root / "a&b #c%20é\u2603.txt").write_text("found\n", encoding="utf-8")
    (root / ".env").write_text("SECRET=1", encoding="utf-8")
    (root / "page.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    (root / "large.bin").write_bytes(bytes(range(256)) * (LARGE // 256))
    (other / "b").write_text("other\n", encoding="utf-8")
    config = state / "readroom.toml"
    config.write_text(
        f'[serve]\ndefault = "main"\n'
        f'[workspaces.main]\nroot = "{root}"\n[workspaces.other]\nroot = "{other}"\n',
        encoding="utf-8",
    )
    with open_agent(state / "state", "--config", str(config)) as found:
        yield found


def url(name: str, path: str | Path, **query: object) -> str:
    return f"/api/v0/{name}?{urlencode({'path': str(path), **query})}"


def test_lines_are_read_by_any_name(server: Agent, state: Path) -> None:
    path = state / "root" / "a&b #c%20é\u2603.txt"
    found = server.request("GET", url("read-file-lines", path))
    assert found.json == {
        "success": True, "file_size": 6, "total_lines": 1, "lines_read": 1, "content": "1\tfound",
    }  # fmt: skip


def test_a_named_workspace_has_the_addresses_too(server: Agent, state: Path) -> None:
    path = state / "other" / "b"
    assert server.request("GET", "/w/other" + url("read-file-lines", path)).json["content"] == "1\tother"
    assert "outside" in server.request("GET", url("read-file-lines", path)).json["error"]


def test_bytes_come_whole_and_in_parts(server: Agent, state: Path) -> None:
    path = state / "root" / "large.bin"
    whole = server.request("GET", url("read-file", path))
    assert whole.status == 200
    assert whole.headers["content-length"] == str(LARGE)
    assert hashlib.sha256(whole.body).digest() == hashlib.sha256(path.read_bytes()).digest()
    part = server.request("GET", url("read-file", path, offset=255, limit=3))
    assert (part.body, part.headers["content-type"]) == (b"\xff\x00\x01", "application/octet-stream")


def test_the_server_holds_no_more_than_a_piece_of_a_large_file(server: Agent, state: Path) -> None:
    def peak() -> int:
        status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="utf-8")
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))

    server.request("GET", url("read-file", state / "root" / "page.html"))
    before = peak()
    for _ in range(3):
        server.request("GET", url("read-file", state / "root" / "large.bin"))
    assert (peak() - before) * 1024 < LARGE // 2


def test_a_client_that_leaves_in_the_middle_leaves_no_open_file(server: Agent, state: Path) -> None:
    for _ in range(5):
        with closing(socket.create_connection((server.host, server.port))) as connection:
            line = f"GET {url('read-file', state / 'root' / 'large.bin')} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            connection.sendall(line.encode())
            assert connection.recv(12) == b"HTTP/1.1 200"
    folder = Path(f"/proc/{server.process.pid}/fd")
    for _ in range(200):  # each request gives the server time to notice
        server.request("GET", "/healthz")
        held = [one for one in folder.iterdir() if one.is_symlink() and "large.bin" in str(_target(one))]
        if not held:
            return
    pytest.fail("the file is still open")


def test_a_file_that_is_cut_short_meanwhile_ends_the_answer_early_and_quietly(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(2 * STREAM_BYTES))
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        (tmp_path / "f").write_bytes(b"short")

    async def receive() -> Message:
        await asyncio.Event().wait()
        return {}

    with LocalStore(tmp_path).open(WorkPath("f")) as source:
        response = StreamedBytes(Stream(source, 0, source.size), "f")
        exchange = Exchange("GET", "")
        asyncio.run(response({"type": "http", EXCHANGE: exchange}, receive, send))
    assert exchange.code == "changed"
    assert all(one.get("more_body", True) for one in sent)  # it never says that it is complete


def _target(link: Path) -> Path:
    try:
        return link.readlink()
    except FileNotFoundError:
        return Path()


def test_a_page_of_the_workspace_cannot_act_in_a_browser(server: Agent, state: Path) -> None:
    found = server.request("GET", url("read-file", state / "root" / "page.html"))
    assert found.headers["content-type"].startswith("text/html")
    assert found.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert found.headers["x-content-type-options"] == "nosniff"


def test_files_are_written_edited_and_listed(server: Agent, state: Path) -> None:
    path = state / "root" / "new" / "x\xffy.txt"
    body = b"one\r\n\xff\x00two\r\n"
    written = server.request("POST", url("write-file", path), body)
    assert written.json == {"message": f'Successfully wrote to "{path}"'}
    assert path.read_bytes() == body
    server.request("POST", url("write-file", path), b"one\r\ntwo\r\n")
    files = [{"path": str(path), "edits": [{"search": "one\n", "replace": "1\n"}]}]
    edited = server.request("POST", "/api/v0/edit-files", json.dumps({"files": files}).encode())
    assert (edited.status, edited.json) == (200, {})
    assert path.read_bytes() == b"1\r\ntwo\r\n"
    listed = server.request("POST", url("list-directory", path.parent), b"{}")
    assert [one["name"] for one in listed.json["contents"]] == [path.name]
    older = server.request("POST", "/api/v0/list-directory", b'{"path":["new"],"relativity":"home"}')
    assert older.json == listed.json


def test_names_that_are_no_characters_are_read_and_listed(server: Agent, state: Path) -> None:
    folder = state / "root" / "odd"
    folder.mkdir()
    name = bytes(folder) + b"/\xff\xfe"
    Path(name.decode("utf-8", "surrogateescape")).write_bytes(b"odd\n")
    found = server.request("GET", f"/api/v0/read-file-lines?path={quote(name)}")
    assert found.json["content"] == "1\todd"
    listed = server.request("POST", url("list-directory", folder), b"{}").json["contents"]
    again = server.request("GET", url("read-file-lines", listed[0]["absolute_path_string"]))
    assert again.json["content"] == "1\todd"


def test_what_the_gate_refuses_is_refused_here_too(server: Agent, state: Path) -> None:
    path = url("read-file", state / "root" / "page.html")
    assert server.request("GET", path, headers={"Host": "evil.example"}).code == "not_this_host"
    assert server.request("GET", path, headers={"Origin": "http://evil.example"}).code == "wrong_origin"
    assert server.request("POST", path).status == 405
    assert server.request("GET", "/api/v0/nothing").status == 404
    for address in ("/api/v0/nothing", "/w/other/api/v0/desktop/action", "/api/v0/no%20thing"):
        refused = server.request("POST", address)
        assert (refused.status, bool(refused.json["message"])) == (404, True)
    assert server.request("GET", path, headers={"Host": "evil.example"}).json["message"]
    declared = {"Content-Length": str(10**9)}
    assert (
        server.request("POST", url("write-file", state / "root" / "z"), b"", headers=declared).status == 413
    )


def test_every_call_stands_in_the_ledger_without_content(server: Agent, state: Path) -> None:
    path = state / "root" / "ledger.txt"
    server.request("POST", url("write-file", path), b"the content of this file")
    server.request("GET", url("read-file", path))
    server.request("GET", url("read-file-lines", state / "root" / ".env"))
    server.request("GET", url("read-file-lines", path, offset="-1"))
    rows = json.loads(command(server.state, "ledger", "list", "--limit", "1000", "--json"))["rows"]
    told = json.dumps(rows)
    assert "the content of this file" not in told
    assert "SECRET" not in told
    own = {(row["tool"], row["outcome"]) for row in rows if row["contract"] == "coder"}
    assert {("write-file", "ok"), ("read-file", "ok"), ("read-file-lines", "denied")} <= own
    assert "GET /api/v0/read-file-lines" in told or "/api/v0/read-file-lines" in told


def test_a_token_opens_the_addresses_of_the_tools_that_it_grants(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a").write_text("x", encoding="utf-8")
    with agent(tmp_path / "state", str(root)) as found:
        token = found.make_token("reader", "--tool", "read_file")
        path = url("read-file-lines", root / "a")
        assert found.request("GET", path).code == "unauthorized"
        assert found.request("GET", path, token=token).json["success"]
        assert found.request("GET", url("read-file", root / "a"), token=token).body == b"x"
        refused = found.request("POST", url("write-file", root / "a"), b"y", token=token)
        listed = found.request("POST", url("list-directory", root), b"{}", token=token)
        assert (refused.status, listed.status) == (403, 403)
        assert "message" in refused.json
    assert (root / "a").read_bytes() == b"x"
