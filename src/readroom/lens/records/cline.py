"""Cline: `~/.cline/data/sessions/SESSION/SESSION.messages.json`, one document.

A message of the `user` has the results of the answer before it; the file of a sub-agent, in the same folder,
names its parent. `SESSION.json` next to it has the folder of the session.

The record keeps results longer than the client sends them: each text in one is cut in its middle on the way
to the model. `sent` repeats that cut, which was compared with requests of the client.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from readroom.lens.limits import RECORD_LINE_BYTES
from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Called,
    Event,
    Opened,
    Returned,
    Skipped,
    Whole,
    Wrote,
    asked,
    short_name,
)
from readroom.lens.records.stream import Element, sibling_bytes

NAME = "Cline"
ENDING = ".messages.json"
BESIDE = (".json", ".compaction.json")
"""Endings of files of a session that are no records themselves."""

SENT_CHARS = 8_000
"""A longer text in a result is cut when it is sent."""

_MARK = "\n\n...[truncated {} chars]...\n\n"
_ASKED = ('<user_input mode="', "</user_input>")
_DEPTH = 20


def is_entry(element: Element) -> bool:
    """Whether a member of a document shows that this client wrote it."""
    entry = values.as_object(element.value)
    return element.key == "messages" and {"id", "role", "content", "ts"} <= entry.keys()


def read(elements: Iterable[Element | Skipped], path: Path) -> Iterator[Event]:
    """The events of one document."""
    name = path.name.removesuffix(ENDING)
    session, folder = short_name(name), _folder(path)
    for element in elements:
        if isinstance(element, Skipped):
            yield element
        elif element.key == "sessionId":
            session = short_name(values.as_text(element.value)) or session
        elif element.key == "origin":
            version, parent = values.texts_of(values.as_object(element.value), "version", "parentThreadId")
            yield Opened(session, NAME, version, folder, short_name(parent))
        elif element.key == "messages":
            yield Opened(session, NAME, folder=folder)
            yield from _message(values.as_object(element.value), session)
    if path.with_name(name + BESIDE[1]).exists():
        yield Skipped(BESIDE[1], "what a compaction left out of later requests is not read", session)


def _folder(path: Path) -> str:
    """The folder of a session and of its sub-agents, from the file next to the record."""
    try:
        beside = sibling_bytes(path.with_name(path.parent.name + BESIDE[0]), RECORD_LINE_BYTES)
        return values.as_text(values.as_object(values.decode(beside)).get("cwd"))
    except (OSError, values.NotReadable):
        return ""


def _message(message: values.Object, session: str) -> Iterator[Event]:
    time = values.time_of(message.get("ts"))
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else [*values.objects(content)]
    if message.get("role") == "assistant":
        yield _answered(message, session, time)
    for part in parts:
        kind = part.get("type")
        if kind == "tool_use":
            id, tool = values.texts_of(part, "id", "name")
            yield Called(session, id, tool, values.as_arguments(part.get("input")), time)
        elif kind == "tool_result":
            yield from _returned(part, session, time)
        elif kind == "text" and message.get("role") == "assistant":
            yield Wrote(session, values.as_text(part.get("text")))
        elif kind == "text":
            yield from asked(session, _typed(values.as_text(part.get("text"))))


def _typed(text: str) -> str:
    """The words of the user, without the tag around them."""
    opening, closing = _ASKED
    return text.partition(">")[2].removesuffix(closing) if text.startswith(opening) else text


def _answered(message: values.Object, session: str, time: str) -> Answered:
    metrics = values.as_object(message.get("metrics"))
    read, wrote, cached, written = values.counts_of(
        metrics, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"
    )
    model = values.as_text(values.as_object(message.get("modelInfo")).get("id"))
    cost = values.as_cost(metrics.get("cost"))
    id = values.as_text(message.get("id"))
    return Answered(session, id, time, model, max(0, read - cached - written), wrote, cached, written, cost)


def _returned(part: values.Object, session: str, time: str) -> Iterator[Event]:
    id, content = values.as_text(part.get("tool_use_id")), part.get("content")
    whole, images = _text(content)
    text, _ = _text(sent(content))
    if len(text) < len(whole):
        results = [values.parts_text(entry.get("result"))[0] for entry in values.objects(content)]
        yield Whole(session, id, "\n".join(results) or whole)
    failed = part.get("is_error") is True
    yield Returned(session, id, text, failed or None, images, time)


def _text(content: Any) -> tuple[str, int]:
    """The text of a result as it is sent, and how many pictures go with it."""
    if isinstance(content, str):
        return content, 0
    if content and all(part.get("type") == "text" for part in values.objects(content)):
        return values.parts_text(content, "\n")
    bare, images = _without_pictures(content, _DEPTH)
    return msgspec.json.encode(bare).decode(), images


def _without_pictures(value: Any, depth: int) -> tuple[Any, int]:
    if isinstance(value, list) and depth:
        pairs = [_without_pictures(item, depth - 1) for item in value]
        kept = [item for item, images in pairs if not (images and item is None)]
        return kept, sum(images for _, images in pairs)
    if isinstance(value, dict) and depth:
        if value.get("type") == "image":
            return None, 1
        if value.keys() == {"type", "text"}:
            return value["text"], 0
        fields = {key: _without_pictures(item, depth - 1) for key, item in value.items()}
        return {key: item for key, (item, _) in fields.items()}, sum(images for _, images in fields.values())
    return value, 0


def sent(value: Any, depth: int = _DEPTH) -> Any:
    """A result with each of its texts cut in the middle as the client cuts it."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, list) and depth:
        return [sent(item, depth - 1) for item in value]
    if isinstance(value, dict) and depth and value.get("type") != "image":
        return {key: sent(item, depth - 1) for key, item in value.items()}
    return value


def _cut(text: str) -> str:
    if len(text) <= SENT_CHARS:
        return text
    # The length of the mark depends on the number in it, which is worked out twice.
    ends = _ends(len(text) - SENT_CHARS)
    gone = len(text) - 2 * ends
    ends = _ends(gone)
    return text[:ends] + _MARK.format(gone) + text[len(text) - ends :]


def _ends(gone: int) -> int:
    return (SENT_CHARS - len(_MARK.format(gone))) // 2
