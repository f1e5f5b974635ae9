"""Audits of one record of 2 GB in the form of every client, made to hurt: what each takes in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import ROOT, Record, met
from benchmarks.suites.hostile import SUFFIX
from benchmarks.suites.records import MEMORY_MB, audited
from benchmarks.suites.serving import load_of_machine
from tests.lens.hostile_records import FORMS

_SIZE = 2_000_000_000


def run(record: Record) -> None:
    """Memory stays below 256 MB for any record.

    Each has small calls as in the suite `hostile`, then texts of 100 MB of seven kinds, lines that are cut in
    their middle or that another begins in, binary, and texts that would drive a terminal, a browser, a
    spreadsheet or a path, and ends in the middle of a line where its form has lines or is one document.
    The database has ids of 100 MB besides, and the page and the rows of each audit are written. One record
    is on disk at a time. Most of the 2 GB is text that is passed over: this shows memory, and not how long
    2 GB of small calls take.
    """
    record.say(f"- Load of the machine: {load_of_machine()}")
    record.say(
        "", "| Record | What was read | Processor time | Peak memory, bound 256 MB |", "|---|---|---|---|"
    )
    with TemporaryDirectory(prefix="readroom-huge-") as name:
        folder = Path(name)
        for form in FORMS:
            path = folder / f"record{SUFFIX.get(form, '.jsonl')}"
            # By another process: the peak of a process counts that of who started it.
            line = [sys.executable, "-m", "tests.lens.huge_records", form, str(path), str(_SIZE)]
            subprocess.run(line, cwd=ROOT, check=True)
            size = path.stat().st_size
            outputs = ["--html", str(folder / "page.html"), "--jsonl", str(folder / "rows.jsonl"), "--force"]
            spent_s, memory_mb, said = audited(path, *outputs)
            case = f"{form}, {size / 1e6:,.0f} MB"
            record.add("huge", case, "peak memory", [memory_mb], "MB")
            record.add("huge", case, "processor time", [spent_s], "s")
            bound = met(memory_mb / MEMORY_MB, 1.0)
            row = [case, said, f"{spent_s:,.0f} s", f"{memory_mb:,.0f} MB, {bound}"]
            record.say(f"| {' | '.join(row)} |")
            path.unlink()
