"""A collector that is away slows and breaks nothing, and the memory for it is bounded."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.mcp.serving import Stdio
from tests.server.otel.collector import END_S, collector, environment

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")

FULL = """
from readroom.core.caller import ANONYMOUS
from readroom.core.session.journal import Entry
from readroom.server.otel import OtelPolicy
from readroom.server.otel.sender import MOST_WAITING, sender_of

sender = sender_of(OtelPolicy(endpoint={url!r}))
for _ in range(3 * MOST_WAITING):
    sender.told(Entry(ANONYMOUS, 0, "native", "read_file", {{"content": "x" * 100_000}}))
assert len(sender._waiting) <= MOST_WAITING, len(sender._waiting)
assert "xxx" not in repr(sender._waiting[0])
sender.flush()
"""

FORKED = """
import os, sys
from readroom import Workspace

with Workspace(sys.argv[1]) as workspace:
    workspace.read("a.txt")
    workspace.gatekeeper.observer.flush()
    child = os.fork()
    if not child:
        workspace.read("a.txt")
        workspace.gatekeeper.observer.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    workspace.read("a.txt")
"""


@contextmanager
def silent() -> Iterator[str]:
    """The address of a program that takes connections and never answers."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def nobody() -> str:
    """An address where nobody listens."""
    with silent() as url:
        return url


def run(url: str, state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # Whoever waited for an answer would wait for longer than the test does.
    told = environment(state, OTEL_EXPORTER_OTLP_ENDPOINT=url, OTEL_EXPORTER_OTLP_TIMEOUT=str(10 * END_S))
    return subprocess.run(
        [sys.executable, *arguments], env=told, capture_output=True, text=True, timeout=END_S
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("away", ["nobody", "silent"])
def test_a_command_answers_and_ends(away: str, root: Path, tmp_path: Path) -> None:
    with silent() as never:
        url = never if away == "silent" else nobody()
        done = run(url, tmp_path, "-m", "readroom", "read", "a.txt", "--root", str(root))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1\tone" in done.stdout


def test_a_server_answers_and_says_it_once(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=nobody()).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Stdio(root) as client:
        for _ in range(50):
            assert not client.call("read_file", {"path": "a.txt"})["isError"]
        code, log = client.end()
    assert code == 0
    assert log.count("127.0.0.1 took no") <= 1
    assert "Traceback" not in log


def test_what_comes_later_is_sent_when_it_is_back(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = nobody()
    for name, value in environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    with Stdio(root) as client:
        client.call("read_file", {"path": "a.txt"})
        with collector(tmp_path, int(url.rpartition(":")[2])) as back:
            client.call("find_files", {"pattern": "*"})
            names = {span["name"] for span in back.spans()}
    assert names & {"tools/call find_files", "tools/call read_file"}


def test_what_waits_is_bounded_and_without_content(tmp_path: Path) -> None:
    with silent() as url:
        done = run(url, tmp_path, "-c", FULL.format(url=url))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_process_sends_its_own(root: Path, tmp_path: Path) -> None:
    with collector(tmp_path) as found:
        assert run(found.url, tmp_path, "-c", FORKED, str(root)).returncode == 0
        assert [span["name"] for span in found.spans(3)] == ["tools/call read_file"] * 3
