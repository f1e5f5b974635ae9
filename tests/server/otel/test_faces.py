"""Every way in sends the same span and the same metric of a call to a collector, which is a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mcp.serving import STATELESS, Stdio
from tests.server.http.serving import agent
from tests.server.otel.collector import END_S, Collector, Found, collector, environment

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="the extra otel is not installed")

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "congo=t61rcWkgMzE"}

LIBRARY = """
import sys
from readroom import Workspace

with Workspace(sys.argv[1]) as workspace:
    workspace.read("a.txt")
    workspace.call("read_file", {"path": "gone.txt"})
    workspace.call("invented " + "x" * 999, {"path": "a.txt"})
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "a.txt").write_text("canary of the content\n", encoding="utf-8")
    (folder / ".env").write_text("KEY=canary\n", encoding="utf-8")
    return folder


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    """A collector that the variables of the environment name."""
    with collector(tmp_path) as running:
        for name, value in environment(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=running.url).items():
            monkeypatch.setenv(name, value)
        yield running


def run(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, timeout=END_S)
    assert done.returncode == code, done
    return done


def is_a_call(span: Found, tool: str, face: str, outcome: str = "ok") -> bool:
    facts = span["facts"]
    assert span["name"] == f"tools/call {tool}".strip()
    assert facts.get("gen_ai.tool.name", "") == tool
    assert facts["gen_ai.operation.name"] == "execute_tool"
    assert facts["mcp.method.name"] == "tools/call"
    assert (facts["readroom.face"], facts["readroom.outcome"]) == (face, outcome)
    assert span["resource"]["service.name"] == "readroom"
    assert int(span["begun"]) <= int(span["ended"])
    failed = outcome != "ok"
    assert (span["status"] == "STATUS_CODE_ERROR") is failed
    assert facts.get("error.type", "") == (("tool_error" if face == "mcp" else outcome) if failed else "")
    return True


def counted(found: Collector, tool: str, outcome: str) -> Found:
    """The latest report of the histogram of such calls."""
    reports = [one for one in found.all("metrics") if one["name"] == "mcp.server.operation.duration"]
    said = [one for one in reports if one["facts"].get("gen_ai.tool.name", "") == tool]
    (*_, last) = [one for one in said if one["facts"]["readroom.outcome"] == outcome]
    assert last["unit"] == "s"
    assert last["bounds"][:3] == [0.01, 0.02, 0.05]
    assert last["bounds"][-1] == 300
    return last


def test_a_command_is_a_span_and_says_nothing_of_it(found: Collector, root: Path) -> None:
    assert run("-m", "readroom", "read", "a.txt", "--root", str(root)).stderr == ""
    run("-m", "readroom", "read", ".env", "--root", str(root), code=3)
    first, second = found.spans(2)
    assert is_a_call(first, "read_file", "cli")
    assert is_a_call(second, "read_file", "cli", "denied")
    assert first["kind"] == "SPAN_KIND_INTERNAL"
    assert counted(found, "read_file", "ok")["count"] == 1
    collected = found.file.read_text(encoding="utf-8")
    assert "canary" not in collected
    assert "a.txt" not in collected
    assert str(root) not in collected


def test_the_library_sends_when_its_workspace_is_closed(found: Collector, root: Path) -> None:
    assert run("-c", LIBRARY, str(root)).stderr == ""
    read, missed, unknown = found.spans(3)
    assert is_a_call(read, "read_file", "library")
    assert is_a_call(missed, "read_file", "library", "not_found")
    assert is_a_call(unknown, "", "library", "unknown_tool")
    assert "invented" not in found.file.read_text(encoding="utf-8")  # every name is a series of a database
    assert counted(found, "read_file", "not_found")["count"] == 1


def test_the_span_of_a_program_is_the_parent_of_its_calls(found: Collector, root: Path) -> None:
    program = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from readroom import Workspace

with Workspace(sys.argv[1]) as workspace:
    with TracerProvider().get_tracer("mine").start_as_current_span("step") as span:
        workspace.read("a.txt")
    print(format(span.get_span_context().span_id, "016x"))
