"""The way of spans and metrics to a collector, through the SDK of OpenTelemetry. Used by one thread."""

from __future__ import annotations

import logging
import math
import threading
from functools import partial
from typing import Any, final
from urllib.parse import urlsplit

import requests
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from readroom.core.log import log
from readroom.core.release import VERSION
from readroom.server.otel import OtelPolicy
from readroom.server.otel.conventions import BOUNDARIES, DURATION, Measured

_KINDS = {"server": SpanKind.SERVER, "internal": SpanKind.INTERNAL}

_PROPAGATOR = TraceContextTextMapPropagator()


@final
class _Ended(SpanProcessor):
    """Keeps the spans that have ended, and are to be sent, until they are."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled:
            self.spans.append(span)


@final
class Pipeline:
    """Makes spans and metrics of calls, and sends them; a failure is said once, and when it is over."""

    def __init__(self, policy: OtelPolicy) -> None:
        _quieted()
        self.impatient = False
        """Try everything only once: somebody waits. Set by other threads."""
        self.is_away = False
        """Whether the collector did not take what it was last sent."""
        self._ended = _Ended()
        signals = policy.signals()
        self._where = urlsplit(policy.address(signals[0])).hostname or "the collector"
        resource = _resource()
        self._spans = self._exporter(OTLPSpanExporter, policy, "traces") if "traces" in signals else None
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(self._ended)
        self._tracer = provider.get_tracer("readroom", VERSION)
        self._metrics = self._exporter(_Metrics, policy, "metrics") if "metrics" in signals else None
        # Without an interval it makes no thread: reports are asked for.
        exporters = [] if self._metrics is None else [self._metrics]
        readers = [PeriodicExportingMetricReader(one, math.inf) for one in exporters]
        self._meters = MeterProvider(readers, resource=resource, shutdown_on_exit=False)
        meter = self._meters.get_meter("readroom", VERSION)
        self._duration = meter.create_histogram(
            DURATION,
            unit="s",
            description="Duration of tool calls.",
            explicit_bucket_boundaries_advisory=BOUNDARIES,
        )
        self._lost = meter.create_counter(
            "readroom.otel.lost", unit="{span}", description="Spans for which there was no room."
        )

    def _exporter(self, kind: Any, policy: OtelPolicy, signal: str) -> Any:
        session: Any = requests.Session()
        session.request = partial(self._requested, session.request)
        return kind(endpoint=policy.address(signal), session=session)

    def _requested(self, request: Any, *where: Any, **how: Any) -> Any:
        """An answer; one try is all that there is when a process ends."""
        try:
            answer = request(*where, **how)
        except requests.RequestException as error:
            if self.impatient:
                raise _Away from error
            raise
        if self.impatient and not answer.ok:
            raise _Away
        return answer

    def send(self, calls: list[tuple[Measured, Any]], lost: int = 0) -> None:
        """Send the spans of calls; those that were lost before them are counted."""
        if lost:
            self._lost.add(lost)
        for call, around in calls:
            self._take(call, around)
        spans, self._ended.spans = self._ended.spans, []
        if spans and self._spans is not None:
            self._note(self._spans.export(spans) is SpanExportResult.SUCCESS, f"{len(spans)} spans")

    def report(self) -> None:
        """Send the metrics."""
        if self._metrics is not None:
            self._meters.force_flush()
            self._note(self._metrics.succeeded, "metrics")

    def _take(self, call: Measured, around: SpanContext | None) -> None:
        parent, links = _parent(call), []
        if around is not None:
            if parent is None:
                parent = set_span_in_context(NonRecordingSpan(around), Context())
            else:
                links.append(Link(around))
        span = self._tracer.start_span(
            call.name,
            parent or Context(),
            _KINDS[call.kind],
            call.facts,
            links,
            start_time=call.begun_ns,
        )
        if call.failed:
            span.set_status(Status(StatusCode.ERROR))
        span.end(call.ended_ns)
        seconds = (call.ended_ns - call.begun_ns) / 1e9
        self._duration.record(seconds, call.labels, set_span_in_context(span, Context()))

    def _note(self, succeeded: bool, what: str) -> None:
        if not succeeded and not self.is_away:
            log().warning("%s took no %s; nothing more is said until it does", self._where, what)
        elif succeeded and self.is_away:
            log().warning("%s takes spans and metrics again", self._where)
        self.is_away = not succeeded


class _Away(Exception):
    """A collector that did not take something, which the exporter does not try again."""


def _quieted() -> None:
    """Keep exporters from saying each failure of this thread, which says the first."""
    own = threading.get_ident()
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    for exporter in (OTLPSpanExporter, OTLPMetricExporter):
        logging.getLogger(exporter.__module__).addFilter(lambda record: record.thread != own)


@final
class _Metrics(OTLPMetricExporter):
    """An exporter of metrics, and whether it succeeded."""

    succeeded = True

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **how: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **how)
        self.succeeded = result is MetricExportResult.SUCCESS
        return result


def _resource() -> Resource:
    """This program, unless the operator's variables say another name."""
    own = Resource.create({SERVICE_VERSION: VERSION})
    named = str(own.attributes.get(SERVICE_NAME, ""))
    return own.merge(Resource({SERVICE_NAME: "readroom"})) if named.startswith("unknown_service") else own


def _parent(call: Measured) -> Context | None:
    """The span of the caller, which the traceparent names."""
    if not call.traceparent:
        return None
    return _PROPAGATOR.extract({"traceparent": call.traceparent, "tracestate": call.tracestate}, Context())


_TRIED_S = 3.0
"""How long a collector has for an answer when it is tried; one that is near takes milliseconds."""


def try_out(policy: OtelPolicy) -> str:
    """Send nothing to a collector, as spans; returns why it did not take it, empty if it did."""
    _quieted()
    failures: list[str] = []
    session: Any = requests.Session()
    session.request = partial(_tried, session.request, failures)
    exporter: SpanExporter = OTLPSpanExporter(
        endpoint=policy.address("traces"), session=session, timeout=_TRIED_S
    )
    return "" if exporter.export([]) is SpanExportResult.SUCCESS else (failures or ["it does not answer"])[-1]


def _tried(request: Any, failures: list[str], *where: Any, **how: Any) -> Any:
    try:
        answer = request(*where, **how)
    except requests.RequestException as error:
        failures.append(_in_words(error))
        raise _Away from error
    if not answer.ok:
        failures.append(f"it answers {answer.status_code}")
        raise _Away
    return answer


def _in_words(error: requests.RequestException) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate is not accepted"
    return "it does not answer in time" if isinstance(error, requests.Timeout) else "it does not answer"
