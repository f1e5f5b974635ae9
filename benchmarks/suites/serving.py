"""The HTTP agent under load: 64 clients that read, search and edit, beside a server that only answers."""

from __future__ import annotations

import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import corpora
from benchmarks.http_clients import KINDS, PATTERNS, edited_name, edited_text
from benchmarks.measure import ROOT, Record, met, seconds
from benchmarks.wrk import cpu_s

_CLIENTS = 64
_LONG_S, _SHORT_S = 30.0, 10.0
_EVERY_S = 10.0
"""Between two looks at the server's memory."""

_FLAT = 1.1
"""Memory after the second minute against memory after the first, when what is remembered of the files is
in memory."""

_START_S = 30.0

_UNBOUNDED = "[serve]\nrate = 0\naddress_rate = 0\n"

_FLOOR = "answers from memory"


@dataclass(frozen=True, slots=True)
class Load:
    """What the clients saw of one server, and its memory in MB meanwhile."""

    seconds: dict[str, list[float]]
    errors: dict[str, int]
    edits: list[int]
    wall_s: float
    memory: list[float]
    cpu_s: float

    @property
    def count(self) -> int:
        """Answers."""
        return sum(map(len, self.seconds.values()))

    @property
    def rate(self) -> float:
        """Answers in a second."""
        return self.count / self.wall_s


def run(record: Record) -> None:
    """One server after the other, each under the same clients, which are one more process on this machine.

    Unfair to nobody: the floor answers with what readroom answered, from memory, under the same uvicorn and
    the same HTTP parser, and opens, searches, writes and records nothing.  The clients take a share of the
    processors from each of them alike.
    """
    record.say(f"- Load of the machine before: {load_of_machine()}")
    with TemporaryDirectory(prefix="readroom-serving-") as folder:
        loads = dict(_loads(Path(folder)))
    record.say(f"- Load of the machine after, with that of the benchmark: {load_of_machine()}", "")
    _rates(record, loads)
    _times(record, loads)
    _memory(record, loads["readroom"], loads["readroom, reads only"])


def _loads(folder: Path) -> Iterator[tuple[str, Load]]:
    root, state, answers = folder / "root", folder / "state", folder / "answers.json"
    # All clients have one address, and read more than the 60,000 times a minute that one may.
    off, unbounded = folder / "off.toml", folder / "unbounded.toml"
    unbounded.write_text(_UNBOUNDED, encoding="utf-8")
    off.write_text(f"{_UNBOUNDED}[ledger]\nenabled = false\n", encoding="utf-8")
    fill(root)
    with readroom(root, state, "--config", str(unbounded)) as (port, process):
        answers.write_text(json.dumps(_answers(port)), encoding="utf-8")
        fill(root)
        mixed = loaded(port, process, _LONG_S, tuple(KINDS))
        reads = loaded(port, process, _LONG_S, ("read",))
    check(root, state, mixed, reads)
    yield "readroom", mixed
    yield "readroom, reads only", reads
    fill(root)
    with readroom(root, state, "--config", str(off)) as (port, process):
        yield "readroom without ledger", loaded(port, process, _SHORT_S, tuple(KINDS))
    with floor(answers) as (port, process):
        yield _FLOOR, loaded(port, process, _SHORT_S, tuple(KINDS))
    with floor(answers) as (port, process):
        yield f"{_FLOOR}, reads only", loaded(port, process, _SHORT_S, ("read",))


def fill(root: Path) -> None:
    """The workspace: modules to read and to search, and a file to edit for each client."""
    shutil.copytree(corpora.sources(), root, dirs_exist_ok=True)
    for number in range(_CLIENTS):
        (root / edited_name(number)).write_text(edited_text(0), encoding="utf-8")


def check(root: Path, state: Path, load: Load, *more: Load, warmed: int = len(KINDS)) -> None:
    """Every edit that was answered is in its file, every call is in the ledger, and the ledger verifies.

    `warmed` calls were made before those of the load.
    """
    for number, count in enumerate(load.edits):
        if (root / edited_name(number)).read_text(encoding="utf-8") != edited_text(count):
            raise RuntimeError(f"{edited_name(number)} is not what was answered")
    rows = verified(state)
    calls = sum(one.count for one in (load, *more)) + warmed
    if rows != calls:
        raise RuntimeError(f"{calls} calls were answered, and {rows} are in the ledger")


def verified(state: Path) -> int:
    """The rows of a ledger that verifies."""
    command = [sys.executable, "-m", "readroom", "ledger", "verify", "--json"]
    done = subprocess.run(command, env=environment(state), stdout=subprocess.PIPE, check=True)
    rows: int = json.loads(done.stdout)["rows"]
    return rows


def _answers(port: int) -> dict[str, Any]:
    """What readroom answers to one call of each kind."""
    edit = {"old_text": "value 0\n", "new_text": "value 1\n"}
    known = f"sha256:{sha256(edited_text(0).encode()).hexdigest()}"
    calls = {
        "read_file": {"path": "module_000.py"},
        "grep_files": {"pattern": PATTERNS[0], "limit": 20},
        "edit_file": {"path": edited_name(0), "expected_hash": known, "edits": [edit]},
    }
    found = {}
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        for tool, arguments in calls.items():
            headers = {"Content-Type": "application/json"}
            connection.request("POST", f"/v1/native/{tool}", json.dumps(arguments), headers)
            found[tool] = json.loads(connection.getresponse().read())
    return found


