"""A database that hangs or is locked: every wait has a limit, and what is refused says why."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from readroom.core.limits.session import LEDGER_WAIT_S, STATE_WAIT_S
from tests.mcp.serving import call, initialize
from tests.server.http.cluster import Cluster, cluster, database, emptied
from tests.server.http.serving import Agent, Answer, agent
from tests.server.ledger.postgres import Server

pytestmark = pytest.mark.long

MCP = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
AT_ONCE = 8
SLACK_S = 4.0
"""For threads of a busy machine. Without a limit these waits would take as long as the database does."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with database() as found:
        yield found


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("root")
    (folder / "a.txt").write_text("hello there\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, root: Path, postgres: Server) -> Iterator[Cluster]:
    """Two servers that share a state with budgets and rates, and a ledger that is required."""
    settings = 'auth = "required"\nrate = 100000\naddress_rate = 100000\n[budget]\nsession = 100000000\n'
    state = tmp_path_factory.mktemp("state")
    url = emptied(postgres)
    with cluster(state, root, url, settings, "--allow-commands", required=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def token(found: Cluster) -> str:
    return found.make_token("bot", "--workspace", "default")


def read(one: Agent, token: str) -> tuple[Answer, float]:
    began = time.monotonic()
    answer = one.call("read_file", {"path": "a.txt"}, token=token)
    return answer, time.monotonic() - began


def all_at_once(found: Cluster, token: str) -> Sequence[tuple[Answer, float]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: read(one, token), found.turns(AT_ONCE)))


def wait_until_back(found: Cluster, token: str) -> None:
    ends = time.monotonic() + 60
    while any(read(one, token)[0].status != 200 for one in found.agents):
        assert time.monotonic() < ends


@contextmanager
def stopped(postgres: Server) -> Iterator[None]:
    """Its processes neither answer nor end: as with a hung disk, or a network that drops packets."""
    pids = postgres.processes()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in reversed(pids):
            os.kill(pid, signal.SIGCONT)


def refused_in_time(answers: Sequence[tuple[Answer, float]], within_s: float, *codes: str) -> None:
    for answer, took in answers:
        assert answer.status == 503, answer.body
        assert answer.code in codes
        assert answer.headers["retry-after"]
        assert took < within_s + SLACK_S


def test_a_database_that_hangs_is_refused_in_time(found: Cluster, token: str, postgres: Server) -> None:
    wait_until_back(found, token)
    with stopped(postgres):
        refused_in_time(all_at_once(found, token), STATE_WAIT_S + LEDGER_WAIT_S, "state_failed")
        # Later requests wait no longer, and `/healthz` still answers.
        refused_in_time(all_at_once(found, token), STATE_WAIT_S, "state_failed")
        for one in found.agents:
            assert one.request("GET", "/healthz").status == 200
            ready = one.request("GET", "/readyz")
            assert (ready.status, ready.json) == (503, {"status": "unready", "code": "state_failed"})
    wait_until_back(found, token)
    for one in found.agents:
        wait_until_ready(one)


def wait_until_ready(one: Agent) -> None:
    """One look answers the probes of a moment."""
    ends = time.monotonic() + 30
    while (ready := one.request("GET", "/readyz")).status != 200:
        assert time.monotonic() < ends
    assert ready.json == {"status": "ok"}


@pytest.mark.parametrize(
    "table", ["state_outputs", "state_paid", "state_tokens", "state_windows", "state_held"]
)
def test_a_locked_table_of_the_state_is_refused_in_time(
    found: Cluster, token: str, postgres: Server, table: str
) -> None:
    """Reads wait for such a lock too; those that need the table say so, and no file is blamed."""
    wait_until_back(found, token)
    with psycopg.connect(postgres.url) as connection:
        connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        answers = all_at_once(found, token)
        if table == "state_outputs":  # a plain read needs no outputs
            assert [answer.status for answer, _ in answers] == [200] * AT_ONCE
            listed = found.agents[0].call("list_directory", {"path": "/.outputs"}, token=token)
            assert (listed.status, listed.code) == (503, "state_failed")
        else:
            if table == "state_windows":  # some requests may have been counted ahead, before the lock
                ends = time.monotonic() + 60
                while any(answer.status == 200 for answer, _ in answers) and time.monotonic() < ends:
                    answers = all_at_once(found, token)
            refused_in_time(answers, STATE_WAIT_S, "state_failed")
    wait_until_back(found, token)


def test_a_locked_ledger_that_is_required_is_refused_in_time(
    found: Cluster, token: str, postgres: Server
) -> None:
    wait_until_back(found, token)
    with psycopg.connect(postgres.url) as connection:
        connection.execute("LOCK TABLE calls IN ACCESS EXCLUSIVE MODE")
        refused_in_time(all_at_once(found, token), LEDGER_WAIT_S, "ledger_failed")
    wait_until_back(found, token)


def test_a_session_of_mcp_is_refused_in_time(found: Cluster, token: str, postgres: Server) -> None:
    one = found.agents[0]
    opened = one.request(
        "POST", "/mcp", json.dumps(initialize("somebody")).encode(), token=token, headers=MCP
    )
    headers = {**MCP, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
    with psycopg.connect(postgres.url) as connection:
        connection.execute("LOCK TABLE state_sessions IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        message = json.dumps(call(1, "read_file", {"path": "a.txt"})).encode()
        answer = one.request("POST", "/mcp", message, token=token, headers=headers)
        assert answer.status == 503
        assert answer.json["error"]["data"]["code"] == "state_failed"
        assert time.monotonic() - began < STATE_WAIT_S + SLACK_S
    wait_until_back(found, token)


def test_a_server_of_one_process_is_ready(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with agent(tmp_path, "--open", str(tmp_path / "root")) as one:
        assert one.request("GET", "/readyz").json == {"status": "ok"}


def test_a_required_ledger_that_cannot_be_written_is_not_ready(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    ledger = tmp_path / "ledger.sqlite3"
    config = tmp_path / "operator.toml"
    config.write_text(f'[ledger]\nfile = "{ledger}"\nrequired = true\n', encoding="utf-8")
    with agent(tmp_path, "--open", "--config", str(config), str(tmp_path / "root")) as one:
        assert one.request("GET", "/readyz").status == 200
        ledger.unlink()
        ledger.mkdir()
        ends = time.monotonic() + 30
        while (answer := one.request("GET", "/readyz")).status == 200:
            assert time.monotonic() < ends
        assert answer.json == {"status": "unready", "code": "ledger_failed"}
        refused = one.call("list_directory", {})
        assert (refused.status, refused.code) == (503, "ledger_failed")
