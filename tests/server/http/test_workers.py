"""The processes of one server: started, started again when they die, and ended together."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from readroom.core.contracts.base import FACTS_KEY
from tests.server.http.cluster import cluster, wait_for, workers
from tests.server.http.serving import Agent, agent, command, open_agent
from tests.server.http.test_killed_agent import FILLING, Client, check

KILLS = 4
"""Of workers, one after the other, while clients edit."""

BUDGET = 10**8
END_S = 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_text("hello\n", encoding="utf-8")
    return folder


def begin(connection: HTTPConnection, root: Path, line: str) -> None:
    """Have a command run, which has begun when this returns."""
    os.mkfifo(root / "gate")  # to open it waits for the other side
    body = json.dumps({"command": f"echo begun > gate; {line}"})
    connection.request("POST", "/v1/native/run_command", body, {"Content-Type": "application/json"})
    assert (root / "gate").read_text(encoding="utf-8") == "begun\n"


class Editor(Client):
    """Goes on with another connection when one is lost."""

    def edit(self, found: Agent, over: threading.Event, done: threading.Semaphore) -> None:
        while not over.is_set():
            with suppress(OSError, HTTPException), closing(found.connect()) as connection:
                while not over.is_set():
                    if self._done():
                        continue
                    self._edit(connection)
                    done.release()

    def _done(self) -> bool:
        """Whether what was sent last is done, and only its answer was lost."""
        sent = self.sent
        if sent and sent not in self.acknowledged[-1:] and f"\n{sent}\n" in self.path.read_text("utf-8"):
            self.acknowledged.append(sent)
            return True
        return False


def test_nothing_acknowledged_is_lost_when_workers_are_killed(tmp_path: Path, root: Path) -> None:
    settings = f"[budget]\nworkspace = {BUDGET}\n"
    editors = [Editor(f"own{number}", root / f"{number}.txt") for number in range(4)]
    for editor in editors:
        editor.path.write_text(f"{FILLING}end\n", encoding="utf-8")
    state, over, done = tmp_path / "state", threading.Event(), threading.Semaphore(0)
    with cluster(state, root, None, settings, "--open") as found:
        (one,) = found.agents
        threads = [threading.Thread(target=editor.edit, args=(one, over, done)) for editor in editors]
        for thread in threads:
            thread.start()
        dead: list[int] = []
        for _ in range(KILLS):
            for _ in range(random.randrange(1, 40)):
                assert done.acquire(timeout=END_S)
            dead.append(random.choice(wait_for(2, one, dead)))
            os.kill(dead[-1], signal.SIGKILL)
        over.set()
        for thread in threads:
            thread.join()
        wait_for(2, one, dead)
        spent = json.loads(command(state, "budget", "list", "--json", *found.options))["spent"]
    for editor in editors:
        check(editor.path, [editor])
    assert json.loads(command(state, "ledger", "verify", "--json"))["problems"] == []
    rows = json.loads(command(state, "ledger", "--json", "--limit", "1000000"))["rows"]
    ok = [row for row in rows if row["tool"] == "edit_file" and row["outcome"] == "ok"]
    answered = sum(len(editor.acknowledged) for editor in editors)
    assert answered > KILLS
    # An answer may be lost behind its row, and a row behind the edit: at most one for each client and kill.
    assert answered - KILLS * len(editors) <= len(ok) <= answered
    # What was paid is what the rows say, and at most one call of each client more for each kill.
    paid, most = sum(row["tokens"] for row in rows), max(row["tokens"] for row in rows)
    assert paid <= spent[0]["used"] <= paid + KILLS * len(editors) * most


def test_a_worker_that_dies_is_replaced_and_others_answer_meanwhile(tmp_path: Path, root: Path) -> None:
    with open_agent(tmp_path / "state", "--workers", "2", str(root)) as found:
        before = wait_for(2, found)
        for dying in (before[:1], before):
            for one in dying:
                with suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            # What came to a worker that is dead waits for the other one, or for the next.
            assert found.call("read_file", {"path": "a.txt"}).status == 200
        after = wait_for(2, found, before)
        assert not set(after) & set(before)


def test_why_a_worker_cannot_start_is_said(tmp_path: Path, root: Path) -> None:
    """In one line: it is the disk or the database of the operator, and no defect."""
    with open_agent(tmp_path / "state", "--workers", "2", str(root)) as found:
        first, *_ = wait_for(2, found)
        (tmp_path / "state" / "readroom" / "state.sqlite3").write_bytes(b"no database " * 1000)
        os.kill(first, signal.SIGKILL)
        assert found.process.stderr is not None
        killed, said, ended = (found.process.stderr.readline() for _ in range(3))
    assert b"was ended by signal 9" in killed
    assert b"a worker could not continue: The shared state " in said
    assert b"has ended with code 1" in ended


def test_tokens_set_aside_by_a_dead_worker_are_free_again(tmp_path: Path, root: Path) -> None:
    settings = "[budget]\nworkspace = 20000\n"
    with cluster(tmp_path / "state", root, None, settings, "--open", "--allow-commands") as found:
        (one,) = found.agents
        before = wait_for(2, one)
        with closing(one.connect()) as connection:
            begin(connection, root, "sleep 100")
            for pid in before:
                os.kill(pid, signal.SIGKILL)
        wait_for(2, one, before)
        answer = one.call("read_file", {"path": "a.txt"}).json
        used = answer["_meta"][FACTS_KEY]["budget"][0]["used"]
        assert used == answer["_meta"][FACTS_KEY]["tokens"]
        with closing(sqlite3.connect(tmp_path / "state" / "readroom" / "state.sqlite3")) as rows:
            held = rows.execute("SELECT COUNT(*) FROM state_held WHERE until_us > 0").fetchone()
        assert held == (0,)


@pytest.fixture
def _hears_hangup() -> Iterator[None]:
    """Servers started meanwhile end with their terminal, also where these tests were started by `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("_hears_hangup")
@pytest.mark.parametrize(
    ("count", "number"), [(1, signal.SIGHUP), (2, signal.SIGHUP), (2, signal.SIGTERM)], ids=str
)
def test_told_to_end_it_lets_calls_finish(
    tmp_path: Path, root: Path, count: int, number: signal.Signals
) -> None:
    """Told by who started it, or by a terminal that is closed."""
    options = ("--workers", str(count), "--allow-commands", str(root))
    with open_agent(tmp_path / "state", *options) as found, closing(found.connect()) as connection:
        begin(connection, root, "sleep 1; echo done")
        pids = workers(found)
        found.process.send_signal(number)
        answer = connection.getresponse()
        assert (answer.status, b"done" in answer.read()) == (200, True)
        assert found.process.wait(END_S) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def test_a_server_outlives_its_terminal_where_it_was_asked_to(tmp_path: Path, root: Path) -> None:
    """As `nohup` does: the signal is ignored from the start."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with open_agent(tmp_path / "state", "--workers", "2", str(root)) as found:
            for pid in (found.process.pid, *wait_for(2, found)):
                os.kill(pid, signal.SIGHUP)
            assert found.request("GET", "/healthz").status == 200
            assert found.process.poll() is None
    finally:
        signal.signal(signal.SIGHUP, before)


def figure(found: Agent, name: str) -> float:
    """What Prometheus is told of one metric, all labels together."""
    answer = found.request("GET", "/metrics")
    assert answer.status == 200, answer.body.decode()
    lines = answer.body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name} ", f"{name}{{")))


def shows(found: Agent, name: str, expected: float) -> None:
    """Wait for a figure: an answer is counted when it was sent. Every process has to say the same then."""
    ends = time.monotonic() + END_S
    while figure(found, name) != expected:
        assert time.monotonic() < ends, found.request("GET", "/metrics").body.decode()
    assert [figure(found, name) for _ in range(8)] == [expected] * 8


def test_metrics_are_those_of_all_workers_and_of_those_that_have_died(tmp_path: Path, root: Path) -> None:
    with cluster(tmp_path / "state", root, None, "", "--open", "--allow-commands") as found:
        (one,) = found.agents
        before = wait_for(2, one)
        for _ in range(20):
            assert one.call("read_file", {"path": "a.txt"}).status == 200
        shows(one, "readroom_tool_calls_total", 20)
        os.kill(before[0], signal.SIGKILL)
        wait_for(2, one, but=before[:1])
        shows(one, "readroom_tool_calls_total", 20)
        with closing(one.connect()) as running:
            begin(running, root, "cat gate")
            shows(one, "readroom_open_calls", 1)
            (root / "gate").write_text("end\n", encoding="utf-8")
            assert running.getresponse().status == 200
        shows(one, "readroom_open_calls", 0)


def folders_of_metrics(pids: Iterable[int]) -> set[Path]:
    """Where processes count together."""
    opened = {os.readlink(file) for pid in pids for file in Path(f"/proc/{pid}/fd").iterdir()}
    return {Path(file).parent for file in opened if "/readroom-metrics-" in file}


def test_metrics_are_said_when_a_worker_was_killed_before_it_counted(tmp_path: Path, root: Path) -> None:
    """Its file is there and empty: what the others have counted is said all the same."""
    with open_agent(tmp_path / "state", "--workers", "2", str(root)) as found:
        assert found.call("read_file", {"path": "a.txt"}).status == 200
        shows(found, "readroom_tool_calls_total", 1)
        (folder,) = folders_of_metrics(wait_for(2, found))
        for kind in ("counter", "histogram", "gauge_livesum"):
            (folder / f"{kind}_1.db").touch()
        shows(found, "readroom_tool_calls_total", 1)


def test_workers_end_when_their_supervisor_is_killed(tmp_path: Path, root: Path) -> None:
    with open_agent(tmp_path / "state", "--workers", "2", str(root)) as found:
        pids = wait_for(2, found)
        counted = folders_of_metrics(pids)
        found.process.kill()
        ends = time.monotonic() + END_S
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            assert time.monotonic() < ends
        assert [folder.exists() for folder in counted] == [False]
    with closing(socket.socket()) as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind((found.host, found.port))


def test_a_port_that_is_taken_is_said_once(tmp_path: Path, root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run(
            [sys.executable, "-m", "readroom", "serve", "--workers", "2", "--port", port, str(root)],
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
            capture_output=True,
            timeout=END_S,
            check=False,
        )
    assert done.returncode != 0
    assert done.stderr.count(b"in use by another program") == 1
    assert done.stdout == b""


def test_a_unix_socket_is_served_by_all_and_goes_with_them(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "agent.sock"
    line = [sys.executable, "-m", "readroom", "serve", "--workers", "2", "--socket", str(path), str(root)]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(line, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        assert b"readroom serves" in process.stdout.readline()
        for _ in range(8):
            with closing(socket.socket(socket.AF_UNIX)) as client:
                client.connect(str(path))
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert client.recv(100).startswith(b"HTTP/1.1 200")
        process.terminate()
        process.communicate(timeout=END_S)
    assert not path.exists()


def test_workers_need_no_standard_streams(tmp_path: Path, root: Path) -> None:
    """Some service managers and scripts start a server with all three closed."""
    path = tmp_path / "agent.sock"
    line = [sys.executable, "-m", "readroom", "serve", "--workers", "2", "--socket", str(path), str(root)]
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *line], env=environment) as process:
        answer = b""
        while process.poll() is None and not answer:
            with closing(socket.socket(socket.AF_UNIX)) as client, suppress(OSError):
                client.connect(str(path))
                client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                answer = client.recv(100)
        assert answer.startswith(b"HTTP/1.1 200")
        process.terminate()
        assert process.wait(timeout=END_S) == 0


def test_a_state_that_is_locked_is_said_and_nothing_is_unlimited(tmp_path: Path, root: Path) -> None:
    settings = "[budget]\nworkspace = 100000\n"
    state = tmp_path / "state"
    with cluster(state, root, None, settings, "--open") as found:
        (one,) = found.agents
        assert one.call("read_file", {"path": "a.txt"}).status == 200
        file = state / "readroom" / "state.sqlite3"
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            answers = [one.call("read_file", {"path": "a.txt"}) for _ in range(3)]
            assert Counter((answer.status, answer.code) for answer in answers) == {(503, "state_failed"): 3}
            assert one.request("GET", "/healthz").status == 200
        ends = time.monotonic() + END_S
        while one.call("read_file", {"path": "a.txt"}).status != 200:
            assert time.monotonic() < ends


def test_a_full_disk_is_said_and_nothing_is_unlimited(tmp_path: Path, root: Path) -> None:
    """The state of a server whose files may not grow: what a full disk says, said by the system."""
    settings = "[ledger]\nenabled = false\n[budget]\nworkspace = 100000\n"
    config = tmp_path / "operator.toml"
    config.write_text(f"[serve]\n{settings}", encoding="utf-8")
    with agent(tmp_path / "state", "--open", "--workers", "2", "--config", str(config), str(root)) as found:
        assert found.call("read_file", {"path": "a.txt"}).status == 200
        for pid in wait_for(2, found):
            subprocess.run(["prlimit", "--pid", str(pid), "--fsize=0:0"], check=True)
        answers = [found.call("read_file", {"path": "a.txt"}) for _ in range(4)]
        assert {(answer.status, answer.code) for answer in answers} == {(503, "state_failed")}
