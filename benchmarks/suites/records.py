"""Audits of one record of 2 GB: what it takes in memory, beside the same of a hundredth of the size."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Record, met
from benchmarks.suites.serving import load_of_machine
from tests.lens.ground_truth import unpacked
from tests.lens.multiplied import multiplied

_SESSION = "claude-code/long"
_SIZES = (20_000_000, 2_000_000_000)
_LONG_LINES = 3
MEMORY_MB = 256.0
_SHAPES = {"one session": False, "thousands of sessions": True}


def run(record: Record) -> None:
    """Memory is bounded by what is kept of a record and not by its size.

    Each record of 2 GB has three lines of 100 MB among its lines.  A smaller one takes less memory, since
    what is kept of sessions has not reached its bounds; what counts is that the larger stays below 256 MB.
    """
    record.say(f"- Load of the machine: {load_of_machine()}")
    rows = []
    with TemporaryDirectory(prefix="readroom-records-") as name:
        folder = Path(name)
        source = max(unpacked(_SESSION, folder), key=lambda path: path.stat().st_size)
        for shape, sessions in _SHAPES.items():
            for size in _SIZES:
                path = folder / "record.jsonl"
                lines = _LONG_LINES if size == max(_SIZES) else 0
                copies = multiplied(source, path, size, sessions=sessions, long_lines=lines)
                spent_s, memory_mb, said = audited(path)
                case = f"{shape}, {path.stat().st_size / 1e6:,.0f} MB"
                record.add("records", case, "peak memory", [memory_mb], "MB")
                record.add("records", case, "processor time", [spent_s], "s")
                bound = met(memory_mb / MEMORY_MB, 1.0)
                rows.append([case, f"{copies:,}", said, f"{spent_s:,.0f} s", f"{memory_mb:,.0f} MB, {bound}"])
                path.unlink()
    record.table(["Record", "Copies", "What was read", "Processor time", "Peak memory, bound 256 MB"], rows)


def audited(path: Path, *options: str) -> tuple[float, float, str]:
    """Seconds of the processor, peak of memory in MB, and the first line of the summary."""
    line = [sys.executable, "-m", "readroom", "audit", str(path), "--workers", "1", *options]
    process = subprocess.Popen(line, stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"readroom audit ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, said.splitlines()[0]
