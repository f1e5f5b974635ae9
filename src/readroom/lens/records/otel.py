"""OpenTelemetry: spans of the GenAI conventions, from the OTLP file exporter or one a line.

A call is an `execute_tool` span with arguments and result as attributes; an answer is a span with a count of
input tokens. Results that no such span carries are taken from the messages of the next request
(`gen_ai.input.messages`, each with `parts`). A session is the spans of one `gen_ai.conversation.id` or trace;
the spans directly below an agent that a tool or an agent started are a session of their own. The usage of an
`invoke_agent` span is the sum of its answers, and not counted again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from readroom.lens.limits import Bounds
from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Remembered,
    Returned,
    Skipped,
    Wrote,
    forgotten,
)
from readroom.lens.records.stream import Line, each
from readroom.lens.records.values import (
    NotReadable,
    Object,
    as_arguments,
    as_count,
    as_object,
    as_text,
    decode,
    objects,
    parts_text,
    texts_of,
    time_of,
)

NAME = "OpenTelemetry"


def recognises(line: Object) -> bool:
    """Whether a line or a document is an export of spans."""
    if "resourceSpans" in line:
        return True
    return ("traceId" in line or "trace_id" in line or "context" in line) and isinstance(
        line.get("attributes"), dict | list
    )


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of all spans, line by line, and within a line in the order of their start."""
    reader = _SpanReader(bounds)
    yield from each(lines, reader.events)
    yield from reader.rest()


def _spans(entry: Object) -> Iterator[Object]:
    if "resourceSpans" not in entry:
        yield entry
    for resource in objects(entry.get("resourceSpans")):
        for scope in objects(resource.get("scopeSpans")):
            yield from objects(scope.get("spans"))


_NAME_OF_OPERATION = "gen_ai.operation.name"
_AGENT = "invoke_agent"
_STARTERS = (_AGENT, "execute_tool")
_INITIATOR = "github.copilot.initiator"


def _operation(span: Object) -> str:
    attributes = span.get("attributes")
    if isinstance(attributes, dict):
        return as_text(attributes.get(_NAME_OF_OPERATION))
    named = (pair for pair in objects(attributes) if pair.get("key") == _NAME_OF_OPERATION)
    return next((as_text(_any_value(as_object(pair.get("value")))) for pair in named), "")


def _id_of(span: Object) -> str:
    return as_text(span.get("spanId") or span.get("span_id") or as_object(span.get("context")).get("span_id"))


def _parent(span: Object) -> str:
    return as_text(span.get("parentSpanId") or span.get("parent_id"))


