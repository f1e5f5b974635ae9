"""The record of one request and its answer, for log and metrics: no paths of files, no content."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector

from readroom.core import config

LOG = logging.getLogger("readroom.access")

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Exchange(Struct):
    """The facts of a request, filled in as it proceeds."""

    method: str
    address: str
    route: str = "none"
    target: str = ""
    workspace: str = ""
    contract: str = ""
    rpc: str = ""
    """The method of an MCP message."""
    tool: str = ""
    token: str = ""
    agent: str = ""
    session: str = ""
    status: int = 0
    code: str = ""
    sent_bytes: int = 0
    seconds: float = 0.0
    reached: bool = False
    """A call reached a workspace, which records it itself."""

    def log(self) -> None:
        """Log one line of JSON, if there is a log."""
        if LOG.isEnabledFor(logging.INFO):
            answered = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            record = {"time": answered, **msgspec.to_builtins(self)}
            del record["reached"]
            LOG.info("%s", msgspec.json.encode(record).decode())


class Metrics:
    """Metrics for Prometheus. Labels are names of routes, workspaces and tools: bounded in number."""

    def __init__(self, shared: str | None = None) -> None:
        """`shared` is the folder of `counted_together`, where other processes count too."""
        self._shared = shared
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "readroom_http_requests", "Requests answered", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "readroom_http_request_seconds",
            "Time to answer",
            ["route"],
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._calls = Counter(
            "readroom_tool_calls",
            "Tool calls over HTTP",
            ["workspace", "contract", "tool", "outcome"],
            registry=self._registry,
        )
        self._refused = Counter(
            "readroom_refused_requests", "Requests refused", ["code"], registry=self._registry
        )
        self.open = Gauge(
            "readroom_open_calls",
            "Calls that run or wait",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def count(self, exchange: Exchange) -> None:
        """Count a finished exchange."""
        self._requests.labels(exchange.route, str(exchange.status)).inc()
        self._seconds.labels(exchange.route).observe(exchange.seconds)
        if exchange.tool:
            outcome = exchange.code or "ok"
            names = (exchange.workspace, exchange.contract, exchange.tool, outcome)
            self._calls.labels(*names).inc()
        elif exchange.code:
            self._refused.labels(exchange.code).inc()

    def text(self) -> bytes:
        """The metrics of all processes, in Prometheus's text format."""
        if self._shared is None:
            return generate_latest(self._registry)
        together = CollectorRegistry()
        together.register(_Together(self._shared))
        return generate_latest(together)


class _Together(Collector):
    """Metrics of all processes.

    A process creates its files empty and sets their size afterwards: a file read in between, or one whose
    process was killed there, holds no value yet and would spoil the values of all others.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        with os.scandir(self._folder) as entries:
            files = [entry.path for entry in entries if entry.name.endswith(".db") and _sized(entry)]
        merged: Iterable[Metric] = MultiProcessCollector.merge(files)  # type: ignore[no-untyped-call]
        return merged


def _sized(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.stat().st_size > 0
    except FileNotFoundError:  # the open calls of a process that died meanwhile
        return False


@contextmanager
def counted_together() -> Iterator[str]:
    """A folder where processes that are forked meanwhile count; counts of processes that died stay.

    It is in memory if the system has a folder for that: the files are mapped, and a process that cannot write
    to one because the disk is full would be killed.
    """
    memory = "/dev/shm"
    place = memory if os.access(memory, os.W_OK | os.X_OK) else None
    with tempfile.TemporaryDirectory(prefix="readroom-metrics-", dir=place) as folder:
        config.give_variable("PROMETHEUS_MULTIPROC_DIR", folder)
        values.ValueClass = values.MultiProcessValue()  # type: ignore[no-untyped-call]
        yield folder


def counts_no_more(folder: str, pid: int) -> None:
    """Drop the open calls of a process that has ended; its counts stay."""
    mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
