"""OpenAI Agents SDK: a `SQLiteSession` file, or `traces.jsonl` of a trace exporter.

A session file holds items of the Responses API, as records of Codex do. A trace has a span for each tool
call, with input and output, and for each answer, with usage. Spans are written when they end, so the calls of
a turn are in the order in which they ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from readroom.lens.limits import RECORD_LINE_BYTES, Bounds
from readroom.lens.records import values
from readroom.lens.records.codex import item_events
from readroom.lens.records.events import Answered, Called, Event, Opened, Remembered, Returned, Skipped
from readroom.lens.records.sqlite import opened
from readroom.lens.records.stream import Line, each

NAME = "openai-agents"
TABLES = {"agent_sessions", "agent_messages"}


def read_database(path: Path, _bounds: Bounds) -> Iterator[Event]:
    """The events of every conversation in a `SQLiteSession` file."""
    query = """SELECT session_id, id, length(message_data), created_at,
        CASE WHEN length(message_data) <= ? THEN message_data END
        FROM agent_messages ORDER BY session_id, id"""
    session = ""
    answer = 0
    of_model = False
    with opened(path) as connection:
        for name, number, size, time, data in connection.execute(query, (RECORD_LINE_BYTES,)):
            if values.as_text(name) != session:
                session = values.as_text(name)
                of_model = False
                yield Opened(session, NAME, time=values.time_of(time))
            try:
                item = values.as_object(values.decode(str(data).encode())) if data is not None else {}
            except values.NotReadable as error:
                yield Skipped(f"message {number}", f"{size:,} characters, {error}", session)
                continue
            if data is None:
                yield Skipped(f"message {number}", f"{size:,} characters, too long", session)
                continue
            kind = values.as_text(item.get("type"))
            answers = item.get("role") == "assistant" or kind == "reasoning" or kind.endswith("_call")
            if answers and not of_model:
                answer += 1
                yield Answered(session, f"answer {answer}", values.time_of(time))
            of_model = answers
            yield from item_events(item, session, values.time_of(time))


def recognises(line: values.Object) -> bool:
    """Whether a line is of an exported trace."""
    return values.as_text(line.get("object")) in ("trace", "trace.span")


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of exported traces; a trace is a session."""
    opened_traces = Remembered[None](bounds.ids)

    def events(entry: values.Object, _number: int) -> Iterator[Event]:
        session = values.as_text(entry.get("trace_id")) or values.as_text(entry.get("id")) or "unnamed"
        if session not in opened_traces:
            opened_traces.put(session, None)
            yield Opened(session, NAME, time=values.time_of(entry.get("started_at")))
        yield from _span(entry, values.as_object(entry.get("span_data")), session)

    return each(lines, events)


def _span(span: values.Object, data: values.Object, session: str) -> Iterator[Event]:
    kind = values.as_text(data.get("type"))
    id = values.as_text(span.get("id"))
    started, ended = values.time_of(span.get("started_at")), values.time_of(span.get("ended_at"))
    if kind in ("response", "generation"):
        usage = values.as_object(data.get("usage"))
        cached = values.as_count(values.as_object(usage.get("input_tokens_details")).get("cached_tokens"))
        read, wrote = values.counts_of(usage, "input_tokens", "output_tokens")
        answer, model = values.texts_of(data, "response_id", "model")
        yield Answered(session, answer or id, started, model, max(0, read - cached), wrote, cached)
    elif kind == "function":
        yield Called(
            session, id, values.as_text(data.get("name")), values.as_arguments(data.get("input")), started
        )
        text, images = values.parts_text(data.get("output"))
        failed = True if span.get("error") else None
        if failed and not text:
            text = values.as_text(values.as_object(span.get("error")).get("message"))
        yield Returned(session, id, text, failed, images, ended)