class _SpanReader:
    """The opened sessions, and the calls and results seen."""

    def __init__(self, bounds: Bounds) -> None:
        self._bounds = bounds
        self._opened = Remembered[None](bounds.ids)
        self._called = Remembered[None](bounds.ids)
        self._returned = Remembered[None](bounds.ids)
        self._agents = Remembered[None](bounds.sessions)
        self._failed = Remembered[None](bounds.ids)

    def events(self, entry: Object, _number: int) -> Iterator[Event]:
        spans = sorted(_spans(entry), key=lambda span: as_text(span.get("startTimeUnixNano")).rjust(24))
        starters = {_id_of(span) for span in spans if _operation(span) in _STARTERS}
        for span in spans:
            if _operation(span) == _AGENT and _parent(span) in starters:
                self._agents.put(_id_of(span), None)
        for span in spans:
            yield from self._span(span)

    def _span(self, span: Object) -> Iterator[Event]:
        attributes = _attributes(span.get("attributes"))
        context = as_object(span.get("context"))
        trace = as_text(span.get("traceId") or span.get("trace_id") or context.get("trace_id"))
        session = as_text(attributes.get("gen_ai.conversation.id")) or trace or "unnamed"
        started = time_of(span.get("startTimeUnixNano") or span.get("start_time"))
        ended = time_of(span.get("endTimeUnixNano") or span.get("end_time"))
        id = _id_of(span)
        if not any(key.startswith("gen_ai.") for key in attributes):
            return
        operation = attributes.get(_NAME_OF_OPERATION)
        if operation == _AGENT:
            return
        agent, parent = _parent(span), ""
        if agent and attributes.get(_INITIATOR) == "sub-agent":
            self._agents.put(agent, None)  # the span of the agent itself ends later, maybe in another line
        if agent in self._agents:
            session, parent = f"{session}/{agent}", session
        if session not in self._opened:
            self._opened.put(session, None)
            yield Opened(session, NAME, parent=parent, time=started)
        if operation == "execute_tool" or "gen_ai.tool.call.id" in attributes:
            yield from self._tool(span, attributes, session, id, started, ended)
        elif "gen_ai.usage.input_tokens" in attributes or operation in ("chat", "generate_content"):
            yield from self._answer(attributes, session, id, started)

    def rest(self) -> Iterator[Event]:
        """Events at the end of the record."""
        if self._called.forgot or self._returned.forgot:
            yield Skipped("file", forgotten(self._bounds))

    @staticmethod
    def _is_new(met: Remembered[None], session: str, id: str) -> bool:
        name = f"{session}\0{id}"
        if name in met:
            return False
        met.put(name, None)
        return True

    def _tool(
        self, span: Object, attributes: Object, session: str, id: str, started: str, ended: str
    ) -> Iterator[Event]:
        call = as_text(attributes.get("gen_ai.tool.call.id")) or id
        if self._is_new(self._called, session, call):
            arguments = as_arguments(attributes.get("gen_ai.tool.call.arguments"))
            yield Called(session, call, as_text(attributes.get("gen_ai.tool.name")), arguments, started)
        result = attributes.get("gen_ai.tool.call.result")
        state = as_object(span.get("status")).get("code")
        failed = state in (2, "STATUS_CODE_ERROR", "ERROR") or "error.type" in attributes
        if failed:
            self._failed.put(f"{session}\0{call}", None)  # its text may come with the next request
        if result is not None and self._is_new(self._returned, session, call):
            text, images = _result(result)
            code = _number(attributes.get("process.exit.code"))
            exit_code = code if type(code) is int else None
            yield Returned(session, call, text, failed or None, images, ended, exit_code=exit_code)

    def _answer(self, attributes: Object, session: str, id: str, started: str) -> Iterator[Event]:
        for message in objects(_json(attributes.get("gen_ai.input.messages"))):
            yield from self._parts(message, session, "")
        read, wrote, cached, written = (
            as_count(_number(attributes.get(f"gen_ai.usage.{name}_tokens")))
            for name in ("input", "output", "cache_read.input", "cache_creation.input")
        )
        model = as_text(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model"))
        yield Answered(session, id, started, model, max(0, read - cached - written), wrote, cached, written)
        for message in objects(_json(attributes.get("gen_ai.output.messages"))):
            yield from self._parts(message, session, started)

    def _parts(self, message: Object, session: str, started: str) -> Iterator[Event]:
        for part in objects(message.get("parts")):
            id, kind = texts_of(part, "id", "type")
            if kind == "tool_call" and self._is_new(self._called, session, id):
                arguments = as_arguments(part.get("arguments"))
                yield Called(session, id, as_text(part.get("name")), arguments, started)
            elif kind == "tool_call_response" and self._is_new(self._returned, session, id):
                text, images = _result(part.get("result", part.get("response")))
                failed = f"{session}\0{id}" in self._failed
                yield Returned(session, id, text, failed or None, images, started)
            elif kind == "text" and started and message.get("role") == "assistant":
                yield Wrote(session, as_text(part.get("content")))


def _result(value: object) -> tuple[str, int]:
    """The text of a result: a string, parts, or any other value, which the model is sent as JSON."""
    text, images = parts_text(value)
    if text or images or not isinstance(value, dict | list):
        return text, images
    return (msgspec.json.encode(value).decode(), 0) if value else ("", 0)


def _attributes(value: object) -> Object:
    if isinstance(value, dict):
        return value
    return {as_text(pair.get("key")): _any_value(as_object(pair.get("value"))) for pair in objects(value)}


def _any_value(value: Object) -> object:
    for kind in ("stringValue", "intValue", "doubleValue", "boolValue"):
        if kind in value:
            return value[kind]
    if "arrayValue" in value:
        return [_any_value(item) for item in objects(as_object(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return _attributes(as_object(value["kvlistValue"]).get("values"))
    return None


def _number(value: object) -> object:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value


def _json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return decode(value.encode("utf-8", "replace"))
    except NotReadable:
        return None
