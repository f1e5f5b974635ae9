"""Qwen Code: `~/.qwen/projects/FOLDER/chats/SESSION.jsonl`.

Sub-agents have `subagents/SESSION/agent-*.jsonl`. An answer is an `assistant` line, a result a `tool_result`
line with a `functionResponse`. Usage is in `usageMetadata` and again in `system/ui_telemetry`, which is not
counted. What was before a `chat_compression` is no longer sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from readroom.lens.limits import Bounds
from readroom.lens.records import values
from readroom.lens.records.events import (
    Answered,
    Called,
    Compacted,
    Event,
    Opened,
    Remembered,
    Returned,
    Skipped,
    Wrote,
    asked,
    short_name,
)
from readroom.lens.records.stream import Line, each

NAME = "Qwen Code"
_KNOWN = frozenset({"user", "assistant", "tool_result", "system"})


def recognises(line: values.Object) -> bool:
    """Whether this client wrote a line."""
    return (
        "sessionId" in line
        and "uuid" in line
        and ("provenance" in line or "parts" in values.as_object(line.get("message")))
    )


def read(lines: Iterable[Line | Skipped], bounds: Bounds) -> Iterator[Event]:
    """The events of one file."""
    yield from each(lines, _QwenSessions(bounds).events)


class _QwenSessions:
    """The sessions met so far, and the current answer of each, which takes several lines."""

    def __init__(self, bounds: Bounds) -> None:
        self._opened = Remembered[None](bounds.ids)
        self._answers = Remembered[str](bounds.sessions)

    def events(self, entry: values.Object, number: int) -> Iterator[Event]:
        session = _session(entry)
        if session not in self._opened:
            self._opened.put(session, None)
            parent = values.as_text(entry.get("sessionId")) if "/" in session else ""
            version, folder = values.texts_of(entry, "version", "cwd")
            yield Opened(session, NAME, version, folder, parent, time=values.time_of(entry.get("timestamp")))
        kind = values.as_text(entry.get("type"))
        if kind == "assistant" and (session not in self._answers or "usageMetadata" in entry):
            self._answers.put(session, short_name(values.as_text(entry.get("uuid"))))
        elif kind in ("user", "tool_result"):
            self._answers.pop(session)
        yield from _events(entry, session, number, self._answers.get(session) or "")


def _session(entry: values.Object) -> str:
    session, agent = values.texts_of(entry, "sessionId", "agentId")
    return f"{session or 'unnamed'}/{agent}" if agent else session or "unnamed"


def _events(entry: values.Object, session: str, number: int, answer: str) -> Iterator[Event]:
    kind = values.as_text(entry.get("type"))
    message = values.as_object(entry.get("message"))
    time = values.time_of(entry.get("timestamp"))
    if kind == "assistant":
        yield from _answer(entry, message, session, time, answer)
    elif kind in ("user", "tool_result"):
        yield from _input(message, session, time)
    elif kind == "system" and entry.get("subtype") == "chat_compression":
        yield Compacted(session, time, kept=tuple(_kept(values.as_object(entry.get("systemPayload")))))
    elif kind not in _KNOWN:
        yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", session)


def _kept(payload: values.Object) -> Iterator[str]:
    """The calls whose results are in the history that replaces earlier messages."""
    for message in values.objects(payload.get("compressedHistory")):
        for part in values.objects(message.get("parts")):
            for kind in ("functionCall", "functionResponse"):
                if id := values.as_text(values.as_object(part.get(kind)).get("id")):
                    yield short_name(id)


def _answer(
    entry: values.Object, message: values.Object, session: str, time: str, key: str
) -> Iterator[Event]:
    usage = values.as_object(entry.get("usageMetadata"))
    names = (f"{name}TokenCount" for name in ("prompt", "candidates", "cachedContent", "thoughts", "total"))
    read, wrote, cached, thought, total = values.counts_of(usage, *names)
    if total == read + wrote + thought:
        wrote += thought  # some providers count thoughts as output, others separately
    yield Answered(
        session, key, time, values.as_text(entry.get("model")), max(0, read - cached), wrote, cached
    )
    for part in values.objects(message.get("parts")):
        call = values.as_object(part.get("functionCall"))
        if call:
            id, tool = values.texts_of(call, "id", "name")
            yield Called(session, id, tool, values.as_object(call.get("args")), time)
        elif part.get("text") and not part.get("thought"):
            yield Wrote(session, values.as_text(part["text"]))


def _input(message: values.Object, session: str, time: str) -> Iterator[Event]:
    parts = values.as_list(message.get("parts"))
    beside = sum(1 for part in values.objects(parts) if "inlineData" in part)
    for part in values.objects(parts):
        response = values.as_object(part.get("functionResponse"))
        if not response:
            yield from asked(session, values.as_text(part.get("text")))
            continue
        text, images, failed = values.response_text(response)
        yield Returned(
            session, values.as_text(response.get("id")), text, failed or None, images + beside, time
        )
