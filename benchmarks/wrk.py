"""HTTP load by wrk, a program in C: what is measured is the server, and not its clients.

wrk keeps its connections and asks again as soon as it has an answer, one kind of request at a time.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

CONNECTIONS = 64

_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, as often as it goes."""

    path: str
    body: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def script(self) -> str:
        """As wrk takes it, in Lua, whose texts are written as those of JSON here."""
        lines = [
            f"wrk.headers[{json.dumps(name)}] = {json.dumps(value)}" for name, value in self.headers.items()
        ]
        if self.body is not None:
            lines += ['wrk.method = "POST"', f"wrk.body = [==[{self.body}]==]"]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one stretch.

    Attributes:
        rate: Answers in a second.
        half_s: The median time to one.
        most_s: The 99th percentile.
        cpu_s: Processor time of the server for one.
        failed: Answers that were none, or not 2xx.
    """

    rate: float
    half_s: float
    most_s: float
    cpu_s: float
    failed: int


def load(port: int, server: int, ask: Ask, seconds: int) -> Found:
    """Load a server, whose process is `server`, for a while."""
    with TemporaryDirectory(prefix="readroom-wrk-") as folder:
        script = Path(folder, "ask.lua")
        script.write_text(ask.script(), encoding="utf-8")
        command = [
            "wrk",
            "-t",
            "1",
            "-c",
            str(CONNECTIONS),
            "-d",
            str(seconds),
            "--timeout",
            "30",
            "--latency",
        ]
        before = cpu_s(server)
        url = f"http://127.0.0.1:{port}{ask.path}"
        done = subprocess.run(
            [*command, "--latency", "-s", str(script), url], stdout=subprocess.PIPE, check=True
        )
        used = cpu_s(server) - before
    text = done.stdout.decode()
    count = int(_one(r"(\d+) requests in", text))
    failed = re.findall(r"(?:Non-2xx or 3xx responses:|connect|read|write|timeout) (\d+)", text)
    return Found(
        float(_one(r"Requests/sec:\s+(\S+)", text)),
        _seconds(_one(r"(?m)^ +50% +(\S+)", text)),
        _seconds(_one(r"(?m)^ +99% +(\S+)", text)),
        used / max(1, count),
        sum(map(int, failed)),
    )


def cpu_s(pid: int) -> float:
    """Processor time of the process and of its children, also of those that have ended."""
    while True:
        try:
            return _cpu_s(pid)
        except FileNotFoundError:  # a child has ended: its time is added to that of its parent
            if not Path(f"/proc/{pid}").exists():
                raise


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(_cpu_s, map(int, children)))


def _one(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"wrk has not said what {pattern} looks for: {text}")
    return found[1]


def _seconds(told: str) -> float:
    found = re.fullmatch(r"([\d.]+)(us|ms|s|m)", told)
    if found is None:
        raise RuntimeError(f"{told} is not a time of wrk")
    return float(found[1]) * _UNITS[found[2]]
