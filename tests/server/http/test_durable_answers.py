"""An answer over HTTP leaves when the row of its call is in the ledger, or says that it is not."""

from __future__ import annotations

import json
import os
import select
import sqlite3
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from tests.server.http.serving import Agent, command, open_agent

CALLERS, CALLS = 16, 12


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Agent]:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.txt").write_text("hello\n", encoding="utf-8")
    with open_agent(tmp_path / "state", str(root)) as found:
        yield found


def ledger(found: Agent) -> Path:
    return found.state / "readroom" / "ledger.sqlite3"


def rows(found: Agent) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(command(found.state, "ledger", "--json", "--limit", "100000"))[
        "rows"
    ]
    return told


def test_answers_wait_for_their_rows_and_nothing_else_does(served: Agent) -> None:
    assert served.call("read_file", {"path": "a.txt"}).status == 200  # the ledger is made
    with ExitStack() as stack:
        other = stack.enter_context(closing(sqlite3.connect(ledger(served), isolation_level=None)))
        other.execute("BEGIN IMMEDIATE")
        waiting = [stack.enter_context(closing(served.connect())) for _ in range(20)]
        for connection in waiting:
            body = json.dumps({"path": "a.txt"})
            connection.request("POST", "/v1/native/read_file", body, {"Content-Type": "application/json"})
        # More wait for their rows than calls run at once, and what needs no row is answered.
        assert [served.request("GET", "/healthz").status for _ in range(20)] == [200] * 20
        assert select.select([connection.sock for connection in waiting], [], [], 0) == ([], [], [])
        assert other.execute("SELECT COUNT(*) FROM calls").fetchone() == (1,)
        other.execute("ROLLBACK")
        assert [connection.getresponse().status for connection in waiting] == [200] * 20
    assert len(rows(served)) == 21


def test_an_answer_says_that_its_call_is_missing_in_the_ledger(served: Agent) -> None:
    assert served.call("read_file", {"path": "a.txt"}).status == 200
    os.rename(ledger(served), served.state / "elsewhere")
    for tool, arguments in (("read_file", {"path": "a.txt"}), ("read_file", {"path": "none"})):
        answer = served.call(tool, arguments).json
        assert answer["_meta"]["readroom/facts"]["warnings"][-1]["code"] == "not_recorded"
        assert "missing from the ledger" in answer["content"][0]["text"]
    os.rename(served.state / "elsewhere", ledger(served))
    answer = served.call("read_file", {"path": "a.txt"}).json
    assert answer["_meta"]["readroom/facts"]["warnings"] == []


def test_every_call_of_many_clients_is_one_row_and_the_chain_verifies(served: Agent) -> None:
    def calls(number: int) -> list[int]:
        found = []
        with closing(served.connect()) as connection:
            for at in range(CALLS):
                body = json.dumps({"path": "a.txt" if at % 3 else "none"})
                headers = {"Content-Type": "application/json", "Readroom-Agent": f"client-{number}"}
                connection.request("POST", "/v1/native/read_file", body, headers)
                response = connection.getresponse()
                response.read()
                found.append(response.status)
        return found

    with ThreadPoolExecutor(CALLERS) as pool:
        statuses = Counter(status for found in pool.map(calls, range(CALLERS)) for status in found)
    assert statuses == {200: CALLERS * CALLS * 2 // 3, 404: CALLERS * CALLS // 3}
    assert Counter(row["agent"] for row in rows(served)) == {f"client-{at}": CALLS for at in range(CALLERS)}
    assert json.loads(command(served.state, "ledger", "verify", "--json"))["problems"] == []
