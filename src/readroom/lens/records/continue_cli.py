"""Continue CLI: `~/.continue/sessions/SESSION.json`, one document.

Each element of `history` has a `message`; an answer has its calls, its usage, and in `toolCallStates` their
results as they are sent. Its costs are not read: they are guesses where the client knows no price. Entries
have no times: `sessions.json` in the same folder lists the sessions and has when each began.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from readroom.lens.limits import RECORD_LINE_BYTES
from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Returned,
    Skipped,
    Wrote,
    asked,
    short_name,
)
from readroom.lens.records.stream import Element, sibling_bytes

NAME = "Continue CLI"
LIST = "sessions.json"
"""The list of sessions, which is no record itself."""

_HISTORY = "history"
_ENDED = frozenset({"done", "errored", "canceled"})


def is_entry(element: Element) -> bool:
    """Whether a member of a document shows that this client wrote it."""
    entry = values.as_object(element.value)
    return (
        element.key == _HISTORY
        and "contextItems" in entry
        and "role" in values.as_object(entry.get("message"))
    )


def read(elements: Iterable[Element | Skipped], path: Path) -> Iterator[Event]:
    """The events of one document."""
    session = short_name(path.stem)
    yield Opened(session, NAME, time=_began(path))
    number = 0
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "workspaceDirectory":
            yield Opened(session, folder=values.as_text(element.value).removeprefix("file://"))
        elif element.key == _HISTORY:
            number += 1
            yield from _entry(values.as_object(element.value), session, number)


def _began(path: Path) -> str:
    try:
        listed = values.decode(sibling_bytes(path.with_name(LIST), RECORD_LINE_BYTES))
    except (OSError, values.NotReadable):
        return ""
    for one in values.objects(listed):
        if one.get("sessionId") == path.stem:
            return values.time_of(one.get("dateCreated"))
    return ""


def _entry(entry: values.Object, session: str, number: int) -> Iterator[Event]:
    message = values.as_object(entry.get("message"))
    text = values.parts_text(message.get("content"))[0]
    if message.get("role") == "user":
        yield from asked(session, text)
    if message.get("role") != "assistant":
        return
    usage = values.as_object(message.get("usage"))
    read, wrote = values.counts_of(usage, "prompt_tokens", "completion_tokens")
    beside = values.as_object(usage.get("prompt_tokens_details"))
    cached, written = values.counts_of(beside, "cached_tokens", "cache_write_tokens")
    model, read = values.as_text(usage.get("model")), max(0, read - cached - written)
    yield Answered(session, f"entry {number}", "", model, read, wrote, cached, written)
    yield Wrote(session, text)
    for call in values.objects(message.get("toolCalls")):
        function = values.as_object(call.get("function"))
        arguments = values.as_arguments(function.get("arguments"))
        id, tool = values.as_text(call.get("id")), values.as_text(function.get("name"))
        yield Called(session, id, tool, arguments)
    for state in values.objects(entry.get("toolCallStates")):
        if state.get("status") in _ENDED:
            result, images = values.parts_text(state.get("output"))
            failed = state["status"] != "done"
            yield Returned(session, values.as_text(state.get("toolCallId")), result, failed or None, images)
