"""`readroom mcp --at`: an MCP client here, its server there, and what it hears when the connection is not."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import termios
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from readroom.cli.remote import near
from readroom.cli.remote.address import parsed
from readroom.core.errors import NotReached
from tests.cli.remote.sshd import Sshd, needs_sshd
from tests.cli.remote.test_at import PATIENCE_S, encoded, linux
from tests.cli.running import COMMAND
from tests.each import each
from tests.suites import needs

pytestmark = needs_sshd

HELLO: Mapping[str, Any] = {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"},
}  # fmt: skip


class Talk:
    """A client that writes its messages by hand."""

    def __init__(self, *words: str, environment: Mapping[str, str]) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", *words], env=dict(environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def send(self, method: str, number: int | str | None = None, **parameters: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": parameters}
        if number is not None:
            message["id"] = number
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def was_read(self) -> None:
        """Wait until the program has taken all that was sent."""
        assert self.process.stdin is not None
        left = array("i", [1])
        while left[0]:
            fcntl.ioctl(self.process.stdin, termios.FIONREAD, left)

    def __del__(self) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, out, err


@pytest.fixture
def talk(sshd: Sshd, shop: Path) -> Iterator[Talk]:
    one = Talk("--at", sshd.address(encoded(shop)), environment=sshd.environment)
    yield one
    if one.process.poll() is None:
        one.end()


def call(talk: Talk, number: int, tool: str, **arguments: Any) -> Any:
    talk.send("tools/call", number, name=tool, arguments=arguments)
    return talk.hear()


@needs("contracts")
def test_the_first_reply_tells_where_the_workspace_is_and_how_it_is_confined(
    talk: Talk, sshd: Sshd, shop: Path
) -> None:
    address = sshd.address(encoded(shop))
    talk.send("initialize", 1, **HELLO)
    assert f"The workspace is {parsed(address)}" in talk.hear()["result"]["instructions"]
    talk.send("notifications/initialized")
    wrong = call(talk, 2, "read_file", path="nope")["result"]
    assert wrong["isError"]
    first = call(talk, 3, "read_file", path="README.md")["result"]
    lines = first["content"][0]["text"].split("\n")
    assert lines[-1] == "[end of file]"
    assert lines[-2].startswith(f"[The workspace is {parsed(address)}; there, links cannot lead out: ")
    place = first["_meta"]["readroom/workspace"]
    assert place == {
        "address": str(parsed(address)),
        "folder": str(shop),
        "confinement": place["confinement"],
    }
    second = call(talk, 4, "list_directory")["result"]
    assert "The workspace is" not in second["content"][0]["text"]
    assert "readroom/workspace" not in second["_meta"]
    assert talk.end()[0] == 0


@needs("contracts")
def test_the_first_reply_stays_within_the_cap_of_its_client(sshd: Sshd, shop: Path) -> None:
    (shop / "big.txt").write_text("".join(f"line {number} of a big file\n" for number in range(5000)))
    talk = Talk("--at", sshd.address(encoded(shop)), "--max-chars", "2000", environment=sshd.environment)
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    for number in (2, 3):
        text = call(talk, number, "read_file", path="big.txt")["result"]["content"][0]["text"]
        assert len(text.encode()) <= 2000
        assert ("The workspace is" in text) == (number == 2)
        assert text.split("\n")[-1].startswith("[")
    talk.end()


@needs("contracts")
def test_replies_of_other_contracts_keep_their_form(sshd: Sshd, shop: Path) -> None:
    talk = Talk("--at", sshd.address(encoded(shop)), "--contract", "everruns", environment=sshd.environment)
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    talk.send("tools/call", 2, name="list_directory", arguments={})
    result = talk.hear()["result"]
    assert json.loads(result["content"][0]["text"])["path"] == "/workspace"
    assert result["_meta"]["readroom/workspace"]["folder"] == str(shop)
    talk.end()


async def _session(sshd: Sshd, shop: Path) -> list[str]:
    words = [*COMMAND[1:], "mcp", "--at", sshd.address(encoded(shop))]
    server = StdioServerParameters(command=COMMAND[0], args=words, env=dict(sshd.environment))
    async with Client(stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        read = await client.call_tool("read_file", {"path": "README.md"})
        text = read.content[0].text  # type: ignore[union-attr]
        changed = await client.call_tool(
            "edit_file",
            {"path": "README.md", "expected_hash": text.split("sha256:")[1].split("\n")[0],
             "edits": [{"old_text": "needle", "new_text": "thread"}]},
        )  # fmt: skip
        assert not changed.is_error, changed
        denied = await client.call_tool("read_file", {"path": ".env"})
        assert denied.is_error
        assert "canary" not in str(denied)
        return tools


def test_a_session_of_the_official_client(sshd: Sshd, shop: Path) -> None:
    tools = anyio.run(_session, sshd, shop)
    assert tools[:2] == ["read_file", "grep_files"]
    assert (shop / "README.md").read_text() == "# shop\nthread\n"


@each(
    "what",
    {
        "closed": "nothing listens on that port",
        "nowhere": "there is no host of that name",
        "flood": "is not from readroom",
        "empty": "there is no readroom there",
    },
)
def test_every_request_is_answered_where_there_is_no_server(what: str, sshd: Sshd, shop: Path) -> None:
    addresses = {"closed": "ssh://127.0.0.1:1/x", "nowhere": "ssh://no.such.host.invalid/x"}
    address = addresses.get(what) or sshd.address(encoded(shop), what)
    talk = Talk("--at", address, environment=sshd.environment)
    talk.send("server/discover", "a")
    talk.send("initialize", 1, **HELLO)
    answers = [talk.hear(), talk.hear()]
    assert [answer["id"] for answer in answers] == ["a", 1]
    expected = {
        "closed": "nothing listens on that port", "nowhere": "there is no host of that name",
        "flood": "is not from readroom", "empty": "there is no readroom there",
    }[what]  # fmt: skip
    for answer in answers:
        assert expected in answer["error"]["message"]
        assert answer["error"]["data"]["code"] == "not_reached"
    code, rest, complaint = talk.end()
    assert (code, rest) == (8, b"")
    assert expected in complaint.decode()


def test_a_folder_that_is_not_there_is_said_to_a_client(sshd: Sshd) -> None:
    talk = Talk("--at", sshd.address("/no/such/folder"), environment=sshd.environment)
    talk.send("initialize", 1, **HELLO)
    answer = talk.hear()
    assert "no file or folder /no/such/folder" in answer["error"]["message"]
    assert talk.end()[0] == 4


def below(number: int) -> Iterator[int]:
    """The processes of sshd below one: those of its connections."""
    for child in Path(f"/proc/{number}/task/{number}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text() == "sshd\n":
            yield int(child)
            yield from below(int(child))


@linux
def test_a_connection_that_breaks_in_the_middle_answers_what_is_open(
    sshd: Sshd, shop: Path, talk: Talk
) -> None:
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    connections = list(below(sshd.process.pid))
    for number in connections:
        os.kill(number, signal.SIGSTOP)  # what comes now gets no answer
    talk.send("tools/call", 2, name="list_directory", arguments={})
    talk.send("ping", "three")
    talk.was_read()
    for number in connections:
        os.kill(number, signal.SIGKILL)
    answers = [talk.hear(), talk.hear()]
    assert {answer["id"] for answer in answers} == {2, "three"}
    assert all("the connection ended before the answer" in answer["error"]["message"] for answer in answers)
    assert talk.end()[0] == 8


def test_a_machine_that_hangs_is_given_up(sshd: Sshd, shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(near, "_HELLO_S", 2.0)
    monkeypatch.setenv("PATH", sshd.environment["PATH"])
    monkeypatch.setenv("HOME", sshd.environment["HOME"])
    with pytest.raises(NotReached, match="did not answer within 2 s"):
        near.Near(parsed(sshd.address(encoded(shop), "silent")), asks=False)


def test_bytes_pass_whole_in_both_directions(sshd: Sshd, shop: Path, talk: Talk) -> None:
    text = "".join(f"{number} ü\n" for number in range(60_000))
    talk.send("initialize", 1, **HELLO)
    talk.hear()
    made = call(talk, 2, "write_file", path="big.txt", content=text, expected_hash="absent")
    assert not made["result"]["isError"], made
    assert (shop / "big.txt").read_text() == text
    for number in range(3, 23):
        talk.send("tools/call", number, name="read_file", arguments={"path": "big.txt", "limit": 1500})
    heard = {talk.hear()["id"] for _ in range(20)}
    assert heard == set(range(3, 23))


def test_no_key_and_no_token_is_in_a_request(sshd: Sshd, shop: Path, tmp_path: Path) -> None:
    """Nothing of this environment goes to the other machine but what a terminal is."""
    secrets = {
        "READROOM_TOKEN": "canary-1",
        "AWS_SECRET_ACCESS_KEY": "canary-2",
        "SSH_AUTH_SOCK": "/canary-3",
    }
    record = tmp_path / "sent"
    program = tmp_path / "ssh"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{record}.words\ntee {record} | {sshd.folder}/client/ssh "$@"\n'
    )
    program.chmod(0o755)
    environment = {**sshd.environment, **secrets, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(
        [*COMMAND, "ls", "--at", sshd.address(encoded(shop))],
        env=environment,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done
    sent = record.read_bytes() + Path(f"{record}.words").read_bytes() + done.stdout + done.stderr
    assert b"canary" not in sent
    assert str(shop).encode() in record.read_bytes()
