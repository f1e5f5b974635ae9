"""Audits of records that are made to hurt, in the form of every client: what each takes in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Record, met
from benchmarks.suites.records import MEMORY_MB, audited
from benchmarks.suites.serving import load_of_machine
from tests.lens.hostile_records import FORMS

_SIZES = (10_000_000, 40_000_000)
SUFFIX = {"opencode": ".db", "Inspect AI": ".eval", "SWE-agent": ".traj"}
"""Endings of records that are no JSON Lines."""


def run(record: Record) -> None:
    """Memory is bounded in every form, whatever a record brings much of.

    Each has calls with ids that never come again, half of them in sessions of their own where the form
    has sessions, results that nobody waits for, long names, and texts of which each character takes four
    bytes. Of Inspect's logs, which are compressed, it is the size before that.
    """
    record.say(f"- Load of the machine: {load_of_machine()}")
    rows = []
    with TemporaryDirectory(prefix="readroom-hostile-") as name:
        for form, write in FORMS.items():
            for size in _SIZES:
                path = write(Path(name) / f"record{SUFFIX.get(form, '.jsonl')}", size)
                spent_s, memory_mb, said = audited(path)
                case = f"{form}, {size / 1e6:,.0f} MB"
                record.add("hostile", case, "peak memory", [memory_mb], "MB")
                record.add("hostile", case, "processor time", [spent_s], "s")
                bound = met(memory_mb / MEMORY_MB, 1.0)
                rows.append([case, said, f"{spent_s:,.0f} s", f"{memory_mb:,.0f} MB, {bound}"])
                path.unlink()
    record.table(["Record", "What was read", "Processor time", "Peak memory, bound 256 MB"], rows)
