"""A server that is killed while clients edit: what it acknowledged is done and recorded, files are whole."""

from __future__ import annotations

import json
import random
import signal
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tests.server.http.serving import Agent, command, open_agent
from tests.suites import whole

ROUNDS = 5
OWN, SHARED = 3, 3
"""Clients that edit a file of their own, and clients that edit the same."""

FILLING = "unchanged\n" * 20_000
"""A file of 200 kB takes several pieces to write."""


@dataclass(slots=True)
class Client:
    """Adds a line to a file again and again, and keeps what was acknowledged."""

    name: str
    path: Path
    acknowledged: list[str] = field(default_factory=list)
    sent: str = ""

    def work(self, found: Agent, done: threading.Semaphore) -> None:
        """Until the server is gone."""
        try:
            with closing(found.connect()) as connection:
                while True:
                    self._edit(connection)
                    done.release()
        except (OSError, HTTPException):
            done.release()

    def _edit(self, connection: HTTPConnection) -> None:
        self.sent = f"{self.name} {len(self.acknowledged)} {random.randbytes(4).hex()}"
        while True:
            # Read apart: what another client does between the two makes this edit lose.
            known = sha256(self.path.read_bytes()).hexdigest()
            edit = {"old_text": "end\n", "new_text": f"{self.sent}\nend\n"}
            arguments = {"path": self.path.name, "expected_hash": f"sha256:{known}", "edits": [edit]}
            status, answer = called(connection, "edit_file", arguments)
            if status == 200:
                self.acknowledged.append(self.sent)
                return
            assert answer["error"]["code"] == "stale", answer


def called(connection: HTTPConnection, tool: str, arguments: Mapping[str, Any]) -> tuple[int, Any]:
    headers = {"Content-Type": "application/json", "Readroom-Agent": "editor"}
    connection.request("POST", f"/v1/native/{tool}", json.dumps(arguments), headers)
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def killed(clients: list[Client], root: Path, state: Path) -> None:
    """One life of a server, ended at a random moment while all clients edit."""
    done = threading.Semaphore(0)
    with open_agent(state, str(root)) as found:
        threads = [threading.Thread(target=client.work, args=(found, done)) for client in clients]
        for thread in threads:
            thread.start()
        for _ in range(random.randrange(1, 40)):
            assert done.acquire(timeout=60)
        found.process.send_signal(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert found.process.wait(timeout=60) == -signal.SIGKILL


def check(path: Path, clients: list[Client]) -> None:
    """The file is whole: each acknowledged line once and in order, and of others none but the last sent."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith(FILLING)
    assert text.endswith("end\n")
    lines = text.removeprefix(FILLING).splitlines()[:-1]
    for client in clients:
        own = [line for line in lines if line.startswith(f"{client.name} ")]
        if own[len(client.acknowledged) :] == [client.sent]:
            client.acknowledged.append(client.sent)  # done, and the answer was lost
        assert own == client.acknowledged
    assert len(lines) == sum(len(client.acknowledged) for client in clients)


@whole
def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    clients = [Client(f"own{number}", root / f"{number}.txt") for number in range(OWN)]
    clients += [Client(f"shared{number}", root / "shared.txt") for number in range(SHARED)]
    files = {client.path for client in clients}
    for path in files:
        path.write_text(f"{FILLING}end\n", encoding="utf-8")
    answered = 0
    for _ in range(ROUNDS):
        before = sum(len(client.acknowledged) for client in clients)
        killed(clients, root, state)
        answered += sum(len(client.acknowledged) for client in clients) - before
        for path in files:
            check(path, [client for client in clients if client.path == path])
        assert json.loads(command(state, "ledger", "verify", "--json"))["problems"] == []
    rows = json.loads(command(state, "ledger", "--json", "--limit", "100000"))["rows"]
    recorded = Counter(row["outcome"] for row in rows if row["tool"] == "edit_file")
    assert answered > ROUNDS
    assert recorded["ok"] >= answered
    assert recorded["ok"] <= sum(len(client.acknowledged) for client in clients)
