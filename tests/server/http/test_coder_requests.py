"""Requests as coder's client in Go sends them, recorded once and played in their order against a server.

`coder_requests.json` has them as that client's HTTP library wrote them: its headers, its escapes, whether a
body came in chunks, both pairs of texts of an edit.  The root is `/workspace` there.
"""

from __future__ import annotations

import io
import json
import socket
import zipfile
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPResponse
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.server.http.serving import Agent, open_agent

RECORDED: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "coder_requests.json").read_text(encoding="utf-8")
)
CHAT = "00000000-0000-0000-0000-000000000001"


class Received(NamedTuple):
    """The answer to one request."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("requests") / "root"
    found.mkdir()
    return found


@pytest.fixture(scope="module")
def server(root: Path) -> Iterator[Agent]:
    config = root.parent / "readroom.toml"
    config.write_text(f'[serve]\ndefault = "main"\n[workspaces.main]\nroot = "{root}"\n', encoding="utf-8")
    with open_agent(root.parent / "state", "--config", str(config)) as found:
        yield found


@pytest.fixture(scope="module")
def answers(server: Agent, root: Path) -> dict[str, Received]:
    """The answers to all requests, by their names."""
    return {request["name"]: sent(server, root, request) for request in RECORDED}


def sent(server: Agent, root: Path, request: dict[str, Any]) -> Received:
    target = request["target"].replace(quote("/workspace", safe=""), quote(str(root), safe=""))
    body = request.get("body", "").replace("/workspace", str(root)).encode()
    headers = {"Host": f"{server.host}:{server.port}", **request["headers"]}
    if request.get("chunked"):
        headers["Transfer-Encoding"] = "chunked"
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    elif body:
        headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with closing(socket.create_connection((server.host, server.port))) as connection:
        connection.sendall(f"{request['method']} {target} HTTP/1.1\r\n{head}\r\n".encode() + body)
        answer = HTTPResponse(connection, method=request["method"])
        answer.begin()
        return Received(answer.status, answer.read())


@pytest.mark.clause("coder.today.client")
def test_every_recorded_request_is_served(answers: dict[str, Received]) -> None:
    refused = {name: answer for name, answer in answers.items() if answer.status != 200}
    assert list(refused) == ["edit what is not there"]
    assert refused["edit what is not there"].status == 400


@pytest.mark.clause("coder.today.client")
def test_files_are_as_the_requests_left_them(answers: dict[str, Received], root: Path) -> None:
    assert (root / "dir/a b&c.txt").read_text(encoding="utf-8") == "1\n2 & 3\n"
    assert (root / "dir/b.txt").read_text(encoding="utf-8") == "b\n"
    folder = root / ".coder/chats" / CHAT / "files"
    assert sorted(file.name for file in folder.iterdir()) == ["re_port.txt", "re_port_2.txt"]


@pytest.mark.clause("coder.today.client")
def test_answers_have_what_that_client_decodes(answers: dict[str, Received], root: Path) -> None:
    name = f"{root}/dir/a b&c.txt"
    assert answers["write a file"].json == {"message": f'Successfully wrote to "{name}"'}
    assert answers["read lines"].json["content"] == "1\tone\n2\ttwo <three>"
    assert answers["read bytes"].body == b"one\ntwo <three>\n"
    listed = answers["list by path"].json
    assert [entry["name"] for entry in listed["contents"]] == ["a b&c.txt", "b.txt"]
    assert answers["list by parts"].json == listed
    (edited,) = answers["edit with a diff"].json["files"]
    assert edited["path"] == name
    assert edited["diff"].endswith("-one\n-two <three>\n+1\n+2 & 3\n")
    assert answers["edit by deleting"].json == {}
    assert (
        answers["edit what is not there"]
        .json["message"]
        .startswith(f"edit {root}/dir/b.txt: old_text not found in file.")
    )
    assert answers["resolve a path"].json == {"resolved_path": f"{root}/dir/b.txt"}
    archive = zipfile.ZipFile(io.BytesIO(answers["pack files"].body))
    assert archive.namelist() == [f"files{name}", f"files{root}/dir/b.txt", "manifest.json"]
    assert answers["upload a file again"].json["name"] == "re_port_2.txt"
