"""GitHub Copilot CLI: `~/.copilot/session-state/SESSION/events.jsonl`.

A line is an event `{type, data, id, timestamp, parentId}`. An answer is between `assistant.turn_start` and
`assistant.turn_end`: its usage is in `session.usage_record`, its calls in `assistant.message`. A result is in
`tool.execution_complete`; `detailedContent` is for the screen. Events of a sub-agent have its `agentId`. The
conversation goes on during a compaction: results that came since its start are sent on.

The record of a failed call has a short form of the message only; the model got more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator

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

NAME = "GitHub Copilot CLI"
FILE = "events.jsonl"
"""The record in the folder of a session."""

_KINDS = ("session.", "user.", "system.", "assistant.", "tool.", "subagent.", "hook.", "skill.", "abort")
_KEPT_CALLS = 1_000
"""Calls that are remembered while a compaction runs."""


def recognises(line: values.Object) -> bool:
    """Whether this client wrote a line."""
    kind = line.get("type")
    known = isinstance(kind, str) and kind.startswith(_KINDS)
    return known and isinstance(line.get("data"), dict) and {"id", "timestamp", "parentId"} <= line.keys()


def read(lines: Iterable[Line | Skipped], bounds: Bounds, folder: str = "") -> Iterator[Event]:
    """The events of one file; `folder` is its folder's name, which is the id of the session."""
    yield from each(lines, _CopilotSession(bounds, folder).events)


class _CopilotSession:
    """The session of a file and its sub-agents: their answers, and calls since a compaction began."""

    def __init__(self, bounds: Bounds, folder: str) -> None:
        self._main = short_name(folder) or "unnamed"
        self._folder = ""
        self._opened = Remembered[None](bounds.sessions)
        self._answers = Remembered[str](bounds.sessions)
        self._since = Remembered[list[str]](bounds.sessions)

    def events(self, entry: values.Object, number: int) -> Iterator[Event]:
        kind = values.as_text(entry.get("type"))
        data = values.as_object(entry.get("data"))
        time = values.time_of(entry.get("timestamp"))
        if kind in ("session.start", "session.resume"):
            yield from self._start(data, time)
        session = yield from self._session(values.as_text(entry.get("agentId")), time)
        if kind == "assistant.turn_start":
            self._answers.put(session, short_name(values.as_text(entry.get("id"))))
        elif kind == "session.usage_record":
            yield from self._usage(values.as_object(data.get("usage")), session, time)
        elif kind == "assistant.message":
            yield from self._message(data, session, time)
        elif kind == "user.message" and (entry.get("agentId") or not data.get("source")):
            yield from asked(session, values.as_text(data.get("content")))
        elif kind == "tool.execution_complete":
            yield _returned(data, session, time)
        elif kind == "session.compaction_start":
            self._since.put(session, [])
        elif kind == "session.compaction_complete":
            kept = self._since.get(session) or []
            self._since.pop(session)
            if data.get("success") is True:
                yield Compacted(session, time, kept=tuple(kept))
        elif not kind.startswith(_KINDS):
            yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", session)

    def _start(self, data: values.Object, time: str) -> Iterator[Event]:
        self._main = short_name(values.as_text(data.get("sessionId"))) or self._main
        self._opened.put(self._main, None)
        version, model = values.texts_of(data, "copilotVersion", "selectedModel")
        self._folder = short_name(values.as_text(values.as_object(data.get("context")).get("cwd")))
        yield Opened(self._main, NAME, version, self._folder, model=model, time=time)

    def _session(self, agent: str, time: str) -> Generator[Event, None, str]:
        session = f"{self._main}/{agent}" if agent else self._main
        if session not in self._opened:
            self._opened.put(session, None)
            parent = self._main if agent else ""
            yield Opened(session, NAME, folder=self._folder, parent=parent, time=time)
        return session

    def _usage(self, usage: values.Object, session: str, time: str) -> Iterator[Event]:
        read, wrote, cached, written = values.counts_of(
            usage, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"
        )
        read = max(0, read - cached - written)
        model = values.as_text(usage.get("model"))
        yield Answered(session, self._answer(session), time, model, read, wrote, cached, written)

    def _message(self, data: values.Object, session: str, time: str) -> Iterator[Event]:
        yield Answered(session, self._answer(session), time, values.as_text(data.get("model")))
        if text := values.as_text(data.get("content")):
            yield Wrote(session, text)
        for request in values.objects(data.get("toolRequests")):
            id, tool, server = values.texts_of(request, "toolCallId", "name", "mcpServerName")
            since = self._since.get(session)
            if since is not None and len(since) < _KEPT_CALLS:
                since.append(short_name(id))
            yield Called(session, id, tool, values.as_arguments(request.get("arguments")), time, server)

    def _answer(self, session: str) -> str:
        return self._answers.get(session) or ""


def _returned(data: values.Object, session: str, time: str) -> Returned:
    result, shell = values.as_object(data.get("result")), values.as_object(data.get("shellExecution"))
    failed = data.get("success") is False
    text = values.as_text(result.get("content"))
    if failed and not text:
        text = values.as_text(values.as_object(data.get("error")).get("message"))
    images = sum(1 for one in values.objects(result.get("binaryResultsForLlm")) if one.get("type") == "image")
    code = shell.get("exitCode")
    return Returned(
        session, values.as_text(data.get("toolCallId")), text, failed or None, images, time,
        exit_code=code if type(code) is int else None,
    )  # fmt: skip
