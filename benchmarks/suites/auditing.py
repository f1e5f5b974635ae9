"""Audits of ten thousand recorded sessions: one process, two, and a Dask cluster that loses a worker."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Record, met, peak_mb
from benchmarks.suites.serving import load_of_machine
from benchmarks.wrk import cpu_s
from tests.lens.ground_truth import SESSIONS, unpacked

_SESSIONS = 10_000
_WORKERS = 4
_MEMORY_MB = 256.0
"""What any process that audits records may take."""

_LEAST, _LARGEST = 20_000, 900_000
"""Recorded sessions of this size in bytes are multiplied: 230 KB in the mean, so that all are 2.3 GB."""

_CLIENTS = ("claude-code", "codex", "continue", "copilot-cli", "gemini-cli", "pi", "qwen-code")
_ID = re.compile(rb"\b[0-9a-f]{8}(-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})\b")
_NAMED = re.compile(rb'_fk_|\b(?:msg_|chatcmpl-)(?=[0-9]+\b)|"(?:id|parentId)":"(?=[0-9a-f]{8}")')
"""Ids of sessions and messages; and of calls, answers and entries, as the scripted model and pi made them.

An audit counts an answer once that two sessions have, so a session under another name is a copy as long as
its answers have the same.
"""
_HOUR = re.compile(rb"\b2026-11-[0-9]{2}T[0-9]{2}(?=:)")
_DAYS = 28
_MB = 1e6
_POLL_S = 0.5


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one audit came to, and what its processes took together or, of memory, at most."""

    wall_s: float
    cpu_s: float
    memory_mb: float
    digest: str


def run(record: Record) -> None:
    """Rows and report are the same byte for byte, whoever made them and whatever died meanwhile.

    Unfair to Dask: scheduler, four workers and the client share two processors, and one worker is killed
    half way; what it shows is that nothing is lost, not that it is faster here.
    """
    record.say(f"- Load of the machine before: {load_of_machine()}")
    with TemporaryDirectory(prefix="readroom-auditing-") as name:
        folder = Path(name)
        records = folder / "records"
        size = _multiplied(records, _SESSIONS)
        record.say(f"- {_SESSIONS:,} sessions, {size / 1e9:.2f} GB")
        ways: dict[str, Callable[[], Outcome]] = {
            "one process": lambda: _audited(records, folder, "--workers", "1"),
            "two processes": lambda: _audited(records, folder, "--workers", "2"),
            f"Dask, {_WORKERS} workers, one killed": lambda: _on_a_cluster(records, folder),
        }
        outcomes = {}
        for way, audited in ways.items():
            outcomes[way] = audited()
            print(way, outcomes[way], flush=True)
    record.say(f"- Load of the machine after, with that of the benchmark: {load_of_machine()}")
    _told(record, outcomes, size)


def _told(record: Record, outcomes: dict[str, Outcome], size: int) -> None:
    first = next(iter(outcomes.values()))
    rows = []
    for way, outcome in outcomes.items():
        record.add("auditing", "wall", way, [outcome.wall_s], "s")
        record.add("auditing", "processor time", way, [outcome.cpu_s], "s")
        record.add("auditing", "largest process", way, [outcome.memory_mb], "MB")
        rows.append(
            [
                way,
                f"{outcome.wall_s:,.0f} s",
                f"{outcome.cpu_s:,.0f} s",
                f"{1000 * outcome.cpu_s / _SESSIONS:.1f} ms",
                f"{size / _MB / outcome.cpu_s:.1f} MB",
                f"{outcome.memory_mb:.0f} MB, {met(outcome.memory_mb / _MEMORY_MB, 1.0)}",
                outcome.digest[:16] + (" (the same)" if outcome.digest == first.digest else " (**another**)"),
            ]
        )
    heads = ["Audited by", "On the clock", "Processor time"]
    heads += ["A session", "Read a second of it", "Largest process"]
    record.table([*heads, "SHA-256 of rows and report"], rows)
    if any(outcome.digest != first.digest for outcome in outcomes.values()):
        raise RuntimeError("the rows differ")


