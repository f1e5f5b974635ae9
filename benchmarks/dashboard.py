"""The dashboard over a ledger of a million rows: how long a first view takes, and a filter.

    python -m benchmarks.dashboard OUT [ROWS]    write raw.csv, summary.md and README.md there

Rows are those of a team in a month: ten agents, 5,000 sessions, 2,000 files.  The pages are asked for over
HTTP, from `readroom ui`, with SQLite and, where PostgreSQL is installed, with that, by one dashboard and by
two at once; what they say is compared with SQL that was written by hand.  Unfair in our favour: the server
and the one who asks are on one machine, and nobody writes meanwhile.
"""

from __future__ import annotations

import csv
import json
import os
import platform
import random
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TypeAlias

import psycopg

from benchmarks.suites.serving import load_of_machine
from readroom.server.ledger import LedgerPolicy, open_book
from readroom.server.ledger.ledger import Ledger
from readroom.server.ledger.rows import Event
from readroom.server.ledger.sums import HOUR_US
from tests.server.http.by_hand import Ask, ByHand, Chosen, dashboard, got
from tests.server.ledger.postgres import programs, running

TIMES = 3
VIEWS = {
    "first view": "/ui",
    "last 7 days": "/ui?since=7d",
    "one agent": "/ui?agent=agent-2",
    "one tool": "/ui?tool=grep_files",
    "refused": "/ui?outcome=refused",
    "agent, tool and days": "/ui?agent=agent-2&tool=read_file&since=7d",
    "sessions": "/ui/sessions",
    "sessions of an agent": "/ui/sessions?agent=agent-2",
    "calls": "/ui/calls",
    "refused calls": "/ui/calls?outcome=refused",
    "files": "/ui/files?agent=agent-3",
    "one session": "/ui/session?id=session-100&agent=agent-0&token=000000000000",
    "one file": "/ui/file?path=src/file-7.py",
    "map": "/ui/map",
    "refused requests": "/ui/refused",
    "search": "/ui/search?q=file-7",
}
TIMED = ("one file",)
"""Views that record who looked, so that they differ from one time to the next."""
Look: TypeAlias = tuple[str, str, int, float, float, int]
"""Kind, view, which time, seconds, seconds of the server's processor, bytes."""

FILES, SESSIONS, DAYS = 2000, 5000, 30
TOOLS = (("read_file", 70), ("grep_files", 20), ("list_directory", 8), ("edit_file", 2))


def events(rows: int, workspace: str) -> Iterator[Event]:
    """Calls of ten agents, each session within some hours, on some files of its own."""
    chance = random.Random(1)
    now_us = time.time_ns() // 1000
    tools, weights = [name for name, _ in TOOLS], [weight for _, weight in TOOLS]
    each = rows // SESSIONS
    for at in range(rows):
        session = at // each
        tool = chance.choices(tools, weights)[0]
        number = (session * 7 + int(chance.expovariate(0.2))) % FILES
        path = f"src/file-{number}.py"
        refused = chance.random() < 0.005
        first = chance.randrange(1, 200)
        shown = (
            "[]"
            if refused or tool == "list_directory"
            else f'[["{path}","sha256:{number:064x}",{first},{first + 80}]]'
        )
        yield Event(
            id=f"{at:032x}",
            time_us=now_us - int((1 - at / rows) * DAYS * 24 * HOUR_US),
            workspace=workspace,
            agent=f"agent-{session % 10}",
            session=f"session-{session}",
            token=f"{session % 10:012x}",
            face="http",
            epoch=0,
            contract="native",
            tool=tool,
            path=path,
            arguments=json.dumps({"path": path, "offset": first}),
            decision="refused" if refused else "allowed",
            rule=".env* (default)" if refused else None,
            outcome="denied" if refused else "ok",
            kind="source",
            shown=shown,
            tokens=chance.randrange(50, 3000),
            counter="estimate",
            duration_us=chance.randrange(500, 20_000),
        )


def fill(book: Ledger, rows: int, workspace: str) -> float:
    """Write the rows; the processor time for it, in seconds."""
    before = time.process_time()
    group: list[Event] = []
    for one in events(rows, workspace):
        group.append(one)
        if len(group) == 500:
            book.append_all(group)
            group = []
    if group:
        book.append_all(group)
    return time.process_time() - before


def measure(kind: str, source: str, root: Path) -> Iterator[Look]:
    """Each view each time, by one dashboard."""
    with dashboard(source, root) as (process, port):
        for at in range(TIMES):
            for view, address in VIEWS.items():
                used = spent(process)
                began = time.perf_counter()
                body = got(port, address)
                seconds = time.perf_counter() - began
                yield kind, view, at, seconds, spent(process) - used, len(body)


