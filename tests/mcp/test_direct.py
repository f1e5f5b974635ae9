"""Calls over stdio while others wait for a file system that does not answer."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from threading import Event, Thread
from typing import Any, cast

from readroom import Workspace
from readroom.core import limits
from readroom.core.paths import WorkPath
from readroom.core.stores.base import Source, Store
from readroom.core.stores.memory import MemoryStore
from readroom.mcp import stdio

from .serving import END_S, Message, call, initialize, request


class _Slow:
    """A store that opens `slow.txt` when somebody lets it."""

    def __init__(self, let: Event) -> None:
        self._files = MemoryStore({"slow.txt": "late\n", "quick.txt": "at once\n"})
        self._let = let

    def open(self, path: WorkPath) -> Source:
        if path == "slow.txt":
            assert self._let.wait(END_S)
        return self._files.open(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


class _Client:
    """The other side of a server that runs in the main thread, where it hears signals."""

    def __init__(self) -> None:
        self.theirs, self._writing = os.pipe()
        reading, self.answers = os.pipe()
        self._reading = os.fdopen(reading, "rb")

    def send(self, message: Message) -> None:
        os.write(self._writing, json.dumps(message).encode() + b"\n")

    def receive(self) -> Message:
        found: Message = json.loads(self._reading.readline())
        return found

    def leave(self) -> None:
        os.close(self._writing)

    def close(self) -> None:
        self._reading.close()
        os.close(self.theirs)
        os.close(self.answers)


def _serve(talk: Callable[[_Client, Event], None], settle_s: float = 0) -> None:
    """Serve a client that, in a thread, does `talk(client, let)` and leaves."""
    let, client, failures = Event(), _Client(), list[BaseException]()

    def run() -> None:
        try:
            client.send(initialize("somebody"))
            client.receive()
            talk(client, let)
        except BaseException as error:
            failures.append(error)
        finally:
            let.set()
            client.leave()

    thread = Thread(target=run, daemon=True)
    with Workspace(cast("Store", _Slow(let))) as workspace:
        thread.start()
        offer = stdio.offered(workspace, "native", None)
        stdio.converse(offer, client.theirs, client.answers, settle_s=settle_s)
        thread.join(END_S)
    client.close()
    assert failures == []


def test_a_file_system_that_does_not_answer_keeps_nobody_waiting() -> None:
    """Neither pings nor other calls, and who waits for it can stop waiting."""

    def talk(client: _Client, let: Event) -> None:
        client.send(call(2, "read_file", {"path": "slow.txt"}))
        client.send(call(3, "read_file", {"path": "slow.txt"}))
        client.send(request(4, "ping", {}))
        assert client.receive()["id"] == 4
        client.send(call(5, "read_file", {"path": "quick.txt"}))
        assert "at once" in client.receive()["result"]["content"][0]["text"]
        cancelled = {"method": "notifications/cancelled", "params": {"requestId": 2}}
        client.send({"jsonrpc": "2.0", **cancelled})
        client.send(request(6, "ping", {}))
        assert client.receive()["id"] == 6
        let.set()
        late = client.receive()
        assert late["id"] == 3
        assert "late" in late["result"]["content"][0]["text"]

    _serve(talk)


def test_a_call_too_many_is_turned_away_at_once() -> None:
    most = limits.MCP_WORKERS + limits.SERVE_QUEUE

    def talk(client: _Client, let: Event) -> None:
        for number in range(most + 1):
            client.send(call(10 + number, "read_file", {"path": "slow.txt"}))
        turned_away = client.receive()
        assert turned_away["id"] == 10 + most
        facts = turned_away["result"]["_meta"]["readroom/facts"]
        assert facts["error"]["code"] == "busy"
        let.set()
        assert sorted(client.receive()["id"] for _ in range(most)) == list(range(10, 10 + most))
        client.send(call(9, "read_file", {"path": "quick.txt"}))
        assert "at once" in client.receive()["result"]["content"][0]["text"]

    _serve(talk)


def test_whoever_waits_at_the_end_is_told() -> None:
    def talk(client: _Client, let: Event) -> None:
        client.send(call(2, "read_file", {"path": "slow.txt"}))
        client.send(request(3, "ping", {}))
        assert client.receive()["id"] == 3
        client.leave()
        client.leave = lambda: None  # type: ignore[method-assign]
        assert client.receive()["error"]["message"].startswith("The server has ended")

    _serve(talk)


def test_what_was_asked_before_the_end_is_answered() -> None:
    def talk(client: _Client, let: Event) -> None:
        client.send(call(2, "read_file", {"path": "slow.txt"}))
        client.leave()
        client.leave = lambda: None  # type: ignore[method-assign]
        let.set()
        assert "late" in client.receive()["result"]["content"][0]["text"]

    _serve(talk, settle_s=END_S)
