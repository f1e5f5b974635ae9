"""How long until the first answer: the command line and the MCP server."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

from benchmarks import corpora, peers
from benchmarks.measure import Record, command, met, seconds, take_turns

_ROUNDS = 15
_CALLS = 200
_SERVER_ROUNDS = 3


def run(record: Record) -> None:
    """Whole processes, and a server over stdio driven by the official client."""
    _command_line(record)
    _servers(record)


def _command_line(record: Record) -> None:
    """Whole processes beside an empty Python; Python's own start is the floor."""
    readroom = str(Path(sys.executable).parent / "readroom")
    folder = corpora.sources()
    found = take_turns(
        {
            "python -c pass": command(sys.executable, "-c", "pass"),
            "readroom --help": command(readroom, "--help"),
            "readroom ls": command(readroom, "ls", "--root", str(folder)),
            "readroom read": command(readroom, "read", "module_000.py", "--root", str(folder)),
            "readroom grep": command(readroom, "grep", "session", "--root", str(folder), ok=(0, 1)),
        },
        _ROUNDS,
    )
    medians = {name: record.add("start", "process", name, values, "s") for name, values in found.items()}
    floor = medians["python -c pass"]
    rows = [
        [f"`{name}`", seconds(value), met(value / floor, 12) if name != "python -c pass" else "1"]
        for name, value in medians.items()
    ]
    record.table(["process", "median", "ratio to an empty Python"], rows)


def _servers(record: Record) -> None:
    """Ready after start, and one read of a 500-line file on the wire, as a client sees them."""
    folder = corpora.sources()
    file = folder / "module_000.py"
    floor_text = corpora.HOME / "numbered.txt"
    ours = peers.ask(peers.readroom(folder), "read_file", {"path": file.name}, 1)
    floor_text.write_text(ours.text, encoding="utf-8")
    cases: list[tuple[peers.Server, str, dict[str, object]]] = [
        (peers.memory_server(floor_text), "read_file", {}),
        (peers.readroom(folder), "read_file", {"path": file.name}),
    ]
    tools: dict[str, tuple[str, dict[str, object]]] = {
        "server-filesystem": ("read_text_file", {"path": str(file)}),
        "fast-filesystem": ("fast_read_file", {"path": str(file)}),
        "mcp-text-editor": (
            "get_text_file_contents",
            {"files": [{"file_path": str(file), "ranges": [{"start": 1}]}]},
        ),
    }
    cases += [(server, *tools[server.name]) for server in peers.installed(folder)]
    ready: dict[str, list[float]] = {}
    calls: dict[str, list[float]] = {}
    memory: dict[str, float] = {}
    for _ in range(_SERVER_ROUNDS):
        for server, tool, arguments in cases:
            served = peers.ask(server, tool, arguments, _CALLS)
            ready.setdefault(server.name, []).append(served.ready_s)
            calls.setdefault(server.name, []).append(served.median_s)
            memory[server.name] = served.peak_mb
    rows = []
    floor = statistics.median(calls["SDK, from memory"])
    for name in ready:
        start = record.add("MCP", "ready", name, ready[name], "s")
        call = record.add("MCP", "500-line file", name, calls[name], "s")
        ratio = met(call / floor, 1.15) if name == "readroom" else f"{call / floor:.2f}"
        rows.append([name, seconds(start), seconds(call), ratio, f"{memory[name]:.0f} MB"])
    record.say("MCP over stdio; a call reads a file of 500 lines.")
    record.table(["server", "ready", "call, median", "ratio to the bare SDK", "peak memory"], rows)