"""
    own = run("-c", program, str(root)).stdout.strip()
    (span,) = found.spans()
    assert span["parent"] == own


@pytest.mark.parametrize("version", ["2025-11-25", STATELESS])
def test_mcp_over_pipes(found: Collector, root: Path, version: str) -> None:
    with Stdio(root, client="claude-code", version=version) as client:
        params = {"name": "read_file", "arguments": {"path": "a.txt"}, "_meta": TRACED}
        client.ask({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params})
        client.call("read_file", {"path": ".env"})
        assert client.end() == (0, "")
    first, second = found.spans(2)
    assert is_a_call(first, "read_file", "mcp")
    assert is_a_call(second, "read_file", "mcp", "denied")
    assert (first["kind"], first["trace"], first["parent"]) == ("SPAN_KIND_SERVER", TRACE, PARENT)
    assert first["vendors"] == TRACED["tracestate"]
    assert second["trace"] != TRACE
    facts = first["facts"]
    assert (facts["jsonrpc.request.id"], facts["mcp.protocol.version"]) == ("7", version)
    assert facts["network.transport"] == "pipe"
    assert facts["gen_ai.agent.name"] == "claude-code"
    assert facts["mcp.session.id"] == second["facts"]["mcp.session.id"]
    assert counted(found, "read_file", "ok")["facts"]["mcp.protocol.version"] == version


@pytest.mark.parametrize("workers", ["1", "2"])
def test_http_and_mcp_over_http(found: Collector, root: Path, tmp_path: Path, workers: str) -> None:
    with agent(tmp_path / "state", "--workers", workers, str(root)) as served:
        token = served.make_token("team")
        headers = {
            "Content-Type": "application/json",
            "Readroom-Session": "s1",
            "Readroom-Agent": "bot",
            **TRACED,
        }
        body = json.dumps({"path": "a.txt"}).encode()
        served.request("POST", "/v1/native/read_file", body, token=token, headers=headers)
        arguments = {"name": "read_file", "arguments": {"path": "a.txt"}}
        meta: dict[str, object] = {
            "io.modelcontextprotocol/protocolVersion": STATELESS,
            "readroom/session": "talk",
        }
        meta |= {"io.modelcontextprotocol/clientCapabilities": {}}
        message = {
            "jsonrpc": "2.0",
            "id": "x",
            "method": "tools/call",
            "params": {**arguments, "_meta": meta},
        }
        spoken = {"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": STATELESS}
        spoken |= {"Mcp-Method": "tools/call", "Mcp-Name": "read_file"}
        answer = served.request(
            "POST", "/mcp", json.dumps(message).encode(), token=token, headers={**headers, **spoken}
        )
        assert answer.status == 200, answer
    plain, mcp = found.spans(2)
    assert is_a_call(plain, "read_file", "http")
    assert is_a_call(mcp, "read_file", "mcp")
    for span in (plain, mcp):
        assert (span["kind"], span["trace"], span["parent"]) == ("SPAN_KIND_SERVER", TRACE, PARENT)
        assert span["facts"]["network.transport"] == "tcp"
        assert span["facts"]["readroom.token"]
    assert plain["facts"]["gen_ai.conversation.id"] == "s1"
    assert plain["facts"]["gen_ai.agent.name"] == "bot"
    assert mcp["facts"]["mcp.session.id"] == "talk"
    assert sum(one["count"] for one in found.all("metrics")) >= 2
    assert token not in found.file.read_text(encoding="utf-8")


def test_a_recorded_call_has_its_tokens(found: Collector, root: Path, tmp_path: Path) -> None:
    settings = tmp_path / "operator.toml"
    settings.write_text("[ledger]\nenabled = true\n[otel]\npaths = true\n", encoding="utf-8")
    run("-m", "readroom", "read", "a.txt", "--root", str(root), "--config", str(settings))
    (span,) = found.spans()
    assert span["facts"]["readroom.reply.tokens"] > 0
    assert span["facts"]["readroom.paths"] == ["a.txt"]


def test_a_reply_is_the_same_with_and_without(
    found: Collector, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("-m", "readroom", "call", "--root", str(root), "read_file")
    with_it = [run(*command, '{"path": "a.txt"}').stdout, run(*command, '{"path": "no"}', code=4).stdout]
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    without = [run(*command, '{"path": "a.txt"}').stdout, run(*command, '{"path": "no"}', code=4).stdout]
    assert with_it == without
    assert len(found.spans(2)) == 2


def test_headers_and_compression_of_the_environment_are_used(
    found: Collector, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-api-key=hidden")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "reader")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "team=search")
    run("-m", "readroom", "read", "a.txt", "--root", str(root))
    (span,) = found.spans()
    assert (span["resource"]["service.name"], span["resource"]["team"]) == ("reader", "search")
    for request in found.all("requests"):
        assert request["headers"]["x-api-key"] == "hidden"
        assert request["headers"]["content-encoding"] == "gzip"
    assert {request["path"] for request in found.all("requests")} == {"/v1/traces", "/v1/metrics"}


def test_one_signal_can_be_switched_off(
    found: Collector, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_METRICS_EXPORTER", "none")
    run("-m", "readroom", "read", "a.txt", "--root", str(root))
    assert len(found.spans()) == 1
    assert found.all("metrics") == []
