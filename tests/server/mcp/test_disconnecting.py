"""A client that goes away, in whatever way, stops the work that was done for it.

Every worker of a server is given a read that takes minutes.  When another call is
answered, or the process has ended, they have stopped.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from uuid import uuid4

import pytest

from readroom.core.limits import MCP_WORKERS
from tests.mcp.serving import (
    END_S,
    ERAS,
    HANDSHAKE,
    STATELESS,
    Http,
    Stdio,
    call,
    endless_log,
    events,
    http_server,
)
from tests.suites import daily

LONG = {"path": "endless.txt", "offset": -1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("endless")
    endless_log(found)
    (found / "small.txt").write_text("hello\n", encoding="utf-8")
    return found


def _busy(client: Stdio) -> None:
    """Give every worker something to do, and wait until all have begun."""
    for number in range(MCP_WORKERS):
        client.send(call(number, "read_file", LONG, progressToken=number))
    begun: set[object] = set()
    while len(begun) < MCP_WORKERS:
        begun.add(client.receive()["params"]["progressToken"])


def _answers(client: Stdio | Http) -> bool:
    return "1\thello" in client.call("read_file", {"path": "small.txt"})["content"][0]["text"]


@pytest.mark.parametrize("era", ERAS)
def test_a_cancelled_call_stops_and_is_not_answered(folder: Path, era: str) -> None:
    with Stdio(folder, version=era) as client:
        _busy(client)
        for number in range(MCP_WORKERS):
            client.send(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}}
            )
        client.send(call("last", "read_file", {"path": "small.txt"}))
        answered = []
        while "last" not in answered:
            answered.append(client.receive().get("id"))
    assert [answer for answer in answered if answer is not None] == ["last"]


@daily(1, "era", ERAS)
def test_the_server_ends_when_its_input_ends(folder: Path, era: str) -> None:
    with Stdio(folder, version=era) as client:
        _busy(client)
        assert client.end() == (0, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_cleanly(folder: Path, number: signal.Signals) -> None:
    with Stdio(folder) as client:
        _busy(client)
        client.process.send_signal(number)
        assert client.process.wait(END_S) == 0


def test_a_signal_ends_a_server_that_was_never_asked_anything(folder: Path) -> None:
    """While it waits for a first line, which the SDK's own transport cannot interrupt."""
    with Stdio(folder) as client:
        client.process.terminate()
        assert client.process.wait(END_S) == 0


def test_the_server_ends_when_nobody_reads_its_output(folder: Path) -> None:
    """The input stays open, as when a client's reading half has crashed."""
    with Stdio(folder) as client:
        _busy(client)
        assert client.process.stdout is not None
        client.process.stdout.close()
        client.send(call("x", "read_file", {"path": "small.txt"}))
        assert client.process.wait(END_S) == 0


def test_the_server_ends_though_its_last_replies_are_not_read(folder: Path) -> None:
    (folder / "long.txt").write_text("a line of text\n" * 3000, encoding="utf-8")
    with Stdio(folder, client="claude-code") as client:
        for number in range(20):
            client.send(call(number, "read_file", {"path": "long.txt"}))
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert client.process.wait(END_S) == 0
        client.process.stdin = None


# --- a search, which has a process of its own ---------------------------------------------------

SLOW = {"pattern": "(?:[a-z]+[^a-z]){3,9}[A-Z]", "timeout_s": 300}
"""Nothing matches, and every file has to be gone through character by character."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Minutes of searching in 8 MB: one file under thousands of names."""
    found = tmp_path_factory.mktemp("tree")
    (found / "0.txt").write_bytes(b"lorem ipsum dolor sit amet consectetur\n" * 200_000)
    for number in range(1, 8000):
        os.link(found / "0.txt", found / f"{number}.txt")
    (found / "small.txt").write_text("hello\n", encoding="utf-8")
    return found


def _processes() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat="], capture_output=True, check=True, text=True
    )
    rows = [line.split() for line in listed.stdout.removesuffix("\n").split("\n")]
    return {int(pid): (int(parent), state) for pid, parent, state, *_ in rows}


def _children(server: int) -> set[int]:
    return {
        pid for pid, (parent, state) in _processes().items() if parent == server and not state.startswith("Z")
    }


def _eventually(condition: Callable[[], object]) -> None:
    """Each look starts a process, which is pause enough."""
    give_up = time.monotonic() + END_S
    while not condition():
        assert time.monotonic() < give_up


