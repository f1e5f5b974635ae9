"""pi: `~/.pi/agent/sessions/FOLDER/TIME_SESSION.jsonl`.

The first line is the session. Every other entry names the entry before it, so that a user who goes back
makes a branch in the same file. A `message` is of the user, an `assistant` with its calls and its usage, or a
`toolResult`. A `compaction` names the first entry whose messages are sent on; `details` are for the screen.
"""

from __future__ import annotations

import re
from collections import deque
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
    Rewound,
    Skipped,
    Wrote,
    asked,
    short_name,
)
from readroom.lens.records.stream import Line, each

NAME = "pi"
_SILENT = frozenset({
    "session", "model_change", "thinking_level_change", "branch_summary", "custom", "custom_message", "label",
    "session_info",
})  # fmt: skip
_SEPARATORS = re.compile(r"[/\\:]")
_KEPT_RESULTS = 5_000
"""The latest results that may be sent on after a compaction."""


def recognises(line: values.Object) -> bool:
    """Whether this client wrote a line: the head of a session, or a message."""
    if line.get("type") == "session":
        return {"id", "timestamp", "cwd"} <= line.keys() and "data" not in line
    message = values.as_object(line.get("message"))
    return line.get("type") == "message" and {"parentId", "timestamp"} <= line.keys() and "role" in message


def folder_name(path: str) -> str:
    """The name of the folder with the sessions of the folder `path`."""
    below = path[1:] if path.startswith(("/", "\\")) else path
    return f"--{_SEPARATORS.sub('-', below)}--"


def read(lines: Iterable[Line | Skipped], bounds: Bounds, name: str = "") -> Iterator[Event]:
    """The events of one file; `name` is its name without suffix, which ends with the id of the session."""
    yield from each(lines, _PiSession(bounds, name).events)


class _PiSession:
    """One session: its last entry, and the answer that was the last one at each entry."""

    def __init__(self, bounds: Bounds, name: str) -> None:
        self._session = short_name(name.rpartition("_")[2]) or "unnamed"
        self._named = False
        self._last = ""
        self._answer = ""
        self._entries = Remembered[tuple[int, str]](bounds.ids)
        self._results: deque[tuple[int, str]] = deque(maxlen=_KEPT_RESULTS)

    def events(self, entry: values.Object, number: int) -> Iterator[Event]:
        kind, id, parent = values.texts_of(entry, "type", "id", "parentId")
        time = values.time_of(entry.get("timestamp"))
        if kind == "session" or not self._named:
            self._named = True
            if kind == "session":
                self._session = short_name(id) or self._session
            folder = values.as_text(entry.get("cwd"))
            yield Opened(self._session, NAME, folder=folder, time=time)
        if kind == "session":
            return
        if parent != self._last:
            yield from self._back_to(parent)
        if kind == "message":
            yield from self._message(values.as_object(entry.get("message")), id, number, time)
        elif kind == "compaction":
            yield Compacted(self._session, time, kept=self._kept(entry))
        elif kind not in _SILENT:
            yield Skipped(f"line {number}", f"kind {kind[:40]!r} is not known", self._session)
        self._last = id
        self._entries.put(id, (number, self._answer))

    def _back_to(self, parent: str) -> Iterator[Event]:
        known = self._entries.get(parent)
        if known is not None or not parent:
            self._answer = known[1] if known else ""
            yield Rewound(self._session, self._answer)

    def _kept(self, entry: values.Object) -> tuple[str, ...]:
        known = self._entries.get(values.as_text(entry.get("firstKeptEntryId")))
        return tuple(id for number, id in self._results if number >= known[0]) if known else ()

    def _message(self, message: values.Object, id: str, number: int, time: str) -> Iterator[Event]:
        role = message.get("role")
        if role == "assistant":
            self._answer = short_name(id) or f"line {number}"  # version 1 has no ids
            yield from self._answered(message, time)
        elif role == "user":
            yield from asked(self._session, values.parts_text(message.get("content"))[0])
        elif role == "toolResult":
            call = values.as_text(message.get("toolCallId"))
            text, images = values.parts_text(message.get("content"), "\n")
            self._results.append((number, short_name(call)))
            failed = message.get("isError") is True
            yield Returned(self._session, call, text, failed or None, images, time)
        else:
            why = f"messages of the role {values.as_text(role)[:40]!r} are not read"
            yield Skipped(f"line {number}", why, self._session)

    def _answered(self, message: values.Object, time: str) -> Iterator[Event]:
        usage = values.as_object(message.get("usage"))
        read, wrote, cached, written = values.counts_of(usage, "input", "output", "cacheRead", "cacheWrite")
        cost = values.as_cost(values.as_object(usage.get("cost")).get("total"))
        model = values.as_text(message.get("model"))
        yield Answered(self._session, self._answer, time, model, read, wrote, cached, written, cost)
        for part in values.objects(message.get("content")):
            if part.get("type") == "toolCall":
                id, tool = values.texts_of(part, "id", "name")
                yield Called(self._session, id, tool, values.as_arguments(part.get("arguments")), time)
            elif part.get("type") == "text":
                yield Wrote(self._session, values.as_text(part.get("text")))
