"""A client that goes away ends the work that was done for it: a command with its children, a search."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.http.serving import END_S, Agent, command, open_agent

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With minutes of searching in 8 MB: one file under thousands of names."""
    found = tmp_path_factory.mktemp("root")
    (found / "0.txt").write_bytes(b"lorem ipsum dolor sit amet consectetur\n" * 200_000)
    for number in range(1, 8000):
        os.link(found / "0.txt", found / f"{number}.txt")
    os.mkfifo(found / "started")  # to open it waits for the command
    return found


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with open_agent(tmp_path_factory.mktemp("state"), str(root), "--allow-commands") as found:
        yield found


def _below(process: int) -> set[int]:
    """What it has started, and what that has started, and still runs."""
    line = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat="]
    listed = subprocess.run(line, capture_output=True, check=True, text=True).stdout
    rows = [row.split() for row in listed.removesuffix("\n").split("\n")]
    parents = {int(pid): int(parent) for pid, parent, state in rows if not state.startswith("Z")}
    found, fresh = set[int](), {process}
    while fresh:
        fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
        found |= fresh
    return found


def _eventually(condition: Callable[[], object]) -> None:
    """Each look starts a process, which is pause enough."""
    give_up = time.monotonic() + END_S
    while not condition():
        assert time.monotonic() < give_up


def _recorded(served: Agent, tool: str) -> str:
    """What the ledger has of calls of a tool; nothing before the first."""
    try:
        return command(served.state, "ledger", "--tool", tool)
    except AssertionError:  # there is no ledger yet
        return ""


def _left(served: Agent, tool: str, arguments: object, begun: Callable[[], object]) -> None:
    """Call, wait until it has begun, and hang up; the processes of the call end, and it is recorded."""
    before = _below(served.process.pid)
    connection = served.connect()
    connection.request("POST", f"/v1/native/{tool}", json.dumps(arguments), JSON)
    begun()
    _eventually(lambda: _below(served.process.pid) - before)
    started = _below(served.process.pid) - before
    connection.close()
    _eventually(lambda: not started & _below(served.process.pid))
    _eventually(lambda: "cancelled" in _recorded(served, tool))
    assert served.request("GET", "/healthz").status == 200


def test_a_running_search_ends(served: Agent) -> None:
    search = {"pattern": "(?:[a-z]+[^a-z]){3,9}[A-Z]", "timeout_s": 300}
    _left(served, "grep_files", search, lambda: None)


def test_a_running_command_ends_with_its_children(served: Agent, root: Path) -> None:
    line = {"command": "sleep 5000 & echo begun > started; wait", "timeout_s": 300}
    _left(served, "run_command", line, (root / "started").read_text)