def loaded(port: int, process: subprocess.Popen[bytes], long_s: float, kinds: Sequence[str]) -> Load:
    """All clients at once for a while."""
    words = [str(port), str(_CLIENTS), str(long_s), *kinds]
    command = [sys.executable, "-m", "benchmarks.http_clients", *words]
    memory, cpu, began = [_memory_mb(process.pid)], cpu_s(process.pid), time.perf_counter()
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as clients:
        ends = threading.Event()
        watch = threading.Thread(target=_watch, args=(process.pid, memory, ends))
        watch.start()
        told, _ = clients.communicate()
        wall = time.perf_counter() - began
        ends.set()
        watch.join()
    if clients.returncode:
        raise RuntimeError(f"the clients ended with {clients.returncode}")
    found = json.loads(told)
    used = cpu_s(process.pid) - cpu
    return Load(found["seconds"], found["errors"], found["edits"], wall, memory, used)


def _watch(pid: int, memory: list[float], ends: threading.Event) -> None:
    while not ends.wait(_EVERY_S):
        memory.append(_memory_mb(pid))


@contextmanager
def readroom(root: Path, state: Path, *options: str) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", "readroom", "serve", "--open", str(root), *options]
    with serving(command, environment(state)) as found:
        yield found


@contextmanager
def floor(answers: Path) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    command = [sys.executable, "-m", "benchmarks.http_floor", str(answers)]
    with serving(command, dict(os.environ)) as found:
        yield found


@contextmanager
def serving(
    command: Sequence[str], environment: dict[str, str]
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A server, once it takes connections; its port, which was free, and its process."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [*command, "--port", str(port)]
    with subprocess.Popen(line, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL) as process:
        try:
            _wait(port)
            yield port, process
        finally:
            process.terminate()


def _wait(port: int) -> None:
    ends = time.monotonic() + _START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if time.monotonic() > ends:
                raise
            time.sleep(0.05)


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(state)}


def _memory_mb(pid: int) -> float:
    """Resident memory, in MB."""
    for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError("no VmRSS in /proc")


def load_of_machine() -> str:
    return " ".join(f"{value:.2f}" for value in os.getloadavg())


def _rates(record: Record, loads: dict[str, Load]) -> None:
    """Answers in a second, and what of the floor's that is."""
    rows = []
    for name, load in loads.items():
        floor = loads[f"{_FLOOR}, reads only" if name.endswith("reads only") else _FLOOR].rate
        record.add("serving", "answers in a second", name, [load.rate], "count")
        record.add("serving", "errors", name, [sum(load.errors.values())], "count")
        cells = [
            name,
            f"{load.wall_s:.0f} s",
            f"{load.count:,}",
            f"{load.rate:,.0f}",
            f"{load.rate / floor:.2f}",
        ]
        rows.append([*cells, f"{load.cpu_s / load.wall_s:.2f}", str(sum(load.errors.values()))])
    heads = ("server", "time", "answers", "in a second", "share of memory's", "processors used", "errors")
    shares = ", ".join(f"{share} {kind}s" for kind, share in KINDS.items())
    record.say(f"{_CLIENTS} clients; of a hundred requests {shares}.")
    record.table(heads, rows)
    told = {name: load.errors for name, load in loads.items() if load.errors}
    record.say(f"- Errors: {told or 'none'}")


def _times(record: Record, loads: dict[str, Load]) -> None:
    """Median and 99th percentile by kind."""
    rows = []
    for name, load in loads.items():
        cells = []
        for kind in KINDS:
            found = sorted(load.seconds.get(kind, ()))
            if not found:
                cells.append("")
                continue
            half, most = statistics.median(found), found[len(found) * 99 // 100]
            record.add("serving", f"{kind}, median", name, [half], "s")
            record.add("serving", f"{kind}, 99 %", name, [most], "s")
            cells.append(f"{seconds(half)} / {seconds(most)}")
        rows.append([name, *cells])
    record.say(f"Time to an answer, median / 99 %; each includes waiting behind {_CLIENTS - 1} others.")
    record.table(["server", *KINDS], rows)


def _memory(record: Record, mixed: Load, reads: Load) -> None:
    """Of one server, which had both loads one after the other."""
    record.add("serving", "resident memory", "readroom", mixed.memory, "MB")
    record.add("serving", "resident memory", "readroom, reads only", reads.memory, "MB")
    stretches = [", ".join(f"{mb:.0f}" for mb in load.memory) for load in (mixed, reads)]
    record.say(
        f"- Memory in MB every {_EVERY_S:g} s, mixed: {stretches[0]}; then reads only: {stretches[1]}",
        f"- Memory after all against that after the first stretch: "
        f"{met(reads.memory[-1] / mixed.memory[-1], _FLAT)}",
        "",
    )
