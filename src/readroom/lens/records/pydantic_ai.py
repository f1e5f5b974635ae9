"""Pydantic AI: a message history as `ModelMessagesTypeAdapter.dump_json` writes it.

It is a list of `request` and `response` messages with `parts`. A failed call is a return whose `outcome` is
`retried` or `failed`, which the model reads as `{"error": ...}`; before 2.60 it is a `retry-prompt` in the
next request, which ends with a sentence of the library.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from readroom.lens.limits import Bounds
from readroom.lens.records import values
from readroom.lens.records.events import Answered, Called, Event, Opened, Remembered, Returned, Skipped, Wrote
from readroom.lens.records.stream import Element

NAME = "pydantic-ai"

_RETRY = "\n\nFix the errors and try again."
"""Addition of the library to the text of a failed call (`RetryPromptPart.model_response`)."""


def recognises(element: values.Object) -> bool:
    """Whether an element of a list is a message of this library."""
    return values.as_text(element.get("kind")) in ("request", "response") and isinstance(
        element.get("parts"), list
    )


def read(elements: Iterable[Element | Skipped], session: str, bounds: Bounds) -> Iterator[Event]:
    """The events of one message history, named `session` unless it names itself."""
    opened = Remembered[None](bounds.ids)
    for number, element in enumerate(elements, 1):
        if isinstance(element, Skipped):
            yield element
            continue
        message = values.as_object(element.value)
        name = values.as_text(message.get("conversation_id")) or session
        if name not in opened:
            opened.put(name, None)
            yield Opened(name, NAME, time=values.time_of(message.get("timestamp")))
        if message.get("kind") == "response":
            yield from _answer(message, name, number)
        elif message.get("kind") == "request":
            for part in values.objects(message.get("parts")):
                yield from _input(part, name)
        else:
            yield Skipped(f"message {number}", "neither a request nor a response", name)


def _answer(message: values.Object, session: str, number: int) -> Iterator[Event]:
    usage = values.as_object(message.get("usage"))
    cached, written = values.counts_of(usage, "cache_read_tokens", "cache_write_tokens")
    read = max(0, values.as_count(usage.get("input_tokens", usage.get("request_tokens"))) - cached - written)
    wrote = values.as_count(usage.get("output_tokens", usage.get("response_tokens")))
    time, cost = values.time_of(message.get("timestamp")), values.as_cost(usage.get("cost"))
    model = values.as_text(message.get("model_name"))
    yield Answered(session, f"message {number}", time, model, read, wrote, cached, written, cost)
    for part in values.objects(message.get("parts")):
        kind = values.as_text(part.get("part_kind"))
        if kind.endswith("tool-call"):
            id, tool = values.texts_of(part, "tool_call_id", "tool_name")
            yield Called(session, id, tool, values.as_arguments(part.get("args")), time)
        elif kind.endswith("tool-return"):  # the provider ran the tool within this answer
            yield from _input(part, session)
        elif kind == "text":
            yield Wrote(session, values.as_text(part.get("content")))


def _input(part: values.Object, session: str) -> Iterator[Event]:
    kind = values.as_text(part.get("part_kind"))
    time = values.time_of(part.get("timestamp"))
    id = values.as_text(part.get("tool_call_id"))
    if kind.endswith("tool-return"):
        text, images = _content(part.get("content"))
        outcome = values.as_text(part.get("outcome"))
        if outcome in ("retried", "failed"):
            text = msgspec.json.encode({"error": text}).decode()
        yield Returned(session, id, text, outcome in ("retried", "failed", "denied") or None, images, time)
    elif kind == "retry-prompt" and part.get("tool_name"):
        yield Returned(session, id, _content(part.get("content"))[0] + _RETRY, True, 0, time)


_FILES = frozenset({"binary", "image-url", "document-url", "audio-url", "video-url", "uploaded-file"})
"""Parts that are not text: a file, or the address of one."""


def _is_image(part: values.Object) -> bool:
    kind = values.as_text(part.get("kind"))
    return kind == "image-url" or (
        kind == "binary" and values.as_text(part.get("media_type")).startswith("image/")
    )


def _content(value: object) -> tuple[str, int]:
    if isinstance(value, dict) and values.as_text(value.get("kind")) in _FILES:
        value = [value]
    if isinstance(value, str | list):
        text, images = values.parts_text(value, "\n")
        images += sum(1 for part in values.objects(value) if _is_image(part))
        if text or images or any(part.get("kind") in _FILES for part in values.objects(value)):
            return text, images
    return ("", 0) if value is None or value == [] else (msgspec.json.encode(value).decode(), 0)