def _multiplied(folder: Path, count: int) -> int:
    """Records of real sessions, each with ids and times of its own, as often as is wanted; their bytes."""
    folder.mkdir()
    size = 0
    with TemporaryDirectory() as name:
        wanted = [session for session in SESSIONS if session.startswith(_CLIENTS)]
        sources = [path for session in wanted for path in unpacked(session, Path(name))]
        chosen = [path for path in sources if _LEAST < path.stat().st_size < _LARGEST]
        texts = [(path.suffix, path.read_bytes()) for path in chosen if path.suffix in (".json", ".jsonl")]
    for number in range(count):
        suffix, text = texts[number % len(texts)]
        place = folder / f"{number // 1000:02}"
        place.mkdir(exist_ok=True)
        size += (place / f"{number:08x}{suffix}").write_bytes(_another(text, number, number // len(texts)))
    return size


def _another(text: bytes, number: int, times: int) -> bytes:
    """The record with ids of this number, and as what it recorded in another hour: no answer is a copy."""
    text = _ID.sub(rb"%08x\g<1>" % number, text)
    text = _NAMED.sub(rb"\g<0>%d" % (_SESSIONS + number), text)
    return _HOUR.sub(b"2026-10-%02dT%02d" % (1 + times % _DAYS, times // _DAYS), text)


def _audited(records: Path, folder: Path, *options: str) -> Outcome:
    """What `readroom audit` makes of all records: rows, and the report, which are hashed together."""
    rows, report = folder / "rows.jsonl", folder / "report"
    command = [sys.executable, "-m", "readroom", "audit", str(records), "--jsonl", str(rows), "--force"]
    start = time.perf_counter()
    with report.open("wb") as out:
        process = subprocess.Popen([*command, *options], stdout=out)
        spent_s, memory_mb = _ended(process)
    wall_s = time.perf_counter() - start
    if process.returncode:
        raise RuntimeError(f"readroom audit ended with {process.returncode}")
    digest = sha256(report.read_bytes())
    with rows.open("rb") as stream:
        for line in stream:
            if line.startswith(b'{"row":"session"') and b'"copied_turns":0,' not in line:
                raise RuntimeError("a session counts as a copy of another")
            digest.update(line)
    return Outcome(wall_s, spent_s, memory_mb, digest.hexdigest())


def _ended(process: subprocess.Popen[bytes]) -> tuple[float, float]:
    """Processor seconds of a process and those it waited for, and the peak of the largest in MB."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def _on_a_cluster(records: Path, folder: Path) -> Outcome:
    """A scheduler and workers as processes of this machine; half way the first worker is killed."""
    parts = folder / "parts"
    with ExitStack() as stack:
        address, processes = _cluster(folder / "cluster", stack)
        over = threading.Event()
        usages: list[tuple[float, float]] = []
        killer = threading.Thread(target=_kill_half_way, args=(parts, processes[1], over, usages))
        killer.start()
        try:
            outcome = _audited(records, folder, "--engine", address, "--resume", str(parts))
        finally:
            over.set()
            killer.join()
        if processes[1].poll() != -signal.SIGKILL:
            raise RuntimeError("no worker was killed half way")
        usages += [
            (cpu_s(process.pid), peak_mb(process.pid)) for process in processes if process.poll() is None
        ]
    cpu = outcome.cpu_s + sum(usage[0] for usage in usages)
    return Outcome(outcome.wall_s, cpu, max(outcome.memory_mb, *(mb for _, mb in usages)), outcome.digest)


def _kill_half_way(
    parts: Path,
    worker: subprocess.Popen[bytes],
    over: threading.Event,
    usages: list[tuple[float, float]],
) -> None:
    while not over.wait(_POLL_S):
        if parts.exists() and sum(1 for _ in parts.iterdir()) >= _SESSIONS // 2:
            usages.append((cpu_s(worker.pid), peak_mb(worker.pid)))
            worker.kill()
            worker.wait()
            return


def _cluster(folder: Path, stack: ExitStack) -> tuple[str, list[subprocess.Popen[bytes]]]:
    """Where the scheduler of a cluster of its own answers, and its processes: itself and the workers."""
    folder.mkdir()
    file = folder / "scheduler.json"
    base = [sys.executable, "-W", "ignore", "-m"]
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    scheduler = [*base, "distributed.cli.dask_scheduler", *common, "--port", "0"]
    own = ["--no-nanny", "--nthreads", "1", "--local-directory", str(folder)]
    worker = [*base, "distributed.cli.dask_worker", *common, *own]
    processes = []
    for command in (scheduler, *[worker] * _WORKERS):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, cwd=folder)
        stack.callback(_killed, process)
        processes.append(process)
    while not file.exists() or not file.read_text(encoding="utf-8"):
        if processes[0].poll() is not None:
            raise RuntimeError("the scheduler did not start")
        time.sleep(_POLL_S)
    address = json.loads(file.read_text(encoding="utf-8"))["address"]
    return str(address).replace("tcp://", "dask://"), processes


def _killed(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