def together(kind: str, source: str, root: Path) -> Iterator[Look]:
    """Each view each time, by two dashboards that are asked together and answer alike."""
    with ExitStack() as stack:
        one, first = stack.enter_context(dashboard(source, root))
        two, second = stack.enter_context(dashboard(source, root))
        with ThreadPoolExecutor(2) as both:
            for at in range(TIMES):
                for view, address in VIEWS.items():
                    used = spent(one) + spent(two)
                    began = time.perf_counter()
                    bodies = list(both.map(lambda port, address=address: got(port, address), (first, second)))
                    seconds = time.perf_counter() - began
                    if bodies[0] != bodies[1] and view not in TIMED:
                        raise RuntimeError(f"{view}: two dashboards answer differently")
                    took = spent(one) + spent(two) - used
                    yield f"{kind}, two dashboards", view, at, seconds, took / 2, len(bodies[0])


def compared(kind: str, source: str, root: Path, ask: Ask) -> str:
    """Compare what the pages say with SQL written by hand. Raises where a number differs."""
    with dashboard(source, root) as (_, port):
        by_hand = ByHand(lambda address: got(port, address), ask, str(root), kind.lower())
        for values in ({}, {"agent": "agent-2"}, {"tool": "grep_files", "outcome": "refused"}):
            by_hand.everything(Chosen(values))
        by_hand.session("session-100", "agent-0", f"{0:012x}")
        by_hand.file("src/file-7.py")
    if by_hand.differences:
        raise RuntimeError(f"{kind}: {by_hand.differences}")
    return f"{kind}: {by_hand.compared:,} numbers and rows of the pages are those of SQL written by hand."


def spent(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a running process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(out: Path, rows: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    found: list[Look] = []
    notes: list[str] = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="readroom-million-"))
        root = Path(folder, "root")
        (root / "src").mkdir(parents=True)
        for at in range(FILES):
            (root / "src" / f"file-{at}.py").write_text("x = 1\n" * (50 + at % 400), encoding="utf-8")
        ledger = Path(folder, "ledger.sqlite3")
        used = written(LedgerPolicy(file=str(ledger)), rows, root)
        size = ledger.stat().st_size / 1e6
        notes.append(f"SQLite: written in {used:,.0f} s of processor time, {size:,.0f} MB.")
        in_sqlite(str(ledger), root, found, notes)
        where = programs()
        if where is not None:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="readroom-pg-"))
            server = stack.enter_context(running(where, Path(place)))
            used = written(LedgerPolicy(url=server.url), rows, root)
            notes.append(f"PostgreSQL: written in {used:,.0f} s of processor time of the client.")
            in_postgres(server.url, root, found, notes)
    write(out, found, notes, rows)


def written(policy: LedgerPolicy, rows: int, root: Path) -> float:
    """Write the rows, and sum them up; the processor time of writing."""
    with closing(open_book(policy)) as book:
        used = fill(book, rows, str(root))
        book.sum_up(600)
    return used


def in_sqlite(file: str, root: Path, found: list[Look], notes: list[str]) -> None:
    found += [*measure("SQLite", file, root), *together("SQLite", file, root)]
    with closing(sqlite3.connect(file)) as other:
        notes.append(compared("SQLite", file, root, lambda sql: other.execute(sql).fetchall()))


def in_postgres(url: str, root: Path, found: list[Look], notes: list[str]) -> None:
    found += [*measure("PostgreSQL", url, root), *together("PostgreSQL", url, root)]
    with psycopg.connect(url, autocommit=True) as other:
        ask: Ask = lambda sql: other.execute(sql.encode()).fetchall()  # noqa: E731
        notes.append(compared("PostgreSQL", url, root, ask))


def write(out: Path, found: list[Look], notes: list[str], rows: int) -> None:
    with open(out / "raw.csv", "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("ledger", "view", "time", "seconds", "processor_seconds", "bytes"))
        writer.writerows((*one[:3], f"{one[3]:.4f}", f"{one[4]:.2f}", one[5]) for one in found)
    lines = [
        "# Summary",
        "",
        "| ledger | view | first, ms | median, ms | slowest, ms | processor, median ms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for kind in dict.fromkeys(one[0] for one in found):
        for view in VIEWS:
            taken = [one for one in found if one[:2] == (kind, view)]
            seconds = [one[3] for one in taken]
            processor = statistics.median(one[4] for one in taken)
            figures = (seconds[0], statistics.median(seconds), max(seconds), processor)
            lines.append(f"| {kind} | {view} | " + " | ".join(f"{1000 * one:,.0f}" for one in figures) + " |")
    (out / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    (out / "README.md").write_text(
        f"# The dashboard over {rows:,} rows\n\n"
        "`python -m benchmarks.dashboard` on "
        f"{os.cpu_count()} processors ({platform.machine()}), Python {platform.python_version()}, Linux. "
        f"Load of the machine at the end: {load_of_machine()}. Processor time of the server is beside that "
        "of the clock (in steps of 10 ms; that of PostgreSQL is not in it).\n\n"
        + "\n".join(notes)
        + f"\nThe greatest memory of a child was {peak:,} MB.\n\n"
        '"first" is the first request for a view after the server has started.\n',
        encoding="utf-8",
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000)