@daily(1, "era", ERAS)
def test_a_cancelled_search_ends_its_process(tree: Path, era: str) -> None:
    with Stdio(tree, version=era) as client:
        client.send(call(1, "grep_files", SLOW))
        _eventually(lambda: _children(client.process.pid))
        client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}})
        _eventually(lambda: not _children(client.process.pid))
        assert _answers(client)


def test_the_end_of_the_server_ends_the_process_of_a_search(tree: Path) -> None:
    with Stdio(tree) as client:
        client.send(call(1, "grep_files", SLOW))
        _eventually(lambda: _children(client.process.pid))
        searching = _children(client.process.pid)
        assert client.end() == (0, "")
    assert not {pid for pid in searching if not _processes().get(pid, (0, "Z"))[1].startswith("Z")}


@daily(1, "era", ERAS)
def test_a_closed_connection_ends_the_process_of_a_search(tree: Path, era: str) -> None:
    with http_server(tree) as (url, process), Http(url, version=era) as client:
        connection = client.connect()
        client.begin(call(1, "grep_files", SLOW), connection)
        _eventually(lambda: _children(process.pid))
        connection.close()
        _eventually(lambda: not _children(process.pid))
        assert _answers(client)


# --- HTTP ----------------------------------------------------------------------------------------


@pytest.fixture
def url(folder: Path) -> Iterator[str]:
    with http_server(folder) as (found, _):
        yield found


@daily(1, "era", ERAS)
def test_a_closed_connection_stops_its_call(url: str, era: str) -> None:
    with Http(url, version=era) as client:
        with ExitStack() as connections:
            for number in range(MCP_WORKERS):
                connection = connections.enter_context(closing(client.connect()))
                long = call(number, "read_file", LONG, progressToken=number)
                response = client.post(long, connection=connection)
                assert next(events(response))["method"] == "notifications/progress"
        assert _answers(client)


def test_a_session_cancels_its_calls_by_notification(url: str) -> None:
    with Http(url, version=HANDSHAKE) as client, ExitStack() as connections:
        responses = []
        for number in range(MCP_WORKERS):
            connection = connections.enter_context(closing(client.connect()))
            long = call(number, "read_file", LONG, progressToken=number)
            responses.append(events(client.post(long, connection=connection)))
            assert next(responses[-1])["method"] == "notifications/progress"
        for number in range(MCP_WORKERS):
            cancel = {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": number},
            }
            client.post(cancel).read()
        assert _answers(client)
        for messages in responses:
            *_, last = messages
            assert last["error"]["message"] == "Request cancelled"


def test_a_client_cannot_cancel_the_calls_of_another(url: str) -> None:
    with Http(url) as client, Http(url) as other, closing(client.connect()) as connection:
        response = client.post(call(1, "read_file", LONG, progressToken=1), connection=connection)
        messages = events(response)
        assert next(messages)["method"] == "notifications/progress"
        other.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}).read()
        assert _answers(other)
        assert next(messages)["method"] == "notifications/progress"


@daily(1, "era", ERAS)
def test_a_call_that_runs_when_the_http_server_shall_end_is_answered(folder: Path, era: str) -> None:
    name = f"{uuid4()}.txt"
    endless_log(folder, name, size=2**28)
    arguments = {"path": name, "offset": -1, "limit": 1}
    with http_server(folder) as (url, process), Http(url, version=era) as client:
        with closing(client.connect()) as connection:
            messages = events(
                client.post(call(1, "read_file", arguments, progressToken=1), connection=connection)
            )
            assert next(messages)["method"] == "notifications/progress"
            process.send_signal(signal.SIGTERM)
            *_, last = messages
            assert not last["result"].get("isError")
            assert name in last["result"]["content"][0]["text"]
            assert process.wait(END_S) == 0


@daily(
    1,
    ("number", "era"),
    [(signal.SIGINT, HANDSHAKE), (signal.SIGINT, STATELESS), (signal.SIGTERM, HANDSHAKE)],
)
def test_a_signal_ends_the_http_server_cleanly(folder: Path, number: signal.Signals, era: str) -> None:
    with http_server(folder) as (url, process), Http(url, version=era) as client:
        with closing(client.connect()) as connection:
            response = client.post(call(1, "read_file", LONG, progressToken=1), connection=connection)
            assert next(events(response))["method"] == "notifications/progress"
            process.send_signal(number)
            assert process.wait(END_S) == 0
