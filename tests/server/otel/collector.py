"""A collector as a process: it takes OTLP over HTTP, decodes it, and writes what it got into a file.

python collector.py FILE    prints its address
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from typing import Any, TypeAlias

Found: TypeAlias = dict[str, Any]

END_S = 60


@dataclass(frozen=True, slots=True)
class Collector:
    """A running collector."""

    url: str
    file: Path
    process: subprocess.Popen[str]

    def all(self, what: str) -> list[Found]:
        """All that it has got so far: `spans`, `metrics` or `requests`."""
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [one[what] for one in lines if what in one]

    def spans(self, count: int = 1) -> list[Found]:
        """The spans, when there are that many, the oldest first."""
        assert self.process.stdout is not None
        while len(found := self.all("spans")) < count:
            more, _, _ = select([self.process.stdout], [], [], END_S)
            assert more, (found, self.all("requests"))
            os.read(self.process.stdout.fileno(), 4096)  # a line for each request that it has written down
        return sorted(found, key=lambda span: int(span["begun"]))


@contextmanager
def collector(folder: Path, port: int = 0) -> Iterator[Collector]:
    """A collector on a free port, or on that one."""
    file = folder / "collected.jsonl"
    line = [sys.executable, __file__, str(file), str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Collector(process.stdout.readline().strip(), file, process)
        finally:
            process.terminate()
            process.communicate(timeout=END_S)


def environment(state: Path, **more: str) -> dict[str, str]:
    """The environment of a process under test: nothing of OpenTelemetry but what is given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return {**kept, "XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state), **more}


def _plain(attributes: Any) -> Mapping[str, Any]:
    return {one.key: _value(one.value) for one in attributes}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def _spans(data: bytes) -> Iterator[Found]:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

    for group in ExportTraceServiceRequest.FromString(data).resource_spans:
        for scope in group.scope_spans:
            for span in scope.spans:
                yield {
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "trace": span.trace_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "vendors": span.trace_state,
                    "links": [link.span_id.hex() for link in span.links],
                    "begun": str(span.start_time_unix_nano),
                    "ended": str(span.end_time_unix_nano),
                    "status": Status.StatusCode.Name(span.status.code),
                    "facts": _plain(span.attributes),
                    "resource": _plain(group.resource.attributes),
                }


def _metrics(data: bytes) -> Iterator[Found]:
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

    for group in ExportMetricsServiceRequest.FromString(data).resource_metrics:
        for scope in group.scope_metrics:
            for metric in scope.metrics:
                for point in metric.histogram.data_points:
                    yield {
                        "name": metric.name,
                        "unit": metric.unit,
                        "count": point.count,
                        "sum": point.sum,
                        "bounds": list(point.explicit_bounds),
                        "facts": _plain(point.attributes),
                    }


class _Handler(BaseHTTPRequestHandler):
    file: Path

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            data = gzip.decompress(data)
        traces = self.path.endswith("/v1/traces")
        found = (
            [{"spans": one} for one in _spans(data)]
            if traces
            else [{"metrics": one} for one in _metrics(data)]
        )
        headers = {name.lower(): value for name, value in self.headers.items()}
        lines = [{"requests": {"path": self.path, "headers": headers}}, *found]
        with self.file.open("a", encoding="utf-8") as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines))
        print(self.path, flush=True)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


if __name__ == "__main__":
    _Handler.file = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), _Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()
