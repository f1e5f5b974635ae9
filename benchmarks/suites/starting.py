"""How long until the first answer: the command line and the MCP server."""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from benchmarks import corpora, peers, targets
from benchmarks.measure import Record, command, counted, met, seconds, take_turns
from benchmarks.wrk import cpu_s

_ROUNDS = 15
_CLASSES = 40
_BUILT = 20_000
_CALLS = 200
_SERVER_ROUNDS = 3
_BARE_CALLS = 100
_BARE_ROUNDS = 21
"""Of which the first is for warming up."""


def run(record: Record) -> None:
    """Whole processes, and a server over stdio driven by the official client."""
    floor = _command_line(record)
    _values(record)
    _servers(record, floor)


def _command_line(record: Record) -> float:
    """Whole processes beside an empty Python, whose own start is the floor, which is returned.

    Processor time counts beside the clock: on a machine that others use it is the steadier of the two.
    `import click, msgspec` is the part that is not our own code.
    """
    readroom = str(Path(sys.executable).parent / "readroom")
    folder = corpora.sources()
    candidates = {
        "python -c pass": command(sys.executable, "-c", "pass"),
        "import click, msgspec": command(sys.executable, "-c", "import click, msgspec"),
        "readroom --help": command(readroom, "--help"),
        "readroom ls": command(readroom, "ls", "--root", str(folder)),
        "readroom read": command(readroom, "read", "module_000.py", "--root", str(folder)),
        "readroom grep": command(readroom, "grep", "session", "--root", str(folder), ok=(0, 1)),
    }
    spent: dict[str, list[float]] = {name: [] for name in candidates}
    found = take_turns(
        {name: counted(run, spent[name], own=False) for name, run in candidates.items()}, _ROUNDS
    )
    medians = {name: record.add("start", "process", name, values, "s") for name, values in found.items()}
    work = {name: record.add("start", "processor", name, values, "s") for name, values in spent.items()}
    floor, least = medians["python -c pass"], work["python -c pass"]
    rows = [
        [
            f"`{name}`",
            seconds(value),
            f"{value / floor:.1f}",
            seconds(work[name]),
            met(work[name] / least, targets.COMMAND) if name.startswith("readroom") else "",
        ]
        for name, value in medians.items()
    ]
    headings = ["process", "median", "ratio", "processor time", "ratio to an empty Python"]
    record.table(headings, rows)
    return floor


_FIELDS = """    path: str
    offset: int | None = None
    limit: int | None = None
    encoding: str | None = None
    mode: str = "offset"
    outline: bool = False
    names: tuple[str, ...] = ()
"""
_FORMS = {
    "dataclass": "@dataclass(frozen=True, slots=True)\nclass Value{}:\n",
    "msgspec Struct": "class Value{}(Struct, frozen=True):\n",
}


def _values(record: Record) -> None:
    """A value class as a Struct, as ours are, and as a dataclass: to define, to build and to change one."""
    rows = []
    for form, head in _FORMS.items():
        code = "".join(head.format(number) + _FIELDS for number in range(_CLASSES))
        names: dict[str, Any] = {"dataclass": dataclass, "Struct": Struct, "__name__": __name__}
        compiled = compile(code, form, "exec")
        start = time.process_time()
        exec(compiled, names)
        defined = (time.process_time() - start) / _CLASSES
        value, change = names["Value0"], dataclasses.replace if form == "dataclass" else structs.replace
        built = value("a")
        found = take_turns(
            {
                "build": lambda value=value: value("a", limit=2),  # type: ignore[misc]
                "change": lambda one=built, change=change: change(one, offset=3),  # type: ignore[misc]
            },
            5,
            _BUILT,
        )
        record.add("value class", "define", form, [defined], "s")
        times = [record.add("value class", step, form, values, "s") for step, values in found.items()]
        rows.append([form, *(f"{1e6 * each:.2f} us" for each in (defined, *times))])
    record.table(["value class", "define", "build", "change"], rows)


def _servers(record: Record, python_s: float) -> None:
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
        rows.append([name, seconds(start), seconds(call), f"{call / floor:.2f}", f"{memory[name]:.0f} MB"])
    _bare_calls(record, cases[:2])
    record.say("MCP over stdio by the official client; a call reads a file of 500 lines.")
    for name, values in ready.items():
        if name.startswith("readroom"):
            ratio = met(statistics.median(values) / python_s, targets.MCP_READY)
            record.say(f"- {name} is ready, to `python -c pass`: {ratio}")
    record.say("")
    record.table(["server", "ready", "call, median", "ratio to the bare SDK", "peak memory"], rows)


def _bare_calls(record: Record, cases: Sequence[tuple[peers.Server, str, dict[str, object]]]) -> None:
    """The same calls by a client that takes next to no time itself, to two servers that run side by side.

    Processor time is that of the server, in user and in system mode.  Unfair to readroom, whose ledger is on:
    the other server opens, checks and records nothing.
    """
    clients = {server.name: (peers.BareClient(server), tool, asked) for server, tool, asked in cases}
    waits: dict[str, list[float]] = {name: [] for name in clients}
    spent: dict[str, list[float]] = {name: [] for name in clients}
    for _ in range(_BARE_ROUNDS):
        for name, (client, tool, asked) in clients.items():
            before = cpu_s(client.process.pid)
            waits[name] += [client.call(tool, asked) for _ in range(_BARE_CALLS)]
            spent[name].append((cpu_s(client.process.pid) - before) / _BARE_CALLS)
    for client, _, _ in clients.values():
        client.close()
    # The quarter that was disturbed least: others use the machine, too.
    calm = {name: statistics.quantiles(values[_BARE_CALLS:], n=4)[0] for name, values in waits.items()}
    work = {name: statistics.mean(values[1:]) for name, values in spent.items()}
    for name in clients:
        record.add("MCP", "bare client, 500-line file", name, waits[name], "s")
        record.add("MCP", "bare client, processor", name, spent[name], "s")
    floor, ours = (server.name for server, _, _ in cases)
    record.say(
        "MCP over stdio by a bare client, in turns.",
        "",
        f"- A read of 500 lines in {seconds(calm[ours])} against the SDK's server from memory in "
        f"{seconds(calm[floor])} (lower quartiles): {met(calm[ours] / calm[floor], targets.SMALL_READ_MCP)}",
        f"- In processor time of the server: {work[ours] / work[floor]:.2f}",
        "",
    )
