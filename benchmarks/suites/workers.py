"""A server of several processes beside one of a single process: requests by wrk, and edits that all count."""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.http_clients import KINDS
from benchmarks.measure import Record, seconds
from benchmarks.suites.requests import MCP_READ, READ_IT, tree
from benchmarks.suites.serving import check, fill, load_of_machine, loaded, readroom
from benchmarks.wrk import CONNECTIONS, Found, load

_WRK_S, _ROUNDS = 5, 3
_EDITS_S = 10.0
_WORTH = 0.8
"""Of one process, that each of several has to be worth where each has a processor."""

_ASKS = {"`/v1` read": READ_IT, "`/mcp` read": MCP_READ}


def run(record: Record) -> None:
    """Reads of a file of 400 lines with the ledger on, in turns; then a mixed load, of which all is checked.

    What makes the load takes a processor, too: on a machine with few of them the ratio says as much of that.
    """
    names = {"1": (), f"{record.workers}": ("--workers", str(record.workers))}
    record.say(f"- Load of the machine before: {load_of_machine()}", "")
    with TemporaryDirectory(prefix="readroom-workers-") as name, ExitStack() as stack:
        folder = Path(name)
        tree(folder / "root")
        unbounded = folder / "operator.toml"
        unbounded.write_text("[serve]\nrate = 0\naddress_rate = 0\n", encoding="utf-8")
        servers = {
            count: stack.enter_context(
                readroom(folder / "root", folder / count, "--config", str(unbounded), *options)
            )
            for count, options in names.items()
        }
        found: dict[tuple[str, str], list[Found]] = {}
        for _ in range(_ROUNDS):
            for kind, ask in _ASKS.items():
                for count, (port, process) in servers.items():
                    found.setdefault((kind, count), []).append(load(port, process.pid, ask, _WRK_S))
    _rows(record, found)
    with TemporaryDirectory(prefix="readroom-workers-") as name:
        root, state = Path(name, "root"), Path(name, "state")
        fill(root)
        with readroom(root, state, *names[f"{record.workers}"]) as (port, process):
            fill(root)
            mixed = loaded(port, process, _EDITS_S, tuple(KINDS))
        check(root, state, mixed, warmed=0)
        record.add("workers", "mixed load, answers in a second", f"{record.workers}", [mixed.rate], "count")
        record.say(
            f"- Reads, searches and edits, {mixed.rate:,.0f} a second: each edit that was answered is in its "
            "file, each answer has its row, and the ledger verifies.",
        )
    record.say(f"- Load of the machine after, with that of the benchmark: {load_of_machine()}")


def _rows(record: Record, found: dict[tuple[str, str], list[Found]]) -> None:
    rows = []
    for (kind, count), stretches in found.items():
        who = f"{kind}, {count}"
        rate = record.add(
            "workers", "wrk, answers in a second", who, [one.rate for one in stretches], "count"
        )
        most = record.add("workers", "wrk, 99 %", who, [one.most_s for one in stretches], "s")
        cpu = record.add("workers", "wrk, processor time", who, [one.cpu_s for one in stretches], "s")
        failed = sum(one.failed for one in stretches)
        rows.append([kind, count, f"{rate:,.0f}", seconds(most), seconds(cpu), str(failed)])
    heads = ("request", "processes", "answers in a second", "99 %", "processor time of one", "failed")
    record.say(f"{CONNECTIONS} connections of wrk, {_ROUNDS} rounds of {_WRK_S} s each, in turns; medians.")
    record.table(heads, rows)
    for kind in _ASKS:
        pairs = zip(found[kind, f"{record.workers}"], found[kind, "1"], strict=True)
        worth = statistics.median(many.rate / single.rate for many, single in pairs) / record.workers
        judged = "meets" if worth >= _WORTH else "**misses**"
        record.say(f"- {kind}: what each process is worth, of one alone: {worth:.2f} ({judged} {_WORTH:g})")
