"""Requests of one kind over HTTP, by wrk: reads and searches, beside servers that only answer."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import corpora, targets
from benchmarks.measure import Record, met, seconds
from benchmarks.suites.serving import floor, load_of_machine, readroom, serving, verified
from benchmarks.wrk import CONNECTIONS, Ask, Found, load

_WRK_S, _ROUNDS = 5, 3

_READ = "module_000.py"

_JSON = {"Content-Type": "application/json"}
_MCP = {
    **_JSON,
    "Accept": "application/json, text/event-stream",
    "Mcp-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "read_file",
}

_HEALTH = Ask("/healthz")
READ_IT = Ask("/v1/native/read_file", json.dumps({"path": _READ}), _JSON)
_SEARCH = Ask("/v1/native/grep_files", json.dumps({"pattern": "ledger_select", "limit": 20}), _JSON)


def _mcp_read() -> Ask:
    """A call of 2026-07-28, which needs no session."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "wrk", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": "read_file", "arguments": {"path": _READ}, "_meta": meta}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return Ask("/mcp", json.dumps(call), _MCP)


MCP_READ = _mcp_read()


def run(record: Record) -> None:
    """Reads of a file of 400 lines and searches of a tree of 1,000, with the ledger on.

    Unfair to readroom: the others send from memory what readroom has answered, check no token, no host and
    no rate, and record nothing.
    """
    record.say(f"- Load of the machine before: {load_of_machine()}", "")
    with TemporaryDirectory(prefix="readroom-requests-") as name, ExitStack() as stack:
        folder = Path(name)
        root, answers, text = folder / "root", folder / "answers.json", folder / "text"
        tree(root)
        unbounded = folder / "operator.toml"
        unbounded.write_text("[serve]\nrate = 0\naddress_rate = 0\n", encoding="utf-8")
        ours = stack.enter_context(readroom(root, folder / "state", "--config", str(unbounded)))
        answer = _asked(ours[0], READ_IT)
        answers.write_text(json.dumps({"read_file": answer}), encoding="utf-8")
        text.write_text(answer["content"][0]["text"], encoding="utf-8")
        starlette = stack.enter_context(floor(answers))
        sdk = stack.enter_context(
            serving([sys.executable, "-m", "benchmarks.memory_server", str(text)], dict(os.environ))
        )
        candidates = {
            "readroom, `/healthz`": (ours, _HEALTH),
            "readroom, `/v1` read": (ours, READ_IT),
            "Starlette, from memory": (starlette, READ_IT),
            "readroom, `/mcp` read": (ours, MCP_READ),
            "the SDK's server, from memory": (sdk, MCP_READ),
            "readroom, `/v1` search": (ours, _SEARCH),
        }
        found: dict[str, list[Found]] = {name: [] for name in candidates}
        for _ in range(_ROUNDS):
            for candidate, ((port, process), ask) in candidates.items():
                found[candidate].append(load(port, process.pid, ask, _WRK_S))
        _rows_of_wrk(record, found)
        verified(folder / "state")
    record.say(f"- Load of the machine after, with that of the benchmark: {load_of_machine()}")


def tree(root: Path) -> None:
    """1,000 files, of which the first has 400 lines."""
    shutil.copytree(corpora.sources(), root)
    lines = (root / _READ).read_text(encoding="utf-8").splitlines(keepends=True)
    (root / _READ).write_text("".join(lines[:400]), encoding="utf-8")
    for number in range(900):
        shutil.copyfile(root / f"module_{number % 100:03d}.py", root / f"copy_{number:03d}.py")


def _asked(port: int, ask: Ask) -> Any:
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        connection.request("POST", ask.path, ask.body, dict(ask.headers))
        return json.loads(connection.getresponse().read())


def _rows_of_wrk(record: Record, found: dict[str, list[Found]]) -> None:
    rows = []
    for name, stretches in found.items():
        rate = record.add(
            "serving", "wrk, answers in a second", name, [one.rate for one in stretches], "count"
        )
        half = record.add("serving", "wrk, median", name, [one.half_s for one in stretches], "s")
        most = record.add("serving", "wrk, 99 %", name, [one.most_s for one in stretches], "s")
        cpu = record.add("serving", "wrk, processor time", name, [one.cpu_s for one in stretches], "s")
        failed = sum(one.failed for one in stretches)
        rows.append([name, f"{rate:,.0f}", seconds(half), seconds(most), seconds(cpu), str(failed)])
    heads = ("request", "answers in a second", "median", "99 %", "processor time of one", "failed")
    record.say(f"{CONNECTIONS} connections of wrk, {_ROUNDS} rounds of {_WRK_S} s each, in turns; medians.")
    record.table(heads, rows)

    def ratio(name: str, other: str) -> float:
        return statistics.median(
            one.rate / beside.rate for one, beside in zip(found[name], found[other], strict=True)
        )

    health = ratio("readroom, `/v1` read", "readroom, `/healthz`")
    starlette = ratio("readroom, `/v1` read", "Starlette, from memory")
    sdk = ratio("readroom, `/mcp` read", "the SDK's server, from memory")
    for name, least in (
        ("readroom, `/v1` read", targets.READS_A_SECOND),
        ("readroom, `/mcp` read", targets.MCP_READS_A_SECOND),
        ("readroom, `/v1` search", targets.SEARCHES_A_SECOND),
    ):
        rate = statistics.median(one.rate for one in found[name])
        slowest = statistics.median(one.most_s for one in found[name])
        record.say(
            f"- {name}, answers in a second: {met(rate, least, least=True)}; "
            f"99 of 100 within, in s: {met(slowest, targets.SLOWEST_S)}"
        )
    record.say(
        f"- A `/v1` read to `/healthz`: {met(health, targets.READS_TO_HEALTH, least=True)}",
        f"- A `/v1` read to Starlette from memory: {starlette:.2f}",
        f"- An `/mcp` read to the SDK's server from memory: {sdk:.2f}",
    )
